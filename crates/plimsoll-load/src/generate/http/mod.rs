//! HTTP/1.1: what is asked, and how answers are read.

mod answer;
mod chunked;
mod mix;

use std::io::Write;
use std::net::SocketAddr;

use plimsoll_model::documents::{Document, directories};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::load::Side;
use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::observation::ErrorKind;

use self::answer::Answer;
use self::mix::Mix;
use super::protocol::{Pieces, Protocol, Turn};

/// What a request has after the name of its host.
const HEADERS: &str = "\r\nUser-Agent: plimsoll\r\nAccept: */*\r\n";
/// What asks the server to close the connection.
const CLOSE: &str = "Connection: close\r\n";

/// GET for one path, or for documents of a mix.
pub(super) struct Http {
    targets: Vec<SocketAddr>,
    /// For each target, the request for the path that goes on afterwards and the one that asks the server to close.
    requests: Vec<[Vec<u8>; 2]>,
    close_first: Side,
    mix: Option<Mix>,
    /// The request for a document of the mix.
    written: Vec<u8>,
}

impl Http {
    /// Asks each of the targets for what the load says; random numbers begin at `seed`.
    pub(super) fn new(load: &HttpLoad, targets: &[SocketAddr], seed: u64) -> Self {
        let request = |target: &SocketAddr, connection: &str| {
            format!("GET {} HTTP/1.1\r\nHost: {target}{HEADERS}{connection}\r\n", load.path).into_bytes()
        };
        let both = |target| [request(target, ""), request(target, CLOSE)];
        let mix = load.mix.map(|mix| {
            let highest = load.open.as_ref().map_or(0.0, OpenLoop::highest_rate);
            Mix::new(directories(mix.rate.unwrap_or(highest)), seed)
        });
        Self {
            targets: targets.to_vec(),
            requests: targets.iter().map(both).collect(),
            close_first: load.close_first,
            mix,
            written: Vec::new(),
        }
    }
}

impl Protocol for Http {
    type Answer = Answer;
    type Asked = Option<Document>;

    fn choose(&mut self) -> Option<Document> {
        self.mix.as_mut().map(Mix::next)
    }

    fn begin(&self, _: Option<Document>, answer: &mut Answer, fresh: bool) {
        if !fresh {
            *answer = Answer::default();
        }
    }

    fn request(&mut self, asked: Option<Document>, _: &Answer, target: usize, last: bool) -> Pieces<'_> {
        let close = last && self.close_first == Side::Server;
        let Some(document) = asked else {
            return Pieces([&self.requests[target][usize::from(close)], &[], &[]]);
        };
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
        answer: &mut Answer,
        bytes: &[u8],
        _: u64,
    ) -> Result<Turn, ErrorKind> {
        answer.receive(bytes)
    }

    fn end_of_stream(&self, answer: &Answer) -> Result<Turn, ErrorKind> {
        answer.end_of_stream()
    }
}
