//! One connection of a generator.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

/// A connection, and what is known of its present request.
pub(super) struct Connection<A> {
    pub(super) fd: OwnedFd,
    /// The index of its target.
    pub(super) target: usize,
    pub(super) phase: Phase,
    /// What is known of the present answer.
    pub(super) answer: A,
    /// How many requests were answered on it.
    pub(super) requests: u64,
    /// When the present request was to begin; the connection itself, for the first.
    pub(super) begun: u64,
    /// When the present request was sent.
    pub(super) sent: u64,
    /// When the first byte of the present answer came.
    pub(super) first_byte: Option<u64>,
    /// An answer was not what it should be, though the connection went on.
    pub(super) faulty: bool,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// To be established.
    Connecting,
    /// Room for the rest of the request, from this byte on.
    Sending(usize),
    /// The answer.
    Receiving,
    /// The server to close it, as it said that it would.
    Closing,
}

impl<A: Default> Connection<A> {
    /// A connection that was to begin at `begun`, and is not established yet.
    pub(super) fn new(fd: OwnedFd, target: usize, begun: u64) -> Self {
        Self {
            fd,
            target,
            phase: Phase::Connecting,
            answer: A::default(),
            requests: 0,
            begun,
            sent: begun,
            first_byte: None,
            faulty: false,
        }
    }

    /// Another request begins at `now`.
    pub(super) fn ask_again(&mut self, now: u64) {
        self.answer = A::default();
        self.first_byte = None;
        self.begun = now;
        self.phase = Phase::Sending(0);
    }

    /// Whether it was established.
    pub(super) fn is_established(&self) -> bool {
        self.phase != Phase::Connecting
    }

    /// Sends as much as the kernel takes at once.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        repeat(|| send(self.fd.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL))
    }

    /// Receives what is there.
    pub(super) fn receive(&self, into: &mut [u8]) -> Result<usize, Errno> {
        repeat(|| recv(self.fd.as_raw_fd(), into, MsgFlags::empty()))
    }
}

/// Does it again as long as a signal interrupts it.
fn repeat(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            done => return done,
        }
    }
}
