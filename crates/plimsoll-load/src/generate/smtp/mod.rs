//! SMTP: commands, and the meaning of replies.

mod size;

use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::experiment::{LoadFacts, SmtpLoad};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{ErrorKind, LoadResult};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::course::Course;
use super::mail_tally::MailTally;
use super::protocol::{Batch, Pieces, Protocol, Turn};
use super::tally::Tally;
use super::{Control, run_loop};
use crate::date;
use crate::smtp::dialog::{Dialog, Next, Refusal};
use crate::smtp::stamp::{Stamp, Texts};

/// Carries the load out, on the event loop.
///
/// # Errors
/// When it cannot start.
pub(super) fn run(spec: &LoadSpec, load: &SmtpLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let mut result = run_loop(spec, &load.into(), control, |seed| Smtp::new(load, seed))?;
    if let Some(LoadFacts::Smtp(mail)) = &mut result.facts {
        mail.load.clone_from(&spec.name);
    }
    Ok(result)
}

impl From<&SmtpLoad> for Course {
    fn from(load: &SmtpLoad) -> Self {
        let open = load.per_minute.map(|rate| OpenLoop {
            rate: rate / 60.0,
            arrivals: load.arrivals,
            ..OpenLoop::default()
        });
        Self {
            generators: load.generators.max(1),
            concurrency: load.sessions,
            connections: load.messages.filter(|_| open.is_some()),
            requests: load.messages.filter(|_| open.is_none()),
            duration: load.duration.map(|span| span.0),
            open,
            most_per_second: load.most_per_minute.map(|most| most / 60.0),
            timeout: load.timeout.0,
            requests_per_connection: load.messages_per_session,
            pipeline: 1,
            seed: load.seed,
        }
    }
}

/// A source of messages.
struct Smtp {
    load: SmtpLoad,
    texts: Texts,
    random: SmallRng,
    /// The upper half of the ids of this generator: no other has the same.
    series: u64,
    /// How many messages were begun.
    begun: u64,
    /// When the load began, as messages have it.
    date: String,
    tally: MailTally,
}

/// A message.
#[derive(Clone, Copy)]
pub(super) struct Message {
    stamp: Stamp,
    /// How many of the generator came before it.
    place: u64,
}

/// A session, and what it has to say.
#[derive(Default)]
pub(super) struct Session {
    dialog: Dialog,
    /// How many messages were begun in it.
    begun: u64,
    /// When it spoke last.
    spoke: u64,
    /// Commands, or the headers of the message.
    words: String,
    /// Whether the text follows, and its end.
    text: bool,
    /// The last line of the text, its end, and QUIT where that need not wait.
    tail: Vec<u8>,
}

impl Smtp {
    /// A source of the load's messages; random numbers begin at `seed`.
    fn new(load: &SmtpLoad, seed: u64) -> Self {
        let longest = usize::try_from(load.size.most.0).unwrap_or(usize::MAX);
        Self {
            texts: Texts::new(longest),
            random: SmallRng::seed_from_u64(seed),
            // Not from the seed: ids differ where all else must be equal.
            series: u64::from(rand::random::<u32>()) << 32,
            begun: 0,
            date: date::of_mail(),
            tally: MailTally::default(),
            load: load.clone(),
        }
    }

    fn sender(&self, message: Message) -> &str {
        &self.load.senders[(message.place % self.load.senders.len() as u64) as usize]
    }

    fn recipients(&self, message: Message) -> Vec<&str> {
        let each = u64::from(self.load.recipients_per_message);
        let all = self.load.recipients.len() as u64;
        let nth = |n| self.load.recipients[((message.place * each + n) % all) as usize].as_str();
        (0..each).map(nth).collect()
    }

    fn say_commands(&self, message: Message, session: &mut Session) {
        session.words.clear();
        session.text = false;
        session.dialog.commands(self.sender(message), &self.recipients(message), &mut session.words);
    }

    fn say_text(&self, message: Message, session: &mut Session) {
        let words = &mut session.words;
        words.clear();
        let recipient = self.recipients(message)[0];
        words.extend(["From: <", self.sender(message), ">\r\nTo: <", recipient, ">\r\nDate: ", &self.date]);
        words.push_str("\r\nSubject: Plimsoll\r\n");
        self.texts.write(message.stamp, words, &mut session.tail);
        session.text = true;
        if session.begun == self.load.messages_per_session && session.dialog.may_quit_at_once() {
            session.tail.extend_from_slice(Self::GOODBYE);
            session.dialog.quit();
        }
    }
}

impl Protocol for Smtp {
    type Reply = Session;
    type Request = Message;

    const GOODBYE: &'static [u8] = b"QUIT\r\n";

    fn choose(&mut self) -> Message {
        let length = size::draw(&self.load.size, &mut self.random);
        let place = self.begun;
        self.begun += 1;
        Message { stamp: Stamp { id: self.series | place & 0xffff_ffff, length }, place }
    }

    fn begin(&self, message: Message, session: &mut Session, fresh: bool) {
        session.begun += 1;
        if fresh {
            // The server speaks first.
            session.dialog.first(self.load.recipients_per_message);
        } else {
            session.dialog.begin(self.load.recipients_per_message);
            self.say_commands(message, session);
        }
    }

    fn request<'p>(&'p mut self, message: Message, session: &'p Session, _: usize, _: Batch) -> Pieces<'p> {
        match session.text {
            true => Pieces([session.words.as_bytes(), self.texts.body(message.stamp), &session.tail]),
            false => Pieces([session.words.as_bytes(), &[], &[]]),
        }
    }

    fn spoke(&self, session: &mut Session, now: u64) {
        session.spoke = now;
    }

    fn receive(
        &mut self,
        message: Message,
        session: &mut Session,
        bytes: &[u8],
        now: u64,
    ) -> Result<(Turn, usize), ErrorKind> {
        let (tally, spoke) = (&mut self.tally, session.spoke);
        let seen = |command| tally.answered(command, spoke, now);
        let next =
            session.dialog.receive(bytes, self.load.pipelining, seen).map_err(|_| ErrorKind::Garbage)?;
        let turn = match next {
            Next::Listen => Turn::Theirs,
            Next::Command => {
                self.say_commands(message, session);
                Turn::OursAgain
            }
            Next::Text => {
                self.say_text(message, session);
                Turn::OursAgain
            }
            Next::Done { refusal, stays } => {
                if refusal.is_none() {
                    self.tally.acknowledged.insert(message.stamp.id);
                    self.tally.refused_recipients += u64::from(session.dialog.refused_recipients());
                }
                Turn::Ours { stays, fault: refusal.map(kind_of) }
            }
        };
        Ok((turn, bytes.len()))
    }

    fn end_of_stream(&self, _: &Session) -> Result<Turn, ErrorKind> {
        Err(ErrorKind::Truncated)
    }

    fn abandoned(&mut self, message: Message, session: &Session) {
        if session.dialog.text_is_out() {
            self.tally.uncertain.insert(message.stamp.id);
        }
    }

    fn complaint(&self, session: &Session) -> Option<String> {
        session.dialog.said_no().map(|line| format!("the server said `{line}`"))
    }

    fn moved(&self, message: Message) -> Option<u64> {
        Some(u64::from(message.stamp.length))
    }

    fn add_to(self, tally: &mut Tally) {
        tally.mail = Some(self.tally);
    }
}

fn kind_of(refusal: Refusal) -> ErrorKind {
    if refusal.is_temporary() { ErrorKind::Deferred } else { ErrorKind::Rejected }
}
