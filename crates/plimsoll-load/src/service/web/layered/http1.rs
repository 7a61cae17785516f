//! HTTP/1.1 as bytes that come and go.

use std::io::{self, ErrorKind, Read};
use std::time::Instant;

use super::Talk;
use crate::service::web::answer::{Answers, Body, CHUNK, TEXT};
use crate::service::web::request;
use crate::service::web::response::{self, Afterwards};

/// A conversation in HTTP/1.1.
pub(super) struct Http1 {
    /// Received bytes that are not parsed yet.
    come: Vec<u8>,
    /// How much of a request's body is still to come, to be thrown away.
    skip: u64,
    body: Body,
    served: u64,
    closing: bool,
    unfinished: Option<Instant>,
}

impl Default for Http1 {
    fn default() -> Self {
        let (come, body) = (Vec::new(), Body::Text(0));
        Self { come, skip: 0, body, served: 0, closing: false, unfinished: None }
    }
}

impl Talk for Http1 {
    fn take(&mut self, bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len() as u64) as usize;
        self.skip -= skipped as u64;
        if !self.closing {
            self.come.extend_from_slice(&bytes[skipped..]);
        }
    }

    fn say(&mut self, answers: &mut Answers<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        while out.len() < CHUNK && !self.say_body(out)? {
            if self.closing || self.come.is_empty() {
                return Ok(());
            }
            match request::parse(&self.come) {
                Ok(None) => {
                    self.unfinished.get_or_insert_with(Instant::now);
                    return Ok(());
                }
                Ok(Some(request)) => {
                    let (body, stays) = answers.prepare(out, &request, self.served);
                    let end = request.head as u64 + request.body;
                    let taken = end.min(self.come.len() as u64);
                    self.skip = end - taken;
                    self.come.drain(..taken as usize);
                    self.served += 1;
                    (self.body, self.closing, self.unfinished) = (body, !stays, None);
                }
                Err(status) => {
                    response::error(out, &mut answers.clock, status, Afterwards::Close, true);
                    self.closing = true;
                }
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.closing
    }

    fn unfinished_since(&self) -> Option<Instant> {
        self.unfinished
    }
}

impl Http1 {
    /// Says a piece of the body of an answer; false where nothing of it is left.
    fn say_body(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        match &mut self.body {
            Body::Text(0) | Body::File(_, 0) => Ok(false),
            body => take_piece(body, out).map(|()| true),
        }
    }
}

/// Puts the next [`CHUNK`] of a body at the end of `out`. A file that has become shorter meanwhile cannot be helped: the connection ends, and the
/// client sees that bytes are missing.
pub(super) fn take_piece(body: &mut Body, out: &mut Vec<u8>) -> io::Result<()> {
    match body {
        Body::Text(left) => {
            let next = (*left).min(CHUNK as u64);
            *left -= next;
            out.extend_from_slice(&TEXT[..next as usize]);
        }
        Body::File(file, left) => {
            let next = (*left).min(CHUNK as u64);
            let taken = file.take(next).read_to_end(out)? as u64;
            if taken < next {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            *left -= taken;
        }
    }
    Ok(())
}
