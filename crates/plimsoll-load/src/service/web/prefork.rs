//! The prefork model: as many processes as clients, made beforehand, all waiting in accept(2).

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread::sleep;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::wait;
use plimsoll_model::frame::Failure;

use super::conversation::Conversations;
use super::site::Site;
use crate::failure::{other, refused};
use crate::service::process::{Parent, SHORTAGE};

/// Keeps `clients` processes serving: one that dies is replaced.
pub(super) fn serve(
    clients: u32,
    site: &Site,
    listeners: &[TcpListener],
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    let several = listeners.len() > 1;
    for listener in listeners {
        let set = listener.set_nonblocking(several);
        set.map_err(|error| other("set a listening socket's mode", &error))?;
    }
    let parent = Parent::this();
    let client = || parent.spawn(|| attend(site, listeners));
    for n in 0..clients {
        client().map_err(|error| refused(format!("make process {} of {clients}", n + 1), error))?;
    }
    ready()?;
    let mut missing = 0;
    loop {
        if missing == 0 {
            wait().map_err(|error| refused("wait for a process", error))?;
            missing += 1;
        }
        // A client that dies as soon as it lives must not take the machine with it.
        sleep(SHORTAGE);
        if client().is_ok() {
            missing -= 1;
        }
    }
}

/// The life of one process: one connection after the other.
fn attend(site: &Site, listeners: &[TcpListener]) {
    let mut conversations = Conversations::new(site);
    loop {
        match accept(listeners) {
            Ok(stream) => conversations.hold(&stream),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => sleep(SHORTAGE),
            },
        }
    }
}

/// The next connection on any of the sockets. With several, processes wait in poll(2) instead, and all but one find
/// nothing to accept.
fn accept(listeners: &[TcpListener]) -> std::io::Result<TcpStream> {
    if let [listener] = listeners {
        return listener.accept().map(|(stream, _)| stream);
    }
    let mut waiting: Vec<_> =
        listeners.iter().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)).collect();
    poll(&mut waiting, PollTimeout::NONE)?;
    let ready = waiting.iter().position(|fd| fd.any() == Some(true)).ok_or(Errno::EAGAIN)?;
    // accept4(2) without SOCK_NONBLOCK: the connection blocks although the listening socket does not.
    listeners[ready].accept().map(|(stream, _)| stream)
}
