//! A connection on which bytes do not mean what they are: TLS, HTTP/2, or both.
//!
//! A conversation ([`Talk`]) takes bytes and gives bytes, and knows nothing of sockets; between it and the socket there may be TLS. All
//! models of the server use the same: those that give a connection to a process or a thread wait for it there.

mod http1;
mod http2;

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use rustls::ServerConnection;

use self::http1::Http1;
use self::http2::Http2;
use super::answer::{Answers, CHUNK};
use super::client::{State, read};
use super::layers::Layers;
use super::limits::{HEAD_WITHIN, LINGER};

/// Preface of a client that speaks HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A conversation, apart from how its bytes come and go.
trait Talk {
    /// Takes what the client has said.
    fn take(&mut self, bytes: &[u8]);

    /// Appends the next part of the reply to `out`, some [`CHUNK`]s at most; nothing if the client has to send
    /// something first.
    fn say(&mut self, answers: &mut Answers<'_>, out: &mut Vec<u8>) -> io::Result<()>;

    /// Nothing more will be said.
    fn is_over(&self) -> bool;

    /// Since when something has been coming that is not all there.
    fn unfinished_since(&self) -> Option<Instant>;
}

/// A connection.
pub(super) struct Layered {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
    /// Bytes from the client while they do not decide between both versions.
    undecided: Option<Vec<u8>>,
    talk: Box<dyn Talk>,
    /// Bytes to send, and how many went out.
    out: Vec<u8>,
    sent: usize,
    state: State,
    since: Instant,
}

impl Layered {
    /// A connection that does not block.
    pub(super) fn new(stream: TcpStream, layers: &Layers) -> io::Result<Self> {
        let tls = match &layers.tls {
            Some(config) => Some(ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?),
            None => None,
        };
        Ok(Self {
            stream,
            tls: tls.map(Box::new),
            undecided: layers.http2.then(Vec::new),
            talk: Box::new(Http1::default()),
            out: Vec::new(),
            sent: 0,
            state: State::Asking,
            since: Instant::now(),
        })
    }

    /// Whether it has kept silent for longer than it may.
    pub(super) fn is_overdue(&self, now: Instant, silence: Duration) -> bool {
        let limit = if self.state == State::Lingering { LINGER } else { silence };
        let since = |since| now.saturating_duration_since(since);
        self.talk.unfinished_since().is_some_and(|begun| since(begun) > HEAD_WITHIN)
            || since(self.since) > limit
    }

    /// Does what can be done without waiting.
    pub(super) fn go_on(&mut self, answers: &mut Answers<'_>, inbox: &mut [u8]) -> State {
        self.since = Instant::now();
        loop {
            match self.step(answers, inbox) {
                Ok(true) if self.state != State::Over => {}
                Ok(_) => return self.state,
                Err(_) => {
                    self.state = State::Over;
                    return State::Over;
                }
            }
        }
    }

    /// Serves the connection to its end, waiting where there is nothing to do.
    pub(super) fn hold(mut self, answers: &mut Answers<'_>, inbox: &mut [u8], silence: Duration) {
        loop {
            let state = self.go_on(answers, inbox);
            let limit = match state {
                State::Over => return,
                State::Lingering => LINGER,
                State::Asking | State::Answering { .. } => silence,
            };
            let sends = matches!(state, State::Answering { .. });
            let events = if sends { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
            let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.stream.as_fd(), events)], timeout) {
                Ok(0) => return,
                Ok(_) | Err(Errno::EINTR) if !self.is_overdue(Instant::now(), silence) => {}
                _ => return,
            }
        }
    }

    /// Sends, says or takes something; false when it has to wait.
    fn step(&mut self, answers: &mut Answers<'_>, inbox: &mut [u8]) -> io::Result<bool> {
        if !self.send()? {
            self.state = State::Answering { stays: true };
            return Ok(false);
        }
        if self.state != State::Lingering {
            self.state = State::Asking;
            self.talk.say(answers, &mut self.out)?;
            if !self.out.is_empty() {
                self.seal()?;
                return Ok(true);
            }
            if self.talk.is_over() {
                return self.leave();
            }
        }
        match read(&self.stream, inbox)? {
            None => Ok(false),
            Some(0) => {
                self.state = State::Over;
                Ok(true)
            }
            Some(_) if self.state == State::Lingering => Ok(true),
            Some(length) => {
                self.open(&inbox[..length])?;
                Ok(true)
            }
        }
    }

    /// No more replies will follow: listens until the client has closed as well, so that no reply is lost.
    fn leave(&mut self) -> io::Result<bool> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        self.state = State::Lingering;
        if self.send()? {
            self.stream.shutdown(Shutdown::Write)?;
        }
        Ok(true)
    }

    /// Takes what has come.
    fn open(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            self.hear(bytes);
            return Ok(());
        };
        let mut opened = Vec::new();
        while !bytes.is_empty() {
            tls.read_tls(&mut bytes)?;
            let state = match tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // Sends the alert, so that the client knows why.
                    self.send()?;
                    return Err(io::Error::other(error));
                }
            };
            let before = opened.len();
            opened.resize(before + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut opened[before..])?;
            if state.peer_has_closed() {
                self.state = State::Over;
                break;
            }
        }
        if !opened.is_empty() {
            self.hear(&opened);
        }
        Ok(())
    }

    /// Takes what the client has said; finds out first which version it speaks.
    fn hear(&mut self, bytes: &[u8]) {
        let Some(mut begun) = self.undecided.take() else { return self.talk.take(bytes) };
        begun.extend_from_slice(bytes);
        // The agreed protocol is spoken, also with a client that then says something else (RFC 9113, section 3.2).
        let agreed = self.tls.as_ref().and_then(|tls| tls.alpn_protocol());
        if agreed == Some(b"h2") || agreed.is_none() && begun.starts_with(PREFACE) {
            self.talk = Box::new(Http2::new());
        } else if agreed.is_none() && PREFACE.starts_with(&begun) {
            self.undecided = Some(begun);
            return;
        }
        self.talk.take(&begun);
    }

    /// Encrypts the pending reply, if there is TLS.
    fn seal(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.set_buffer_limit(None);
        tls.writer().write_all(&self.out)?;
        forget(&mut self.out);
        Ok(())
    }

    /// Sends what is there; false when the kernel takes no more.
    fn send(&mut self) -> io::Result<bool> {
        let sent = match &mut self.tls {
            Some(tls) => {
                while tls.wants_write() {
                    match tls.write_tls(&mut self.stream) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        done => drop(done?),
                    }
                }
                return Ok(true);
            }
            None => &mut self.sent,
        };
        while *sent < self.out.len() {
            match send(self.stream.as_raw_fd(), &self.out[*sent..], MsgFlags::MSG_NOSIGNAL) {
                Ok(length) => *sent += length,
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        *sent = 0;
        forget(&mut self.out);
        Ok(true)
    }
}

/// Most clients are idle most of the time, and need no memory then.
fn forget(out: &mut Vec<u8>) {
    if out.capacity() > 2 * CHUNK { *out = Vec::new() } else { out.clear() }
}
