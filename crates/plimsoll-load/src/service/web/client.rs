//! A connection of the event loop: its requests, and the pending replies.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::sys::sendfile::sendfile;
use nix::sys::socket::{MsgFlags, send};

use super::answer::{Answers, Body, CHUNK, TEXT};
use super::limits::{HEAD_WITHIN, LINGER, MORE};
use super::request;
use super::response::{self, Afterwards};

/// A connection.
pub(super) struct Client {
    stream: TcpStream,
    state: State,
    /// Received bytes that are not parsed yet; empty unless a client sends in pieces.
    pieces: Vec<u8>,
    /// How much of a request's body is still to come, to be thrown away.
    skip: u64,
    /// Bytes to send: heads and text.
    out: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
    body: Body,
    served: u64,
    /// When something happened last.
    since: Instant,
    /// When the head that is coming in began.
    head_since: Option<Instant>,
}

/// Event that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A request.
    Asking,
    /// Room for the answer; then `stays` says whether another request may come.
    Answering { stays: bool },
    /// The client's end, after an answer that it may not have read.
    Lingering,
    /// Nothing: it can be closed.
    Over,
}

impl Client {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            state: State::Asking,
            pieces: Vec::new(),
            skip: 0,
            out: Vec::new(),
            sent: 0,
            body: Body::Text(0),
            served: 0,
            since: Instant::now(),
            head_since: None,
        }
    }

    /// Whether it has kept silent for longer than it may.
    pub(super) fn is_overdue(&self, now: Instant, silence: Duration) -> bool {
        let limit = if self.state == State::Lingering { LINGER } else { silence };
        let slow = self.head_since.is_some_and(|since| now.saturating_duration_since(since) > HEAD_WITHIN);
        slow || now.saturating_duration_since(self.since) > limit
    }

    /// Does what can be done without waiting.
    pub(super) fn go_on(&mut self, answers: &mut Answers<'_>, inbox: &mut [u8]) -> State {
        self.since = Instant::now();
        let done = loop {
            let step = match self.state {
                State::Asking => self.ask(answers, inbox),
                State::Answering { stays } => self.answer(stays),
                State::Lingering => self.linger(inbox),
                State::Over => break Ok(()),
            };
            match step {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if done.is_err() {
            self.state = State::Over;
        }
        self.state
    }

    /// Takes a request, if one is there; false when more has to come.
    fn ask(&mut self, answers: &mut Answers<'_>, inbox: &mut [u8]) -> io::Result<bool> {
        if !self.pieces.is_empty() && self.skip == 0 {
            let pieces = std::mem::take(&mut self.pieces);
            let taken = self.understand(answers, &pieces);
            self.pieces = pieces;
            self.pieces.drain(..taken);
            if self.state != State::Asking {
                return Ok(true);
            }
        }
        let Some(length) = read(&self.stream, inbox)? else { return Ok(false) };
        if length == 0 {
            self.state = State::Over;
            return Ok(true);
        }
        let skipped = self.skip.min(length as u64) as usize;
        self.skip -= skipped as u64;
        let come = &inbox[skipped..length];
        let taken = if self.pieces.is_empty() { self.understand(answers, come) } else { 0 };
        self.pieces.extend_from_slice(&come[taken..]);
        Ok(true)
    }

    /// Prepares the answer to the request at the start of `bytes`, if it is complete; says how many bytes it took.
    fn understand(&mut self, answers: &mut Answers<'_>, bytes: &[u8]) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        match request::parse(bytes) {
            Ok(None) => {
                self.head_since.get_or_insert_with(Instant::now);
                0
            }
            Ok(Some(request)) => {
                self.head_since = None;
                let (body, stays) = answers.prepare(&mut self.out, &request, self.served);
                self.served += 1;
                self.body = body;
                self.state = State::Answering { stays };
                let end = request.head as u64 + request.body;
                let taken = end.min(bytes.len() as u64);
                self.skip = end - taken;
                taken as usize
            }
            Err(status) => {
                response::error(&mut self.out, &mut answers.clock, status, Afterwards::Close, true);
                self.body = Body::Text(0);
                // Later bytes are ignored; they make the close a lingering one.
                self.skip = u64::MAX;
                self.state = State::Answering { stays: false };
                bytes.len()
            }
        }
    }

    /// Sends what there is room for; false when there is none.
    fn answer(&mut self, stays: bool) -> io::Result<bool> {
        loop {
            if let Body::Text(left @ 1..) = &mut self.body {
                let next = (*left).min(CHUNK as u64);
                *left -= next;
                self.out.extend_from_slice(&TEXT[..next as usize]);
            }
            let more = !matches!(self.body, Body::Text(0) | Body::File(_, 0));
            // The last segment waits for the FIN, and both go out as one.
            let flags = if more || !stays { MORE } else { MsgFlags::empty() };
            while self.sent < self.out.len() {
                match send(self.stream.as_raw_fd(), &self.out[self.sent..], flags | MsgFlags::MSG_NOSIGNAL) {
                    Ok(n) => self.sent += n,
                    Err(nix::Error::EAGAIN) => return Ok(false),
                    Err(nix::Error::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            self.forget_sent();
            match &mut self.body {
                Body::Text(0) | Body::File(_, 0) => break,
                Body::Text(_) => {}
                Body::File(file, left) => {
                    // The most that sendfile(2) moves in one call.
                    match sendfile(&self.stream, file, None, (*left).min(0x7fff_f000) as usize) {
                        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                        Ok(n) => *left -= n as u64,
                        Err(nix::Error::EAGAIN) => return Ok(false),
                        Err(nix::Error::EINTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        self.answered(stays)
    }

    /// An answer is out.
    fn answered(&mut self, stays: bool) -> io::Result<bool> {
        self.body = Body::Text(0);
        self.state = if stays {
            State::Asking
        } else if self.pieces.is_empty() && self.skip == 0 {
            State::Over
        } else {
            self.stream.shutdown(Shutdown::Write)?;
            State::Lingering
        };
        Ok(true)
    }

    /// Most clients are idle most of the time, and need no memory then.
    fn forget_sent(&mut self) {
        self.sent = 0;
        if self.out.capacity() > CHUNK { self.out = Vec::new() } else { self.out.clear() }
    }

    /// Listens to a client that is to close, without taking anything in.
    fn linger(&mut self, inbox: &mut [u8]) -> io::Result<bool> {
        match read(&self.stream, inbox)? {
            Some(0) => {
                self.state = State::Over;
                Ok(true)
            }
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }
}

/// Reads what there is; `None` when there is nothing yet.
pub(super) fn read(mut stream: &TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match stream.read(into) {
            Ok(length) => return Ok(Some(length)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
