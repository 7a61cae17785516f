//! A connection to PostgreSQL (its manual, "Frontend/Backend Protocol", version 3.0): earlier messages, and the next one.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use plimsoll_model::experiment::load::postgres::PostgresFacts;
use plimsoll_model::observation::ErrorKind;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Header, Message};
use postgres_protocol::message::frontend;

use super::script::{Script, Transaction, written};

/// Next action of the session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More has to come.
    Listen,
    /// There is something to be said.
    Speak,
    /// The transaction is over; with what was wrong, if anything was.
    Done(Option<ErrorKind>),
}

/// Awaited message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Entering,
    Preparing,
    /// The answer to a statement.
    Statement(usize),
    /// End of a transaction that has failed.
    RollingBack,
}

/// A connection.
#[derive(Default)]
pub(super) struct Session {
    step: Step,
    scram: Option<Box<ScramSha256>>,
    out: BytesMut,
    text: String,
    /// Received bytes of an incomplete message.
    part: BytesMut,
    /// Error of the transaction.
    refusal: Option<ErrorKind>,
    /// In words, with its SQLSTATE if the server sent one.
    complaint: Option<(String, Option<String>)>,
}

impl Session {
    /// Bytes to send.
    pub(super) fn words(&self) -> &[u8] {
        &self.out
    }

    /// Fault of the server or of its messages.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.complaint.as_ref().map(|(words, _)| words.as_str())
    }

    /// The SQLSTATE of the error.
    pub(super) fn state(&self) -> Option<&str> {
        self.complaint.as_ref()?.1.as_deref()
    }

    /// A connection begins.
    pub(super) fn greet(&mut self, script: &Script) {
        *self = Self::default();
        let parameters = [
            ("user", script.user.as_str()),
            ("database", &script.database),
            ("application_name", "plimsoll"),
        ];
        written(frontend::startup_message(parameters, &mut self.out));
    }

    /// A transaction begins.
    pub(super) fn begin(&mut self, script: &Script, asked: Transaction) {
        (self.refusal, self.complaint) = (None, None);
        self.say(script, asked, 0);
    }

    fn say(&mut self, script: &Script, asked: Transaction, nth: usize) {
        self.out.clear();
        script.say(nth, asked, &mut self.text, &mut self.out);
        self.step = Step::Statement(nth);
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// Why the connection is of no use any more.
    pub(super) fn receive(
        &mut self,
        script: &Script,
        asked: Transaction,
        bytes: &[u8],
    ) -> Result<Next, ErrorKind> {
        self.part.extend_from_slice(bytes);
        loop {
            let header = Header::parse(&self.part).map_err(|_| ErrorKind::Garbage)?;
            let Some(header) = header else { return Ok(Next::Listen) };
            let length = usize::try_from(header.len()).map_err(|_| ErrorKind::Garbage)? + 1;
            if self.part.len() < length {
                return Ok(Next::Listen);
            }
            let message = match header.tag() {
                // Rows and what describes them say nothing that is not in the tag of the command.
                b'D' | b'T' | b'1' | b'2' | b'n' | b't' => {
                    let _ = self.part.split_to(length);
                    continue;
                }
                _ => Message::parse(&mut self.part).map_err(|_| ErrorKind::Garbage)?,
            };
            let Some(message) = message else { return Ok(Next::Listen) };
            match self.take(script, asked, message)? {
                Next::Listen => {}
                next => return Ok(next),
            }
        }
    }

    fn take(&mut self, script: &Script, asked: Transaction, message: Message) -> Result<Next, ErrorKind> {
        match message {
            Message::ErrorResponse(body) => self.refuse(&body),
            Message::CommandComplete(body) => {
                let tag = body.tag().map_err(|_| ErrorKind::Garbage)?;
                if let Step::Statement(nth) = self.step
                    && tag != script.expected(nth)
                    && self.refusal.is_none()
                {
                    let (expected, scale) = (script.expected(nth), script.scale());
                    let words = format!(
                        "the server did `{tag}`, expected `{expected}`: are these tables of pgbench at scale {scale}?"
                    );
                    (self.refusal, self.complaint) = (Some(ErrorKind::Rejected), Some((words, None)));
                }
                Ok(Next::Listen)
            }
            Message::ReadyForQuery(body) => self.go_on(script, asked, body.status()),
            Message::NoticeResponse(_)
            | Message::ParameterStatus(_)
            | Message::NotificationResponse(_)
            | Message::BackendKeyData(_)
            | Message::AuthenticationOk => Ok(Next::Listen),
            other if self.step == Step::Entering => self.enter(script, other),
            _ => Err(ErrorKind::Garbage),
        }
    }

    /// The server has refused something.
    fn refuse(&mut self, body: &ErrorResponseBody) -> Result<Next, ErrorKind> {
        let (mut state, mut words, mut severity) = (None, String::new(), String::new());
        let mut fields = body.fields();
        while let Some(field) = fields.next().map_err(|_| ErrorKind::Garbage)? {
            let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => state = Some(value),
                b'M' => words = value,
                // In English, whatever language the server speaks.
                b'V' => severity = value,
                _ => {}
            }
        }
        let kind = match state.as_deref() {
            Some(PostgresFacts::SERIALIZATION_FAILURE | PostgresFacts::DEADLOCK) => ErrorKind::Deferred,
            _ => ErrorKind::Rejected,
        };
        let text = format!("the server said `{words}` ({})", state.as_deref().unwrap_or("no SQLSTATE"));
        (self.refusal, self.complaint) = (Some(kind), Some((text, state)));
        // The server closes the connection after these errors, and after a refusal at the start.
        if matches!(severity.as_str(), "FATAL" | "PANIC")
            || matches!(self.step, Step::Entering | Step::Preparing)
        {
            return Err(kind);
        }
        Ok(Next::Listen)
    }

    /// The server is ready for the next message.
    fn go_on(&mut self, script: &Script, asked: Transaction, status: u8) -> Result<Next, ErrorKind> {
        const IDLE: u8 = b'I';
        match self.step {
            Step::Entering => {
                self.out.clear();
                if script.prepare(&mut self.out) {
                    self.step = Step::Preparing;
                    return Ok(Next::Speak);
                }
                self.begin(script, asked);
                Ok(Next::Speak)
            }
            Step::Preparing => {
                self.begin(script, asked);
                Ok(Next::Speak)
            }
            Step::Statement(_) if self.refusal.is_some() && status != IDLE => {
                self.out.clear();
                written(frontend::query("ROLLBACK;", &mut self.out));
                self.step = Step::RollingBack;
                Ok(Next::Speak)
            }
            Step::Statement(nth) if self.refusal.is_none() && nth + 1 < script.length() => {
                self.say(script, asked, nth + 1);
                Ok(Next::Speak)
            }
            Step::Statement(_) | Step::RollingBack if status == IDLE => Ok(Next::Done(self.refusal)),
            Step::Statement(_) | Step::RollingBack => Err(ErrorKind::Garbage),
        }
    }

    /// Says who we are.
    fn enter(&mut self, script: &Script, message: Message) -> Result<Next, ErrorKind> {
        let Some(password) = script.password.as_deref() else {
            let words = "the server asks for a password, and the load has none".to_owned();
            self.complaint = Some((words, None));
            return Err(ErrorKind::Rejected);
        };
        self.out.clear();
        match message {
            Message::AuthenticationCleartextPassword => {
                written(frontend::password_message(password.as_bytes(), &mut self.out));
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(script.user.as_bytes(), password.as_bytes(), body.salt());
                written(frontend::password_message(hash.as_bytes(), &mut self.out));
            }
            Message::AuthenticationSasl(body) => {
                let known = body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256));
                if !known.map_err(|_| ErrorKind::Garbage)? {
                    return Err(ErrorKind::Rejected);
                }
                let scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
                written(frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut self.out));
                self.scram = Some(Box::new(scram));
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram = self.scram.as_mut().ok_or(ErrorKind::Garbage)?;
                scram.update(body.data()).map_err(|_| ErrorKind::Garbage)?;
                written(frontend::sasl_response(scram.message(), &mut self.out));
            }
            Message::AuthenticationSaslFinal(body) => {
                let mut scram = self.scram.take().ok_or(ErrorKind::Garbage)?;
                scram.finish(body.data()).map_err(|_| ErrorKind::Rejected)?;
                return Ok(Next::Listen);
            }
            _ => {
                self.complaint =
                    Some(("the server asks for a proof that the load does not know".to_owned(), None));
                return Err(ErrorKind::Rejected);
            }
        }
        Ok(Next::Speak)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::PostgresLoad;
    use plimsoll_model::experiment::load::postgres::PostgresScript;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    /// A message of the server, with its length.
    fn said(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    fn ready(status: u8) -> Vec<u8> {
        said(b'Z', &[status])
    }

    fn refused(severity: &str, state: &str) -> Vec<u8> {
        said(b'E', format!("S{severity}\0V{severity}\0C{state}\0Msome words\0\0").as_bytes())
    }

    struct Talk {
        script: Script,
        asked: Transaction,
        session: Session,
    }

    impl Talk {
        fn new(load: &PostgresLoad) -> Self {
            let script = Script::new(load);
            let asked = script.draw(&mut SmallRng::seed_from_u64(1));
            let mut session = Session::default();
            session.greet(&script);
            Self { script, asked, session }
        }

        fn hear(&mut self, bytes: &[u8]) -> Result<Next, ErrorKind> {
            self.session.receive(&self.script, self.asked, bytes)
        }

        fn enter(&mut self) {
            let words = [said(b'R', &[0; 4]), said(b'S', b"a\0b\0"), ready(b'I')].concat();
            // Bytes come as they like.
            let (first, second) = words.split_at(11);
            assert_eq!(self.hear(first), Ok(Next::Listen));
            assert_eq!(self.hear(second), Ok(Next::Speak));
        }

        fn says(&self) -> String {
            String::from_utf8_lossy(&self.session.words()[5..]).into_owned()
        }
    }

    #[test]
    fn statements_follow_one_another_until_the_commit() {
        let mut talk = Talk::new(&PostgresLoad::default());
        talk.enter();
        for (nth, done) in
            ["BEGIN", "UPDATE 1", "SELECT 1", "UPDATE 1", "UPDATE 1", "INSERT 0 1"].into_iter().enumerate()
        {
            let words =
                [said(b'D', b"row"), said(b'C', format!("{done}\0").as_bytes()), ready(b'T')].concat();
            assert_eq!(talk.hear(&words), Ok(Next::Speak), "statement {nth}");
        }
        assert_eq!(talk.says(), "END;\0");
        let end = [said(b'C', b"COMMIT\0"), ready(b'I')].concat();
        assert_eq!(talk.hear(&end), Ok(Next::Done(None)));
    }

    #[test]
    fn what_the_server_aborts_is_rolled_back_and_counted() {
        let mut talk = Talk::new(&PostgresLoad::default());
        talk.enter();
        talk.hear(&[said(b'C', b"BEGIN\0"), ready(b'T')].concat()).unwrap();
        assert_eq!(talk.hear(&[refused("ERROR", "40001"), ready(b'E')].concat()), Ok(Next::Speak));
        assert_eq!(talk.says(), "ROLLBACK;\0");
        let over = [said(b'C', b"ROLLBACK\0"), ready(b'I')].concat();
        assert_eq!(talk.hear(&over), Ok(Next::Done(Some(ErrorKind::Deferred))));
        assert_eq!(talk.session.state(), Some("40001"));
        talk.session.begin(&talk.script, talk.asked);
        assert_eq!(talk.session.state(), None, "the next transaction has not failed");
    }

    #[test]
    fn a_commit_that_was_none_and_rows_that_are_not_there_are_faults() {
        let mut talk =
            Talk::new(&PostgresLoad { script: PostgresScript::SelectOnly, ..PostgresLoad::default() });
        talk.enter();
        let nothing = [said(b'C', b"SELECT 0\0"), ready(b'I')].concat();
        assert_eq!(talk.hear(&nothing), Ok(Next::Done(Some(ErrorKind::Rejected))));
        assert!(talk.session.complaint().unwrap().contains("at scale 1"));
    }

    #[test]
    fn who_is_not_let_in_hears_why() {
        let mut talk = Talk::new(&PostgresLoad::default());
        assert_eq!(talk.hear(&refused("FATAL", "53300")), Err(ErrorKind::Rejected));
        assert_eq!(talk.session.complaint(), Some("the server said `some words` (53300)"));
        let mut talk = Talk::new(&PostgresLoad::default());
        assert_eq!(talk.hear(&said(b'R', &[0, 0, 0, 3])), Err(ErrorKind::Rejected));
        assert!(talk.session.complaint().unwrap().contains("has none"));
        let with_one = PostgresLoad { password: Some("open".into()), ..PostgresLoad::default() };
        let mut talk = Talk::new(&with_one);
        assert_eq!(talk.hear(&said(b'R', &[0, 0, 0, 3])), Ok(Next::Speak));
        assert_eq!(talk.says(), "open\0");
    }
}
