//! The threads model: as many threads of one process as clients, all waiting in accept(2).

use std::convert::Infallible;
use std::net::TcpListener;
use std::thread::{self, Builder};

use plimsoll_model::frame::Failure;

use super::answer::Terms;
use super::prefork::attend;
use super::site::Site;
use crate::failure::other;

/// How much stack a thread has; what is said on a connection is kept on the heap.
const STACK: usize = 256 << 10;

/// Keeps `clients` threads serving; thread n takes its connections from set n of the listeners, in turn.
pub(super) fn serve(
    clients: u32,
    site: &Site,
    terms: Terms,
    sets: &[Vec<TcpListener>],
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    thread::scope(|scope| {
        for (n, set) in (1..=clients).zip(sets.iter().cycle()) {
            let body = move || attend(site, terms, set, None);
            let made = Builder::new().name(format!("client {n}")).stack_size(STACK).spawn_scoped(scope, body);
            if let Err(error) = made {
                // The scope would wait for the other threads, which do not end: this process has to.
                tracing::error!("{}", other(format!("start thread {n} of {clients}"), &error));
                std::process::exit(1);
            }
        }
        if let Err(failure) = ready() {
            tracing::error!("{failure}");
            std::process::exit(1);
        }
    });
    Err(other("keep serving", &"every thread has ended"))
}
