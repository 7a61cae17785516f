//! HTTP/1.1: what is asked, and how answers are read.

mod answer;
mod chunked;
#[cfg(feature = "fuzzed")]
pub(super) mod fuzzed;
mod http2;
mod mix;

use std::io::Write;
use std::net::SocketAddr;

use plimsoll_model::documents::{Document, directories};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::load::http::{HttpVersion, Side};
use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{ErrorKind, LoadResult};

use self::answer::{LastHead, Reply};
use self::http2::Http2;
use self::mix::Mix;
use super::course::Course;
use super::protocol::{Batch, Pieces, Protocol, Turn};
use super::secure::Secure;
use super::{Control, run_loop_over};
use crate::failure::other;

/// Part of a request after the name of its host.
const HEADERS: &str = "\r\nUser-Agent: plimsoll\r\nAccept: */*\r\n";
/// Header that asks the server to close the connection.
const CLOSE: &str = "Connection: close\r\n";

/// Carries the load out, on the event loop.
///
/// # Errors
/// When it cannot start.
pub(super) fn run(spec: &LoadSpec, load: &HttpLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let secure = |protocol| match (load.tls, &spec.trust) {
        (false, _) => Ok(None),
        (true, None) => Err(other("prepare TLS", &"no authority is known")),
        (true, Some(trust)) => Secure::new(trust, protocol, load.resume).map(Some),
    };
    let (course, targets) = (load.into(), &spec.targets);
    match load.version {
        HttpVersion::Http1 => run_loop_over(spec, &course, control, |seed| {
            Ok((Http::new(load, targets, seed), secure(b"http/1.1")?))
        }),
        HttpVersion::Http2 => run_loop_over(spec, &course, control, |seed| {
            Ok((Http2::new(load, targets, seed), secure(b"h2")?))
        }),
    }
}

impl From<&HttpLoad> for Course {
    fn from(load: &HttpLoad) -> Self {
        Self {
            generators: load.generators.max(1),
            concurrency: load.concurrency,
            connections: load.connections,
            requests: None,
            duration: load.duration.map(|span| span.0),
            open: load.open.clone(),
            most_per_second: None,
            timeout: load.timeout.0,
            requests_per_connection: load.requests_per_connection,
            pipeline: match load.version {
                HttpVersion::Http1 => load.pipeline,
                HttpVersion::Http2 => load.streams,
            },
            seed: load.seed,
        }
    }
}

/// GET for one path, or for documents of a mix.
struct Http {
    targets: Vec<SocketAddr>,
    requests: Vec<Requests>,
    close_first: Side,
    mix: Option<Mix>,
    /// The request for a document of the mix.
    written: Vec<u8>,
    last_head: LastHead,
}

/// Requests for the path, to one target.
struct Requests {
    /// As many as are sent at a time, each of which keeps the connection.
    kept: Vec<u8>,
    /// The length of one of them.
    length: usize,
    /// A request that asks the server to close.
    last: Vec<u8>,
}

impl Requests {
    fn new(load: &HttpLoad, target: &SocketAddr) -> Self {
        let request = |connection: &str| {
            format!("GET {} HTTP/1.1\r\nHost: {target}{HEADERS}{connection}\r\n", load.path).into_bytes()
        };
        let one = request("");
        Self { kept: one.repeat(load.pipeline as usize), length: one.len(), last: request(CLOSE) }
    }

    /// A batch of `number` requests. With `close`, the last of them asks the server to close.
    fn batch(&self, number: u32, close: bool) -> Pieces<'_> {
        let kept = &self.kept[..(number as usize - usize::from(close)) * self.length];
        match (close, kept.is_empty()) {
            (false, _) => Pieces([kept, &[], &[]]),
            (true, true) => Pieces([&self.last, &[], &[]]),
            (true, false) => Pieces([kept, &self.last, &[]]),
        }
    }
}

impl Http {
    /// Makes the load's requests to each of the targets; random numbers begin at `seed`.
    fn new(load: &HttpLoad, targets: &[SocketAddr], seed: u64) -> Self {
        let mix = load.mix.map(|mix| {
            let highest = load.open.as_ref().map_or(0.0, OpenLoop::highest_rate);
            Mix::new(directories(mix.rate.unwrap_or(highest)), seed)
        });
        Self {
            targets: targets.to_vec(),
            requests: targets.iter().map(|target| Requests::new(load, target)).collect(),
            close_first: load.close_first,
            mix,
            written: Vec::new(),
            last_head: LastHead::default(),
        }
    }
}

impl Protocol for Http {
    type Reply = Reply;
    type Request = Option<Document>;

    fn choose(&mut self) -> Option<Document> {
        self.mix.as_mut().map(Mix::next)
    }

    fn begin(&self, _: Option<Document>, answer: &mut Reply, fresh: bool) {
        if !fresh {
            *answer = Reply::default();
        }
    }

    fn request(&mut self, asked: Option<Document>, _: &Reply, target: usize, batch: Batch) -> Pieces<'_> {
        let close = batch.last && self.close_first == Side::Server;
        let Some(document) = asked else { return self.requests[target].batch(batch.requests, close) };
        self.written.clear();
        let (target, connection) = (&self.targets[target], if close { CLOSE } else { "" });
        let written =
            write!(self.written, "GET {document} HTTP/1.1\r\nHost: {target}{HEADERS}{connection}\r\n");
        debug_assert!(written.is_ok(), "writing to a vector does not fail");
        Pieces([&self.written, &[], &[]])
    }

    fn receive(
        &mut self,
        _: Option<Document>,
        answer: &mut Reply,
        bytes: &[u8],
        _: u64,
    ) -> Result<(Turn, usize), ErrorKind> {
        answer.receive(bytes, &mut self.last_head)
    }

    fn end_of_stream(&self, answer: &Reply) -> Result<Turn, ErrorKind> {
        answer.end_of_stream()
    }

    fn complaint(&self, answer: &Reply) -> Option<String> {
        answer.status().map(|status| format!("the answer was HTTP status {status}"))
    }
}
