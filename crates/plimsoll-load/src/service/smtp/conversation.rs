//! A server's replies to a client's commands, without any knowledge of sockets.

use std::time::Instant;

use memchr::memchr;

use super::{Desk, Outcome, Reply, Ticket};
use crate::smtp::LONGEST_LINE;
use crate::smtp::text::EndOfText;

/// The most recipients of a message (RFC 5321, section 4.5.3.1.8, asks for 100 at least).
const MOST_RECIPIENTS: usize = 1000;
/// Buffers for texts that are kept for the next.
const MOST_BUFFERS: usize = 64;

/// From whom a message is, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::service) struct Envelope {
    pub(in crate::service) sender: Vec<u8>,
    pub(in crate::service) recipients: Vec<Vec<u8>>,
}

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A command is to come.
    Command,
    /// A text is to come, or the rest of it.
    Text(EndOfText),
    /// A message is with the desk.
    Waiting,
    /// Nothing more will be said.
    Over,
}

/// A session.
pub(super) struct Conversation {
    pub(super) ticket: Ticket,
    state: State,
    /// Bytes to send.
    pub(super) out: Vec<u8>,
    /// A line that came in pieces, or what the client said while a message was with the desk.
    pending: Vec<u8>,
    /// Whether there is a sender, which may be empty.
    has_sender: bool,
    envelope: Envelope,
    text: Vec<u8>,
    too_long: bool,
}

impl Conversation {
    /// A session on which the server has greeted.
    pub(super) fn new(ticket: Ticket) -> Self {
        Self {
            ticket,
            state: State::Command,
            out: b"220 plimsoll.example ESMTP\r\n".to_vec(),
            pending: Vec::new(),
            has_sender: false,
            envelope: Envelope::default(),
            text: Vec::new(),
            too_long: false,
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.state == State::Waiting
    }

    /// The message that was waited for is done with.
    pub(super) fn answered(&mut self, reply: Reply) {
        self.state = State::Command;
        self.say(reply);
    }

    /// Takes what was said while it was waited.
    pub(super) fn resume<D: Desk>(&mut self, buffers: &mut Vec<Vec<u8>>, desk: &mut D, now: Instant) {
        if self.state == State::Command && memchr(b'\n', &self.pending).is_some() {
            let pending = std::mem::take(&mut self.pending);
            self.take(&pending, buffers, desk, now);
        }
    }

    /// Takes bytes that the client sent.
    pub(super) fn take<D: Desk>(
        &mut self,
        mut bytes: &[u8],
        buffers: &mut Vec<Vec<u8>>,
        desk: &mut D,
        now: Instant,
    ) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Command => self.take_line(bytes, buffers, desk, now),
                State::Text(end) => self.take_text(end, bytes, buffers, desk, now),
                State::Waiting => {
                    self.pending.extend_from_slice(bytes);
                    return;
                }
                State::Over => return,
            };
        }
    }

    /// Takes a command, and gives what follows it.
    fn take_line<'b, D: Desk>(
        &mut self,
        bytes: &'b [u8],
        buffers: &mut Vec<Vec<u8>>,
        desk: &mut D,
        now: Instant,
    ) -> &'b [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            self.pending.extend_from_slice(bytes);
            if self.pending.len() > LONGEST_LINE {
                self.say("500 5.5.2 the line is too long");
                self.state = State::Over;
            }
            return &[];
        };
        let (line, rest) = bytes.split_at(end + 1);
        if self.pending.is_empty() {
            self.command(line.trim_ascii_end(), buffers, desk, now);
        } else {
            let mut whole = std::mem::take(&mut self.pending);
            whole.extend_from_slice(line);
            self.command(whole.trim_ascii_end(), buffers, desk, now);
            whole.clear();
            self.pending = whole;
        }
        rest
    }

    fn command<D: Desk>(&mut self, line: &[u8], buffers: &mut Vec<Vec<u8>>, desk: &mut D, now: Instant) {
        let verb = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        let is = |word: &[u8]| verb.eq_ignore_ascii_case(word);
        let reply = if is(b"MAIL") {
            self.mail(line, desk)
        } else if is(b"RCPT") {
            self.rcpt(line, desk, now)
        } else if is(b"DATA") {
            self.data(buffers)
        } else if is(b"EHLO") {
            self.forget();
            return self.greet(desk);
        } else if is(b"HELO") {
            self.forget();
            "250 plimsoll.example"
        } else if is(b"RSET") {
            self.forget();
            "250 2.0.0 forgotten"
        } else if is(b"NOOP") {
            "250 2.0.0 nothing done"
        } else if is(b"VRFY") {
            "252 2.1.5 try it"
        } else if is(b"QUIT") {
            self.state = State::Over;
            "221 2.0.0 bye"
        } else {
            "500 5.5.1 this is no command"
        };
        self.say(reply);
    }

    fn greet<D: Desk>(&mut self, desk: &D) {
        let size = format!("250-plimsoll.example\r\n250-SIZE {}\r\n", desk.longest());
        self.out.extend_from_slice(size.as_bytes());
        if desk.offers_pipelining() {
            self.out.extend_from_slice(b"250-PIPELINING\r\n");
        }
        self.say("250 8BITMIME");
    }

    fn mail<D: Desk>(&mut self, line: &[u8], desk: &mut D) -> Reply {
        if self.has_sender {
            return "503 5.5.1 there is a sender already";
        }
        let Some((sender, parameters)) = path(line, b"MAIL FROM:") else {
            return "501 5.5.4 whose mail?";
        };
        let size = parameters.split(|&byte| byte == b' ').find_map(|parameter| {
            let (name, value) = parameter.split_at_checked(5)?;
            name.eq_ignore_ascii_case(b"SIZE=")
                .then(|| std::str::from_utf8(value).ok()?.parse::<u64>().ok())?
        });
        if size.is_some_and(|size| size > desk.longest()) {
            return "552 5.3.4 the message is too long";
        }
        if let Err(reply) = desk.sender(sender) {
            return reply;
        }
        self.has_sender = true;
        self.envelope.sender.extend_from_slice(sender);
        "250 2.1.0 sender ok"
    }

    fn rcpt<D: Desk>(&mut self, line: &[u8], desk: &mut D, now: Instant) -> Reply {
        if !self.has_sender {
            return "503 5.5.1 from whom?";
        }
        let Some((recipient, _)) = path(line, b"RCPT TO:").filter(|(path, _)| !path.is_empty()) else {
            return "501 5.5.4 for whom?";
        };
        if self.envelope.recipients.len() == MOST_RECIPIENTS {
            return "452 4.5.3 too many recipients";
        }
        if let Err(reply) = desk.recipient(&self.envelope.sender, recipient, now) {
            return reply;
        }
        self.envelope.recipients.push(recipient.to_vec());
        "250 2.1.5 recipient ok"
    }

    fn data(&mut self, buffers: &mut Vec<Vec<u8>>) -> Reply {
        if self.envelope.recipients.is_empty() {
            return "503 5.5.1 for whom?";
        }
        self.text = buffers.pop().unwrap_or_default();
        self.too_long = false;
        self.state = State::Text(EndOfText::START);
        "354 go on"
    }

    /// Takes a text or a part of it, and gives what follows it.
    fn take_text<'b, D: Desk>(
        &mut self,
        mut end: EndOfText,
        bytes: &'b [u8],
        buffers: &mut Vec<Vec<u8>>,
        desk: &mut D,
        now: Instant,
    ) -> &'b [u8] {
        let found = end.take(bytes);
        let (text, rest) = bytes.split_at(found.unwrap_or(bytes.len()));
        self.too_long |= (self.text.len() + text.len()) as u64 > desk.longest().saturating_add(3);
        if self.too_long {
            self.text.clear();
        } else {
            self.text.extend_from_slice(text);
        }
        if found.is_none() {
            self.state = State::Text(end);
            return rest;
        }
        let answer = match self.too_long {
            true => Outcome::Now("552 5.3.4 the message is too long"),
            false => desk.message(self.ticket, &mut self.envelope, &mut self.text, now),
        };
        self.forget();
        // A desk that keeps the text has left an empty vector.
        let mut text = std::mem::take(&mut self.text);
        if text.capacity() > 0 && buffers.len() < MOST_BUFFERS {
            text.clear();
            buffers.push(text);
        }
        match answer {
            Outcome::Now(reply) => {
                self.state = State::Command;
                self.say(reply);
            }
            Outcome::Later => self.state = State::Waiting,
        }
        rest
    }

    fn forget(&mut self) {
        self.has_sender = false;
        self.envelope.sender.clear();
        self.envelope.recipients.clear();
    }

    fn say(&mut self, reply: Reply) {
        self.out.extend_from_slice(reply.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }
}

/// The address of a command that begins with `what`, and the parameters behind it (RFC 5321, section 4.1.2).
fn path<'l>(line: &'l [u8], what: &[u8]) -> Option<(&'l [u8], &'l [u8])> {
    let (start, rest) = line.split_at_checked(what.len())?;
    let rest = rest.trim_ascii_start().strip_prefix(b"<")?;
    let end = memchr(b'>', rest)?;
    start.eq_ignore_ascii_case(what).then(|| (&rest[..end], rest[end + 1..].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes everything of up to 100 bytes, except for the recipient `nobody`.
    #[derive(Default)]
    struct Notes {
        later: bool,
        taken: Vec<(Envelope, Vec<u8>)>,
    }

    impl Desk for Notes {
        fn offers_pipelining(&self) -> bool {
            true
        }
        fn longest(&self) -> u64 {
            100
        }
        fn recipient(&mut self, _: &[u8], recipient: &[u8], _: Instant) -> Result<(), Reply> {
            if recipient == b"nobody" { Err("550 unknown") } else { Ok(()) }
        }
        fn message(&mut self, _: Ticket, envelope: &mut Envelope, wire: &mut Vec<u8>, _: Instant) -> Outcome {
            self.taken.push((envelope.clone(), wire.clone()));
            if self.later { Outcome::Later } else { Outcome::Now("250 taken") }
        }
        fn answers(&mut self, _: Instant, _: &mut Vec<(Ticket, Reply)>) {}
    }

    fn conversation() -> Conversation {
        Conversation::new(Ticket { key: 0, connection: 0 })
    }

    /// The codes of the replies to a session that was sent in pieces of this length.
    fn codes(session: &str, notes: &mut Notes, pieces: usize) -> Vec<String> {
        let mut conversation = conversation();
        for piece in session.as_bytes().chunks(pieces) {
            conversation.take(piece, &mut Vec::new(), notes, Instant::now());
        }
        let said = String::from_utf8(conversation.out).unwrap();
        said.lines().filter(|line| line.as_bytes()[3] == b' ').map(|line| line[..3].to_owned()).collect()
    }

    const MESSAGE: &str =
        "MAIL FROM:<a@x> BODY=8BITMIME\r\nRCPT TO:<b@x>\r\nRCPT TO:<c@x>\r\nDATA\r\nA: b\r\n\r\n..\r\n.\r\n";

    #[test]
    fn a_session_may_come_in_pieces_of_any_length() {
        let session = format!("EHLO x\r\n{MESSAGE}{MESSAGE}QUIT\r\n");
        for pieces in 1..session.len() {
            let mut notes = Notes::default();
            let message = ["250", "250", "250", "354", "250"];
            let expected = [&["220", "250"][..], &message, &message, &["221"]].concat();
            assert_eq!(codes(&session, &mut notes, pieces), expected, "{pieces}");
            let envelope =
                Envelope { sender: b"a@x".to_vec(), recipients: vec![b"b@x".to_vec(), b"c@x".to_vec()] };
            assert_eq!(notes.taken, vec![(envelope, b"A: b\r\n\r\n..\r\n.\r\n".to_vec()); 2]);
        }
    }

    #[test]
    fn commands_in_the_wrong_place_are_refused() {
        let cases = [
            ("RCPT TO:<b@x>\r\n", "503"),
            ("DATA\r\n", "503"),
            ("MAIL FROM:a@x\r\n", "501"),
            ("MAIL FROM:<a@x> SIZE=101\r\n", "552"),
            ("mail from:<>\r\n", "250"),
            ("MAIL FROM:<a@x>\r\nMAIL FROM:<a@x>\r\n", "503"),
            ("MAIL FROM:<a@x>\r\nRCPT TO:<>\r\n", "501"),
            ("MAIL FROM:<a@x>\r\nRCPT TO:<nobody>\r\n", "550"),
            ("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nRSET\r\nDATA\r\n", "503"),
            ("HELO\r\nGET / HTTP/1.1\r\n", "500"),
        ];
        for (session, expected) in cases {
            assert_eq!(codes(session, &mut Notes::default(), 1000).last().unwrap(), expected, "{session}");
        }
    }

    #[test]
    fn what_is_too_long_is_read_and_refused() {
        let long = "x".repeat(200);
        let session = format!("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n{long}\r\n.\r\nNOOP\r\n");
        let mut notes = Notes::default();
        let codes = codes(&session, &mut notes, 50);
        assert_eq!(codes[codes.len() - 2..], ["552", "250"]);
        assert_eq!(notes.taken, []);
    }

    #[test]
    fn what_is_said_while_a_message_is_stored_waits_for_its_answer() {
        let mut notes = Notes { later: true, ..Notes::default() };
        let mut conversation = conversation();
        let session = format!("{MESSAGE}NOOP\r\n");
        conversation.take(session.as_bytes(), &mut Vec::new(), &mut notes, Instant::now());
        assert!(conversation.is_waiting());
        assert!(conversation.out.ends_with(b"354 go on\r\n"));
        conversation.answered("250 stored");
        conversation.resume(&mut Vec::new(), &mut notes, Instant::now());
        assert!(conversation.out.ends_with(b"250 stored\r\n250 2.0.0 nothing done\r\n"));
    }
}
