//! From what a load found to figures: the only place where a rate, a share or a percentile is derived.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    Datagrams, Histogram, Interval, Latencies, LoadResult, Offer, Percentiles, Step, StorageFacts, waits,
};
use crate::experiment::load::facts::per_second;
use crate::experiment::{LoadKind, Metric};

impl Metric {
    /// The figure from a load's result; absent where it cannot give it (no time, nothing recorded, a load of another kind).
    pub fn of(self, result: &LoadResult) -> Option<f64> {
        let seconds = result.seconds();
        let requests = result.requests;
        let millis = |us: u64| (requests > 0).then(|| us as f64 / 1e3);
        // Records that were made before it was kept have a 0.
        let kept = |us: u64| millis(us).filter(|_| us >= result.latency.percentiles.p90);
        match self {
            Self::MeanMs if requests == 0 => return None,
            _ => {
                let of_kind = result.facts.as_ref().and_then(|facts| facts.figure(self, seconds));
                if of_kind.is_some() {
                    return of_kind;
                }
            }
        }
        match self {
            Self::ConnectionsPerSecond
            | Self::RequestsPerSecond
            | Self::MessagesPerMinute
            | Self::BitsPerSecond
            | Self::MegabytesPerSecond => {
                let (connections, bytes) = (result.connections, result.bytes);
                per_second(
                    self.amount(&Interval { connections, requests, bytes, ..Interval::default() })?,
                    seconds,
                )
            }
            Self::MedianMs => millis(result.latency.percentiles.p50),
            Self::P90Ms => millis(result.latency.percentiles.p90),
            Self::P95Ms => kept(result.latency.percentiles.p95),
            Self::P99Ms => millis(result.latency.percentiles.p99),
            Self::P999Ms => kept(result.latency.percentiles.p99_9),
            Self::MaxMs => millis(result.latency.percentiles.max),
            Self::MeanMs => result.latency.mean_us.map(|us| us / 1e3),
            Self::ErrorShare => {
                let (done, failed) = (result.done(), result.failed());
                (done + failed > 0).then(|| failed as f64 / (done + failed) as f64)
            }
            Self::CpuUsPerRequest => {
                (requests > 0).then(|| (result.user_us + result.system_us) as f64 / requests as f64)
            }
            Self::ServiceCpuUsPerRequest => {
                result.services_us.filter(|_| requests > 0).map(|us| us as f64 / requests as f64)
            }
            // Only some kinds of load have these. Stalls belong to the packets of a phase and not to one of its loads.
            Self::PacketsPerSecond
            | Self::LossShare
            | Self::JitterMs
            | Self::DeviceShare
            | Self::StallShare
            | Self::HandshakesPerSecond
            | Self::HandshakeMedianMs
            | Self::HandshakeP99Ms
            | Self::ResumedShare
            | Self::Named(_) => None,
        }
    }

    /// The figure of a step of an open loop: the percentile of its times, or else the rate of its answers; absent if it
    /// had no answers with a known time.
    pub fn of_step(self, step: &Step) -> Option<f64> {
        let millis = |us: u64| (step.requests > 0).then_some(us as f64 / 1e3);
        match self {
            Self::MedianMs => millis(step.latency_us.p50),
            Self::P90Ms => millis(step.latency_us.p90),
            Self::P95Ms => millis(step.latency_us.p95),
            Self::P99Ms => millis(step.latency_us.p99),
            Self::P999Ms => millis(step.latency_us.p99_9),
            _ => step.answered(),
        }
    }

    /// Count of an interval that divides by seconds to the rate in its unit; nothing for rates that intervals do not count.
    pub fn amount(self, interval: &Interval) -> Option<f64> {
        Some(match self {
            Self::ConnectionsPerSecond => interval.connections as f64,
            Self::RequestsPerSecond => interval.requests as f64,
            Self::MessagesPerMinute => interval.requests as f64 * 60.0,
            Self::BitsPerSecond => interval.bytes as f64 * 8.0,
            Self::MegabytesPerSecond => interval.bytes as f64 / 1e6,
            _ => return None,
        })
    }
}

impl LoadKind {
    /// Every figure that such a load has, by the metric's name. A figure without a value is absent: percentiles where nothing was answered,
    /// rates where no time passed.
    pub fn figures(&self, result: &LoadResult) -> BTreeMap<String, f64> {
        let value = |metric: Metric| Some((metric.name().to_owned(), metric.of(result)?));
        self.metrics().filter_map(value).filter(|(_, value)| value.is_finite()).collect()
    }
}

impl LoadResult {
    /// How long it took, in seconds.
    fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// So much, done while it went on, per second; absent where it took no time.
    pub fn per_second(&self, amount: f64) -> Option<f64> {
        per_second(amount, self.seconds())
    }

    /// The share of their time in which the threads of these loads used a CPU; absent where they took no time.
    pub fn busy_share<'a>(results: impl IntoIterator<Item = &'a Self>) -> Option<f64> {
        let (mut busy, mut had) = (0.0, 0.0);
        for result in results {
            busy += (result.user_us + result.system_us) as f64;
            had += result.elapsed_ns as f64 / 1e3 * f64::from(result.threads);
        }
        (had > 0.0).then(|| busy / had)
    }

    /// Bits per second of the datagrams that were sent, each as long as those that arrived; absent where none arrived.
    pub fn offered_bits_per_second(&self) -> Option<f64> {
        let datagrams = self.found::<Datagrams>().filter(|datagrams| datagrams.received > 0)?;
        let bits = 8.0 * self.bytes as f64 / datagrams.received as f64;
        per_second(bits * datagrams.sent as f64, self.seconds()).filter(|_| datagrams.sent > 0)
    }

    /// Millions of bytes that a storage load read per second.
    pub fn read_megabytes_per_second(&self) -> Option<f64> {
        per_second(self.found::<StorageFacts>()?.read_bytes as f64 / 1e6, self.seconds())
    }

    /// The share of due requests that were answered within a time; of an open loop.
    pub fn share_within(&self, time: Duration) -> Option<f64> {
        let due = self.offer.as_ref()?.due.max(1);
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Some(self.latency.total.count_between(0, us) as f64 / due as f64)
    }

    /// The time in milliseconds within which this share of what was due was answered; absent where a smaller share was. What failed took longer than
    /// anything that did not.
    pub fn ms_for_share(&self, share: f64) -> Option<f64> {
        let times = &self.latency.total;
        let quantile = share * self.offer.as_ref()?.due.max(1) as f64 / times.len().max(1) as f64;
        (quantile <= 1.0).then(|| times.value_at_quantile(quantile) as f64 / 1e3)
    }
}

impl Step {
    /// Requests that were due per second; absent where none was.
    pub fn due_per_second(&self) -> Option<f64> {
        let length = self.end_ns.saturating_sub(self.start_ns);
        per_second(self.due as f64, length as f64 / 1e9).filter(|_| self.due > 0)
    }

    /// Requests answered without error per second; absent where the step took no time.
    pub fn answered(&self) -> Option<f64> {
        let length = self.end_ns.saturating_sub(self.start_ns);
        per_second(self.requests as f64, length as f64 / 1e9)
    }
}

impl Offer {
    /// Requested rate, in requests per second; absent where there was none.
    pub fn offered(&self) -> Option<f64> {
        per_second(self.due as f64, self.length_ns as f64 / 1e9)
    }

    /// Requests per second that were begun.
    pub fn achieved(&self) -> Option<f64> {
        per_second(self.begun as f64, self.length_ns.max(self.last_begun_ns) as f64 / 1e9)
    }

    /// Takes in what another slice offered. Slices repeat the same steps, each for a shorter time: one stands for all. Of send lag
    /// the greatest of each percentile is kept.
    fn join(&mut self, other: &Self) {
        let length = |offer: &Self| offer.length_ns.max(offer.last_begun_ns);
        self.last_begun_ns = length(self) + length(other);
        self.length_ns += other.length_ns;
        self.due += other.due;
        self.begun += other.begun;
        self.queued += other.queued;
        self.send_lag.add(&other.send_lag);
        let most = |of: fn(&Percentiles) -> u64| of(&self.send_lag_us).max(of(&other.send_lag_us));
        self.send_lag_us = Percentiles {
            p50: most(|p| p.p50),
            p90: most(|p| p.p90),
            p95: most(|p| p.p95),
            p99: most(|p| p.p99),
            p99_9: most(|p| p.p99_9),
            max: most(|p| p.max),
        };
    }
}

/// Results of several slices of a load together: counts and times are sums, times of requests are those of all. Intervals are left out.
pub fn pooled<'r>(results: impl IntoIterator<Item = &'r LoadResult>) -> Option<LoadResult> {
    let mut results = results.into_iter();
    let mut all = LoadResult { intervals: Vec::new(), ..results.next()?.clone() };
    for other in results {
        all.latency = together(&all, other);
        all.elapsed_ns += other.elapsed_ns;
        all.connections += other.connections;
        all.requests += other.requests;
        all.bytes += other.bytes;
        for (kind, count) in &other.errors {
            *all.errors.entry(*kind).or_default() += count;
        }
        all.first_error = all.first_error.take().or_else(|| other.first_error.clone());
        all.user_us += other.user_us;
        all.system_us += other.system_us;
        all.waited_us = waits(all.waited_us, other.waited_us);
        // What is not known of one slice is not known of all.
        all.services_us = all.services_us.zip(other.services_us).map(|(mine, theirs)| mine + theirs);
        all.threads = all.threads.max(other.threads);
        match (&mut all.offer, &other.offer) {
            (Some(mine), Some(theirs)) => mine.join(theirs),
            (mine, theirs) => *mine = mine.take().or_else(|| theirs.clone()),
        }
        match (&mut all.facts, &other.facts) {
            (Some(mine), Some(theirs)) => mine.join(theirs),
            (mine, theirs) => *mine = mine.take().or_else(|| theirs.clone()),
        }
    }
    Some(all)
}

fn together(all: &LoadResult, other: &LoadResult) -> Latencies {
    let add = |mine: &Histogram, theirs: &Histogram| {
        let mut sum = mine.clone();
        sum.add(theirs);
        sum
    };
    let (mine, theirs) = (&all.latency, &other.latency);
    let total = add(&mine.total, &theirs.total);
    let weighed = |latency: &Latencies, of: &LoadResult| latency.mean_us.map(|us| us * of.requests as f64);
    let (mine_us, theirs_us) = (weighed(mine, all), weighed(theirs, other));
    let number = (all.requests + other.requests) as f64;
    Latencies {
        connect: add(&mine.connect, &theirs.connect),
        first_byte: add(&mine.first_byte, &theirs.first_byte),
        percentiles: total.percentiles(),
        total,
        mean_us: match (mine_us, theirs_us) {
            (None, None) => None,
            (mine, theirs) => Some((mine.unwrap_or(0.0) + theirs.unwrap_or(0.0)) / number.max(1.0)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Datagrams, ErrorKind};

    fn result(seconds: u64, times: &[(u64, u64)]) -> LoadResult {
        let total = Histogram::of(times.iter().copied());
        LoadResult {
            elapsed_ns: seconds * 1_000_000_000,
            requests: total.len(),
            bytes: 1_000_000,
            latency: Latencies {
                percentiles: total.percentiles(),
                mean_us: Some(total.mean()),
                total,
                ..Latencies::default()
            },
            ..LoadResult::default()
        }
    }

    #[test]
    fn slices_together_have_the_figures_of_all_their_requests() {
        let (mut short, mut long) = (result(1, &[(1_000, 90)]), result(3, &[(9_000, 10)]));
        assert_eq!(Metric::ServiceCpuUsPerRequest.of(&short), None);
        (short.services_us, long.services_us) = (Some(300), Some(100));
        let all = pooled([&short, &long]).unwrap();
        let near = |metric: Metric, expected: f64| {
            let figure = metric.of(&all).unwrap();
            assert!((figure / expected - 1.0).abs() < 1e-3, "{metric:?}: {figure}, expected {expected}");
        };
        near(Metric::RequestsPerSecond, 25.0);
        near(Metric::MessagesPerMinute, 1_500.0);
        near(Metric::MegabytesPerSecond, 0.5);
        near(Metric::MeanMs, 1.8);
        near(Metric::P99Ms, 9.0);
        near(Metric::ServiceCpuUsPerRequest, 4.0);
        let partly = pooled([&short, &result(1, &[])]).unwrap();
        assert_eq!(Metric::ServiceCpuUsPerRequest.of(&partly), None);
        assert_eq!(Metric::LossShare.of(&all), None);
    }

    #[test]
    fn what_kinds_find_is_put_together_and_nothing_gives_no_figure() {
        let of = |sent, received| LoadResult {
            facts: Some(Datagrams { sent, received, ..Datagrams::default() }.into()),
            errors: [(ErrorKind::Reset, 1)].into(),
            ..result(1, &[])
        };
        let all = pooled([&of(100, 90), &of(300, 300)]).unwrap();
        assert_eq!(Metric::LossShare.of(&all), Some(0.025));
        assert_eq!(Metric::PacketsPerSecond.of(&all), Some(195.0));
        assert_eq!(Metric::ErrorShare.of(&all), Some(1.0));
        assert_eq!(Metric::MeanMs.of(&all), None);
        assert!(pooled([]).is_none());
        assert_eq!(Metric::RequestsPerSecond.of(&LoadResult::default()), None);
    }
}
