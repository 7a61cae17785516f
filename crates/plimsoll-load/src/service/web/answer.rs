//! Answers to requests: what is found, how much of the CPU it costs, and whether the connection goes on.

use std::fs::File;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use plimsoll_model::experiment::{SendBy, WebService};

use super::layers::Layers;
use super::request::{Method, Request};
use super::response::{self, Afterwards};
use super::site::{Document, Site};
use super::status::Status;
use crate::date::Clock;

/// How much of a document is written at a time.
pub(super) const CHUNK: usize = 64 << 10;

/// Text of the documents.
pub(super) static TEXT: [u8; CHUNK] = text();

const fn text() -> [u8; CHUNK] {
    let line = b"Her line shows how much load she may safely carry, and no more.\n";
    let mut bytes = [0; CHUNK];
    let mut n = 0;
    while n < CHUNK {
        bytes[n] = line[n % line.len()];
        n += 1;
    }
    bytes
}

/// Settings for every request.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// How many requests are answered on a connection; 0 for any number.
    requests: u64,
    /// CPU time that each request costs.
    work: Duration,
    /// How long a client may keep silent.
    pub(super) silence: Duration,
    /// Protocols beside HTTP/1.1.
    pub(super) layers: Option<&'static Layers>,
}

impl Terms {
    pub(super) fn new(options: &WebService, layers: Option<&'static Layers>) -> Self {
        let silence = options.keep_alive.0;
        Self { requests: options.keep_alive_requests, work: options.work.0, silence, layers }
    }
}

/// Body after the head of an answer.
pub(super) enum Body {
    /// Text of this number of bytes.
    Text(u64),
    /// This number of bytes of a file.
    File(File, u64),
}

impl Body {
    /// How many bytes are left of it.
    pub(super) fn length(&self) -> u64 {
        match *self {
            Self::Text(length) | Self::File(_, length) => length,
        }
    }
}

/// State with which a connection answers requests.
pub(super) struct Answers<'a> {
    site: &'a Site,
    pub(super) terms: Terms,
    pub(super) clock: Clock,
}

impl<'a> Answers<'a> {
    pub(super) fn new(site: &'a Site, terms: Terms) -> Self {
        Self { site, terms, clock: Clock::default() }
    }

    /// How documents that are no files are handed to the kernel.
    pub(super) fn by(&self) -> SendBy {
        self.site.by()
    }

    /// Finds what a target names, after the work that each request costs.
    pub(super) fn find(&mut self, target: &str) -> Result<Document, Status> {
        burn(self.terms.work);
        self.site.find(target)
    }

    /// Whether a connection carries no further request after `served` answers.
    pub(super) fn is_last(&self, served: u64) -> bool {
        served == self.terms.requests
    }

    /// Puts the head of the answer to a request at the end of `out`, after the work that it costs. Gives the body that has to follow, and
    /// whether the connection goes on. `served` requests of the connection were answered before.
    pub(super) fn prepare(&mut self, out: &mut Vec<u8>, request: &Request<'_>, served: u64) -> (Body, bool) {
        let goes_on = request.keep_alive && !self.is_last(served + 1);
        let afterwards = match (goes_on, request.is_1_0) {
            (false, _) => Afterwards::Close,
            (true, false) => Afterwards::Keep,
            (true, true) => Afterwards::KeepAlive,
        };
        let with_body = request.method == Method::Get;
        let body = match self.find(request.target) {
            Err(status) => {
                response::error(out, &mut self.clock, status, afterwards, with_body);
                Body::Text(0)
            }
            Ok(document) => {
                response::ok(out, &mut self.clock, &document, afterwards);
                match document {
                    _ if !with_body => Body::Text(0),
                    Document::Text(length) => Body::Text(length),
                    Document::File(file, length, _) => Body::File(file, length),
                }
            }
        };
        (body, goes_on)
    }
}

/// Uses so much CPU time of this thread, however long that takes.
fn burn(work: Duration) {
    if work.is_zero() {
        return;
    }
    let used = || {
        let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        used.map_or(Duration::MAX, Duration::from)
    };
    let end = used().saturating_add(work);
    while used() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_takes_the_cpu_time_that_it_should() {
        let start = Instant::now();
        burn(Duration::from_millis(20));
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}
