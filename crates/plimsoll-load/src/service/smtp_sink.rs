//! The sink for mail: it takes messages, checks and counts them, and can be slow, refuse, grey-list and be down.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Instant;

use plimsoll_model::experiment::SmtpSinkService;
use plimsoll_model::frame::Failure;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::smtp::{self, Desk, Envelope, Outcome, Reply, Ticket};
use super::{listen, process};
use crate::failure::other;
use crate::smtp::ledger::Writer;
use crate::smtp::stamp;

const TAKEN: Reply = "250 2.0.0 taken";

/// Serves `options` on `listeners`, until killed. With a folder it keeps the list of its messages there.
pub(super) fn serve(
    options: &SmtpSinkService,
    folder: Option<&Path>,
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    process::survive_broken_pipes()?;
    let ledger = folder.map(Writer::open).transpose();
    let ledger = ledger.map_err(|error| other("open the list of messages", &error))?;
    let sink = Sink {
        options: options.clone(),
        random: SmallRng::seed_from_u64(options.seed),
        ledger,
        known: HashMap::new(),
        first: None,
        late: VecDeque::new(),
    };
    announce(&listen::addresses(&listeners)?)?;
    smtp::serve(sink, listeners, options.clients, options.backlog)
}

struct Sink {
    options: SmtpSinkService,
    random: SmallRng,
    ledger: Option<Writer>,
    /// When a sender and a recipient were first seen together, by a hash of both.
    known: HashMap<u64, Instant>,
    /// When the first message was offered.
    first: Option<Instant>,
    /// Accepted messages whose 250 reply is delayed, with the time to send it.
    late: VecDeque<(Instant, Ticket)>,
}

impl Desk for Sink {
    fn offers_pipelining(&self) -> bool {
        self.options.pipelining
    }

    fn longest(&self) -> u64 {
        self.options.max_message.0
    }

    fn sender(&mut self, _: &[u8]) -> Result<(), Reply> {
        if self.first.is_none() {
            self.first = Some(Instant::now());
        }
        let (defer, reject) = (self.options.defer.0, self.options.reject.0);
        if defer + reject == 0.0 {
            return Ok(());
        }
        match self.random.random::<f64>() {
            coin if coin < defer => Err("451 4.3.0 not now"),
            coin if coin < defer + reject => Err("550 5.7.1 never"),
            _ => Ok(()),
        }
    }

    fn recipient(&mut self, sender: &[u8], recipient: &[u8], now: Instant) -> Result<(), Reply> {
        let Some(wait) = self.options.greylist else { return Ok(()) };
        let pair = u64::from(crc32fast::hash(sender)) << 32 | u64::from(crc32fast::hash(recipient));
        let first = *self.known.entry(pair).or_insert(now);
        if now.duration_since(first) >= wait.0 && first != now {
            Ok(())
        } else {
            Err("451 4.7.1 grey-listed")
        }
    }

    fn message(
        &mut self,
        ticket: Ticket,
        envelope: &mut Envelope,
        wire: &mut Vec<u8>,
        now: Instant,
    ) -> Outcome {
        if let Some(ledger) = &mut self.ledger {
            let found = stamp::check(wire);
            envelope.recipients.iter().for_each(|recipient| ledger.note(found, recipient));
        }
        if self.options.delay.0.is_zero() {
            return Outcome::Now(TAKEN);
        }
        self.late.push_back((now + self.options.delay.0, ticket));
        Outcome::Later
    }

    fn before_replies(&mut self) -> io::Result<()> {
        self.ledger.as_mut().map_or(Ok(()), Writer::write)
    }

    fn answers(&mut self, now: Instant, into: &mut Vec<(Ticket, Reply)>) {
        while let Some(&(_, ticket)) = self.late.front().filter(|(due, _)| *due <= now) {
            self.late.pop_front();
            into.push((ticket, TAKEN));
        }
    }

    fn next_answer(&self) -> Option<Instant> {
        self.late.front().map(|(due, _)| *due)
    }

    fn outage(&self, now: Instant) -> (bool, Option<Instant>) {
        let Some((outage, first)) = self.options.outage.zip(self.first) else { return (false, None) };
        let begin = first + outage.after.0;
        let end = begin + outage.length.0;
        let next = [begin, end].into_iter().find(|&time| time > now);
        ((begin..end).contains(&now), next)
    }
}
