//! HTTP/1.1: what is asked, and how answers are read.

mod answer;
mod chunked;

use std::net::SocketAddr;

use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::load::Side;
use plimsoll_model::observation::ErrorKind;

use self::answer::Answer;
use super::protocol::{Protocol, Turn};

/// GET for one path.
pub(super) struct Http {
    /// For each target, the request that goes on afterwards and the one that asks the server to close.
    requests: Vec<[Vec<u8>; 2]>,
    close_first: Side,
}

impl Http {
    /// Asks each of the targets for the load's path.
    pub(super) fn new(load: &HttpLoad, targets: &[SocketAddr]) -> Self {
        let path = &load.path;
        let request = |target: &SocketAddr, connection: &str| {
            format!(
                "GET {path} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: plimsoll\r\nAccept: */*\r\n{connection}\r\n"
            )
            .into_bytes()
        };
        let both = |target| [request(target, ""), request(target, "Connection: close\r\n")];
        Self { requests: targets.iter().map(both).collect(), close_first: load.close_first }
    }
}

impl Protocol for Http {
    type Answer = Answer;

    fn request(&self, target: usize, last: bool) -> &[u8] {
        &self.requests[target][usize::from(last && self.close_first == Side::Server)]
    }

    fn receive(&self, answer: &mut Answer, bytes: &[u8]) -> Result<Turn, ErrorKind> {
        answer.receive(bytes)
    }

    fn end_of_stream(&self, answer: &Answer) -> Result<Turn, ErrorKind> {
        answer.end_of_stream()
    }
}
