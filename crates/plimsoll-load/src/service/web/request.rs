//! Requests: the head of one, read from what has arrived so far.

use super::status::Status;
use crate::text::{decimal, has_token};

/// The longest head of a request, in bytes.
pub(super) const LONGEST_HEAD: usize = 16 << 10;
/// The longest body that is read and thrown away, so that the connection can go on.
const LONGEST_BODY: u64 = 64 << 10;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) target: &'a str,
    /// Whether the client wants to go on afterwards.
    pub(super) keep_alive: bool,
    /// The client speaks HTTP/1.0, and needs an explicit notice that the connection is kept.
    pub(super) is_1_0: bool,
    /// Bytes of the head.
    pub(super) head: usize,
    /// Bytes of body that follow it.
    pub(super) body: u64,
}

/// The request at the start of `bytes`; `None` when more has to come.
///
/// # Errors
/// The status that says what is wrong with it. The connection cannot go on after that, because nobody knows where the
/// next request begins (RFC 9112, section 2.2 and 6.3).
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Request<'_>>, Status> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() >= LONGEST_HEAD => return Err(Status::HeadTooLarge),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
        Err(_) => return Err(Status::BadRequest),
    };
    let is_1_0 = parsed.version == Some(0);
    let fields = Fields::read(parsed.headers)?;
    if !is_1_0 && fields.hosts != 1 {
        return Err(Status::BadRequest);
    }
    if fields.body > LONGEST_BODY {
        return Err(Status::ContentTooLarge);
    }
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        _ => return Err(Status::MethodNotAllowed),
    };
    let target = parsed.path.ok_or(Status::BadRequest)?;
    let keep_alive = !fields.close && (!is_1_0 || fields.keep_alive);
    Ok(Some(Request { method, target, keep_alive, is_1_0, head, body: fields.body }))
}

/// The header fields that matter.
#[derive(Default)]
struct Fields {
    hosts: u32,
    close: bool,
    keep_alive: bool,
    body: u64,
}

impl Fields {
    fn read(headers: &[httparse::Header<'_>]) -> Result<Self, Status> {
        let mut fields = Self::default();
        let mut lengths = 0;
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("host") {
                fields.hosts += 1;
            } else if is("connection") {
                fields.close |= has_token(header.value, "close");
                fields.keep_alive |= has_token(header.value, "keep-alive");
            } else if is("content-length") {
                fields.body = decimal(header.value).ok_or(Status::BadRequest)?;
                lengths += 1;
            } else if is("transfer-encoding") {
                return Err(Status::NotImplemented);
            }
        }
        if lengths > 1 { Err(Status::BadRequest) } else { Ok(fields) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Option<Request<'_>>, Status> {
        parse(text.as_bytes())
    }

    #[test]
    fn a_head_is_complete_only_with_its_empty_line() {
        let text = "GET /a?s=1k HTTP/1.1\r\nHost: x\r\n\r\nrest";
        for end in 0..text.len() - 4 {
            assert_eq!(request(&text[..end]), Ok(None), "{end} bytes");
        }
        let found = request(text).unwrap().unwrap();
        assert_eq!((found.method, found.target, found.head), (Method::Get, "/a?s=1k", text.len() - 4));
    }

    #[test]
    fn a_connection_is_kept_by_default_in_1_1_and_on_request_in_1_0() {
        let cases = [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade, Close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ];
        for (text, kept) in cases {
            assert_eq!(request(text).unwrap().unwrap().keep_alive, kept, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_by_the_status() {
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(LONGEST_HEAD));
        let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS));
        let cases = [
            ("\x01\x02\x03\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", Status::BadRequest),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                Status::BadRequest,
            ),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", Status::ContentTooLarge),
            ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", Status::NotImplemented),
            ("PUT / HTTP/1.1\r\nHost: x\r\n\r\n", Status::MethodNotAllowed),
            (&long, Status::HeadTooLarge),
            (&many, Status::HeadTooLarge),
        ];
        for (text, status) in cases {
            assert_eq!(request(text), Err(status), "{text}");
        }
    }

    #[test]
    fn a_small_body_is_announced_to_be_skipped() {
        let found = request("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello").unwrap().unwrap();
        assert_eq!(found.body, 5);
    }
}
