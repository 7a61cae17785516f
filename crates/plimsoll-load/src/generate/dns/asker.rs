//! The loop of a generator of questions: send due ones, wait, take the replies, send again or give up late ones.

use hickory_proto::op::{Header, MessageType, OpCode};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::SockType;
use plimsoll_model::experiment::DnsLoad;
use plimsoll_model::experiment::load::dns::{DnsFacts, DnsTransport, NameOrder};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::ErrorKind;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::answer;
use super::bank::{Bank, HEADER};
use super::channel::Channel;
use super::slots::Slots;
use crate::clock::{self, CpuTime};
use crate::failure::refused;
use crate::generate::alarm::{ALARM, Alarm};
use crate::generate::deadlines::Deadlines;
use crate::generate::dialer::Dialer;
use crate::generate::error_kind::kind_of;
use crate::generate::pacing::{Pacing, Start};
use crate::generate::tally::Tally;
use crate::generate::{Generator, Shared};

/// The longest message.
const INBOX: usize = 65_535;
/// The most events that are taken at a time.
const EVENTS: usize = 256;
/// The most questions that are asked before replies get their turn.
const ASKED_AT_A_TIME: usize = 64;
/// How long the loop sleeps at most, so that it hears of an early end, in nanoseconds.
const LONGEST_SLEEP: u64 = 100_000_000;
/// The response codes that a header has room for (IANA, "DNS RCODEs").
const CODES: [&str; 16] = [
    "NOERROR",
    "FORMERR",
    "SERVFAIL",
    "NXDOMAIN",
    "NOTIMP",
    "REFUSED",
    "YXDOMAIN",
    "YXRRSET",
    "NXRRSET",
    "NOTAUTH",
    "NOTZONE",
    "DSOTYPENI",
    "12",
    "13",
    "14",
    "15",
];

/// A generator of questions.
pub(super) struct Asker<'a> {
    bank: &'a Bank,
    shared: &'a Shared<'a>,
    dialer: Dialer,
    epoll: Epoll,
    alarm: Alarm,
    channels: Vec<Channel>,
    /// Whose turn it is.
    turn: usize,
    slots: Slots,
    deadlines: Deadlines,
    retries: u32,
    /// The number of the next question, where they are asked in turn.
    next: u64,
    random: Option<SmallRng>,
    over: DnsTransport,
    tally: Tally,
    reported: (u64, u64, u64),
    codes: [u64; 16],
    facts: DnsFacts,
    /// Latest replies, kept to reuse their buffers.
    replies: Vec<Reply>,
}

struct Reply {
    place: usize,
    code: u8,
    bytes: u64,
    /// Error in the replies.
    fault: Option<&'static str>,
}

impl<'a> Asker<'a> {
    /// The `nth` generator of a load whose random numbers begin at a seed.
    pub(super) fn new(
        spec: &LoadSpec,
        load: &DnsLoad,
        bank: &'a Bank,
        shared: &'a Shared<'a>,
        (nth, seed): (u32, u64),
    ) -> Result<Self, Failure> {
        let failed = |error| refused("wait for replies", error);
        let sockets = match load.over {
            DnsTransport::Udp => SockType::Datagram,
            DnsTransport::Tcp => SockType::Stream,
        };
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let alarm = Alarm::new(&epoll).map_err(failed)?;
        let random = (load.order == NameOrder::Random)
            .then(|| SmallRng::seed_from_u64(seed.wrapping_add(u64::from(nth))));
        Ok(Self {
            bank,
            shared,
            dialer: Dialer::of(sockets, &spec.targets, &spec.sources, nth as usize)?,
            epoll,
            alarm,
            channels: (0..load.connections.min(load.concurrency)).map(|_| Channel::new(load.over)).collect(),
            turn: 0,
            slots: Slots::new(load.concurrency),
            deadlines: Deadlines::new(clock::nanoseconds(load.timeout.0)),
            retries: load.retries,
            next: bank.count * u64::from(nth) / u64::from(load.generators.max(1)),
            random,
            over: load.over,
            tally: Tally::new(0, None),
            reported: (0, 0, 0),
            codes: [0; 16],
            facts: DnsFacts::default(),
            replies: Vec::new(),
        })
    }

    /// Sends due questions; returns the next event.
    fn ask(&mut self, pacing: &mut impl Pacing, mut now: u64) -> Start {
        let mut next = Start::WhenOneEnds;
        for _ in 0..ASKED_AT_A_TIME {
            next = pacing.next(now, self.slots.busy());
            match next {
                Start::Now { intended, held } => {
                    self.tally.begun(intended, held, now);
                    self.begin(intended, now);
                    now = clock::now();
                }
                Start::TooLate { intended, why } => self.tally.given_up(intended, why, now),
                Start::At(_) | Start::WhenOneEnds | Start::Over => break,
            }
        }
        for key in 0..self.channels.len() {
            self.flush(key, now);
        }
        next
    }

    /// Asks the question whose turn it is, on the channel whose turn it is.
    fn begin(&mut self, intended: u64, now: u64) {
        let number = match &mut self.random {
            Some(random) => random.random_range(0..self.bank.count),
            None => {
                let number = self.next;
                self.next = (number + 1) % self.bank.count;
                number
            }
        };
        let key = self.turn;
        self.turn = (key + 1) % self.channels.len();
        if !self.channels[key].is_open()
            && let Err(error) = self.channels[key].open(&mut self.dialer, &self.epoll, key as u64)
        {
            self.channels[key].close();
            self.tally.error_text(kind_of(error, false), now, || format!("open a socket: {error}"));
            return;
        }
        let place = self.slots.take(&self.bank.question(number), key, intended);
        self.deadlines.start(place, now);
        self.send(place, now);
    }

    /// Sends a question, for the first time or again.
    fn send(&mut self, place: usize, now: u64) {
        let slot = self.slots.get(place);
        slot.sent += 1;
        let key = slot.channel;
        match self.channels[key].say(&slot.message) {
            // A datagram that the system had no room for is lost like any other.
            Ok(()) | Err(Errno::EAGAIN | Errno::ENOBUFS) => {}
            Err(error) => self.fail(key, kind_of(error, true), now),
        }
    }

    fn flush(&mut self, key: usize, now: u64) {
        if self.channels[key].is_behind()
            && let Err(error) = self.channels[key].flush()
        {
            self.lose(key, kind_of(error, self.channels[key].connecting.is_none()), now);
        }
    }

    /// Takes an event on a channel.
    fn look(&mut self, key: usize, flags: EpollFlags, inbox: &mut [u8]) -> u64 {
        let now = clock::now();
        if flags.contains(EpollFlags::EPOLLOUT)
            && !flags.intersects(EpollFlags::EPOLLERR)
            && let Some(begun) = self.channels[key].connecting.take()
        {
            self.tally.connected(begun, now);
        }
        self.flush(key, now);
        let hung_up = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        self.listen(key, flags.intersects(hung_up), inbox)
    }

    /// Takes all replies that are there, and the end where the peer has `hung_up`. Gives the time afterwards.
    fn listen(&mut self, key: usize, hung_up: bool, inbox: &mut [u8]) -> u64 {
        loop {
            let (slots, facts) = (&mut self.slots, &mut self.facts);
            let (mut replies, mut unread) = (std::mem::take(&mut self.replies), false);
            let received = self.channels[key].receive(inbox, |message| match read(message) {
                Some(header) => match slots.answered(header.metadata.id, message, key) {
                    Some(place) => {
                        facts.truncated += u64::from(header.metadata.truncation);
                        let code = u16::from(header.metadata.response_code) as u8 & 0x0f;
                        let fault = answer::fault(message, slots.asked(place));
                        replies.push(Reply { place, code, bytes: message.len() as u64, fault });
                        slots.give_back(place);
                    }
                    None => facts.unasked += 1,
                },
                None => unread = true,
            });
            let now = clock::now();
            for reply in replies.drain(..) {
                self.answered(key, &reply, now);
            }
            self.replies = replies;
            match received {
                _ if unread => {
                    self.tally
                        .error_text(ErrorKind::Garbage, now, || "the datagram is not a DNS reply".into());
                }
                Ok(0) => {
                    self.lose(key, ErrorKind::Truncated, now);
                    return now;
                }
                // A stream that had less than there was room for has no more, and what comes is an event (epoll(7)).
                Ok(length) if self.over == DnsTransport::Tcp && length < inbox.len() && !hung_up => {
                    return now;
                }
                Ok(_) => {}
                Err(Errno::EAGAIN) => return now,
                Err(error) => {
                    let kind = kind_of(error, self.channels[key].connecting.is_none());
                    match self.over {
                        DnsTransport::Udp => self.fail(key, kind, now),
                        DnsTransport::Tcp => {
                            self.lose(key, kind, now);
                            return now;
                        }
                    }
                }
            }
        }
    }

    fn answered(&mut self, key: usize, reply: &Reply, now: u64) {
        let Reply { place, code, bytes, fault } = *reply;
        self.deadlines.end(place);
        self.codes[usize::from(code)] += 1;
        if let Some(fault) = fault {
            let address = self.dialer.address(self.channels[key].target());
            self.tally.error_text(ErrorKind::Garbage, now, || format!("{address}: {fault}"));
            return;
        }
        let kind = match CODES[usize::from(code)] {
            "NOERROR" | "NXDOMAIN" => {
                self.tally.operation(self.slots.get(place).begun, now, bytes);
                return;
            }
            "SERVFAIL" => ErrorKind::Deferred,
            _ => ErrorKind::Rejected,
        };
        let address = self.dialer.address(self.channels[key].target());
        self.tally.error_text(kind, now, || format!("{address}: {}", CODES[usize::from(code)]));
    }

    /// Fails all queries pending on a channel.
    fn fail(&mut self, key: usize, kind: ErrorKind, now: u64) {
        let address = self.dialer.address(self.channels[key].target());
        for place in self.slots.on(key) {
            self.deadlines.end(place);
            self.slots.give_back(place);
            self.tally.error_text(kind, now, || format!("{address}: {}", kind.title()));
        }
    }

    /// A connection is over, and what is under way on it. A server may close one on which nothing is.
    fn lose(&mut self, key: usize, kind: ErrorKind, now: u64) {
        self.fail(key, kind, now);
        if self.channels[key].connecting.is_none() {
            self.tally.connection(now);
        }
        self.channels[key].close();
    }

    /// Sends again what was not answered in time, or gives it up.
    fn expire(&mut self, now: u64) {
        while let Some(place) = self.deadlines.expired(now) {
            self.deadlines.end(place);
            let slot = self.slots.get(place);
            if slot.sent <= self.retries {
                self.facts.resent += 1;
                self.deadlines.start(place, now);
                self.send(place, now);
                continue;
            }
            let (key, sent) = (slot.channel, slot.sent);
            self.slots.give_back(place);
            let address = self.dialer.address(self.channels[key].target());
            let kind = if self.channels[key].connecting.is_some() {
                ErrorKind::ConnectTimeout
            } else {
                ErrorKind::Timeout
            };
            self.tally.error_text(kind, now, || format!("{address}: {}, sent {sent} x", kind.title()));
        }
    }

    /// How long to wait for events.
    fn sleep(&mut self, next: Start, now: u64) -> EpollTimeout {
        match next {
            Start::Now { .. } | Start::TooLate { .. } => return EpollTimeout::ZERO,
            Start::At(due) if due <= now => return EpollTimeout::ZERO,
            // Without the alarm the wait ends a little later, which is then counted as the generator's send lag.
            Start::At(due) => self.alarm.set(due, now).unwrap_or(()),
            Start::WhenOneEnds | Start::Over => {}
        }
        let until = self.deadlines.earliest().map_or(u64::MAX, |expiry| expiry.saturating_sub(now));
        EpollTimeout::try_from(until.min(LONGEST_SLEEP).div_ceil(1_000_000)).unwrap_or(EpollTimeout::ZERO)
    }
}

/// The header of a message that is a reply to a question.
fn read(message: &[u8]) -> Option<Header> {
    let header = Header::read(&mut BinDecoder::new(message.get(..HEADER)?)).ok()?;
    let replies = header.metadata.message_type == MessageType::Response;
    (replies && header.metadata.op_code == OpCode::Query).then_some(header)
}

impl Generator for Asker<'_> {
    fn run(mut self, mut pacing: impl Pacing, tally: Tally) -> Tally {
        let cpu = CpuTime::of_this_thread();
        self.tally = tally;
        let mut inbox = vec![0; INBOX];
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut now = clock::now();
        loop {
            let next = self.ask(&mut pacing, now);
            if (next == Start::Over && self.slots.busy() == 0) || self.shared.must_end() {
                break;
            }
            let sleep = self.sleep(next, clock::now());
            let arrived = self.epoll.wait(&mut events, sleep).unwrap_or(0);
            now = clock::now();
            for event in &events[..arrived] {
                match event.data() {
                    ALARM => self.alarm.gone_off(),
                    key => now = self.look(key as usize, event.events(), &mut inbox),
                }
            }
            self.expire(now);
            self.shared.add(&self.tally, &mut self.reported);
        }
        // Datagrams have no connections.
        let kept = self
            .channels
            .iter()
            .filter(|channel| channel.is_open() && self.over == DnsTransport::Tcp)
            .count();
        for _ in 0..kept {
            self.tally.connection(self.tally.end);
        }
        self.shared.add(&self.tally, &mut self.reported);
        self.tally.cpu = CpuTime::of_this_thread().since(cpu);
        let codes = CODES.iter().zip(self.codes).filter(|(_, number)| *number > 0);
        self.facts.codes = codes.map(|(code, number)| ((*code).to_owned(), number)).collect();
        self.tally.found = Some(self.facts.into());
        self.tally
    }
}
