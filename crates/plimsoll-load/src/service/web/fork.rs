//! The forking model: one process accepts, and makes another for each connection.

use std::convert::Infallible;
use std::net::TcpListener;
use std::thread::sleep;

use plimsoll_model::frame::Failure;

use super::answer::Terms;
use super::conversation::Conversations;
use super::prefork::{accept, is_transient, prepare};
use super::site::Site;
use crate::process::{Parent, SHORTAGE};

/// Forks a process for each connection, up to `clients` at a time; further connections wait in the listen queue.
pub(super) fn serve(
    clients: u32,
    site: &Site,
    terms: Terms,
    listeners: &[TcpListener],
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    prepare(listeners)?;
    ready()?;
    let parent = Parent::this();
    let mut living = 0;
    loop {
        living -= parent.reap(living == clients);
        let stream = match accept(listeners) {
            Ok(stream) => stream,
            Err(error) if is_transient(error) => continue,
            Err(_) => {
                sleep(SHORTAGE);
                continue;
            }
        };
        // A connection for which there is no process is closed, as it would be by any server of this kind.
        match parent.spawn(|| Conversations::new(site, terms).hold(&stream)) {
            Ok(_) => living += 1,
            Err(_) => sleep(SHORTAGE),
        }
    }
}
