//! Offset of another machine's clock from this one's, from pings and their answers.
//!
//! A ping leaves at s and its answer is heard at h, both by the clock here; it arrives at r and is answered at a, both by the clock there. Since it
//! arrived after it left, and was heard after it was answered, what the clock there is ahead lies between a - h and r - s, however long each way
//! took. That is the interval of NTP (RFC 5905, section 8: the offset, give or take half of the delay), without its assumption that both ways take
//! as long. Several exchanges narrow it: the truth lies in all of their intervals (Marzullo 1984). Clocks drift, so that an old interval is widened.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::raw_ns;

/// The number of exchanges that are kept.
const KEPT: usize = 64;
/// How far two clocks of crystals that nobody corrects may drift apart, in billionths: 100 ppm, twice what most are sold with.
const DRIFT_PPB: i64 = 100_000;

/// One ping and its answer, in nanoseconds of CLOCK_MONOTONIC_RAW.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// When it was sent, by the clock here.
    pub(super) sent_ns: u64,
    /// When it arrived, by the clock there.
    pub(super) received_ns: u64,
    /// When it was answered, by the clock there.
    pub(super) answered_ns: u64,
    /// When the answer was heard, by the clock here.
    pub(super) heard_ns: u64,
}

/// Lead of the clock there over the clock here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// In nanoseconds; the middle of the interval.
    pub ahead_ns: i64,
    /// The largest error of the offset, in nanoseconds.
    pub within_ns: u64,
    /// The shortest round trip, in nanoseconds.
    pub round_trip_ns: u64,
    /// Whether exchanges contradicted each other, so that one of the clocks jumped.
    pub jumped: bool,
}

/// The clock of a host.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Exchanges>>);

impl Clock {
    /// Its present offset; `None` before the first answer.
    pub fn offset(&self) -> Option<Offset> {
        self.exchanges(|exchanges| exchanges.offset(raw_ns()))
    }

    pub(super) fn add(&self, exchange: Exchange) {
        self.exchanges(|exchanges| exchanges.add(exchange));
    }

    /// Number of exchanges so far.
    pub(super) fn answers(&self) -> u64 {
        self.exchanges(|exchanges| exchanges.answers)
    }

    fn exchanges<T>(&self, what: impl FnOnce(&mut Exchanges) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug, Default)]
struct Exchanges {
    kept: VecDeque<Exchange>,
    answers: u64,
    jumped: bool,
}

impl Exchanges {
    fn add(&mut self, exchange: Exchange) {
        self.answers += 1;
        self.kept.push_back(exchange);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        if self.interval(exchange.heard_ns).is_none() {
            // Exchanges before the jump say nothing about the time after it.
            self.jumped = true;
            self.kept.drain(..self.kept.len() - 1);
        }
    }

    fn offset(&self, now_ns: u64) -> Option<Offset> {
        let (low, high) = self.interval(now_ns)?;
        let round_trip = self.kept.iter().map(round_trip_ns).min()?;
        Some(Offset {
            ahead_ns: low + (high - low) / 2,
            // The middle is rounded.
            within_ns: high.abs_diff(low).div_ceil(2),
            round_trip_ns: round_trip,
            jumped: self.jumped,
        })
    }

    /// Interval of the present offset from all kept exchanges; `None` if they contradict each other, or there are none.
    fn interval(&self, now_ns: u64) -> Option<(i64, i64)> {
        let each = self.kept.iter().map(|exchange| {
            let age = i64::try_from(now_ns.saturating_sub(exchange.heard_ns)).unwrap_or(i64::MAX);
            let drift =
                i64::try_from(i128::from(age) * i128::from(DRIFT_PPB) / 1_000_000_000).unwrap_or(i64::MAX);
            let low = difference(exchange.answered_ns, exchange.heard_ns);
            let high = difference(exchange.received_ns, exchange.sent_ns);
            (low.saturating_sub(drift), high.saturating_add(drift))
        });
        let all = each.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
        (all.0 <= all.1).then_some(all)
    }
}

fn difference(a: u64, b: u64) -> i64 {
    i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(if a > b { i64::MAX } else { i64::MIN })
}

fn round_trip_ns(exchange: &Exchange) -> u64 {
    let away = exchange.heard_ns.saturating_sub(exchange.sent_ns);
    away.saturating_sub(exchange.answered_ns.saturating_sub(exchange.received_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// An exchange that begins at this time here, with a clock there that is so far ahead, and ways of these lengths.
    fn exchange(sent_ns: u64, ahead: i64, there: u64, back: u64) -> Exchange {
        let arrived = sent_ns + there;
        let by_clock_there = |here: u64| here.checked_add_signed(ahead).expect("a time");
        let answered = arrived + 2_000;
        Exchange {
            sent_ns,
            received_ns: by_clock_there(arrived),
            answered_ns: by_clock_there(answered),
            heard_ns: answered + back,
        }
    }

    fn exchanges(all: &[Exchange]) -> Exchanges {
        let mut exchanges = Exchanges::default();
        all.iter().for_each(|one| exchanges.add(*one));
        exchanges
    }

    fn holds(offset: Offset, truth: i64) -> bool {
        (offset.ahead_ns - truth).unsigned_abs() <= offset.within_ns
    }

    #[test]
    fn with_ways_of_one_length_the_offset_is_exact_and_half_the_delay_its_doubt() {
        let start = 5_000 * MS;
        for truth in [-3_600_000_000_000, -7, 0, 42 * MS as i64, 86_400_000_000_000] {
            let one = exchange(start + 90_000_000 * MS, truth, 300_000, 300_000);
            let offset = exchanges(&[one]).offset(one.heard_ns).unwrap();
            assert_eq!((offset.ahead_ns, offset.within_ns), (truth, 300_000));
            assert_eq!((offset.round_trip_ns, offset.jumped), (600_000, false));
        }
    }

    #[test]
    fn however_uneven_the_ways_are_the_truth_lies_in_the_interval() {
        let truth = -123_456_789;
        for (there, back) in [(0, 5 * MS), (5 * MS, 0), (10_000, 90 * MS), (70 * MS, 10_000)] {
            let one = exchange(60_000 * MS, truth, there, back);
            let offset = exchanges(&[one]).offset(one.heard_ns).unwrap();
            assert!(holds(offset, truth), "{there} {back}: {offset:?}");
            assert_eq!(offset.round_trip_ns, there + back);
        }
    }

    #[test]
    fn several_exchanges_narrow_it_and_the_shortest_way_counts() {
        let truth = 1_000_000;
        let ways = [(4 * MS, 30_000), (20_000, 6 * MS), (3 * MS, 3 * MS), (90_000, 90_000)];
        let all: Vec<_> = ways
            .iter()
            .zip(0..)
            .map(|(way, n)| exchange(60_000 * MS + n * 10 * MS, truth, way.0, way.1))
            .collect();
        let known = exchanges(&all);
        let offset = known.offset(all[3].heard_ns).unwrap();
        assert!(holds(offset, truth), "{offset:?}");
        // The one half comes from the second exchange, the other from the first; 30 ms of drift are 3 µs.
        assert!(offset.within_ns < 30_000, "{offset:?}");
        assert_eq!(offset.round_trip_ns, 180_000);
    }

    #[test]
    fn it_is_known_less_well_the_older_it_is_and_drift_of_crystals_is_no_jump() {
        let one = exchange(60_000 * MS, 0, 50_000, 50_000);
        let known = exchanges(&[one]);
        let after = |s: u64| known.offset(one.heard_ns + s * 1_000 * MS).unwrap().within_ns;
        assert_eq!((after(0), after(1), after(10)), (50_000, 150_000, 1_050_000));
        // 50 ppm over an hour, one exchange each second.
        let drifting: Vec<_> = (0..3600)
            .map(|s| exchange((60_000 + s * 1_000) * MS, i64::try_from(s * 50_000).unwrap(), 80_000, 80_000))
            .collect();
        let known = exchanges(&drifting);
        let offset = known.offset(drifting[3599].heard_ns).unwrap();
        assert!(!offset.jumped && holds(offset, 3599 * 50_000), "{offset:?}");
    }

    #[test]
    fn a_clock_that_jumps_is_reported_and_known_again_after_it() {
        for jump in [-(5_000 * MS as i64), 10 * MS as i64] {
            let ahead = [0, 0, jump, jump];
            let all = ahead
                .iter()
                .zip(0..)
                .map(|(ahead, n)| exchange(600_000 * MS + n * 1_000 * MS, 77 + ahead, 100_000, 100_000));
            let all: Vec<_> = all.collect();
            let known = exchanges(&all);
            let offset = known.offset(all[3].heard_ns).unwrap();
            assert!(offset.jumped && holds(offset, 77 + jump), "{offset:?}");
        }
    }
}
