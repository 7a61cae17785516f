//! Sockets that listen.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::{Builder, sleep};

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket, sockopt,
};
use plimsoll_model::frame::Failure;

use crate::failure::{other, refused_without};
use crate::process::SHORTAGE;

/// A socket for each address, listening, in the same order; with `shared`, others may listen at the same addresses, and the kernel
/// spreads connections over them (SO_REUSEPORT).
pub(super) fn listen_all(
    addresses: &[SocketAddr],
    backlog: u32,
    shared: bool,
) -> Result<Vec<TcpListener>, Failure> {
    if addresses.is_empty() {
        return Err(other("listen", &"no address is given"));
    }
    addresses.iter().map(|&address| listen_at(address, backlog, shared)).collect()
}

/// The addresses that `listeners` are bound to.
pub(super) fn addresses(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>, Failure> {
    let found: std::io::Result<_> = listeners.iter().map(TcpListener::local_addr).collect();
    found.map_err(|error| other("read a listening address", &error))
}

/// A connection that waits at a socket which does not block.
pub(super) fn next(listener: &TcpListener) -> Option<TcpStream> {
    let taken = listener.accept();
    if let Err(error) = &taken
        && matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
    {
        sleep(SHORTAGE);
    }
    taken.ok().map(|(stream, _)| stream)
}

/// Accepts connections in a thread for each listener, until killed.
pub(super) fn accept_in_threads<A: FnOnce() + Send + 'static>(
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
    mut accept: impl FnMut(TcpListener) -> Result<A, Failure>,
) -> Result<Infallible, Failure> {
    let addresses = addresses(&listeners)?;
    let start = |listener| {
        let accepting = Builder::new().name("accept".into()).spawn(accept(listener)?);
        accepting.map_err(|error| other("start the thread that accepts connections", &error))
    };
    let accepting: Vec<_> = listeners.into_iter().map(start).collect::<Result<_, Failure>>()?;
    announce(&addresses)?;
    for thread in accepting {
        // The thread ends only by an error.
        thread.join().ok();
    }
    Err(other("keep the service going", &"a thread that accepts connections has ended"))
}

fn listen_at(address: SocketAddr, backlog: u32, shared: bool) -> Result<TcpListener, Failure> {
    let failed = |error| match error {
        nix::Error::EADDRINUSE => Failure::AddressInUse { address },
        error => refused_without(
            "CAP_NET_BIND_SERVICE for a port below net.ipv4.ip_unprivileged_port_start",
            format!("listen on {address}"),
            error,
        ),
    };
    open(address, backlog, shared).map(TcpListener::from).map_err(failed)
}

/// The kernel cuts the backlog down to `net.core.somaxconn`. What is set here is inherited by each accepted connection,
/// which saves a system call on each.
fn open(address: SocketAddr, backlog: u32, shared: bool) -> nix::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    if shared {
        setsockopt(&fd, sockopt::ReusePort, &true)?;
    }
    if address.is_ipv6() {
        setsockopt(&fd, sockopt::Ipv6V6Only, &true)?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
    let longest = i32::from(Backlog::MAXCONN);
    let backlog = i32::try_from(backlog).map_or(longest, |wanted| wanted.min(longest));
    listen(&fd, Backlog::new(backlog)?)?;
    Ok(fd)
}
