//! The client's side of a session: its next command, and the meaning of replies.

use super::LONGEST_LINE;

/// A command, as an observation names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Command {
    Greeting,
    Ehlo,
    Reset,
    Mail,
    Rcpt,
    Data,
    EndOfData,
}

impl Command {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Greeting => "greeting",
            Self::Ehlo => "EHLO",
            Self::Reset => "RSET",
            Self::Mail => "MAIL",
            Self::Rcpt => "RCPT",
            Self::Data => "DATA",
            Self::EndOfData => "end of data",
        }
    }
}

/// A reply that says no, by its code (400 to 599).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) u16);

impl Refusal {
    /// Whether it may go through another time.
    pub(crate) fn is_temporary(self) -> bool {
        self.0 < 500
    }
}

/// The server does not speak SMTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotSmtp;

/// Next step after replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// More of them has to come.
    Listen,
    /// Time to send [`Dialog::commands`].
    Command,
    /// The next step sends the message's text, with its end.
    Text,
    /// The message is done with.
    Done {
        /// Why the server did not take it; `None` if it did.
        refusal: Option<Refusal>,
        /// Whether the server takes another.
        stays: bool,
    },
}

/// Where a session stands.
#[derive(Debug)]
pub(crate) struct Dialog {
    step: Step,
    /// A line of a reply that came in pieces.
    piece: Vec<u8>,
    /// Whether the server offers PIPELINING, and the client wants it.
    together: bool,
    /// Whether QUIT was sent behind the text.
    quit: bool,
    /// Whether the server still knows of a message that was given up.
    dirty: bool,
    recipients: u32,
    /// Recipients that the server took.
    accepted: u32,
    refusal: Option<Refusal>,
    /// The first line that said no in this session.
    said_no: Option<String>,
}

/// Which reply is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Greeting,
    Ehlo {
        offers: bool,
    },
    Helo,
    Reset,
    Mail,
    /// Reply to the n-th recipient, from 0.
    Rcpt(u32),
    Data,
    Text,
    /// Between two messages.
    Idle,
}

impl Default for Dialog {
    fn default() -> Self {
        Self {
            step: Step::Greeting,
            piece: Vec::new(),
            together: false,
            quit: false,
            dirty: false,
            recipients: 1,
            accepted: 0,
            refusal: None,
            said_no: None,
        }
    }
}

impl Dialog {
    /// Begins another message on an idle session; its commands come next.
    pub(crate) fn begin(&mut self, recipients: u32) {
        debug_assert_eq!(self.step, Step::Idle, "one message after the other");
        (self.recipients, self.accepted, self.refusal) = (recipients, 0, None);
        self.step = if self.dirty { Step::Reset } else { Step::Mail };
    }

    /// How many recipients the first message of the session has, for one that was just connected.
    pub(crate) fn first(&mut self, recipients: u32) {
        self.recipients = recipients;
    }

    /// Whether the server has yet to say whether it takes the text that was sent.
    pub(crate) fn text_is_out(&self) -> bool {
        self.step == Step::Text
    }

    /// Whether QUIT may be sent behind the text, without waiting for the reply to that (RFC 2920, section 3.1).
    pub(crate) fn may_quit_at_once(&self) -> bool {
        self.together
    }

    /// QUIT is sent behind the text: the server takes no other message.
    pub(crate) fn quit(&mut self) {
        self.quit = true;
    }

    /// The first line of the server that said no; `None` if there was none.
    pub(crate) fn said_no(&self) -> Option<&str> {
        self.said_no.as_deref()
    }

    /// Recipients that were refused, of a message that is done with.
    pub(crate) fn refused_recipients(&self) -> u32 {
        self.recipients - self.accepted
    }

    /// Writes the commands that come next: one, or with PIPELINING all up to DATA (RFC 2920, section 3.1).
    pub(crate) fn commands(&self, sender: &str, recipients: &[&str], out: &mut String) {
        let mut step = self.step;
        loop {
            match step {
                Step::Ehlo { .. } => out.push_str("EHLO plimsoll.example\r\n"),
                Step::Helo => out.push_str("HELO plimsoll.example\r\n"),
                Step::Reset => out.push_str("RSET\r\n"),
                Step::Mail => out.extend(["MAIL FROM:<", sender, ">\r\n"]),
                Step::Rcpt(n) => out.extend(["RCPT TO:<", recipients[n as usize], ">\r\n"]),
                Step::Data => out.push_str("DATA\r\n"),
                // The text goes to no recipient, so it is empty.
                Step::Text => out.push_str(".\r\n"),
                Step::Greeting | Step::Idle => {}
            }
            match self.after(step) {
                Some(next) if self.together => step = next,
                _ => return,
            }
        }
    }

    /// The command that follows one within a message, DATA being the last.
    fn after(&self, step: Step) -> Option<Step> {
        match step {
            Step::Reset => Some(Step::Mail),
            Step::Mail => Some(Step::Rcpt(0)),
            Step::Rcpt(n) if n + 1 < self.recipients => Some(Step::Rcpt(n + 1)),
            Step::Rcpt(_) => Some(Step::Data),
            _ => None,
        }
    }

    /// Takes bytes from the server; reports each answered command to `seen`. With `pipelining` the client uses it where it is
    /// offered.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        pipelining: bool,
        mut seen: impl FnMut(Command),
    ) -> Result<Next, NotSmtp> {
        let mut next = Next::Listen;
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            match next {
                Next::Listen => {}
                // Replies during the close are ignored.
                Next::Done { stays: false, .. } => return Ok(next),
                // Nothing was asked that a further line could answer.
                _ => return Err(NotSmtp),
            }
            next = if self.piece.is_empty() {
                self.line(line, pipelining, &mut seen)?
            } else {
                let mut whole = std::mem::take(&mut self.piece);
                whole.extend_from_slice(line);
                let next = self.line(&whole, pipelining, &mut seen)?;
                whole.clear();
                self.piece = whole;
                next
            };
        }
        if self.piece.len() + bytes.len() > LONGEST_LINE {
            return Err(NotSmtp);
        }
        self.piece.extend_from_slice(bytes);
        Ok(next)
    }

    /// Takes a line of a reply (RFC 5321, section 4.2).
    fn line(
        &mut self,
        line: &[u8],
        pipelining: bool,
        seen: &mut impl FnMut(Command),
    ) -> Result<Next, NotSmtp> {
        let line = line.trim_ascii_end();
        let (digits, rest) = line.split_at_checked(3).ok_or(NotSmtp)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(NotSmtp);
        }
        let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        let text = rest.get(1..).unwrap_or_default();
        if let Step::Ehlo { offers } = &mut self.step {
            *offers |= text.eq_ignore_ascii_case(b"PIPELINING");
        }
        match rest.first() {
            Some(b'-') => Ok(Next::Listen),
            None | Some(b' ') => {
                seen(self.command());
                // A server that does not know EHLO is asked otherwise.
                if code >= 400 && self.said_no.is_none() && !matches!(self.step, Step::Ehlo { .. }) {
                    self.said_no = Some(String::from_utf8_lossy(line).into_owned());
                }
                self.reply(code, pipelining)
            }
            Some(_) => Err(NotSmtp),
        }
    }

    /// The command that is answered next.
    fn command(&self) -> Command {
        match self.step {
            Step::Greeting | Step::Idle => Command::Greeting,
            Step::Ehlo { .. } | Step::Helo => Command::Ehlo,
            Step::Reset => Command::Reset,
            Step::Mail => Command::Mail,
            Step::Rcpt(_) => Command::Rcpt,
            Step::Data => Command::Data,
            Step::Text => Command::EndOfData,
        }
    }

    fn reply(&mut self, code: u16, pipelining: bool) -> Result<Next, NotSmtp> {
        let good = (200..400).contains(&code);
        if !good && !(400..600).contains(&code) {
            return Err(NotSmtp);
        }
        // The server closes the session, whatever was asked (RFC 5321, section 3.8).
        if code == 421 {
            return Ok(Next::Done { refusal: Some(Refusal(code)), stays: false });
        }
        match self.step {
            Step::Greeting if good => self.go_on(Step::Ehlo { offers: false }),
            Step::Ehlo { .. } if !good => self.go_on(Step::Helo),
            Step::Greeting | Step::Helo if !good => {
                Ok(Next::Done { refusal: Some(Refusal(code)), stays: false })
            }
            Step::Ehlo { offers } => {
                self.together = offers && pipelining;
                self.go_on(Step::Mail)
            }
            Step::Helo => self.go_on(Step::Mail),
            // The server has said what it had to say; anything more is not SMTP.
            Step::Idle | Step::Greeting => Err(NotSmtp),
            Step::Reset => {
                self.dirty = false;
                self.within(Step::Mail)
            }
            Step::Mail | Step::Rcpt(_) => self.envelope(good, code),
            Step::Data if code == 354 => {
                self.step = Step::Text;
                self.dirty = false;
                Ok(if self.accepted > 0 { Next::Text } else { Next::Command })
            }
            Step::Data => {
                // A refusal of DATA that only follows from earlier ones says less than those do.
                self.refusal = self.refusal.filter(|_| self.accepted == 0).or(Some(Refusal(code)));
                Ok(self.given_up())
            }
            Step::Text => {
                self.step = Step::Idle;
                let refusal = match good {
                    false => Some(Refusal(code)),
                    true => self.refusal.filter(|_| self.accepted == 0),
                };
                Ok(Next::Done { refusal, stays: !self.quit })
            }
        }
    }

    fn go_on(&mut self, step: Step) -> Result<Next, NotSmtp> {
        self.step = step;
        Ok(Next::Command)
    }

    /// Waits for the next reply within a message; its command is sent already where commands are sent together.
    fn within(&mut self, step: Step) -> Result<Next, NotSmtp> {
        self.step = step;
        Ok(if self.together { Next::Listen } else { Next::Command })
    }

    /// Takes the reply to a command before DATA.
    fn envelope(&mut self, good: bool, code: u16) -> Result<Next, NotSmtp> {
        if good && self.step != Step::Mail {
            self.accepted += 1;
        }
        if !good {
            self.refusal = self.refusal.or(Some(Refusal(code)));
        }
        let next = self.after(self.step).unwrap_or(Step::Data);
        let hopeless =
            !self.together && (!good && self.step == Step::Mail || next == Step::Data && self.accepted == 0);
        if hopeless {
            return Ok(self.given_up());
        }
        self.within(next)
    }

    fn given_up(&mut self) -> Next {
        self.step = Step::Idle;
        self.dirty = true;
        Next::Done { refusal: self.refusal, stays: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The client's commands after each of these replies, with two recipients. Texts are `<text>`.
    fn said(dialog: &mut Dialog, replies: &[&str]) -> (Vec<String>, Result<Next, NotSmtp>) {
        dialog.first(2);
        let mut said = Vec::new();
        let mut next = Ok(Next::Listen);
        for reply in replies {
            next = dialog.receive(reply.as_bytes(), true, |_| {});
            match next {
                Ok(Next::Command) => {
                    let mut out = String::new();
                    dialog.commands("a@x", &["b@x", "c@x"], &mut out);
                    said.push(out.replace("\r\n", "|"));
                }
                Ok(Next::Text) => said.push("<text>".into()),
                _ => {}
            }
        }
        (said, next)
    }

    const GREETING: &str = "220 x ESMTP\r\n";
    const OFFERS: &str = "250-x\r\n250-SIZE 10\r\n250-PIPELINING\r\n250 8BITMIME\r\n";
    const ALONE: &str = "250 x\r\n";

    #[test]
    fn commands_go_together_where_the_server_offers_it() {
        let replies = [GREETING, OFFERS, "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n", "250 queued\r\n"];
        let (said, next) = said(&mut Dialog::default(), &replies);
        let group = "MAIL FROM:<a@x>|RCPT TO:<b@x>|RCPT TO:<c@x>|DATA|";
        assert_eq!(said, ["EHLO plimsoll.example|", group, "<text>"]);
        assert_eq!(next, Ok(Next::Done { refusal: None, stays: true }));
    }

    #[test]
    fn commands_go_one_by_one_where_it_does_not() {
        let ok = "250 ok\r\n";
        let (said, next) = said(&mut Dialog::default(), &[GREETING, ALONE, ok, ok, ok, "354 go\r\n", ok]);
        let alone = ["MAIL FROM:<a@x>|", "RCPT TO:<b@x>|", "RCPT TO:<c@x>|", "DATA|", "<text>"];
        assert_eq!(said[1..], alone);
        assert_eq!(next, Ok(Next::Done { refusal: None, stays: true }));
    }

    #[test]
    fn a_server_that_knows_no_ehlo_is_greeted_with_helo() {
        let (said, _) = said(&mut Dialog::default(), &[GREETING, "500 what?\r\n", "250 x\r\n"]);
        assert_eq!(said[1..], ["HELO plimsoll.example|", "MAIL FROM:<a@x>|"]);
    }

    #[test]
    fn replies_may_be_cut_anywhere() {
        let all = [GREETING, OFFERS, "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n", "250 queued\r\n"];
        let mut dialog = Dialog::default();
        dialog.first(2);
        let mut next = Vec::new();
        for byte in all.concat().bytes() {
            match dialog.receive(&[byte], true, |_| {}) {
                Ok(Next::Listen) => {}
                other => next.push(other.unwrap()),
            }
        }
        let done = Next::Done { refusal: None, stays: true };
        assert_eq!(next, [Next::Command, Next::Command, Next::Text, done]);
    }

    #[test]
    fn a_message_that_one_of_two_recipients_was_refused_for_goes_on() {
        let replies = [GREETING, OFFERS, "250 ok\r\n550 no\r\n250 ok\r\n354 go\r\n", "250 queued\r\n"];
        let mut dialog = Dialog::default();
        let (_, next) = said(&mut dialog, &replies);
        assert_eq!(next, Ok(Next::Done { refusal: None, stays: true }));
        assert_eq!(dialog.refused_recipients(), 1);
    }

    #[test]
    fn a_refused_message_is_forgotten_before_the_next() {
        for (offer, replies) in [
            (OFFERS, &["250 ok\r\n451 later\r\n451 later\r\n503 no recipient\r\n"][..]),
            (ALONE, &["250 ok\r\n", "451 later\r\n", "451 later\r\n"]),
        ] {
            let mut dialog = Dialog::default();
            let (_, next) = said(&mut dialog, &[&[GREETING, offer], replies].concat());
            assert_eq!(next, Ok(Next::Done { refusal: Some(Refusal(451)), stays: true }));
            dialog.begin(1);
            let mut out = String::new();
            dialog.commands("a@x", &["b@x"], &mut out);
            assert!(out.starts_with("RSET\r\n"), "{out}");
        }
    }

    #[test]
    fn a_server_that_takes_data_for_nobody_gets_an_empty_text() {
        let replies = [GREETING, OFFERS, "250 ok\r\n550 no\r\n550 no\r\n354 go\r\n", "554 nobody\r\n"];
        let (said, next) = said(&mut Dialog::default(), &replies);
        assert_eq!(said.last().unwrap(), ".|");
        assert_eq!(next, Ok(Next::Done { refusal: Some(Refusal(554)), stays: true }));
    }

    #[test]
    fn what_answers_a_quit_that_was_sent_with_the_text_is_of_no_interest() {
        for end in ["250 queued\r\n221 bye\r\n", "250 queued\r\n"] {
            let mut dialog = Dialog::default();
            let replies = [GREETING, OFFERS, "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"];
            assert_eq!(said(&mut dialog, &replies).1, Ok(Next::Text));
            assert!(dialog.may_quit_at_once());
            dialog.quit();
            let (_, next) = said(&mut dialog, &[end]);
            assert_eq!(next, Ok(Next::Done { refusal: None, stays: false }));
        }
        let mut alone = Dialog::default();
        assert_eq!(said(&mut alone, &[GREETING, ALONE]).1, Ok(Next::Command));
        assert!(!alone.may_quit_at_once());
    }

    #[test]
    fn a_server_that_closes_is_asked_nothing_more() {
        let (_, next) = said(&mut Dialog::default(), &["421 too many\r\n"]);
        assert_eq!(next, Ok(Next::Done { refusal: Some(Refusal(421)), stays: false }));
        let (_, next) = said(&mut Dialog::default(), &["554 go away\r\n"]);
        assert_eq!(next, Ok(Next::Done { refusal: Some(Refusal(554)), stays: false }));
    }

    #[test]
    fn what_is_not_smtp_is_noticed() {
        let long = "2".repeat(LONGEST_LINE + 1);
        for text in ["HTTP/1.1 400\r\n", "22\r\n", "999 x\r\n", "220?x\r\n", "220 x\r\n250 y\r\n", &long] {
            let (_, next) = said(&mut Dialog::default(), &[text]);
            assert_eq!(next, Err(NotSmtp), "{text}");
        }
    }
}
