//! The results of a load that several hosts ran at once, as one.

use std::collections::BTreeMap;

use super::{Generator, Histogram, Interval, Latencies, LoadResult, Offer, waits};

impl LoadResult {
    /// One result of several hosts that were started together and share a clock: counts and rates are added, histograms merged. It lasts
    /// from the first start to the last end.
    #[must_use]
    pub fn of_group(results: Vec<Self>) -> Self {
        let mut results = results.into_iter();
        let Some(first) = results.next() else { return Self::default() };
        results.fold(first, Self::with)
    }

    /// Joins the results of several machines, each with its host, its result by a clock that all share, and how well that clock is known of it,
    /// in nanoseconds. What each did is kept.
    #[must_use]
    pub fn of_machines(each: Vec<(String, Self, u64)>) -> Self {
        let first = each.iter().min_by_key(|(_, result, _)| result.started_ns);
        let first = first.map_or((0, 0), |(_, result, within_ns)| (result.started_ns, *within_ns));
        let generators = each.iter().map(|(host, result, within_ns)| Generator {
            host: host.clone(),
            after_ns: result.started_ns - first.0,
            // The first is known to be the first by its own clock alone.
            within_ns: if result.started_ns == first.0 { 0 } else { within_ns + first.1 },
            result: result.in_short(),
        });
        let generators = generators.collect();
        Self { generators, ..Self::of_group(each.into_iter().map(|(_, result, _)| result).collect()) }
    }

    /// Without what takes room: counts per interval and histograms. Their percentiles stay.
    fn in_short(&self) -> Self {
        let none = Histogram::default();
        let latency = Latencies {
            connect: none.clone(),
            first_byte: none.clone(),
            total: none.clone(),
            percentiles: self.latency.percentiles,
            mean_us: self.latency.mean_us,
        };
        let offer = self.offer.as_ref().map(|offer| Offer {
            length_ns: offer.length_ns,
            due: offer.due,
            begun: offer.begun,
            queued: offer.queued,
            last_begun_ns: offer.last_begun_ns,
            send_lag_us: offer.send_lag_us,
            send_lag: none.clone(),
            steps: Vec::new(),
        });
        Self {
            latency,
            offer,
            errors: self.errors.clone(),
            first_error: self.first_error.clone(),
            intervals: Vec::new(),
            generators: Vec::new(),
            facts: self.facts.clone(),
            ..*self
        }
    }

    fn with(mut self, other: Self) -> Self {
        let start = self.started_ns.min(other.started_ns);
        let end = |result: &Self| result.started_ns.saturating_add(result.elapsed_ns);
        let end = end(&self).max(end(&other));
        let late = |result: &Self| result.started_ns - start;
        self.intervals = merged(&self.intervals, late(&self), &other.intervals, late(&other));
        (self.started_ns, self.elapsed_ns) = (start, end - start);
        self.latency = latencies(self.latency, self.requests, &other.latency, other.requests);
        self.connections += other.connections;
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (kind, number) in other.errors {
            *self.errors.entry(kind).or_default() += number;
        }
        self.first_error = self.first_error.or(other.first_error);
        self.user_us += other.user_us;
        self.system_us += other.system_us;
        self.waited_us = waits(self.waited_us, other.waited_us);
        self.threads += other.threads;
        self.offer = match (self.offer, other.offer) {
            (Some(mine), Some(theirs)) => Some(offers(mine, &theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        match (&mut self.facts, other.facts) {
            (Some(mine), Some(theirs)) => mine.join(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self
    }
}

fn latencies(mut mine: Latencies, my_number: u64, theirs: &Latencies, their_number: u64) -> Latencies {
    mine.connect.add(&theirs.connect);
    mine.first_byte.add(&theirs.first_byte);
    mine.total.add(&theirs.total);
    mine.percentiles = mine.total.percentiles();
    mine.mean_us = match (mine.mean_us, theirs.mean_us) {
        (Some(a), Some(b)) => {
            let (n, m) = (my_number as f64, their_number as f64);
            Some((a * n + b * m) / (n + m).max(1.0))
        }
        (a, b) => a.or(b),
    };
    mine
}

fn offers(mut mine: Offer, theirs: &Offer) -> Offer {
    mine.length_ns = mine.length_ns.max(theirs.length_ns);
    mine.due += theirs.due;
    mine.begun += theirs.begun;
    mine.queued += theirs.queued;
    mine.last_begun_ns = mine.last_begun_ns.max(theirs.last_begun_ns);
    mine.send_lag.add(&theirs.send_lag);
    mine.send_lag_us = mine.send_lag.percentiles();
    for (step, other) in mine.steps.iter_mut().zip(&theirs.steps) {
        step.rate += other.rate;
        step.due += other.due;
        step.begun += other.begun;
        step.requests += other.requests;
        step.errors += other.errors;
        step.latency.add(&other.latency);
        step.latency_us = step.latency.percentiles();
    }
    mine
}

/// Counts of two rows of intervals that began so late after a common start. What was counted in an interval of the second is spread evenly
/// over those of the first that it overlaps, and no count is lost.
fn merged(first: &[Interval], late: u64, second: &[Interval], later: u64) -> Vec<Interval> {
    let shifted = |row: &[Interval], by: u64| -> Vec<Interval> {
        row.iter().map(|it| Interval { end_ns: it.end_ns + by, ..*it }).collect()
    };
    let (first, second) = (shifted(first, late), shifted(second, later));
    let ends: std::collections::BTreeSet<u64> = if first.len() >= second.len() { &first } else { &second }
        .iter()
        .map(|it| it.end_ns)
        .chain([first.last(), second.last()].into_iter().flatten().map(|it| it.end_ns))
        .collect();
    let mut all: BTreeMap<u64, Interval> =
        ends.iter().map(|end| (*end, Interval { end_ns: *end, ..Interval::default() })).collect();
    for (row, start) in [(&first, late), (&second, later)] {
        let mut from = start;
        for interval in row {
            spread(&mut all, from, interval);
            from = interval.end_ns;
        }
    }
    all.into_values().collect()
}

/// Adds what was counted from `from` to the end of `interval` to the intervals that it overlaps.
fn spread(all: &mut BTreeMap<u64, Interval>, from: u64, interval: &Interval) {
    let length = interval.end_ns.saturating_sub(from).max(1);
    let mut given = Interval::default();
    let mut last = from;
    for (end, target) in all.range_mut(from + 1..) {
        let until = (*end).min(interval.end_ns);
        let part = |n: u64, given: u64| {
            let due = u128::from(n) * u128::from(until.saturating_sub(from)) / u128::from(length);
            u64::try_from(due).unwrap_or(n).saturating_sub(given)
        };
        let share = Interval {
            end_ns: 0,
            connections: part(interval.connections, given.connections),
            requests: part(interval.requests, given.requests),
            errors: part(interval.errors, given.errors),
            bytes: part(interval.bytes, given.bytes),
            latency_us: part(interval.latency_us, given.latency_us),
        };
        for (sum, more) in [
            (&mut target.connections, share.connections),
            (&mut target.requests, share.requests),
            (&mut target.errors, share.errors),
            (&mut target.bytes, share.bytes),
            (&mut target.latency_us, share.latency_us),
            (&mut given.connections, share.connections),
            (&mut given.requests, share.requests),
            (&mut given.errors, share.errors),
            (&mut given.bytes, share.bytes),
            (&mut given.latency_us, share.latency_us),
        ] {
            *sum += more;
        }
        last = until;
        if last >= interval.end_ns {
            break;
        }
    }
    debug_assert!(last >= interval.end_ns || all.is_empty(), "the last interval ends last");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observation::{ErrorKind, Histogram};

    fn result(started_ns: u64, counts: &[u64]) -> LoadResult {
        let intervals = counts.iter().zip(1..).map(|(n, place)| Interval {
            end_ns: place * 100_000_000,
            connections: *n,
            requests: *n,
            ..Interval::default()
        });
        let all = counts.iter().sum();
        let total = Histogram::of([(100 + started_ns % 7, all)]);
        LoadResult {
            started_ns,
            elapsed_ns: counts.len() as u64 * 100_000_000,
            connections: all,
            requests: all,
            latency: Latencies { percentiles: total.percentiles(), total, ..Latencies::default() },
            intervals: intervals.collect(),
            threads: 1,
            ..LoadResult::default()
        }
    }

    #[test]
    fn rates_are_added_and_the_slowest_of_all_is_the_slowest() {
        let mut second = result(0, &[10, 10]);
        second.latency.total = Histogram::of([(9_000, 20)]);
        second.errors.insert(ErrorKind::Reset, 3);
        let both = LoadResult::of_group(vec![result(0, &[10, 10]), second]);
        assert_eq!((both.connections, both.failed(), both.threads), (40, 3, 2));
        assert_eq!(both.elapsed_ns, 200_000_000);
        assert_eq!(
            both.latency.percentiles.max, 9_007,
            "three digits are kept: {:?}",
            both.latency.percentiles
        );
        assert_eq!(both.intervals.iter().map(|it| it.requests).collect::<Vec<_>>(), [20, 20]);
    }

    #[test]
    fn one_that_starts_later_is_counted_later() {
        let both = LoadResult::of_group(vec![result(1_000, &[8, 8]), result(50_001_000, &[8, 8])]);
        assert_eq!((both.started_ns, both.elapsed_ns), (1_000, 250_000_000));
        let counts: Vec<_> = both.intervals.iter().map(|it| (it.end_ns / 1_000_000, it.requests)).collect();
        assert_eq!(counts, [(100, 12), (200, 16), (250, 4)]);
    }

    #[test]
    fn machines_are_as_one_and_what_each_did_is_kept_by_name() {
        let each = [("a", 5_300_000, 20_000), ("b", 5_000_000, 30_000), ("c", 5_000_400, 40_000)];
        let each = each.map(|(host, start, within)| (host.to_owned(), result(start, &[8, 8]), within));
        let all = LoadResult::of_machines(each.to_vec());
        assert_eq!((all.requests, all.threads), (48, 3));
        let starts: Vec<_> =
            all.generators.iter().map(|it| (it.host.as_str(), it.after_ns, it.within_ns)).collect();
        assert_eq!(starts, [("a", 300_000, 50_000), ("b", 0, 0), ("c", 400, 70_000)]);
        let one = &all.generators[1].result;
        assert_eq!((one.requests, one.intervals.len(), &one.latency.total), (16, 0, &Histogram::default()));
        assert_eq!(one.latency.percentiles.max, each[1].1.latency.percentiles.max);
    }

    proptest! {
        #[test]
        fn no_count_is_lost_and_time_does_not_go_back(
            rows in prop::collection::vec((0u64..300_000_000, prop::collection::vec(0u64..1000, 1..12)), 1..6),
        ) {
            let results: Vec<LoadResult> = rows.iter().map(|(start, counts)| result(*start, counts)).collect();
            let all: u64 = results.iter().map(|it| it.requests).sum();
            let group = LoadResult::of_group(results);
            prop_assert_eq!(group.requests, all);
            prop_assert_eq!(group.intervals.iter().map(|it| it.requests).sum::<u64>(), all);
            prop_assert!(group.intervals.is_sorted_by_key(|it| it.end_ns));
        }
    }
}
