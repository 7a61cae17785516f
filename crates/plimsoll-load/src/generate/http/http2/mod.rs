//! HTTP/2 (RFC 9113): what is asked on the streams of a connection, and how answers are read.
//!
//! Requests are encoded once, without any reference to what was sent before, so that one differs from the next in the
//! number of its stream alone. SETTINGS_HEADER_TABLE_SIZE of 0 makes the server do the same with its answers, so that
//! the status of each, which comes first, can be read without knowing the answers before it.

mod answers;
mod fields;
mod frame;
#[cfg(feature = "fuzzed")]
pub(super) mod fuzzed;

use std::net::SocketAddr;

use plimsoll_model::documents::{Document, directories};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::observation::ErrorKind;

use self::answers::Answers;
use super::mix::Mix;
use crate::generate::protocol::{Batch, Pieces, Protocol, Turn};

/// GET for one path, or for documents of a mix.
pub(super) struct Http2 {
    targets: Vec<SocketAddr>,
    tls: bool,
    /// The header fields of a request for the path, to each target.
    requests: Vec<Vec<u8>>,
    mix: Option<Mix>,
    /// Several requests are under way on a connection at a time.
    several: bool,
}

impl Http2 {
    /// Makes the load's requests to each of the targets; random numbers begin at `seed`.
    pub(super) fn new(load: &HttpLoad, targets: &[SocketAddr], seed: u64) -> Self {
        let mix = load.mix.map(|mix| {
            let highest = load.open.as_ref().map_or(0.0, OpenLoop::highest_rate);
            Mix::new(directories(mix.rate.unwrap_or(highest)), seed)
        });
        let request = |target| fields::request(load.tls, target, &load.path);
        Self {
            targets: targets.to_vec(),
            tls: load.tls,
            requests: targets.iter().map(request).collect(),
            mix,
            several: load.streams > 1,
        }
    }
}

impl Protocol for Http2 {
    type Reply = Answers;
    type Request = Option<Document>;

    /// A server that says GOAWAY waits for the client to have its answers (RFC 9113, section 6.8).
    const CLOSES: bool = true;

    const REFILLS: bool = true;

    fn choose(&mut self) -> Option<Document> {
        self.mix.as_mut().map(Mix::next)
    }

    fn begin(&self, _: Option<Document>, _: &mut Answers, _fresh: bool) {}

    fn batch(&self, asked: Option<Document>, answers: &mut Answers, target: usize, batch: Batch) {
        match asked {
            None => answers.ask(&self.requests[target], batch.requests),
            Some(document) => {
                let fields = fields::request(self.tls, &self.targets[target], &document.to_string());
                answers.ask(&fields, batch.requests);
            }
        }
    }

    fn request<'p>(
        &'p mut self,
        _: Option<Document>,
        answers: &'p Answers,
        _: usize,
        _: Batch,
    ) -> Pieces<'p> {
        Pieces([answers.to_say(), &[], &[]])
    }

    fn takes_more(&self, answers: &Answers) -> bool {
        answers.takes_more()
    }

    fn oldest(&self, answers: &Answers) -> Option<u64> {
        answers.oldest()
    }

    fn answered_since(&self, answers: &Answers) -> Option<u64> {
        answers.answered_since().filter(|_| self.several)
    }

    fn spoke(&self, answers: &mut Answers, now: u64) {
        answers.spoke(now);
    }

    fn receive(
        &mut self,
        _: Option<Document>,
        answers: &mut Answers,
        bytes: &[u8],
        _: u64,
    ) -> Result<(Turn, usize), ErrorKind> {
        answers.receive(bytes)
    }

    fn end_of_stream(&self, _: &Answers) -> Result<Turn, ErrorKind> {
        Err(ErrorKind::Truncated)
    }

    fn unasked(&self, answers: &mut Answers, bytes: &[u8]) -> Result<(), ErrorKind> {
        answers.receive(bytes).map(drop)
    }

    fn complaint(&self, answers: &Answers) -> Option<String> {
        answers.status().map(|status| format!("the answer was HTTP status {status}"))
    }
}
