//! Connects with buffers that are set before the handshake, within a time limit.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use plimsoll_model::experiment::BulkLoad;

use crate::transfer::socket::buffers;

/// How often it is looked whether the load is aborted, in milliseconds.
const POLL_MS: u8 = 100;

/// A blocking connection.
pub(super) fn dial(
    target: SocketAddr,
    source: Option<IpAddr>,
    load: &BulkLoad,
    abort: &AtomicBool,
) -> io::Result<TcpStream> {
    let family = if target.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    buffers(&fd, load.send_buffer, load.receive_buffer)?;
    if let Some(source) = source {
        setsockopt(&fd, sockopt::IpBindAddressNoPort, &true)?;
        bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(source, 0)))?;
    }
    let stream = match connect(fd.as_raw_fd(), &SockaddrStorage::from(target)) {
        Ok(()) => TcpStream::from(fd),
        Err(Errno::EINPROGRESS) => established(TcpStream::from(fd), load.timeout.0, abort)?,
        Err(error) => return Err(error.into()),
    };
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Waits until a connection that was begun is there.
fn established(stream: TcpStream, within: Duration, abort: &AtomicBool) -> io::Result<TcpStream> {
    let begun = Instant::now();
    loop {
        let mut waiting = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut waiting, PollTimeout::from(POLL_MS)) {
            Ok(1..) => break,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if begun.elapsed() >= within || abort.load(Ordering::Relaxed) {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}
