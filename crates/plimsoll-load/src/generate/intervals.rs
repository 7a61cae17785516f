//! Counts per interval of time. Intervals start short and grow, so that a load of any length keeps a bounded number.

use plimsoll_model::observation::Interval;

/// How long an interval is at first, in nanoseconds.
const SHORTEST: u64 = 100_000_000;
/// The most intervals that are kept.
const MOST: usize = 1000;

/// Counts per interval.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    start: u64,
    width: u64,
    /// When the last interval ends; the clock need not be divided by the width as long as it has not.
    last_ends: u64,
    counts: Vec<Interval>,
}

impl Intervals {
    /// Nothing was counted before `start`.
    pub(super) fn new(start: u64) -> Self {
        Self { start, width: SHORTEST, last_ends: start + SHORTEST, counts: vec![Interval::default()] }
    }

    /// The counts of the interval that `now` is in; `now` does not go back by more than the length of a loop's turn, and
    /// what is late counts as of the last interval.
    pub(super) fn at(&mut self, now: u64) -> &mut Interval {
        while now >= self.last_ends {
            if self.counts.len() == MOST {
                self.widen();
            } else {
                self.counts.push(Interval::default());
                self.last_ends += self.width;
            }
        }
        self.counts.last_mut().expect("there is always one interval")
    }

    /// Makes one interval of each two.
    fn widen(&mut self) {
        self.counts = self.counts.chunks(2).map(sum).collect();
        self.width *= 2;
        self.last_ends = self.start + self.width * self.counts.len() as u64;
    }

    /// Adds the counts of another generator that started at the same time.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        if self.counts.len() < other.counts.len() {
            std::mem::swap(self, &mut other);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = sum(&[*mine, *theirs]);
        }
    }

    /// The intervals of a load of this duration; the last is cut off at its end.
    pub(super) fn finish(self, elapsed: u64) -> Vec<Interval> {
        let ends = (1..).map(|n| (self.width * n).min(elapsed));
        self.counts.iter().zip(ends).map(|(counts, end_ns)| Interval { end_ns, ..*counts }).collect()
    }
}

fn sum(intervals: &[Interval]) -> Interval {
    intervals.iter().fold(Interval::default(), |sum, next| Interval {
        end_ns: 0,
        connections: sum.connections + next.connections,
        requests: sum.requests + next.requests,
        errors: sum.errors + next.errors,
        bytes: sum.bytes + next.bytes,
        latency_us: sum.latency_us + next.latency_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(times: impl IntoIterator<Item = u64>) -> Intervals {
        let mut intervals = Intervals::new(7);
        for time in times {
            intervals.at(7 + time).requests += 1;
        }
        intervals
    }

    #[test]
    fn a_short_load_is_counted_in_tenths_of_a_second() {
        let found = counted([0, 1, SHORTEST, 3 * SHORTEST + 1]).finish(3 * SHORTEST + 5);
        let expected: Vec<_> =
            [(SHORTEST, 2), (2 * SHORTEST, 1), (3 * SHORTEST, 0), (3 * SHORTEST + 5, 1)].into();
        assert_eq!(found.iter().map(|i| (i.end_ns, i.requests)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_long_load_keeps_a_bounded_number_of_intervals_and_every_count() {
        let found = counted((0..10_000).map(|n| n * SHORTEST)).finish(10_000 * SHORTEST);
        assert!((MOST / 2..=MOST).contains(&found.len()), "{}", found.len());
        assert_eq!(found.iter().map(|i| i.requests).sum::<u64>(), 10_000);
        let width = found[0].end_ns;
        assert!(found.iter().zip(1..).all(|(i, n)| i.end_ns == (n * width).min(10_000 * SHORTEST)));
    }

    #[test]
    fn intervals_of_different_widths_are_merged() {
        let mut short = counted([0, SHORTEST]);
        short.merge(counted((0..3000).map(|n| n * SHORTEST)));
        let found = short.finish(3000 * SHORTEST);
        assert_eq!(found[0].requests, 6);
        assert_eq!(found.iter().map(|i| i.requests).sum::<u64>(), 3002);
    }
}
