//! The exchange on a connection: requests go out, replies come in, several at a time where they are pipelined.

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use plimsoll_model::observation::ErrorKind;

use super::{Engine, HUNG_UP, Outcome};
use crate::clock;
use crate::generate::connection::Phase;
use crate::generate::error_kind::kind_of;
use crate::generate::low_water::Answers;
use crate::generate::pacing::{Afterwards, Pacing};
use crate::generate::protocol::{Batch, Protocol, Turn};

impl<P: Protocol> Engine<'_, P> {
    /// Sends the request, or what is left of it.
    pub(super) fn send(&mut self, key: usize, now: u64) -> Outcome {
        let connection = &mut self.connections[key];
        let from = if let Phase::Sending(from) = connection.phase { from } else { 0 };
        match connection.say(&mut self.protocol, from) {
            Ok((taken, length)) => {
                if connection.phase == Phase::Connecting {
                    match connection.session.as_ref().and_then(|session| session.handshake()) {
                        None => self.tally.connected(connection.begun, now),
                        Some((began, resumed)) => {
                            self.tally.connected(connection.begun, began);
                            self.tally.shook_hands(began, clock::now(), resumed);
                        }
                    }
                }
                if from == 0 {
                    self.protocol.spoke(&mut connection.answer, now);
                }
                if from == 0 && connection.first_byte.is_none() {
                    connection.sent = now;
                }
                let sent = from + taken;
                connection.phase = if sent == length { Phase::Receiving } else { Phase::Sending(sent) };
                // After their first byte, the answers are awaited already.
                if sent == length && self.pipeline > 1 && !P::REFILLS && connection.first_byte.is_none() {
                    self.await_answers(key, now);
                }
                Outcome::Waits
            }
            Err(Errno::EAGAIN) => Outcome::Waits,
            Err(error) => Outcome::Failed(kind_of(error, connection.is_established())),
        }
    }

    /// Has the kernel wait until all answers to a batch are there.
    fn await_answers(&mut self, key: usize, now: u64) {
        let connection = &mut self.connections[key];
        let usual = connection.batch.requests == self.pipeline;
        if connection.water.begin(&connection.fd, usual && self.waiting.is_worth_trying()) {
            self.awaited.start(key, now);
        }
    }

    /// Answers to a batch that were awaited together are all there, or some are not after all this time.
    pub(super) fn await_no_more(&mut self, key: usize, all: bool) {
        self.awaited.end(key);
        self.waiting.tried(all);
        let connection = &mut self.connections[key];
        match all {
            true => connection.water.answers = Answers::OneByOne,
            false => connection.water.give_up(&connection.fd),
        }
    }

    /// Receives until all answers are complete or the kernel has no more.
    pub(super) fn receive(&mut self, key: usize, flags: EpollFlags, pacing: &mut impl Pacing) -> Outcome {
        let hung_up = flags.intersects(HUNG_UP);
        loop {
            let connection = &mut self.connections[key];
            let received = connection.receive(&mut self.inbox);
            // After an end or an error as well: of several events that epoll gives at once, each has a time of its own.
            let now = clock::now();
            self.heard = now;
            let length = match received {
                Ok(length) => length,
                Err(Errno::EAGAIN) => return Outcome::Waits,
                Err(error) => return Outcome::Failed(kind_of(error, true)),
            };
            let turn = if length == 0 {
                self.protocol.end_of_stream(&connection.answer)
            } else {
                if self.protocol.moved(connection.asked).is_none() {
                    self.tally.bytes += length as u64;
                }
                connection.first_byte.get_or_insert(now);
                connection.water.take(connection.wire(length));
                self.understand(key, length, now)
            };
            if self.connections[key].water.waits() {
                self.await_no_more(key, matches!(turn, Ok(Turn::Ours { .. })));
            }
            match turn {
                Err(kind) => return Outcome::Failed(kind),
                Ok(Turn::Ours { stays, fault }) => {
                    return Outcome::Answered { stays, fault, hung_up: hung_up || length == 0 };
                }
                Ok(Turn::Theirs) if !self.refill(key, pacing) => {
                    if self.has_drained(key, length) && !hung_up {
                        return Outcome::Waits;
                    }
                }
                Ok(Turn::OursAgain | Turn::Theirs) => {
                    self.connections[key].phase = Phase::Sending(0);
                    match self.send(key, self.heard) {
                        // Bytes that did not go out yet would be lost before the next ones.
                        Outcome::Waits if self.connections[key].phase != Phase::Receiving => {
                            return self.watch(key);
                        }
                        Outcome::Waits if self.has_drained(key, length) && !hung_up => {
                            return self.watch(key);
                        }
                        Outcome::Waits => {}
                        other => return other,
                    }
                }
            }
        }
    }

    /// Adds requests to those that are under way on a connection, as many as were answered; says whether there are any to be sent.
    fn refill(&mut self, key: usize, pacing: &mut impl Pacing) -> bool {
        if !P::REFILLS || self.pipeline == 1 {
            return false;
        }
        let connection = &mut self.connections[key];
        let under_way = u64::from(connection.unanswered);
        let left = self.requests_per_connection - connection.requests - under_way;
        let room = u64::from(self.pipeline).saturating_sub(under_way).min(left);
        let now = self.heard;
        if room == 0
            || !self.protocol.takes_more(&connection.answer)
            || pacing.afterwards(now) != Afterwards::AskAgain
        {
            return false;
        }
        // A new wait begins when none of the earlier requests is pending: other answers do not replace one that never comes.
        if self.protocol.oldest(&connection.answer).is_none_or(|oldest| oldest >= connection.begun) {
            connection.begun = now;
            self.deadlines.end(key);
            self.deadlines.start(key, now);
        }
        connection.unanswered += room as u32;
        connection.batch = Batch { requests: room as u32, last: left == room };
        self.protocol.batch(connection.asked, &mut connection.answer, connection.target, connection.batch);
        true
    }

    fn has_drained(&self, key: usize, length: usize) -> bool {
        self.connections[key].is_drained(length, self.inbox.len())
    }

    /// Reads `length` bytes of the inbox at `now`. Counts the answers before the last of a batch, and returns whose
    /// turn it is then.
    fn understand(&mut self, key: usize, length: usize, now: u64) -> Result<Turn, ErrorKind> {
        let mut taken = 0;
        loop {
            let connection = &mut self.connections[key];
            let (asked, answer) = (connection.asked, &mut connection.answer);
            let (turn, more) = self.protocol.receive(asked, answer, &self.inbox[taken..length], now)?;
            taken += more;
            match turn {
                Turn::Ours { stays: true, fault } if connection.unanswered > 1 => {
                    self.protocol.begin(asked, answer, false);
                    self.count_answer(key, fault, now);
                    if taken == length {
                        return Ok(Turn::Theirs);
                    }
                    self.connections[key].first_byte = Some(now);
                }
                // Nothing was asked that these bytes could answer.
                Turn::Ours { .. } if taken < length => return Err(ErrorKind::Garbage),
                turn => return Ok(turn),
            }
        }
    }
}
