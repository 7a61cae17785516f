//! State of a connection: open streams, and frames to send.

use std::collections::VecDeque;

use plimsoll_model::observation::ErrorKind;

use super::{fields, frame};
use crate::generate::protocol::Turn;

/// The bytes of a stream or a connection after which the window is widened by the same number.
const WIDEN_AFTER: u32 = 1 << 30;

/// The connection of a load.
#[derive(Debug, Default)]
pub(in crate::generate) struct Answers {
    /// Frames to send, unchanged until the server has replied.
    out: Vec<u8>,
    /// Frames that go out with the next request.
    replies: Vec<u8>,
    /// A frame that came in part.
    part: Vec<u8>,
    /// How much of the data of a frame is still to come, and on which stream.
    data: (usize, u32),
    /// The stream ends with it.
    last_data: bool,
    /// The oldest stream that is not over; those after it have the odd numbers that follow.
    first: u32,
    streams: VecDeque<Stream>,
    /// How many of them are open.
    open: usize,
    /// The stream of which further header fields have to come.
    continued: Option<u32>,
    /// How many bytes of the connection's window are used up.
    used: u32,
    /// The server will take no further request.
    leaving: bool,
    /// The status of the last answer that was a fault.
    status: Option<u16>,
    /// When the request was sent that was answered last.
    since: u64,
}

/// A request and its answer.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    status: Option<u16>,
    /// When it was asked for; 0 before.
    sent: u64,
    /// How many bytes of its window are used up.
    used: u32,
    /// Nothing more will come once all header fields are there.
    ends: bool,
    over: bool,
}

/// Outcome of a frame.
enum Step {
    /// Nothing that concerns the load.
    Nothing,
    /// A request was answered, or will not be.
    Over(Option<ErrorKind>),
}

impl Answers {
    /// Frames to send.
    pub(super) fn to_say(&self) -> &[u8] {
        &self.out
    }

    /// The status of the last answer that was a fault.
    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    /// Sends the same request `number` times, each on a stream of its own.
    pub(super) fn ask(&mut self, fields: &[u8], number: u32) {
        self.out.clear();
        let next = self.first + 2 * self.streams.len() as u32;
        if next == 0 {
            frame::begin(&mut self.out);
        }
        self.out.append(&mut self.replies);
        self.first = self.first.max(1);
        self.open += number as usize;
        for nth in 0..number {
            let flags = frame::END_STREAM | frame::END_HEADERS;
            frame::write(&mut self.out, frame::HEADERS, flags, next.max(1) + 2 * nth, fields);
            self.streams.push_back(Stream::default());
        }
    }

    /// Records that the latest request went out at `now`.
    pub(super) fn spoke(&mut self, now: u64) {
        for stream in self.streams.iter_mut().rev().take_while(|stream| stream.sent == 0) {
            stream.sent = now;
        }
    }

    /// Whether the server will take further requests.
    pub(super) fn takes_more(&self) -> bool {
        !self.leaving && !self.is_used_up()
    }

    /// A client has 2^30 streams (RFC 9113, section 5.1.1).
    fn is_used_up(&self) -> bool {
        self.first > u32::MAX / 4
    }

    /// When the oldest request that is not answered was sent.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.streams.front().map(|stream| stream.sent)
    }

    /// When the request was sent that was answered last.
    pub(super) fn answered_since(&self) -> Option<u64> {
        (self.since > 0).then_some(self.since)
    }

    /// A stream is over.
    fn close(&mut self, number: u32) {
        let Some(stream) = self.stream(number) else { return };
        stream.over = true;
        self.since = stream.sent;
        while self.streams.front().is_some_and(|stream| stream.over) {
            self.streams.pop_front();
            self.first += 2;
        }
    }

    /// Takes bytes, up to the end of an answer; after the last one all of them, since more frames may follow it.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(Turn, usize), ErrorKind> {
        let mut rest = bytes;
        let mut last = None;
        while let Some(step) = self.next(&mut rest)? {
            if let Step::Over(fault) = step {
                self.open -= 1;
                if self.open > 0 {
                    return Ok((Turn::Ours { stays: true, fault }, bytes.len() - rest.len()));
                }
                last = Some(fault);
            }
        }
        if let Some(fault) = last {
            return Ok((Turn::Ours { stays: self.takes_more(), fault }, bytes.len()));
        }
        if self.replies.is_empty() || self.open == 0 {
            return Ok((Turn::Theirs, bytes.len()));
        }
        self.out.clear();
        self.out.append(&mut self.replies);
        Ok((Turn::OursAgain, bytes.len()))
    }

    /// Takes a frame, or a part of one; `None` if more has to come.
    fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Step>, ErrorKind> {
        if self.data.0 > 0 {
            return Ok((!bytes.is_empty()).then(|| self.take_data(bytes)));
        }
        if !self.part.is_empty() {
            return self.complete(bytes);
        }
        let Some(head) = frame::Head::read(bytes) else {
            self.part.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        };
        if head.length > frame::LARGEST {
            return Err(ErrorKind::Garbage);
        }
        let is_plain_data = head.kind == frame::DATA && !head.has(frame::PADDED);
        let whole = frame::HEAD + head.length;
        if is_plain_data {
            *bytes = &bytes[frame::HEAD..];
            return self.begin_data(head).map(Some);
        }
        if bytes.len() < whole {
            self.part.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        }
        let (frame, rest) = bytes.split_at(whole);
        *bytes = rest;
        self.take(head, &frame[frame::HEAD..]).map(Some)
    }

    /// Adds to a frame that came in part; `None` if it is still not whole.
    fn complete(&mut self, bytes: &mut &[u8]) -> Result<Option<Step>, ErrorKind> {
        loop {
            let wanted = match frame::Head::read(&self.part) {
                None => frame::HEAD,
                Some(head) if head.length > frame::LARGEST => return Err(ErrorKind::Garbage),
                Some(head) if head.kind == frame::DATA && !head.has(frame::PADDED) => {
                    self.part.clear();
                    return self.begin_data(head).map(Some);
                }
                Some(head) => frame::HEAD + head.length,
            };
            let missing = (wanted - self.part.len()).min(bytes.len());
            self.part.extend_from_slice(&bytes[..missing]);
            *bytes = &bytes[missing..];
            if self.part.len() < wanted {
                return Ok(None);
            }
            if let Some(head) =
                frame::Head::read(&self.part).filter(|head| frame::HEAD + head.length == wanted)
            {
                let part = std::mem::take(&mut self.part);
                let step = self.take(head, &part[frame::HEAD..]);
                self.part = part;
                self.part.clear();
                return step.map(Some);
            }
        }
    }

    fn begin_data(&mut self, head: frame::Head) -> Result<Step, ErrorKind> {
        if self.continued.is_some() {
            return Err(ErrorKind::Garbage);
        }
        self.use_window(head.stream, head.length as u32);
        self.data = (head.length, head.stream);
        self.last_data = head.has(frame::END_STREAM);
        if head.length > 0 {
            return Ok(Step::Nothing);
        }
        Ok(self.data_over(head.stream))
    }

    /// Takes what has come of the data of a frame.
    fn take_data(&mut self, bytes: &mut &[u8]) -> Step {
        let (left, stream) = self.data;
        let here = left.min(bytes.len());
        *bytes = &bytes[here..];
        self.data.0 -= here;
        if self.data.0 > 0 { Step::Nothing } else { self.data_over(stream) }
    }

    fn data_over(&mut self, stream: u32) -> Step {
        if self.last_data { self.end(stream) } else { Step::Nothing }
    }

    /// Lets the server send more before it has to wait.
    fn use_window(&mut self, number: u32, bytes: u32) {
        self.used += bytes;
        if self.used >= WIDEN_AFTER {
            frame::widen(&mut self.replies, 0, std::mem::take(&mut self.used));
        }
        let Some(stream) = self.stream(number) else { return };
        stream.used += bytes;
        if stream.used >= WIDEN_AFTER {
            let by = std::mem::take(&mut stream.used);
            frame::widen(&mut self.replies, number, by);
        }
    }

    /// Takes a frame that is all there.
    fn take(&mut self, head: frame::Head, payload: &[u8]) -> Result<Step, ErrorKind> {
        if self.continued.is_some_and(|stream| head.kind != frame::CONTINUATION || head.stream != stream) {
            return Err(ErrorKind::Garbage);
        }
        match head.kind {
            frame::DATA => {
                self.use_window(head.stream, head.length as u32);
                if head.has(frame::END_STREAM) {
                    return Ok(self.end(head.stream));
                }
            }
            frame::HEADERS => return self.take_headers(head, payload),
            frame::CONTINUATION if self.continued.is_none() => return Err(ErrorKind::Garbage),
            frame::CONTINUATION if head.has(frame::END_HEADERS) => {
                self.continued = None;
                if self.stream(head.stream).is_some_and(|stream| stream.ends) {
                    return Ok(self.end(head.stream));
                }
            }
            frame::RST_STREAM if self.stream(head.stream).is_some() => {
                self.close(head.stream);
                return Ok(Step::Over(Some(ErrorKind::Reset)));
            }
            frame::SETTINGS if !head.has(frame::ACK) => {
                frame::write(&mut self.replies, frame::SETTINGS, frame::ACK, 0, &[]);
            }
            frame::PING if !head.has(frame::ACK) => {
                frame::write(&mut self.replies, frame::PING, frame::ACK, 0, payload);
            }
            frame::GOAWAY => return self.leave(payload),
            // Pushes were forbidden.
            frame::PUSH_PROMISE => return Err(ErrorKind::Garbage),
            // A client's requests have no body, and the windows for it are of no interest; unknown kinds must be ignored (section 4.1).
            _ => {}
        }
        Ok(Step::Nothing)
    }

    fn take_headers(&mut self, head: frame::Head, payload: &[u8]) -> Result<Step, ErrorKind> {
        if !head.has(frame::END_HEADERS) {
            self.continued = Some(head.stream);
        }
        let Some(stream) = self.stream(head.stream) else { return Ok(Step::Nothing) };
        // Behind an answer's status only trailers follow.
        if stream.status.is_none() {
            let (padding, skipped) = match (head.has(frame::PADDED), head.has(frame::PRIORITY)) {
                (false, false) => (0, 0),
                (false, true) => (0, 5),
                (true, with) => (*payload.first().ok_or(ErrorKind::Garbage)?, if with { 6 } else { 1 }),
            };
            let end = payload.len().checked_sub(usize::from(padding)).ok_or(ErrorKind::Garbage)?;
            let status = fields::status(payload.get(skipped..end).ok_or(ErrorKind::Garbage)?)?;
            // Interim answers are skipped.
            stream.status = (status >= 200).then_some(status);
        }
        stream.ends |= head.has(frame::END_STREAM);
        Ok(if stream.ends && head.has(frame::END_HEADERS) { self.end(head.stream) } else { Step::Nothing })
    }

    /// Nothing more will come on a stream.
    fn end(&mut self, number: u32) -> Step {
        let Some(stream) = self.stream(number) else { return Step::Nothing };
        let status = stream.status;
        self.close(number);
        let fault = match status {
            Some(200..300) => None,
            Some(status) => {
                self.status = Some(status);
                Some(ErrorKind::Status)
            }
            None => Some(ErrorKind::Garbage),
        };
        Step::Over(fault)
    }

    /// The server will take no further request, and answers those up to a stream. Of those under way it has to answer all: the others
    /// would have to be asked elsewhere.
    fn leave(&mut self, payload: &[u8]) -> Result<Step, ErrorKind> {
        let &[a, b, c, d, ..] = payload else { return Err(ErrorKind::Garbage) };
        self.leaving = true;
        let last = u32::from_be_bytes([a & 0x7f, b, c, d]);
        let newest = self.first + 2 * (self.streams.len().max(1) as u32 - 1);
        if self.open > 0 && last < newest { Err(ErrorKind::Reset) } else { Ok(Step::Nothing) }
    }

    /// A stream that is open.
    fn stream(&mut self, number: u32) -> Option<&mut Stream> {
        let place = number.checked_sub(self.first).filter(|ahead| ahead % 2 == 0)? / 2;
        self.streams.get_mut(place as usize).filter(|stream| !stream.over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(frames: &[(u8, u8, u32, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (kind, flags, stream, payload) in frames {
            frame::write(&mut out, *kind, *flags, *stream, payload);
        }
        out
    }

    /// All turns that bytes lead to, when they come in pieces of this length.
    fn turns(answers: &mut Answers, bytes: &[u8], piece: usize) -> Result<Vec<Turn>, ErrorKind> {
        let mut found = Vec::new();
        for mut rest in bytes.chunks(piece) {
            while !rest.is_empty() {
                let (turn, taken) = answers.receive(rest)?;
                rest = &rest[taken..];
                if turn != Turn::Theirs {
                    found.push(turn);
                }
            }
        }
        Ok(found)
    }

    const GOOD: Turn = Turn::Ours { stays: true, fault: None };
    const OK: &[u8] = &[0x88];

    #[test]
    fn answers_come_in_any_order_and_in_any_pieces() {
        let bytes = frames(&[
            (frame::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 128]),
            (frame::HEADERS, frame::END_HEADERS, 3, OK),
            (
                frame::HEADERS,
                frame::END_HEADERS | frame::PADDED | frame::PRIORITY,
                1,
                &[2, 0, 0, 0, 0, 0, 0x8d, 0, 0],
            ),
            (frame::DATA, 0, 3, b"hello"),
            (frame::DATA, frame::END_STREAM | frame::PADDED, 1, &[1, b'x', 0]),
            (frame::DATA, frame::END_STREAM, 3, b""),
        ]);
        for piece in 1..=bytes.len() {
            let mut answers = Answers::default();
            answers.ask(&[0x82], 2);
            let mut found = turns(&mut answers, &bytes, piece).unwrap();
            found.retain(|turn| *turn != Turn::OursAgain);
            let fault = Turn::Ours { stays: true, fault: Some(ErrorKind::Status) };
            assert_eq!(found, [fault, GOOD], "pieces of {piece}");
            assert_eq!(answers.status(), Some(404));
        }
    }

    #[test]
    fn the_next_requests_have_the_streams_that_follow_and_carry_what_is_owed() {
        let mut answers = Answers::default();
        answers.ask(&[0x82], 2);
        assert!(answers.to_say().starts_with(frame::PREFACE));
        let both = [(frame::HEADERS, 5, 1, OK), (frame::HEADERS, 5, 3, OK), (frame::PING, 0, 0, &[7; 8])];
        assert_eq!(turns(&mut answers, &frames(&both), 1000).unwrap(), [GOOD, GOOD]);
        answers.ask(&[0x82], 1);
        let expected = frames(&[(frame::PING, frame::ACK, 0, &[7; 8]), (frame::HEADERS, 5, 5, &[0x82])]);
        assert_eq!(answers.to_say(), expected);
    }

    #[test]
    fn an_answer_makes_room_for_another_request_beside_those_that_wait() {
        let mut answers = Answers::default();
        answers.ask(&[0x82], 2);
        answers.spoke(10);
        assert_eq!(turns(&mut answers, &frames(&[(frame::HEADERS, 5, 3, OK)]), 9).unwrap(), [GOOD]);
        assert_eq!((answers.answered_since(), answers.oldest()), (Some(10), Some(10)));
        answers.ask(&[0x82], 1);
        assert_eq!(answers.to_say(), frames(&[(frame::HEADERS, 5, 5, &[0x82])]));
        answers.spoke(20);
        let rest = frames(&[(frame::HEADERS, 5, 1, OK), (frame::HEADERS, 5, 5, OK)]);
        let (turn, taken) = answers.receive(&rest).unwrap();
        assert_eq!((turn, answers.answered_since(), answers.oldest()), (GOOD, Some(10), Some(20)));
        assert_eq!(answers.receive(&rest[taken..]).unwrap().0, GOOD);
        assert_eq!(
            (answers.answered_since(), answers.oldest(), answers.takes_more()),
            (Some(20), None, true)
        );
        answers.receive(&frames(&[(frame::GOAWAY, 0, 0, &[0; 8])])).unwrap();
        assert!(!answers.takes_more());
    }

    #[test]
    fn what_the_server_asks_in_between_is_answered_at_once() {
        let mut answers = Answers::default();
        answers.ask(&[0x82], 1);
        let asked = frames(&[(frame::SETTINGS, 0, 0, &[]), (frame::HEADERS, frame::END_HEADERS, 1, OK)]);
        assert_eq!(turns(&mut answers, &asked, 1000).unwrap(), [Turn::OursAgain]);
        assert_eq!(answers.to_say(), frames(&[(frame::SETTINGS, frame::ACK, 0, &[])]));
    }

    #[test]
    fn windows_are_widened_before_they_are_used_up() {
        let mut answers = Answers::default();
        answers.ask(&[0x82], 1);
        let data = vec![0; frame::LARGEST];
        let one = frames(&[(frame::DATA, 0, 1, &data)]);
        let found: Vec<_> = (0..=WIDEN_AFTER as usize / frame::LARGEST)
            .flat_map(|_| turns(&mut answers, &one, one.len()).unwrap())
            .collect();
        assert_eq!(found, [Turn::OursAgain]);
        let by = WIDEN_AFTER.to_be_bytes();
        let expected = frames(&[(frame::WINDOW_UPDATE, 0, 0, &by), (frame::WINDOW_UPDATE, 0, 1, &by)]);
        assert_eq!(answers.to_say(), expected);
    }

    #[test]
    fn a_server_that_leaves_answers_what_it_has_taken() {
        let leaves = |last: u8| (frame::GOAWAY, 0, 0, vec![0, 0, 0, last, 0, 0, 0, 0]);
        let mut answers = Answers::default();
        answers.ask(&[0x82], 2);
        let (kind, flags, stream, payload) = leaves(3);
        let bytes = frames(&[
            (kind, flags, stream, &payload),
            (frame::HEADERS, 5, 1, OK),
            (frame::HEADERS, 5, 3, OK),
        ]);
        let last = Turn::Ours { stays: false, fault: None };
        assert_eq!(turns(&mut answers, &bytes, 1000).unwrap(), [GOOD, last]);

        let mut answers = Answers::default();
        answers.ask(&[0x82], 2);
        let (kind, flags, stream, payload) = leaves(1);
        assert_eq!(
            turns(&mut answers, &frames(&[(kind, flags, stream, &payload)]), 1000),
            Err(ErrorKind::Reset)
        );
    }

    #[test]
    fn a_stream_that_is_reset_or_an_interim_answer_is_distinguished_from_an_answer() {
        let mut answers = Answers::default();
        answers.ask(&[0x82], 2);
        let early = &[0x48, 3, b'1', b'0', b'3'];
        let bytes = frames(&[
            (frame::HEADERS, frame::END_HEADERS, 1, early),
            (frame::RST_STREAM, 0, 3, &[0, 0, 0, 7]),
            (frame::HEADERS, frame::END_STREAM, 1, OK),
            (frame::CONTINUATION, frame::END_HEADERS, 1, &[]),
        ]);
        let reset = Turn::Ours { stays: true, fault: Some(ErrorKind::Reset) };
        assert_eq!(turns(&mut answers, &bytes, 1000).unwrap(), [reset, GOOD]);
    }

    #[test]
    fn what_breaks_the_protocol_is_garbage() {
        let large = [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1];
        let cases = [
            large.to_vec(),
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            frames(&[(frame::PUSH_PROMISE, 4, 1, &[0, 0, 0, 2])]),
            frames(&[(frame::HEADERS, 0, 1, OK), (frame::DATA, 0, 1, b"x")]),
            frames(&[(frame::CONTINUATION, 4, 1, OK)]),
        ];
        for bytes in cases {
            let mut answers = Answers::default();
            answers.ask(&[0x82], 1);
            assert_eq!(turns(&mut answers, &bytes, 1000), Err(ErrorKind::Garbage), "{bytes:x?}");
        }
    }
}
