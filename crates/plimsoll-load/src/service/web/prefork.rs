//! The prefork model: as many processes as clients, made beforehand, all waiting in accept(2), or in turn for the right to be there.

use std::convert::Infallible;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::sleep;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::wait::wait;
use nix::unistd::Pid;
use plimsoll_model::frame::Failure;

use super::answer::Terms;
use super::conversation::Conversations;
use super::site::Site;
use crate::failure::{other, refused};
use crate::process::{Parent, SHORTAGE};

/// Keeps `clients` processes serving: one that dies is replaced. Process n takes its connections from set n of the listeners, in turn.
///
/// Where they are `serialised`, only one at a time is in accept(2): the others wait for a lock (httpd's `Mutex fcntl`).
pub(super) fn serve(
    clients: u32,
    serialised: bool,
    (site, terms): (&Site, Terms),
    sets: &[Vec<TcpListener>],
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    sets.iter().try_for_each(|set| prepare(set))?;
    let lock = if serialised { Some(Lock::new()?) } else { None };
    let parent = Parent::this();
    let client = |n: u32| {
        let set = &sets[n as usize % sets.len()];
        parent.spawn(|| attend(site, terms, set, lock.as_ref()))
    };
    keep_alive(clients, client, ready)
}

/// Makes `number` processes, and replaces one that dies by another of the same number.
pub(super) fn keep_alive(
    number: u32,
    make: impl Fn(u32) -> nix::Result<Pid>,
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    let mut living = Vec::new();
    for n in 0..number {
        let made = make(n).map_err(|error| refused(format!("make process {} of {number}", n + 1), error))?;
        living.push(Some(made));
    }
    ready()?;
    loop {
        if living.iter().all(Option::is_some) {
            let ended = wait().map_err(|error| refused("wait for a process", error))?;
            living.iter_mut().filter(|pid| **pid == ended.pid()).for_each(|pid| *pid = None);
        }
        // A process that dies as soon as it lives must not take the machine with it.
        sleep(SHORTAGE);
        for (n, pid) in (0..).zip(&mut living).filter(|(_, pid)| pid.is_none()) {
            *pid = make(n).ok();
        }
    }
}

/// Makes listening sockets fit to be accepted from by several processes.
pub(super) fn prepare(listeners: &[TcpListener]) -> Result<(), Failure> {
    let several = listeners.len() > 1;
    listeners.iter().try_for_each(|listener| {
        let set = listener.set_nonblocking(several);
        set.map_err(|error| other("set a listening socket's mode", &error))
    })
}

/// Serves one connection after the other.
pub(super) fn attend(site: &Site, terms: Terms, listeners: &[TcpListener], lock: Option<&Lock>) {
    let mut conversations = Conversations::new(site, terms);
    loop {
        let accepted = match lock {
            Some(lock) => lock.hold(|| accept(listeners)),
            None => accept(listeners),
        };
        match accepted {
            Ok(stream) => conversations.hold(&stream),
            Err(error) if is_transient(error) => {}
            Err(_) => sleep(SHORTAGE),
        }
    }
}

/// The next connection on any of the sockets. With several, processes wait in poll(2) instead, and all but one find
/// nothing to accept.
pub(super) fn accept(listeners: &[TcpListener]) -> nix::Result<TcpStream> {
    let accept = |listener: &TcpListener| match listener.accept() {
        Ok((stream, _)) => Ok(stream),
        Err(error) => Err(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)),
    };
    if let [listener] = listeners {
        return accept(listener);
    }
    let mut waiting: Vec<_> =
        listeners.iter().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)).collect();
    poll(&mut waiting, PollTimeout::NONE)?;
    let ready = waiting.iter().position(|fd| fd.any() == Some(true)).ok_or(Errno::EAGAIN)?;
    // accept4(2) without SOCK_NONBLOCK: the connection blocks although the listening socket does not.
    accept(&listeners[ready])
}

/// A lock between processes, of a file that has no name. The kernel takes it from a process that dies.
pub(super) struct Lock(OwnedFd);

impl Lock {
    fn new() -> Result<Self, Failure> {
        let made = memfd_create(c"accept", MFdFlags::MFD_CLOEXEC);
        made.map(Self).map_err(|error| refused("make a lock", error))
    }

    /// Does something while no other process that holds the lock does.
    fn hold<T>(&self, something: impl FnOnce() -> nix::Result<T>) -> nix::Result<T> {
        self.set(libc::F_WRLCK)?;
        let done = something();
        self.set(libc::F_UNLCK)?;
        done
    }

    fn set(&self, kind: libc::c_int) -> nix::Result<()> {
        let whole = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        fcntl(&self.0, FcntlArg::F_SETLKW(&whole)).map(drop)
    }
}

/// Errors of accept that concern one connection, or nothing.
pub(super) fn is_transient(error: Errno) -> bool {
    matches!(error, Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED)
}
