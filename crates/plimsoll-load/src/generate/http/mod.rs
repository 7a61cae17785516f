//! HTTP/1.1: what is asked, and how answers are read.

mod answer;
mod chunked;

use std::net::SocketAddr;

use plimsoll_model::observation::ErrorKind;

use self::answer::Answer;
use super::protocol::{Protocol, Turn};

/// GET for one path.
pub(super) struct Http {
    /// For each target, the request that goes on afterwards and the one that does not.
    requests: Vec<[Vec<u8>; 2]>,
}

impl Http {
    /// Asks each of the targets for `path`.
    pub(super) fn new(path: &str, targets: &[SocketAddr]) -> Self {
        let request = |target: &SocketAddr, connection: &str| {
            format!(
                "GET {path} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: plimsoll\r\nAccept: */*\r\n{connection}\r\n"
            )
            .into_bytes()
        };
        let both = |target| [request(target, ""), request(target, "Connection: close\r\n")];
        Self { requests: targets.iter().map(both).collect() }
    }
}

impl Protocol for Http {
    type Answer = Answer;

    fn request(&self, target: usize, last: bool) -> &[u8] {
        &self.requests[target][usize::from(last)]
    }

    fn receive(&self, answer: &mut Answer, bytes: &[u8]) -> Result<Turn, ErrorKind> {
        answer.receive(bytes)
    }

    fn end_of_stream(&self, answer: &Answer) -> Result<Turn, ErrorKind> {
        answer.end_of_stream()
    }
}
