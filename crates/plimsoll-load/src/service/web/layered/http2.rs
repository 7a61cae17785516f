//! HTTP/2, as the crate `h2` speaks it: it reads from and writes to memory, and is asked again whenever something has come or gone.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use h2::server::{Connection, Handshake, SendResponse};
use h2::{RecvStream, SendStream};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Talk;
use super::http1::take_piece;
use crate::service::web::answer::{Answers, Body};
use crate::service::web::site::Document;
use crate::service::web::status::Status;

/// The most that is prepared of one body at a time, in bytes: what the window of a client usually has for it.
const AT_A_TIME: usize = 64 << 10;

/// A conversation in HTTP/2.
pub(super) struct Http2 {
    pipe: Pipe,
    state: Spoken,
    answering: Vec<Answering>,
    /// The rest of requests. It is not read, but a stream that is let go before its end would be reset.
    bodies: Vec<RecvStream>,
    served: u64,
    unfinished: Option<Instant>,
}

enum Spoken {
    Beginning(Box<Handshake<Pipe, Bytes>>),
    Going(Box<Connection<Pipe, Bytes>>),
    Over,
}

/// An answer of which something is left to be said.
struct Answering {
    stream: SendStream<Bytes>,
    body: Body,
    /// Bytes taken from the body, and not sent yet.
    piece: Bytes,
}

impl Http2 {
    pub(super) fn new() -> Self {
        let pipe = Pipe::default();
        let state = Spoken::Beginning(Box::new(h2::server::handshake(pipe.clone())));
        Self {
            pipe,
            state,
            answering: Vec::new(),
            bodies: Vec::new(),
            served: 0,
            unfinished: Some(Instant::now()),
        }
    }

    /// Takes what can be taken, and answers it; says whether there was anything.
    fn converse(&mut self, answers: &mut Answers<'_>) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        match &mut self.state {
            Spoken::Over => false,
            Spoken::Beginning(handshake) => match Pin::new(handshake.as_mut()).poll(context) {
                Poll::Pending => false,
                Poll::Ready(begun) => {
                    self.unfinished = None;
                    self.state = begun.map_or(Spoken::Over, |connection| Spoken::Going(Box::new(connection)));
                    true
                }
            },
            Spoken::Going(connection) => match connection.poll_accept(context) {
                Poll::Pending => false,
                Poll::Ready(Some(Ok((request, respond)))) => {
                    self.served += 1;
                    if answers.is_last(self.served) {
                        connection.graceful_shutdown();
                    }
                    self.answering.extend(answer(&request, respond, answers));
                    self.bodies.push(request.into_body());
                    true
                }
                // h2 has sent the client the reason.
                Poll::Ready(Some(Err(_)) | None) => {
                    self.state = Spoken::Over;
                    true
                }
            },
        }
    }

    /// Says as much of the answers as the client has room for; says whether that was anything.
    fn go_on(&mut self) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        // No room is given for more than comes without asking for it.
        self.bodies.retain_mut(|body| {
            while let Poll::Ready(come) = body.poll_data(context) {
                if !matches!(come, Some(Ok(_))) {
                    return false;
                }
            }
            true
        });
        let mut any = false;
        self.answering.retain_mut(|answering| match answering.go_on() {
            Ok(said) => {
                any |= said;
                !answering.is_done()
            }
            // The client wants no more of it.
            Err(_) => false,
        });
        any
    }
}

impl Talk for Http2 {
    fn take(&mut self, bytes: &[u8]) {
        self.pipe.0.borrow_mut().incoming.extend_from_slice(bytes);
    }

    fn say(&mut self, answers: &mut Answers<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        while self.converse(answers) {}
        // Bytes that were handed over go out at the next call of the connection.
        if self.go_on() {
            while self.converse(answers) {}
        }
        out.append(&mut self.pipe.0.borrow_mut().outgoing);
        Ok(())
    }

    fn is_over(&self) -> bool {
        matches!(self.state, Spoken::Over)
    }

    fn unfinished_since(&self) -> Option<Instant> {
        self.unfinished
    }
}

impl Answering {
    fn is_done(&self) -> bool {
        self.piece.is_empty() && matches!(self.body, Body::Text(0) | Body::File(_, 0))
    }

    /// Says as much as the client has room for.
    fn go_on(&mut self) -> Result<bool, h2::Error> {
        if self.piece.is_empty() {
            let mut piece = Vec::new();
            if take_piece(&mut self.body, &mut piece).is_err() {
                self.stream.send_reset(h2::Reason::INTERNAL_ERROR);
                self.body = Body::Text(0);
                return Ok(true);
            }
            self.piece = piece.into();
        }
        self.stream.reserve_capacity(self.piece.len().min(AT_A_TIME));
        let context = &mut Context::from_waker(Waker::noop());
        // Free capacity may be known already, and h2 does not report it again.
        let room = match (self.stream.capacity(), self.stream.poll_capacity(context)) {
            (known @ 1.., _) => known,
            (0, Poll::Ready(Some(room))) => room?,
            (0, Poll::Ready(None)) => return Err(h2::Reason::CANCEL.into()),
            (0, Poll::Pending) => 0,
        };
        if room == 0 {
            return Ok(false);
        }
        let piece = self.piece.split_to(room.min(self.piece.len()));
        let last = self.is_done();
        self.stream.send_data(piece, last)?;
        Ok(true)
    }
}

/// Answers a request; gives what is left to be said.
fn answer(
    request: &Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    answers: &mut Answers<'_>,
) -> Option<Answering> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let found = match *request.method() {
        Method::GET | Method::HEAD => answers.find(target),
        _ => Err(Status::MethodNotAllowed),
    };
    let (status, media_type, mut body, text) = match found {
        Ok(document) => {
            let media_type = document.media_type();
            let body = match document {
                Document::Text(length) => Body::Text(length),
                Document::File(file, length, _) => Body::File(file, length),
            };
            (StatusCode::OK, media_type, body, Bytes::new())
        }
        Err(status) => {
            let line = Bytes::from(format!("{}\n", status.line()));
            (code(status), "text/plain", Body::Text(0), line)
        }
    };
    let length = text.len() as u64 + body.length();
    let mut response = Response::new(());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static("plimsoll"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_LENGTH, length.into());
    if let Ok(date) = HeaderValue::from_str(answers.clock.now()) {
        headers.insert(header::DATE, date);
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    let mut piece = text;
    if request.method() == Method::HEAD {
        (body, piece) = (Body::Text(0), Bytes::new());
    }
    let ends = piece.is_empty() && body.length() == 0;
    // A stream that is over has no reader of the answer.
    let stream = respond.send_response(response, ends).ok()?;
    (!ends).then_some(Answering { stream, body, piece })
}

fn code(status: Status) -> StatusCode {
    let number = status.line().get(..3).and_then(|number| number.parse().ok());
    number.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Received and outgoing bytes.
#[derive(Default)]
struct PipeBuffers {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

/// Memory that is read from and written to as a socket is.
#[derive(Clone, Default)]
struct Pipe(Rc<RefCell<PipeBuffers>>);

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let incoming = &mut self.0.borrow_mut().incoming;
        if incoming.is_empty() {
            return Poll::Pending;
        }
        let taken = into.remaining().min(incoming.len());
        into.put_slice(&incoming[..taken]);
        incoming.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().outgoing.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
