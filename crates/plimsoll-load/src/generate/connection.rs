//! One connection of a generator.

use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, Shutdown, SockaddrStorage, getpeername, sendmsg, shutdown};

use super::low_water::LowWater;
use super::protocol::{Batch, Pieces, Protocol};
use super::secure::Session;
use crate::socket_io;

/// A connection, and what is known of its present request.
pub(super) struct Connection<P: Protocol> {
    pub(super) fd: OwnedFd,
    /// TLS session with the server, where it speaks TLS.
    pub(super) session: Option<Box<Session>>,
    /// The index of its target.
    pub(super) target: usize,
    pub(super) phase: Phase,
    /// Request under way.
    pub(super) asked: P::Request,
    /// State of the present reply.
    pub(super) answer: P::Reply,
    /// How many requests were answered on it.
    pub(super) requests: u64,
    /// The requests that were sent last, or are being sent.
    pub(super) batch: Batch,
    /// How many of them were not answered yet.
    pub(super) unanswered: u32,
    /// How much of their answers has to be there before the kernel reports it.
    pub(super) water: LowWater,
    /// When the present request was to begin; the connection itself, for the first.
    pub(super) begun: u64,
    /// When the present request was sent.
    pub(super) sent: u64,
    /// When the first byte of the present answer came.
    pub(super) first_byte: Option<u64>,
    /// An answer was not what it should be, though the connection went on.
    pub(super) faulty: bool,
    /// Events on its socket are reported.
    pub(super) watched: bool,
}

/// Event that a connection waits for.
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
    /// A request to be due.
    Resting,
    /// Nothing: the connection is over, and its socket can be reused.
    Spare,
}

impl<P: Protocol> Connection<P> {
    /// A connection that was to begin at `begun`, and is not established yet.
    pub(super) fn new(
        fd: OwnedFd,
        session: Option<Box<Session>>,
        target: usize,
        asked: P::Request,
        begun: u64,
    ) -> Self {
        Self {
            fd,
            session,
            target,
            phase: Phase::Connecting,
            asked,
            answer: P::Reply::default(),
            requests: 0,
            batch: Batch { requests: 0, last: false },
            unanswered: 0,
            water: LowWater::NEW,
            begun,
            sent: begun,
            first_byte: None,
            faulty: false,
            watched: false,
        }
    }

    /// Another request begins, which was to begin at `begun`.
    pub(super) fn ask_again(&mut self, asked: P::Request, begun: u64) {
        self.asked = asked;
        self.first_byte = None;
        self.begun = begun;
        self.phase = Phase::Sending(0);
    }

    /// Becomes another connection, with the socket of one that is over.
    pub(super) fn renew(
        &mut self,
        session: Option<Box<Session>>,
        target: usize,
        asked: P::Request,
        begun: u64,
    ) {
        self.ask_again(asked, begun);
        self.session = session;
        self.answer = P::Reply::default();
        (self.target, self.phase, self.requests, self.faulty) = (target, Phase::Connecting, 0, false);
    }

    /// Closes a connection that the peer has closed, but keeps the socket. Returns whether the socket can be reused.
    ///
    /// Possible once the peer has acknowledged the close: only then has the socket no peer any more (ENOTCONN), and taking it
    /// away from the connection is no reset (`tcp_disconnect` in net/ipv4/tcp.c).
    pub(super) fn rest(&mut self) -> bool {
        let fd = self.fd.as_raw_fd();
        let over = shutdown(fd, Shutdown::Write).is_ok()
            && getpeername::<SockaddrStorage>(fd) == Err(Errno::ENOTCONN)
            && disconnect(&self.fd).is_ok();
        if over {
            self.phase = Phase::Spare;
        }
        over
    }

    /// Begins the next batch: `pipeline` requests, or the rest of the connection's quota if that is smaller.
    pub(super) fn begin_batch(&mut self, pipeline: u32, requests_per_connection: u64) {
        let left = requests_per_connection - self.requests;
        let requests = u64::from(pipeline).min(left) as u32;
        self.batch = Batch { requests, last: left == u64::from(requests) };
        self.unanswered = requests;
    }

    /// How many requests fail when it does: those that were sent, or the one that the connection is for.
    pub(super) fn at_stake(&self) -> u32 {
        if self.is_established() { self.unanswered.max(1) } else { 1 }
    }

    /// Whether it was established.
    pub(super) fn is_established(&self) -> bool {
        self.phase != Phase::Connecting
    }

    /// Sends its request from this byte on, as much as the kernel takes at once; says how many bytes that were, and how many there are.
    pub(super) fn say(&mut self, protocol: &mut P, from: usize) -> Result<(usize, usize), Errno> {
        let request = protocol.request(self.asked, &self.answer, self.target, self.batch);
        let taken = transmit(&self.fd, self.session.as_deref_mut(), request.from(from))?;
        Ok((taken, request.len()))
    }

    /// Says that it will be closed: in these words, where there are any, and in those of TLS.
    pub(super) fn say_goodbye(&mut self, words: &[u8]) {
        if !words.is_empty() {
            transmit(&self.fd, self.session.as_deref_mut(), Pieces([words, &[], &[]])).ok();
        }
        if let Some(session) = &mut self.session {
            session.farewell(&self.fd);
        }
    }

    /// Receives what is there.
    pub(super) fn receive(&mut self, into: &mut [u8]) -> Result<usize, Errno> {
        match &mut self.session {
            Some(session) => session.receive(&self.fd, into),
            None => socket_io::receive(&self.fd, into),
        }
    }

    /// Whether the kernel had no more than the `length` bytes that were received last, where there was room for `room`: it then reports what
    /// comes (epoll(7)).
    pub(super) fn is_drained(&self, length: usize, room: usize) -> bool {
        self.session.as_ref().map_or(length < room, |session| session.is_drained())
    }

    /// How many bytes the socket gave for the `length` bytes that were received last.
    pub(super) fn wire(&self, length: usize) -> usize {
        self.session.as_ref().map_or(length, |session| session.wire())
    }
}

/// Sends as much as the kernel takes at once.
fn transmit(fd: &OwnedFd, session: Option<&mut Session>, pieces: Pieces<'_>) -> Result<usize, Errno> {
    if let Some(session) = session {
        return session.send(fd, pieces);
    }
    if let Some(bytes) = pieces.single() {
        return socket_io::send(fd, bytes);
    }
    let slices = pieces.0.map(IoSlice::new);
    loop {
        match sendmsg::<()>(fd.as_raw_fd(), &slices, &[], MsgFlags::MSG_NOSIGNAL, None) {
            Err(Errno::EINTR) => {}
            done => return done,
        }
    }
}

/// Takes a socket's connection from it (connect(2) with AF_UNSPEC).
fn disconnect(fd: &OwnedFd) -> Result<(), Errno> {
    let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    #[expect(unsafe_code, reason = "no safe address has this family")]
    // SAFETY: the address is a valid sockaddr of the length that is given, and outlives the call.
    let done = unsafe {
        libc::connect(fd.as_raw_fd(), &raw const nowhere, size_of_val(&nowhere) as libc::socklen_t)
    };
    Errno::result(done).map(drop)
}
