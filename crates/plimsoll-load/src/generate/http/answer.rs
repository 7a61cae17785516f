//! An answer: its head, and where its body ends.

use plimsoll_model::observation::ErrorKind;

use super::chunked::Chunked;
use crate::generate::protocol::Turn;
use crate::text::{decimal, has_token};

/// The longest head of an answer, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// The most headers of an answer.
const MOST_HEADERS: usize = 64;

/// An answer of which more may have to come.
#[derive(Debug, Default)]
pub(in crate::generate) struct Reply {
    /// Bytes of a head that came in pieces; a head that comes whole is never copied.
    pieces: Vec<u8>,
    head: Option<Head>,
}

/// The last head that came whole. A server that is asked for the same again and again answers with the same bytes until its clock ticks, and comparing
/// them takes a tenth of the time of reading them.
#[derive(Debug, Default)]
pub(in crate::generate) struct LastHead {
    bytes: Vec<u8>,
    said: Option<Head>,
}

/// Content of an answer's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    stays: bool,
    body: Body,
}

/// Where a body ends (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// After this number of further bytes.
    Length(u64),
    /// As its chunks say.
    Chunked(Chunked),
    /// Where the connection does.
    UntilClose,
}

impl Reply {
    /// Takes bytes of the answer to a GET, up to its end; says how many it took.
    pub(super) fn receive(&mut self, bytes: &[u8], last: &mut LastHead) -> Result<(Turn, usize), ErrorKind> {
        let mut taken = 0;
        loop {
            if let Some(head) = &mut self.head {
                let (turn, body) = head.take_body(&bytes[taken..])?;
                return Ok((turn, taken + body));
            }
            match self.take_head(&bytes[taken..], last)? {
                Some(length) => taken += length,
                None => return Ok((Turn::Theirs, bytes.len())),
            }
        }
    }

    /// The status, once the head is there.
    pub(super) fn status(&self) -> Option<u16> {
        self.head.map(|head| head.status)
    }

    /// The server has closed the connection.
    pub(super) fn end_of_stream(&self) -> Result<Turn, ErrorKind> {
        match self.head {
            Some(head @ Head { body: Body::UntilClose, .. }) => Ok(head.over()),
            _ => Err(ErrorKind::Truncated),
        }
    }

    /// Takes a head, or a part of one; says how many of `bytes` belonged to it once it is complete. Interim answers (1xx)
    /// are skipped.
    fn take_head(&mut self, bytes: &[u8], last: &mut LastHead) -> Result<Option<usize>, ErrorKind> {
        let before = self.pieces.len();
        let parsed = if before == 0 {
            last.read(bytes)?
        } else {
            self.pieces.extend_from_slice(bytes);
            last.read(&self.pieces)?
        };
        let Some((head, length)) = parsed else {
            if before == 0 {
                self.pieces.extend_from_slice(bytes);
            }
            return if self.pieces.len() > LONGEST_HEAD { Err(ErrorKind::Garbage) } else { Ok(None) };
        };
        self.pieces.clear();
        self.head = (head.status >= 200).then_some(head);
        // Earlier pieces alone were not a head, so it ends within these bytes.
        Ok(Some(length - before))
    }
}

impl Head {
    fn take_body(&mut self, bytes: &[u8]) -> Result<(Turn, usize), ErrorKind> {
        let taken = match &mut self.body {
            Body::UntilClose => bytes.len(),
            Body::Length(left) => {
                let here = (*left).min(bytes.len() as u64);
                *left -= here;
                here as usize
            }
            Body::Chunked(state) => state.take(bytes)?,
        };
        let over = matches!(self.body, Body::Length(0) | Body::Chunked(Chunked::Over));
        Ok((if over { self.over() } else { Turn::Theirs }, taken))
    }

    fn over(self) -> Turn {
        let good = (200..300).contains(&self.status);
        Turn::Ours { stays: self.stays, fault: (!good).then_some(ErrorKind::Status) }
    }
}

impl LastHead {
    /// The head at the start of `bytes`, and its length; `None` when it is not complete. It ends with itself, so that what follows it makes it no other.
    fn read(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, ErrorKind> {
        if let Some(head) = self.said
            && bytes.starts_with(&self.bytes)
        {
            return Ok(Some((head, self.bytes.len())));
        }
        let parsed = parse(bytes)?;
        if let Some((head, length)) = parsed {
            self.bytes.clear();
            self.bytes.extend_from_slice(&bytes[..length]);
            self.said = Some(head);
        }
        Ok(parsed)
    }
}

/// The head at the start of `bytes`, and its length; `None` when it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, ErrorKind> {
    let mut headers = [const { std::mem::MaybeUninit::uninit() }; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let length = match config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(ErrorKind::Garbage),
    };
    let status = parsed.code.ok_or(ErrorKind::Garbage)?;
    let mut stays = parsed.version == Some(1);
    let mut body = None;
    for header in parsed.headers.iter() {
        // Comparing lengths first spares most headers the comparison.
        match header.name.len() {
            10 if header.name.eq_ignore_ascii_case("connection") => {
                stays &= !has_token(header.value, "close");
                stays |= has_token(header.value, "keep-alive");
            }
            14 if header.name.eq_ignore_ascii_case("content-length") && body != Some(CHUNKED) => {
                let length = Body::Length(decimal(header.value).ok_or(ErrorKind::Garbage)?);
                if body.is_some_and(|other| other != length) {
                    return Err(ErrorKind::Garbage);
                }
                body = Some(length);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                body = Some(if has_token(header.value, "chunked") { CHUNKED } else { Body::UntilClose });
            }
            _ => {}
        }
    }
    let without_body = matches!(status, 100..200 | 204 | 304);
    let body = if without_body { Body::Length(0) } else { body.unwrap_or(Body::UntilClose) };
    stays &= body != Body::UntilClose;
    Ok(Some((Head { status, stays, body }, length)))
}

/// A chunked body of which nothing was read yet.
const CHUNKED: Body = Body::Chunked(Chunked::START);

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Turn = Turn::Ours { stays: true, fault: None };
    const GOOD_AND_CLOSED: Turn = Turn::Ours { stays: false, fault: None };

    fn whole(text: &str) -> Result<Turn, ErrorKind> {
        take(&mut Reply::default(), text.as_bytes())
    }

    /// State after bytes, all of which have to belong to the answer.
    fn take(answer: &mut Reply, bytes: &[u8]) -> Result<Turn, ErrorKind> {
        answer.receive(bytes, &mut LastHead::default()).map(|(turn, taken)| {
            assert_eq!(taken, bytes.len());
            turn
        })
    }

    #[test]
    fn an_answer_may_be_cut_anywhere() {
        let texts = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nServer: x\r\n\r\n",
        ];
        for text in texts {
            for cut in 1..text.len() {
                let mut answer = Reply::default();
                let (first, second) = text.as_bytes().split_at(cut);
                assert_eq!(take(&mut answer, first), Ok(Turn::Theirs), "{text} cut at {cut}");
                assert_eq!(take(&mut answer, second), Ok(GOOD), "{text} cut at {cut}");
            }
            let mut answer = Reply::default();
            let turns: Vec<_> = text.bytes().map(|byte| take(&mut answer, &[byte]).unwrap()).collect();
            assert_eq!(turns.last(), Some(&GOOD), "{text} byte by byte");
        }
    }

    #[test]
    fn whether_the_connection_stays_is_read_from_version_and_header() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", GOOD),
            ("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", GOOD_AND_CLOSED),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", GOOD_AND_CLOSED),
            ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", GOOD),
        ];
        for (text, turn) in cases {
            assert_eq!(whole(text), Ok(turn), "{text}");
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut answer = Reply::default();
        assert_eq!(take(&mut answer, b"HTTP/1.1 200 OK\r\n\r\nsome"), Ok(Turn::Theirs));
        assert_eq!(take(&mut answer, b" more"), Ok(Turn::Theirs));
        assert_eq!(answer.end_of_stream(), Ok(GOOD_AND_CLOSED));
    }

    #[test]
    fn an_answer_that_breaks_off_is_truncated() {
        let texts = [
            "",
            "HTTP/1.1 200",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        ];
        for text in texts {
            let mut answer = Reply::default();
            assert_eq!(take(&mut answer, text.as_bytes()), Ok(Turn::Theirs), "{text}");
            assert_eq!(answer.end_of_stream(), Err(ErrorKind::Truncated), "{text}");
        }
    }

    #[test]
    fn a_status_other_than_2xx_is_a_fault_of_the_answer_and_not_of_the_connection() {
        let fault = Turn::Ours { stays: true, fault: Some(ErrorKind::Status) };
        assert_eq!(whole("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"), Ok(fault));
        assert_eq!(whole("HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n"), Ok(fault));
    }

    #[test]
    fn what_is_not_http_is_garbage() {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(LONGEST_HEAD));
        let cases = [
            "220 mail.example ESMTP\r\n",
            "\x00\x01\x02\x03",
            "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello",
            &long,
        ];
        for text in cases {
            assert_eq!(whole(text), Err(ErrorKind::Garbage), "{text}");
        }
    }

    #[test]
    fn what_follows_an_answer_is_left_for_the_next() {
        let texts = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
        ];
        for text in texts {
            let more = format!("{text}HTTP/1.1 200 OK\r\n");
            for cut in 0..text.len() {
                let mut answer = Reply::default();
                if cut > 0 {
                    assert_eq!(take(&mut answer, &more.as_bytes()[..cut]), Ok(Turn::Theirs));
                }
                let found = answer.receive(&more.as_bytes()[cut..], &mut LastHead::default());
                assert_eq!(found, Ok((GOOD, text.len() - cut)), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn chunks_win_over_a_length() {
        for headers in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 3",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n0\r\n\r\n");
            assert_eq!(whole(&text), Ok(GOOD), "{headers}");
        }
    }

    #[test]
    fn a_head_is_read_the_same_after_any_other() {
        let texts: [&[u8]; 8] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother",
            b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nlonger",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
            b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
            b"220 mail.example ESMTP\r\n",
        ];
        let alone = |text: &[u8]| Reply::default().receive(text, &mut LastHead::default());
        for first in texts {
            for second in texts {
                let mut last = LastHead::default();
                for text in [first, first, second, first] {
                    assert_eq!(Reply::default().receive(text, &mut last), alone(text));
                }
            }
        }
    }
}
