//! A socket that questions are sent over: of UDP, or a kept connection of TCP.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{setsockopt, sockopt};
use plimsoll_model::experiment::load::dns::DnsTransport;

use super::super::dialer::Dialer;
use crate::clock;
use crate::socket_io;

/// How much a socket of UDP may keep, in bytes: the replies to all that is under way come at once where a server has stood still.
const KEPT: usize = 8 << 20;

/// A socket that questions are sent over.
pub(super) struct Channel {
    over: DnsTransport,
    fd: Option<OwnedFd>,
    target: usize,
    /// When its connection was begun; nothing once it is there.
    pub(super) connecting: Option<u64>,
    /// Outgoing bytes over TCP: messages, each behind its length.
    out: Vec<u8>,
    /// How much of it is sent.
    gone: usize,
    /// Received bytes of an incomplete message over TCP.
    part: Vec<u8>,
}

impl Channel {
    pub(super) fn new(over: DnsTransport) -> Self {
        Self { over, fd: None, target: 0, connecting: None, out: Vec::new(), gone: 0, part: Vec::new() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.fd.is_some()
    }

    /// The target that it is connected to.
    pub(super) fn target(&self) -> usize {
        self.target
    }

    /// Opens it, as the one with this key.
    pub(super) fn open(&mut self, dialer: &mut Dialer, epoll: &Epoll, key: u64) -> nix::Result<()> {
        let target = dialer.next_target();
        let fd = dialer.open(target)?;
        if self.over == DnsTransport::Udp && setsockopt(&fd, sockopt::RcvBufForce, &KEPT).is_err() {
            // It is less then, as the system has it.
            setsockopt(&fd, sockopt::RcvBuf, &KEPT).ok();
        }
        if self.over == DnsTransport::Tcp {
            // A question waits for no other: what is due together is handed over together.
            setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
            self.connecting = Some(clock::now());
        }
        dialer.connect(&fd, target)?;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        epoll.add(fd.as_fd(), EpollEvent::new(flags, key))?;
        (self.fd, self.target) = (Some(fd), target);
        Ok(())
    }

    /// Nothing of it is left.
    pub(super) fn close(&mut self) {
        *self = Self::new(self.over);
    }

    /// Sends a message, or keeps it until [`Channel::flush`].
    pub(super) fn say(&mut self, message: &[u8]) -> nix::Result<()> {
        match (self.over, &self.fd) {
            (DnsTransport::Udp, Some(fd)) => match socket_io::send(fd, message) {
                // These are news of an earlier datagram: this one must still be sent.
                Err(Errno::ECONNREFUSED) => socket_io::send(fd, message),
                said => said,
            }
            .map(drop),
            _ => {
                self.out.extend_from_slice(&(message.len() as u16).to_be_bytes());
                self.out.extend_from_slice(message);
                Ok(())
            }
        }
    }

    /// Hands over what is kept, as much as the kernel takes.
    pub(super) fn flush(&mut self) -> nix::Result<()> {
        let Some(fd) = &self.fd else { return Ok(()) };
        while self.gone < self.out.len() {
            match socket_io::send(fd, &self.out[self.gone..]) {
                Ok(taken) => self.gone += taken,
                Err(Errno::EAGAIN | Errno::ENOTCONN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.gone = 0;
        Ok(())
    }

    /// Whether something is kept that was not handed over.
    pub(super) fn is_behind(&self) -> bool {
        self.gone < self.out.len()
    }

    /// Receives once, and hands over each whole message. Returns the number of received bytes, 0 at the end; `EAGAIN` if there are no more.
    pub(super) fn receive(&mut self, inbox: &mut [u8], mut take: impl FnMut(&[u8])) -> nix::Result<usize> {
        let Some(fd) = &self.fd else { return Err(Errno::EAGAIN) };
        let length = socket_io::receive(fd, inbox)?;
        match self.over {
            DnsTransport::Udp => {
                take(&inbox[..length]);
                // An empty datagram is no end.
                Ok(length.max(1))
            }
            DnsTransport::Tcp => {
                self.part.extend_from_slice(&inbox[..length]);
                let gone = messages(&self.part, &mut take);
                self.part.drain(..gone);
                Ok(length)
            }
        }
    }
}

/// Hands over the whole messages at the beginning of a stream (RFC 1035, section 4.2.2); gives how many bytes they are.
fn messages(stream: &[u8], take: &mut impl FnMut(&[u8])) -> usize {
    let mut gone = 0;
    while let [high, low, rest @ ..] = &stream[gone..] {
        let Some(message) = rest.get(..usize::from(u16::from_be_bytes([*high, *low]))) else { break };
        take(message);
        gone += 2 + message.len();
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_where_its_lengths_say() {
        let mut found = Vec::new();
        let gone = messages(b"\0\x02ab\0\0\0\x03cd", &mut |message| found.push(message.to_vec()));
        assert_eq!((found, gone), (vec![b"ab".to_vec(), Vec::new()], 6));
        assert_eq!(messages(b"\0", &mut |_| panic!("there is none")), 0);
    }
}
