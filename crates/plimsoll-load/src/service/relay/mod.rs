//! The forking relay: a process per listening port; each forks a process per connection that connects onward, copies both
//! ways, and exits.

mod leak;
mod record;

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;

use nix::sys::wait::wait;
use plimsoll_model::experiment::{PassBy, RelayService};
use plimsoll_model::frame::Failure;

use self::leak::Leaking;
use super::listen;
use super::shuttle::{self, reset_on_close};
use crate::failure::{other, refused};
use crate::process::{self, Parent, SHORTAGE};

/// Relays from `listeners` to `to`, until killed.
///
/// The death of a relay ends the service: hiding it would lose the connections of a whole port without a word.
pub(super) fn serve(
    options: &RelayService,
    to: &[SocketAddr],
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    if to.is_empty() {
        return Err(other("start the relay", &"there is no address to relay to"));
    }
    let addresses = listen::addresses(&listeners)?;
    process::survive_broken_pipes()?;
    let leaks: Result<Vec<_>, _> = (0u32..)
        .zip(&addresses)
        .map(|(nth, address)| {
            options.leak.map(|leak| Leaking::prepare(leak, options.leak_count, nth, *address)).transpose()
        })
        .collect();
    let parent = Parent::this();
    for ((listener, leak), nth) in listeners.into_iter().zip(leaks?).zip(1..) {
        let relay = || relay(&listener, to, leak);
        parent.spawn(relay).map_err(|error| refused(format!("make relay {nth}"), error))?;
    }
    announce(&addresses)?;
    let died = wait().map_err(|error| refused("wait for a relay", error))?;
    Err(other("keep the relay going", &format!("a listening process has ended: {died:?}")))
}

/// The life of one relay.
fn relay(listener: &TcpListener, to: &[SocketAddr], mut leak: Option<Leaking>) {
    let parent = Parent::this();
    let mut onward = to.iter().cycle();
    loop {
        // Their CPU time counts as this process's from then on.
        parent.reap(false);
        let client = match listener.accept() {
            Ok((client, _)) => client,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) {
                    sleep(SHORTAGE);
                }
                continue;
            }
        };
        if let Some(leak) = &mut leak {
            leak.one_connection();
        }
        let Some(&server) = onward.next() else { return };
        let forked = parent.spawn(|| connect_and_shuttle(&client, server));
        if forked.is_err() {
            reset_on_close(&client);
        }
    }
}

/// Runs the process of one connection. A client whose server cannot be reached gets a reset.
fn connect_and_shuttle(client: &TcpStream, server: SocketAddr) {
    let Ok(server) = TcpStream::connect(server) else { return reset_on_close(client) };
    // A failure to set it costs some delay, and no more.
    let _ = server.set_nodelay(true);
    if shuttle::both_ways(client, &server, PassBy::Copy, shuttle::BUFFER).is_err() {
        reset_on_close(client);
        reset_on_close(&server);
    }
}
