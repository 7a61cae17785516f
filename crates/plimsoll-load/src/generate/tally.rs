//! Counts of a generator, and their sum over several generators.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use plimsoll_model::experiment::load::LoadFacts;
use plimsoll_model::experiment::load::http::HttpFacts;
use plimsoll_model::observation::{ErrorKind, Histogram as Recorded, Latencies, LoadResult};

use super::histogram::{histogram, record};
use super::intervals::Intervals;
use super::mail_tally::MailTally;
use super::offering::Offering;
use crate::clock::CpuTime;

/// Counts so far.
pub(super) struct Tally {
    pub(super) connections: u64,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) errors: BTreeMap<ErrorKind, u64>,
    /// Text of the first failure.
    pub(super) first_error: Option<String>,
    pub(super) connect: Histogram<u64>,
    pub(super) first_byte: Histogram<u64>,
    pub(super) total: Histogram<u64>,
    pub(super) intervals: Intervals,
    pub(super) cpu: CpuTime,
    /// Requests of an open loop.
    offering: Option<Offering>,
    /// Other counts of a load of mail.
    pub(super) mail: Option<MailTally>,
    /// Other counts of loads of some kinds.
    pub(super) found: Option<LoadFacts>,
    /// How long TLS handshakes took.
    handshakes: Histogram<u64>,
    /// How many of them resumed an earlier session.
    resumed: u64,
    /// When the last connection ended.
    pub(super) end: u64,
}

impl Tally {
    /// Nothing has happened yet, at `start`.
    pub(super) fn new(start: u64, offering: Option<Offering>) -> Self {
        Self {
            connections: 0,
            requests: 0,
            bytes: 0,
            errors: BTreeMap::new(),
            first_error: None,
            connect: histogram(),
            first_byte: histogram(),
            total: histogram(),
            intervals: Intervals::new(start),
            cpu: CpuTime::default(),
            offering,
            mail: None,
            found: None,
            handshakes: histogram(),
            resumed: 0,
            end: start,
        }
    }

    /// A connection ended at `now`, without an error.
    pub(super) fn connection(&mut self, now: u64) {
        self.connections += 1;
        self.intervals.at(now).connections += 1;
        self.end = self.end.max(now);
    }

    /// A request of an open loop that was due at `intended` begins at `now`; `held` when it had to wait for a connection.
    pub(super) fn begun(&mut self, intended: u64, held: bool, now: u64) {
        if let Some(offering) = &mut self.offering {
            offering.begun(intended, held, now);
        }
    }

    /// A request of an open loop that was due at `intended` will never begin.
    pub(super) fn given_up(&mut self, intended: u64, why: ErrorKind, now: u64) {
        if let Some(offering) = &mut self.offering {
            offering.given_up(intended);
        }
        self.error(why, now);
    }

    /// A request that was to begin at `begun` and was sent at `sent` was answered from `first_byte` to `now`.
    pub(super) fn request(&mut self, begun: u64, sent: u64, first_byte: u64, now: u64) {
        self.requests += 1;
        let interval = self.intervals.at(now);
        interval.requests += 1;
        interval.latency_us += now.saturating_sub(begun) / 1000;
        record(&mut self.first_byte, sent, first_byte);
        record(&mut self.total, begun, now);
        if let Some(offering) = &mut self.offering {
            offering.answered(begun, now);
        }
    }

    /// Counts the bytes of a request that was answered at `now`.
    pub(super) fn moved(&mut self, bytes: u64, now: u64) {
        self.bytes += bytes;
        self.intervals.at(now).bytes += bytes;
    }

    /// An operation on storage that was to begin at `begun` was done at `now`.
    pub(super) fn operation(&mut self, begun: u64, now: u64, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
        let interval = self.intervals.at(now);
        interval.requests += 1;
        interval.bytes += bytes;
        interval.latency_us += now.saturating_sub(begun) / 1000;
        record(&mut self.total, begun, now);
        if let Some(offering) = &mut self.offering {
            offering.answered(begun, now);
        }
        self.end = self.end.max(now);
    }

    /// Counts `number` messages of `size` bytes each that had arrived at `now`.
    pub(super) fn messages(&mut self, number: u64, size: u64, now: u64) {
        let bytes = number.saturating_mul(size);
        self.requests += number;
        self.bytes += bytes;
        let interval = self.intervals.at(now);
        interval.requests += number;
        interval.bytes += bytes;
        self.end = self.end.max(now);
    }

    /// A connection that was begun at `begun` was established at `now`.
    pub(super) fn connected(&mut self, begun: u64, now: u64) {
        record(&mut self.connect, begun, now);
    }

    /// A TLS handshake that was begun at `began` was over at `now`.
    pub(super) fn shook_hands(&mut self, began: u64, now: u64, resumed: bool) {
        record(&mut self.handshakes, began, now);
        self.resumed += u64::from(resumed);
    }

    /// Counts a failure at `now`.
    pub(super) fn error(&mut self, kind: ErrorKind, now: u64) {
        *self.errors.entry(kind).or_default() += 1;
        self.intervals.at(now).errors += 1;
        if let Some(offering) = &mut self.offering {
            offering.failed(now);
        }
        self.end = self.end.max(now);
    }

    /// Counts a failure, with its text where it is the first.
    pub(super) fn error_text(&mut self, kind: ErrorKind, now: u64, text: impl FnOnce() -> String) {
        if self.first_error.is_none() {
            self.first_error = Some(text());
        }
        self.error(kind, now);
    }

    /// All failures.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Takes the counts of another generator of the same load into this one.
    pub(super) fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.first_error = self.first_error.take().or(other.first_error);
        let pairs = [
            (&mut self.connect, other.connect),
            (&mut self.first_byte, other.first_byte),
            (&mut self.total, other.total),
            (&mut self.handshakes, other.handshakes),
        ];
        for (mine, theirs) in pairs {
            mine.add(theirs).expect("histograms of the same bounds can be added");
        }
        self.resumed += other.resumed;
        self.intervals.merge(other.intervals);
        self.cpu = self.cpu.plus(other.cpu);
        self.end = self.end.max(other.end);
        if let (Some(mine), Some(theirs)) = (&mut self.offering, &other.offering) {
            mine.merge(theirs);
        }
        match (&mut self.found, other.found) {
            (Some(mine), Some(theirs)) => mine.join(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        match (&mut self.mail, other.mail) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
    }

    /// The result of a load that began at `start` and had `threads` threads.
    pub(super) fn into_result(self, start: u64, threads: u32) -> LoadResult {
        let elapsed_ns = self.end.saturating_sub(start);
        let handshakes = (!self.handshakes.is_empty()).then(|| {
            HttpFacts { handshakes: Recorded::from(&self.handshakes), resumed: self.resumed }.into()
        });
        let total = Recorded::from(&self.total);
        let latency = Latencies {
            connect: Recorded::from(&self.connect),
            first_byte: Recorded::from(&self.first_byte),
            percentiles: total.percentiles(),
            total,
            mean_us: (!self.total.is_empty()).then(|| self.total.mean()),
        };
        LoadResult {
            started_ns: start,
            elapsed_ns,
            connections: self.connections,
            requests: self.requests,
            bytes: self.bytes,
            errors: self.errors,
            first_error: self.first_error,
            latency,
            intervals: self.intervals.finish(elapsed_ns),
            user_us: self.cpu.user_us,
            system_us: self.cpu.system_us,
            waited_us: self.cpu.waited_us,
            services_us: None,
            threads,
            offer: self.offering.map(Offering::into_offer),
            generators: Vec::new(),
            facts: self.mail.map(|mail| mail.into_facts().into()).or(self.found).or(handshakes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generators_make_one_result() {
        let mut a = Tally::new(1000, None);
        let mut b = Tally::new(1000, None);
        a.connected(1000, 6_000);
        a.request(1000, 6_000, 2_001_000, 3_001_000);
        a.connection(3_001_000);
        b.error_text(ErrorKind::Reset, 9_001_000, || "it said no".into());
        a.merge(b);
        let result = a.into_result(1000, 2);
        assert_eq!(result.first_error.as_deref(), Some("it said no"));
        assert_eq!((result.connections, result.requests, result.failed()), (1, 1, 1));
        assert_eq!((result.elapsed_ns, result.threads), (9_000_000, 2));
        let median = result.latency.percentiles.p50;
        assert!((2_998..=3_002).contains(&median), "{median}");
        assert_eq!(result.intervals.len(), 1);
        assert_eq!(result.intervals[0].end_ns, 9_000_000);
    }

    #[test]
    fn histograms_can_be_read_back() {
        let mut tally = Tally::new(0, None);
        (1..=1000).for_each(|ms| tally.request(0, 0, 0, ms * 1_000_000));
        let text = serde_json::to_string(&tally.into_result(0, 1).latency.total).unwrap();
        let histogram: Recorded = serde_json::from_str(&text).unwrap();
        assert_eq!(histogram.len(), 1000);
        let median = histogram.value_at_quantile(0.5);
        assert!((499_000..=501_000).contains(&median), "{median}");
    }

    #[test]
    fn a_histogram_without_values_is_left_out() {
        assert_eq!(Tally::new(0, None).into_result(0, 1).latency, Latencies::default());
    }
}
