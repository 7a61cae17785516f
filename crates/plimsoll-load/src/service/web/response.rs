//! Answers: their head, and their body.

use std::io::Write;

use super::site::Document;
use super::status::Status;
use crate::date::Clock;

/// State of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// The server closes it.
    Close,
    /// The connection stays open.
    Keep,
    /// The connection stays open, and a client that speaks HTTP/1.0 needs the header that says so.
    KeepAlive,
}

impl Afterwards {
    fn header(self) -> &'static str {
        match self {
            Self::Close => "Connection: close\r\n",
            Self::Keep => "",
            Self::KeepAlive => "Connection: keep-alive\r\n",
        }
    }
}

/// The head of an answer that carries `document`, at the end of `out`.
pub(super) fn ok(out: &mut Vec<u8>, clock: &mut Clock, document: &Document, afterwards: Afterwards) {
    let (length, media_type) = (document.length(), document.media_type());
    head(out, clock, "200 OK", "", media_type, length, afterwards);
}

/// An answer that says what is wrong; its body, which is the status line again, is left out for HEAD.
pub(super) fn error(
    out: &mut Vec<u8>,
    clock: &mut Clock,
    status: Status,
    afterwards: Afterwards,
    with_body: bool,
) {
    let line = status.line();
    let allow = if status == Status::MethodNotAllowed { "Allow: GET, HEAD\r\n" } else { "" };
    head(out, clock, line, allow, "text/plain", line.len() as u64 + 1, afterwards);
    if with_body {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
}

fn head(
    out: &mut Vec<u8>,
    clock: &mut Clock,
    status: &str,
    extra: &str,
    media_type: &str,
    length: u64,
    afterwards: Afterwards,
) {
    let connection = afterwards.header();
    let date = clock.now();
    let written = write!(
        out,
        "HTTP/1.1 {status}\r\nServer: plimsoll\r\nDate: {date}\r\n{extra}{connection}Content-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    debug_assert!(written.is_ok(), "writing to a vector does not fail");
}
