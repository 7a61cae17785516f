//! The event loop of a generator: begin due requests, wait, take answers, give up late ones.
//!
//! A connection costs six system calls (socket, connect, send, `epoll_ctl`, recv, close) and its share of an `epoll_wait`,
//! which a busy loop spends on dozens of connections at a time. Each is registered once, edge-triggered. Two habits save
//! more where the peer is on the same machine, and are dropped where it is not:
//!
//! - The request is sent right after connect(2): the handshake is over by then, and no event need be waited for.
//! - A socket whose connection the server has closed is reused: nothing is left of the connection as soon as the close
//!   is acknowledged, and the kernel need not make, register and free a socket each time.
//!
//! The packets are the same with and without them.

mod ends;
mod exchange;

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use plimsoll_model::frame::Failure;
use plimsoll_model::observation::ErrorKind;
use slab::Slab;

use self::ends::closing;
use super::alarm::{ALARM, Alarm};
use super::connection::{Connection, Phase};
use super::course::Course;
use super::deadlines::Deadlines;
use super::dialer::Dialer;
use super::error_kind::kind_of;
use super::habit::Habit;
use super::low_water::{Answers, Patience};
use super::pacing::{Afterwards, Pacing, Start};
use super::protocol::Protocol;
use super::secure::Secure;
use super::tally::Tally;
use super::{Generator, Shared};
use crate::clock::{self, CpuTime};
use crate::failure::refused;

/// How much is received at a time, in bytes.
const INBOX: usize = 128 << 10;
/// The most events that are taken at a time.
const EVENTS: usize = 256;
/// The most connections that are begun before the others get their turn.
const BEGUN_AT_A_TIME: usize = 64;
/// How long the loop sleeps at most, so that it hears of an early end.
const LONGEST_SLEEP: u64 = 100_000_000;
/// Flags of an event that there is something to receive, if only an end or an error.
const INCOMING: EpollFlags = EpollFlags::EPOLLIN.union(HUNG_UP);
/// Flags of an event that nothing more will come.
const HUNG_UP: EpollFlags = EpollFlags::EPOLLRDHUP.union(EpollFlags::EPOLLHUP).union(EpollFlags::EPOLLERR);

/// A generator.
pub(super) struct Engine<'a, P: Protocol> {
    protocol: P,
    dialer: Dialer,
    /// Common state of its connections where they speak TLS.
    secure: Option<Secure>,
    /// After how many requests a connection is closed, if ever.
    requests_per_connection: u64,
    pipeline: u32,
    shared: &'a Shared<'a>,
    epoll: Epoll,
    alarm: Alarm,
    connections: Slab<Connection<P>>,
    deadlines: Deadlines,
    /// Connections of which all answers to a batch are awaited.
    awaited: Deadlines,
    patience: Patience,
    inbox: Box<[u8]>,
    tally: Tally,
    reported: (u64, u64, u64),
    /// Sending a request right after connect(2).
    early: Habit,
    /// Reuse of a socket whose connection is over.
    recycling: Habit,
    /// Awaiting all answers to a batch.
    waiting: Habit,
    /// Keys of connections that are over, with reusable sockets.
    spare: Vec<usize>,
    /// Keys of connections that rest until a request is due.
    resting: Vec<usize>,
    /// Keys of connections that ask again once all that has come was taken.
    eager: Vec<usize>,
    /// When recv(2) last returned for any connection. The clock is read as seldom as it can be: that takes a tenth of what a request costs outside of
    /// the kernel.
    heard: u64,
}

impl<P: Protocol> Generator for Engine<'_, P> {
    fn run(self, pacing: impl Pacing, tally: Tally) -> Tally {
        self.generate(pacing, tally)
    }
}

/// Outcome of an event.
#[derive(Clone, Copy)]
enum Outcome {
    /// The connection waits for another event.
    Waits,
    /// A request was answered.
    Answered {
        /// Whether the server takes another.
        stays: bool,
        /// Error in the reply.
        fault: Option<ErrorKind>,
        /// Whether the server has closed the connection already.
        hung_up: bool,
    },
    /// All requests were answered: the connection can be closed.
    Done,
    /// Done, and the server has closed the connection already.
    ServerClosed,
    /// The connection is unusable.
    Failed(ErrorKind),
}

impl<'a, P: Protocol> Engine<'a, P> {
    pub(super) fn new(
        protocol: P,
        dialer: Dialer,
        secure: Option<Secure>,
        course: &Course,
        shared: &'a Shared<'a>,
    ) -> Result<Self, Failure> {
        let failed = |error| refused("wait for events on sockets", error);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let alarm = Alarm::new(&epoll).map_err(failed)?;
        Ok(Self {
            protocol,
            dialer,
            secure,
            requests_per_connection: match course.requests_per_connection {
                0 => u64::MAX,
                number => number,
            },
            pipeline: course.pipeline,
            shared,
            epoll,
            alarm,
            connections: Slab::new(),
            deadlines: Deadlines::new(clock::nanoseconds(course.timeout)),
            awaited: Deadlines::new(Patience::default().nanoseconds()),
            patience: Patience::default(),
            inbox: vec![0; INBOX].into(),
            tally: Tally::new(0, None),
            reported: (0, 0, 0),
            early: Habit::default(),
            recycling: Habit::default(),
            waiting: Habit::default(),
            spare: Vec::new(),
            resting: Vec::new(),
            eager: Vec::new(),
            heard: 0,
        })
    }

    /// Generates until the pacing is over and every connection has ended, or the load is aborted. What happens is added to `tally`.
    fn generate(mut self, mut pacing: impl Pacing, tally: Tally) -> Tally {
        let cpu = CpuTime::of_this_thread();
        let mut now = clock::now();
        self.tally = tally;
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            let next = self.begin(&mut pacing, now);
            if (next == Start::Over && self.busy() == 0) || self.shared.must_end() {
                break;
            }
            let sleep = self.sleep(next, now);
            let arrived = self.epoll.wait(&mut events, sleep).unwrap_or(0);
            now = clock::now();
            for &event in &events[..arrived] {
                now = self.take(event, &mut pacing, now);
            }
            now = self.ask_again(&mut pacing, now);
            self.expire(now);
            self.report();
        }
        self.close_resting(now);
        for (_, connection) in &self.connections {
            if matches!(connection.phase, Phase::Sending(_) | Phase::Receiving) {
                self.protocol.abandoned(connection.asked, &connection.answer);
            }
        }
        self.report();
        self.tally.cpu = CpuTime::of_this_thread().since(cpu);
        self.protocol.add_to(&mut self.tally);
        self.tally
    }

    /// Begins due requests; returns the next event.
    fn begin(&mut self, pacing: &mut impl Pacing, mut now: u64) -> Start {
        let mut next = Start::WhenOneEnds;
        for _ in 0..BEGUN_AT_A_TIME {
            next = pacing.next(now, self.busy());
            match next {
                Start::Now { intended, held } => {
                    self.tally.begun(intended, held, now);
                    now = match self.resting.pop() {
                        Some(key) => self.ask(key, pacing, intended, now),
                        None => self.connect(pacing, intended, now),
                    };
                }
                Start::TooLate { intended, why } => self.tally.given_up(intended, why, now),
                Start::At(_) | Start::WhenOneEnds | Start::Over => break,
            }
        }
        next
    }

    /// How many connections have something to do.
    fn busy(&self) -> usize {
        self.connections.len() - self.spare.len() - self.resting.len()
    }

    /// How long to wait for events; `now` is when the clock was read last.
    fn sleep(&mut self, next: Start, now: u64) -> EpollTimeout {
        match next {
            Start::Now { .. } | Start::TooLate { .. } => return EpollTimeout::ZERO,
            Start::At(due) => {
                let now = clock::now();
                if due <= now {
                    return EpollTimeout::ZERO;
                }
                // Without the alarm the wait ends a little later, which is then counted as the generator's send_lag.
                self.alarm.set(due, now).unwrap_or(());
            }
            Start::WhenOneEnds | Start::Over => {}
        }
        let earliest = self.deadlines.earliest().into_iter().chain(self.awaited.earliest()).min();
        let until_expiry = earliest.map_or(u64::MAX, |expiry| expiry.saturating_sub(now));
        let millis = until_expiry.min(LONGEST_SLEEP).div_ceil(1_000_000);
        EpollTimeout::try_from(millis).unwrap_or(EpollTimeout::ZERO)
    }

    /// Sends a request on a connection that rests. Gives the time afterwards.
    fn ask(&mut self, key: usize, pacing: &mut impl Pacing, intended: u64, now: u64) -> u64 {
        let asked = self.protocol.choose();
        let connection = &mut self.connections[key];
        connection.ask_again(asked, intended);
        connection.begin_batch(self.pipeline, self.requests_per_connection);
        self.protocol.begin(asked, &mut connection.answer, false);
        self.protocol.batch(asked, &mut connection.answer, connection.target, connection.batch);
        self.deadlines.start(key, now);
        let outcome = match self.send(key, now) {
            Outcome::Waits => self.watch(key),
            outcome => outcome,
        };
        let now = clock::now();
        self.settle(key, outcome, pacing, now);
        now
    }

    /// Begins a connection, and sends its first request at once where that works. Gives the time afterwards.
    fn connect(&mut self, pacing: &mut impl Pacing, begun: u64, now: u64) -> u64 {
        let target = self.dialer.next_target();
        let key = match self.socket(target, begun) {
            Ok(key) => key,
            Err(error) => {
                let now = clock::now();
                let address = self.dialer.address(target);
                self.tally.error_text(kind_of(error, false), now, || format!("{address}: {error}"));
                return now;
            }
        };
        self.deadlines.start(key, now);
        let mut outcome = match self.dialer.connect(&self.connections[key].fd, target) {
            Ok(()) => Outcome::Waits,
            Err(error) => Outcome::Failed(kind_of(error, false)),
        };
        let connected = clock::now();
        if matches!(outcome, Outcome::Waits) && self.early.is_worth_trying() {
            outcome = self.send(key, connected);
            self.early.tried(self.connections[key].is_established());
        }
        if matches!(outcome, Outcome::Waits) {
            outcome = self.watch(key);
        }
        let now = clock::now();
        self.settle(key, outcome, pacing, now);
        now
    }

    /// A socket for a connection to a target: one that is left over, or a new one.
    fn socket(&mut self, target: usize, begun: u64) -> Result<usize, Errno> {
        let asked = self.protocol.choose();
        let session = self.secure.as_ref().map(Secure::session).transpose()?;
        let key = match self.spare.pop() {
            Some(key) => {
                self.connections[key].renew(session, target, asked, begun);
                key
            }
            None => {
                let fd = self.dialer.open(target)?;
                self.connections.insert(Connection::new(fd, session, target, asked, begun))
            }
        };
        let connection = &mut self.connections[key];
        connection.begin_batch(self.pipeline, self.requests_per_connection);
        self.protocol.begin(asked, &mut connection.answer, true);
        self.protocol.batch(asked, &mut connection.answer, target, connection.batch);
        Ok(key)
    }

    /// Asks for the events on a connection that it has to wait for; one that is past already is reported as well.
    fn watch(&mut self, key: usize) -> Outcome {
        let connection = &mut self.connections[key];
        let mut event = EpollEvent::new(interest(connection.phase), key as u64);
        let asked = match connection.watched {
            false => self.epoll.add(connection.fd.as_fd(), event),
            // Every watched connection is watched for incoming data at least.
            true if connection.phase == Phase::Receiving => Ok(()),
            true => self.epoll.modify(connection.fd.as_fd(), &mut event),
        };
        connection.watched = true;
        match asked {
            Ok(()) => Outcome::Waits,
            Err(error) => Outcome::Failed(kind_of(error, connection.is_established())),
        }
    }

    /// Takes an event. Gives the time afterwards.
    fn take(&mut self, event: EpollEvent, pacing: &mut impl Pacing, now: u64) -> u64 {
        if event.data() == ALARM {
            self.alarm.gone_off();
            return now;
        }
        let (key, flags) = (event.data() as usize, event.events());
        let before = self.connections[key].phase;
        let mut outcome = match before {
            Phase::Connecting | Phase::Sending(_) => self.send(key, now),
            Phase::Receiving => Outcome::Waits,
            Phase::Closing if P::GOODBYE.is_empty() => {
                closing(flags).unwrap_or_else(|| self.look_after_the_end(key))
            }
            Phase::Closing => self.listen_to_the_end(key),
            Phase::Resting => {
                self.disturbed(key, now);
                return now;
            }
            // It has come to rest; what is reported late is of no interest.
            Phase::Spare => return now,
        };
        // An answer that came while the request was still being sent is not reported a second time.
        let came = flags.intersects(INCOMING) || matches!(before, Phase::Sending(_));
        let listens =
            matches!(outcome, Outcome::Waits) && self.connections[key].phase == Phase::Receiving && came;
        let now = if listens {
            outcome = self.receive(key, flags, pacing);
            self.heard
        } else {
            clock::now()
        };
        self.settle(key, outcome, pacing, now);
        now
    }

    /// Does what an outcome calls for.
    fn settle(&mut self, key: usize, outcome: Outcome, pacing: &mut impl Pacing, now: u64) {
        match outcome {
            Outcome::Waits => {}
            Outcome::Answered { stays, fault, hung_up } => {
                match self.answered(key, stays && !hung_up, fault, pacing, now) {
                    Outcome::Waits if hung_up => self.settle(key, Outcome::ServerClosed, pacing, now),
                    next => self.settle(key, next, pacing, now),
                }
            }
            Outcome::Done => {
                let connection = self.remove(key);
                self.count(connection.faulty, now);
            }
            Outcome::ServerClosed => {
                self.count(self.connections[key].faulty, now);
                self.close_after_server(key);
            }
            Outcome::Failed(kind) => {
                let connection = self.remove(key);
                self.give_up(&connection, kind, now);
            }
        }
    }

    /// Counts what fails with a connection.
    fn give_up(&mut self, connection: &Connection<P>, kind: ErrorKind, now: u64) {
        self.protocol.abandoned(connection.asked, &connection.answer);
        let address = self.dialer.address(connection.target);
        for _ in 0..connection.at_stake() {
            let fault = connection.session.as_ref().and_then(|session| session.fault());
            let words = || fault.map(str::to_owned).or_else(|| self.protocol.last_words(&connection.answer));
            self.tally.error_text(kind, now, || {
                format!("{address}: {}", words().unwrap_or_else(|| kind.title().to_owned()))
            });
        }
    }

    /// Counts an answer; sends the next request, or sees to the end of the connection.
    fn answered(
        &mut self,
        key: usize,
        stays: bool,
        fault: Option<ErrorKind>,
        pacing: &mut impl Pacing,
        now: u64,
    ) -> Outcome {
        self.count_answer(key, fault, now);
        let connection = &mut self.connections[key];
        if self.pipeline > 1 && !P::REFILLS {
            // With the first answers on a connection may come what does not come again.
            let first = connection.requests == u64::from(connection.batch.requests);
            connection.water.end(stays && !first && connection.batch.requests == self.pipeline);
            if connection.water.answers != Answers::GivenUp {
                self.awaited.set_timeout(self.patience.learn(now.saturating_sub(connection.sent)));
            }
        }
        if !stays {
            // Requests beyond the last answer of a server were not processed (RFC 9112, section 9.6).
            connection.unanswered = 0;
            if P::CLOSES {
                return self.take_leave(key);
            }
            connection.phase = Phase::Closing;
            return Outcome::Waits;
        }
        if connection.requests == self.requests_per_connection {
            return self.take_leave(key);
        }
        match pacing.afterwards(now) {
            Afterwards::Close => self.take_leave(key),
            Afterwards::Rest => {
                connection.phase = Phase::Resting;
                self.deadlines.end(key);
                self.resting.push(key);
                Outcome::Waits
            }
            Afterwards::AskAgain => {
                connection.phase = Phase::Resting;
                self.deadlines.end(key);
                self.eager.push(key);
                Outcome::Waits
            }
        }
    }

    /// Counts an answer, and is ready for the next.
    fn count_answer(&mut self, key: usize, fault: Option<ErrorKind>, now: u64) {
        let connection = &mut self.connections[key];
        connection.requests += 1;
        connection.unanswered -= 1;
        let first_byte = connection.first_byte.take().unwrap_or(now);
        match fault {
            None => {
                let since = self.protocol.answered_since(&connection.answer);
                let (begun, sent) = since.map_or((connection.begun, connection.sent), |since| (since, since));
                self.tally.request(begun, sent, first_byte, now);
                if let Some(bytes) = self.protocol.moved(connection.asked) {
                    self.tally.moved(bytes, now);
                }
            }
            Some(kind) => {
                connection.faulty = true;
                let address = self.dialer.address(connection.target);
                let said = self.protocol.complaint(&connection.answer);
                self.tally.error_text(kind, now, || {
                    format!("{address}: {}", said.unwrap_or_else(|| kind.title().to_owned()))
                });
            }
        }
    }

    /// Sends the next request of all connections that have none under way. One after the other they keep a server on another CPU awake,
    /// where each by itself would have to wake it. Gives the time afterwards.
    fn ask_again(&mut self, pacing: &mut impl Pacing, mut now: u64) -> u64 {
        for n in 0..self.eager.len() {
            now = self.ask(self.eager[n], pacing, now, now);
        }
        self.eager.clear();
        now
    }

    /// Counts a connection that is over.
    fn count(&mut self, faulty: bool, now: u64) {
        if !faulty {
            self.tally.connection(now);
        }
    }

    /// Adds the counts since the last call to those of all threads.
    fn report(&mut self) {
        self.shared.add(&self.tally, &mut self.reported);
    }
}

/// Events to wait for in a phase.
fn interest(phase: Phase) -> EpollFlags {
    let always = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
    match phase {
        Phase::Connecting | Phase::Sending(_) => always | EpollFlags::EPOLLOUT,
        Phase::Receiving | Phase::Closing | Phase::Resting | Phase::Spare => always,
    }
}
