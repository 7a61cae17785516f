//! The conversation on a connection: requests are read, answered, and the connection is kept or closed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Instant;

use nix::sys::sendfile::sendfile;
use nix::sys::socket::{MsgFlags, send};

use plimsoll_model::experiment::SendBy;

use super::answer::{Answers, Body, CHUNK, TEXT, Terms};
use super::layered::Layered;
use super::layers::Layers;
use super::limits::{HEAD_WITHIN, LINGER, MORE};
use super::request::{self, LONGEST_HEAD};
use super::response::{self, Afterwards};
use super::site::Site;
use crate::transfer::Outlet;

/// How much of a document is handed to the kernel at a time where it is not just written.
const OUTLET: usize = 128 << 10;

/// Holds one conversation after the other, and keeps what they share: buffers and the clock.
pub(super) struct Conversations<'a> {
    answers: Answers<'a>,
    inbox: Box<[u8]>,
    /// How many bytes of the inbox are filled.
    filled: usize,
    out: Vec<u8>,
    /// How many requests of the present conversation were answered.
    served: u64,
    /// Sender of texts, where they are not just written.
    outlet: Option<Outlet>,
}

/// How a conversation goes on.
enum Next {
    GoOn,
    Close,
    /// Close, but not so that the answer is lost: unread bytes would turn the close into a reset.
    LingeringClose,
}

impl<'a> Conversations<'a> {
    pub(super) fn new(site: &'a Site, terms: Terms) -> Self {
        let inbox = vec![0; LONGEST_HEAD].into();
        let answers = Answers::new(site, terms);
        Self { answers, inbox, filled: 0, out: Vec::with_capacity(2 * CHUNK), served: 0, outlet: None }
    }

    /// Serves a connection to its end. Whatever goes wrong on it ends it, and nothing else.
    pub(super) fn hold(&mut self, stream: &TcpStream) {
        if let Some(layers) = self.answers.terms.layers {
            return self.hold_layered(stream, layers);
        }
        (self.filled, self.served) = (0, 0);
        loop {
            match self.exchange(stream) {
                Ok(Next::GoOn) => {}
                Ok(Next::Close) | Err(_) => return,
                Ok(Next::LingeringClose) => return linger(stream),
            }
        }
    }

    /// Serves a connection on which more than HTTP/1.1 is spoken.
    fn hold_layered(&mut self, stream: &TcpStream, layers: &Layers) {
        let silence = self.answers.terms.silence;
        let layered = stream.try_clone().and_then(|stream| {
            stream.set_nonblocking(true)?;
            Layered::new(stream, layers)
        });
        if let Ok(layered) = layered {
            layered.hold(&mut self.answers, &mut self.inbox, silence);
        }
    }

    /// One request and its answer.
    fn exchange(&mut self, stream: &TcpStream) -> io::Result<Next> {
        let mut since = None;
        loop {
            let parsed = if self.filled == 0 { Ok(None) } else { request::parse(&self.inbox[..self.filled]) };
            match parsed {
                Ok(Some(request)) => {
                    let (head, body) = (request.head, request.body);
                    self.out.clear();
                    let (content, goes_on) = self.answers.prepare(&mut self.out, &request, self.served);
                    self.served += 1;
                    self.send(stream, content, goes_on)?;
                    self.skip(stream, head, body)?;
                    return Ok(match (goes_on, self.filled > 0) {
                        (true, _) => Next::GoOn,
                        (false, true) => Next::LingeringClose,
                        (false, false) => Next::Close,
                    });
                }
                Ok(None) => {}
                Err(status) => {
                    self.out.clear();
                    response::error(&mut self.out, &mut self.answers.clock, status, Afterwards::Close, true);
                    send_all(stream, &self.out, MsgFlags::empty())?;
                    return Ok(Next::LingeringClose);
                }
            }
            match read(stream, &mut self.inbox[self.filled..])? {
                0 => return Ok(Next::Close),
                n => self.filled += n,
            }
            if since.get_or_insert_with(Instant::now).elapsed() > HEAD_WITHIN {
                return Ok(Next::Close);
            }
        }
    }

    /// Sends the head that is in `out`, and the body.
    fn send(&mut self, stream: &TcpStream, body: Body, goes_on: bool) -> io::Result<()> {
        // The last segment waits for the FIN, and both go out as one.
        let last = if goes_on { MsgFlags::empty() } else { MORE };
        match body {
            Body::Text(length) if length == 0 || self.answers.by() == SendBy::Write => {
                send_text(stream, &mut self.out, length, last)
            }
            Body::Text(length) => {
                let outlet = match &mut self.outlet {
                    Some(outlet) => outlet,
                    none => none.insert(Outlet::new(self.answers.by(), OUTLET)?),
                };
                outlet.serve(stream)?;
                send_all(stream, &self.out, MORE)?;
                outlet.send_all(stream, length, goes_on)
            }
            Body::File(file, length) => send_file(stream, &self.out, &file, length),
        }
    }

    /// Takes a request out of the inbox, and reads what is left of its body.
    fn skip(&mut self, mut stream: &TcpStream, head: usize, body: u64) -> io::Result<()> {
        let end = head as u64 + body;
        let taken = end.min(self.filled as u64) as usize;
        self.inbox.copy_within(taken..self.filled, 0);
        self.filled -= taken;
        io::copy(&mut Read::take(&mut stream, end - taken as u64), &mut io::sink()).map(drop)
    }
}

/// Sends the head in `out`, and `length` bytes of text.
fn send_text(stream: &TcpStream, out: &mut Vec<u8>, length: u64, last: MsgFlags) -> io::Result<()> {
    let first = length.min(CHUNK as u64);
    out.extend_from_slice(&TEXT[..first as usize]);
    let mut left = length - first;
    send_all(stream, out, if left == 0 { last } else { MsgFlags::empty() })?;
    while left > 0 {
        let next = left.min(CHUNK as u64);
        left -= next;
        send_all(stream, &TEXT[..next as usize], if left == 0 { last } else { MsgFlags::empty() })?;
    }
    Ok(())
}

/// Sends the head that is in `out`, and a file. A file that has become shorter meanwhile cannot be helped: the connection
/// ends, and the client sees that bytes are missing.
fn send_file(stream: &TcpStream, out: &[u8], file: &File, length: u64) -> io::Result<()> {
    send_all(stream, out, if length == 0 { MsgFlags::empty() } else { MORE })?;
    let mut left = length;
    while left > 0 {
        // The most that sendfile(2) moves in one call.
        let most = left.min(0x7fff_f000) as usize;
        match sendfile(stream, file, None, most) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => left -= n as u64,
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn send_all(stream: &TcpStream, mut bytes: &[u8], flags: MsgFlags) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(stream.as_raw_fd(), bytes, flags | MsgFlags::MSG_NOSIGNAL) {
            Ok(n) => bytes = &bytes[n..],
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn read(mut stream: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Says that nothing more will come, and listens until the client has closed as well (RFC 9112, section 9.6).
fn linger(mut stream: &TcpStream) {
    let end = Instant::now() + LINGER;
    let ready = stream.flush().and_then(|()| stream.shutdown(Shutdown::Write));
    if ready.and_then(|()| stream.set_read_timeout(Some(LINGER))).is_err() {
        return;
    }
    let mut rest = [0; 4096];
    while Instant::now() < end && read(stream, &mut rest).is_ok_and(|n| n > 0) {}
}
