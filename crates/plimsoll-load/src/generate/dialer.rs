//! Makes connections: to the targets of a load in turn, from its sources in turn.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use plimsoll_model::frame::Failure;

use crate::failure::{other, refused};

/// A place to connect to.
struct Target {
    family: AddressFamily,
    address: SockaddrStorage,
}

/// Connects to its targets in turn, from its sources in turn.
pub(super) struct Dialer {
    /// Of connections, or of datagrams.
    sockets: SockType,
    targets: Vec<Target>,
    next: usize,
    /// None to leave the choice to the kernel.
    sources: Vec<SockaddrStorage>,
    next_source: Cell<usize>,
}

impl Dialer {
    /// A dialer for the `nth` generator of a load: each begins with another target and another source.
    ///
    /// # Errors
    /// When there is no target, or a source is no address of this host.
    pub(super) fn new(targets: &[SocketAddr], sources: &[IpAddr], nth: usize) -> Result<Self, Failure> {
        Self::of(SockType::Stream, targets, sources, nth)
    }

    /// A dialer for sockets of another type.
    ///
    /// # Errors
    /// As those of `new`.
    pub(super) fn of(
        sockets: SockType,
        targets: &[SocketAddr],
        sources: &[IpAddr],
        nth: usize,
    ) -> Result<Self, Failure> {
        if targets.is_empty() {
            return Err(other("start the load", &"it has no target"));
        }
        let target = |address: &SocketAddr| Target {
            family: if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 },
            address: (*address).into(),
        };
        let targets: Vec<_> = targets.iter().map(target).collect();
        let sources: Vec<_> =
            sources.iter().map(|source| SockaddrStorage::from(SocketAddr::new(*source, 0))).collect();
        let next_source = Cell::new(nth.checked_rem(sources.len()).unwrap_or(0));
        let dialer = Self { sockets, next: nth % targets.len(), targets, sources, next_source };
        if dialer.sources.is_empty() {
            dialer.open(0).map_err(|error| refused("open a socket", error))?;
        }
        for source in &dialer.sources {
            let tried = dialer.open_from(0, Some(source));
            tried.map_err(|error| refused(format!("connect from {source}"), error))?;
        }
        Ok(dialer)
    }

    /// The index of the target whose turn it is.
    pub(super) fn next_target(&mut self) -> usize {
        let index = self.next;
        self.next = (index + 1) % self.targets.len();
        index
    }

    /// Where a target is.
    pub(super) fn address(&self, target: usize) -> SockaddrStorage {
        self.targets[target].address
    }

    /// Begins to connect `fd` to a target.
    pub(super) fn connect(&self, fd: &OwnedFd, target: usize) -> nix::Result<()> {
        match connect(fd.as_raw_fd(), &self.targets[target].address) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a socket that was made for one target fits any other.
    pub(super) fn can_recycle(&self) -> bool {
        self.targets.iter().all(|target| target.family == self.targets[0].family)
    }

    /// A socket for a target, with the source whose turn it is.
    pub(super) fn open(&self, target: usize) -> nix::Result<OwnedFd> {
        let turn = self.next_source.get();
        self.next_source.set(if turn + 1 < self.sources.len() { turn + 1 } else { 0 });
        self.open_from(target, self.sources.get(turn))
    }

    fn open_from(&self, target: usize, source: Option<&SockaddrStorage>) -> nix::Result<OwnedFd> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(self.targets[target].family, self.sockets, flags, None)?;
        if let Some(source) = source {
            // Leaves the choice of a port to connect(2), which knows the target and can use a port for several.
            setsockopt(&fd, sockopt::IpBindAddressNoPort, &true)?;
            bind(fd.as_raw_fd(), source)?;
        }
        Ok(fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_dialled_in_turn() {
        let targets: Vec<SocketAddr> = (1..=3).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        let mut dialer = Dialer::new(&targets, &[], 4).unwrap();
        let order: Vec<_> = (0..4).map(|_| dialer.next_target()).collect();
        assert_eq!(order, [1, 2, 0, 1]);
    }

    #[test]
    fn a_source_that_this_host_does_not_have_is_noticed_before_the_start() {
        let target = SocketAddr::from(([127, 0, 0, 1], 1));
        let failure =
            Dialer::new(&[target], &[[127, 0, 0, 9].into(), [192, 0, 2, 1].into()], 0).err().unwrap();
        assert!(failure.to_string().contains("192.0.2.1"), "{failure}");
        assert!(Dialer::new(&[target], &[[127, 0, 0, 9].into()], 0).is_ok());
        assert!(Dialer::new(&[], &[], 0).is_err());
    }

    #[test]
    fn sources_take_turns_and_generators_begin_with_different_ones() {
        let target = SocketAddr::from(([127, 0, 0, 1], 1));
        let sources = [8, 9].map(|last| IpAddr::from([127, 0, 0, last]));
        let from = |dialer: &Dialer| {
            let socket = dialer.open(0).unwrap();
            std::net::TcpStream::from(socket).local_addr().unwrap().ip()
        };
        let dialer = Dialer::new(&[target], &sources, 1).unwrap();
        assert_eq!([from(&dialer), from(&dialer), from(&dialer)], [sources[1], sources[0], sources[1]]);
    }
}
