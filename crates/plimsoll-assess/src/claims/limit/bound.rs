//! The claim that a figure keeps to a bound: from trials or slices to an interval, and from there to a verdict.

use plimsoll_judge::stats::dist::score_share;
use plimsoll_judge::stats::shift::centre;
use plimsoll_model::experiment::claim::limit::{BoundClaim, BoundDetails, LimitDetails, Side};
use plimsoll_model::observation::{Datagrams, Histogram, LoadResult};
use plimsoll_model::verdict::Interval;

use crate::claims::prelude::*;
use crate::{contrast, pooled};

/// The claim, as verdicts name it.
const CLAIM: &str = "limit";
/// The confidence of the interval.
const CONFIDENCE: f64 = 0.95;
/// From this number of trials on, each trial's figure counts; with fewer, the figures of their slices do. Rank
/// intervals need at least five values.
const ENOUGH_TRIALS: usize = 5;
/// With fewer figures there is no interval worth the name.
const FEWEST: usize = 3;
/// A percentile is reported if at least this many requests are slower.
const SLOWER: f64 = 3.0;

/// Judges the bound in one cell.
pub(super) fn finding(cell: &Cell, claim: &BoundClaim, trials: &[TrialRecord]) -> Finding {
    let details = BoundDetails {
        phase: claim.phase.clone(),
        cell: cell.levels.clone(),
        side: claim.side,
        bound: claim.value().ok(),
    };
    Finding::new(verdict(cell, claim, trials), LimitDetails::Bound(details))
}

fn verdict(cell: &Cell, claim: &BoundClaim, trials: &[TrialRecord]) -> Verdict {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let metric = claim.metric.name();
    let objection = match claim.metric {
        metric if metric.is_of_failures() => soundness::objection_to_load(&of_cell),
        _ => soundness::objection(&of_cell),
    };
    let mut verdict = match objection {
        Some(reason) => Verdict::bare(CLAIM, metric, Outcome::Invalid, 0, reason),
        None => judged(claim, &of_cell),
    };
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    verdict
}

fn judged(claim: &BoundClaim, trials: &[&TrialRecord]) -> Verdict {
    let metric = claim.metric;
    let open = |n, reason: String| Verdict::bare(CLAIM, metric.name(), Outcome::Undecided, n, reason);
    let bound = match claim.value() {
        Ok(bound) => bound,
        Err(error) => return open(0, error.to_string()),
    };
    let sample = Sample::of(claim, trials);
    if sample.figures.len() < FEWEST {
        return open(sample.figures.len(), sample.too_small(claim, trials));
    }
    let place = centre(&sample.figures, CONFIDENCE);
    let (mut estimate, mut interval) = (place.estimate, Interval(place.lo.max(0.0), place.hi));
    if let Some((share, of_counts)) = counted(metric, &slices::of_sound(trials, &claim.phase)) {
        // Slices that all failed alike, or not at all, scatter too little to show how sure a share is: the number of requests shows it.
        estimate = share;
        interval = Interval(interval.lo().min(of_counts.lo()), interval.hi().max(of_counts.hi()));
    }
    let (held, broken) = match claim.side {
        Side::Below => (interval.hi() < bound, interval.lo() >= bound),
        Side::Above => (interval.lo() > bound, interval.hi() <= bound),
    };
    let unit = metric.unit();
    let (outcome, how) = match (held, broken) {
        (true, _) => (Outcome::Held, "lies"),
        (_, true) => (Outcome::NotHeld, "does not lie"),
        _ => (Outcome::Undecided, "may or may not lie"),
    };
    let reason = format!(
        "{} in `{}` {how} {} {}: it is {}, {} to {} ({})",
        metric.name(),
        claim.phase,
        claim.side.name(),
        unit.with_unit(bound),
        unit.with_unit(estimate),
        unit.with_unit(interval.lo()),
        unit.with_unit(interval.hi()),
        sample.in_words()
    );
    Verdict {
        estimate: Some(estimate),
        interval: Some(interval),
        confidence: CONFIDENCE,
        ..Verdict::bare(CLAIM, metric.name(), outcome, sample.figures.len(), reason)
    }
}

/// The figures that an interval is made of.
struct Sample {
    figures: Vec<f64>,
    /// How many trials they come from.
    trials: usize,
    of_slices: bool,
}

impl Sample {
    fn of(claim: &BoundClaim, trials: &[&TrialRecord]) -> Self {
        let (phase, metric) = (claim.phase.as_str(), claim.metric);
        let sound: Vec<&TrialRecord> =
            trials.iter().filter(|trial| trial.faults.is_empty()).copied().collect();
        let of_trial = |trial: &&TrialRecord| match metric.quantile() {
            Some(quantile) => percentile(&slices::measured(trial, phase).collect::<Vec<_>>(), quantile),
            None => contrast::figure(trial, phase, metric),
        };
        let of_trials: Vec<f64> = sound.iter().filter_map(of_trial).collect();
        // Packets belong to a whole phase and not to its slices.
        if of_trials.len() >= ENOUGH_TRIALS || metric == Metric::StallShare {
            return Self { trials: of_trials.len(), figures: of_trials, of_slices: false };
        }
        let parts = |trial: &&TrialRecord| -> Vec<f64> {
            let slices: Vec<&Slice> = slices::measured(trial, phase).collect();
            match metric.quantile() {
                Some(quantile) => percentiles(&slices, quantile),
                None => slices.iter().filter_map(|slice| slice.result.figure(metric)).collect(),
            }
        };
        let figures = sound.iter().flat_map(parts).collect();
        Self { figures, trials: sound.len(), of_slices: true }
    }

    fn in_words(&self) -> String {
        match (self.of_slices, self.trials) {
            (false, trials) => format!("over {trials} trials"),
            (true, 1) => format!(
                "over {} stretches of one trial, without the variation between trials",
                self.figures.len()
            ),
            (true, trials) => format!("over {} stretches of {trials} trials", self.figures.len()),
        }
    }

    fn too_small(&self, claim: &BoundClaim, trials: &[&TrialRecord]) -> String {
        let slices = slices::of_sound(trials, &claim.phase);
        let requests: u64 = slices.iter().map(|slice| slice.result.requests).sum();
        let metric = claim.metric;
        let has_figure = slices.iter().any(|slice| slice.result.figure(metric).is_some());
        match metric.quantile() {
            _ if !has_figure && self.figures.is_empty() => {
                format!("the load of `{}` has no {}", claim.phase, metric.name())
            }
            Some(quantile) => format!(
                "{requests} requests are too few for {}: {} needed, or {ENOUGH_TRIALS} trials",
                metric.name(),
                FEWEST as u64 * enough(quantile)
            ),
            None => format!(
                "too few measurements ({}) for an interval: `slices = 10` of the phase, or {ENOUGH_TRIALS} trials",
                self.figures.len()
            ),
        }
    }
}

/// The number of requests that a percentile needs.
fn enough(quantile: f64) -> u64 {
    (SLOWER / (1.0 - quantile)).ceil() as u64
}

/// A percentile of all requests of some slices, in milliseconds; `None` if they are too few.
fn percentile(slices: &[&Slice], quantile: f64) -> Option<f64> {
    let pooled = pooled::histogram(slices.iter().map(|slice| &slice.result.latency.total));
    (pooled.len() >= enough(quantile)).then(|| pooled.value_at_quantile(quantile) as f64 / 1e3)
}

/// Percentiles in milliseconds, each over the fewest consecutive slices with enough requests.
fn percentiles(slices: &[&Slice], quantile: f64) -> Vec<f64> {
    let (mut found, mut pooled) = (Vec::new(), Histogram::default());
    for slice in slices {
        pooled.add(&slice.result.latency.total);
        if pooled.len() >= enough(quantile) {
            found.push(std::mem::take(&mut pooled).value_at_quantile(quantile) as f64 / 1e3);
        }
    }
    found
}

/// A share that is counted, and its interval by the counts alone (Wilson 1927); nothing for other figures.
fn counted(metric: Metric, slices: &[&Slice]) -> Option<(f64, Interval)> {
    let sum = |of: &dyn Fn(&LoadResult) -> u64| slices.iter().map(|slice| of(&slice.result)).sum::<u64>();
    let (hits, all) = match metric {
        Metric::ErrorShare => {
            let failed = sum(&LoadResult::failed);
            (failed, failed + sum(&LoadResult::done))
        }
        Metric::LossShare => (
            sum(&|result| result.found::<Datagrams>().map_or(0, Datagrams::lost)),
            sum(&|result| result.found::<Datagrams>().map_or(0, |datagrams| datagrams.sent)),
        ),
        _ => return None,
    };
    (all > 0).then(|| (hits as f64 / all as f64, score_share(hits as f64, all as f64, CONFIDENCE)))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{ErrorKind, Latencies, PhaseRecord};
    use plimsoll_model::plan::{Plan, Settings};

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "is it quick?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 4000 }
[[phases]]
name = "all"
measure = "some"
slices = 10
[[claims]]
limit = LIMIT
"#;

    fn plan(limit: &str) -> Plan {
        Plan::read("test", &TEXT.replace("LIMIT", limit), &Settings::default()).unwrap()
    }

    /// A trial of `slices` slices with `requests` requests each. One in fifty takes `slow_ms`, the others a
    /// millisecond.
    fn trial(slices: u64, requests: u64, slow_ms: u64, failed: u64) -> TrialRecord {
        let slice = |nth: u64| {
            let slow = requests / 50;
            let total = Histogram::of([(1_000, requests - slow), (1_000 * slow_ms + 10 * nth, slow)]);
            fixture::slice(LoadResult {
                elapsed_ns: 1_000_000_000 + nth * 1_000_000,
                threads: 1,
                connections: requests,
                requests,
                errors: if failed > 0 { [(ErrorKind::Status, failed)].into() } else { Default::default() },
                latency: Latencies { total, ..Latencies::default() },
                ..LoadResult::default()
            })
        };
        let phase = PhaseRecord {
            slices: (0..slices).map(slice).collect(),
            ..fixture::phase("all", LoadResult::default())
        };
        TrialRecord { number: 1, block: 1, phases: vec![phase], ..TrialRecord::default() }
    }

    fn found(limit: &str, trial: TrialRecord) -> Verdict {
        crate::findings(&plan(limit), &[trial]).remove(0).verdict
    }

    #[test]
    fn a_percentile_lies_below_its_bound_or_does_not() {
        let limit = r#"{ metric = "p99_ms", below = "50ms" }"#;
        let held = found(limit, trial(10, 400, 20, 0));
        assert_eq!((held.outcome, held.holds), (Outcome::Held, Some(true)), "{held:?}");
        assert!(held.reason.contains("p99_ms in `all` lies below 50.0 ms: it is 20."), "{}", held.reason);
        let broken = found(limit, trial(10, 400, 80, 0));
        assert_eq!((broken.outcome, broken.holds), (Outcome::NotHeld, Some(false)), "{broken:?}");
        let p95 = found(r#"{ metric = "p95_ms", below = "5ms" }"#, trial(10, 400, 80, 0));
        assert_eq!(p95.outcome, Outcome::Held, "{p95:?}");
        let expected =
            found(r#"{ metric = "p99_ms", below = "50ms", expect = "not_held" }"#, trial(10, 400, 80, 0));
        assert_eq!((expected.outcome, expected.holds), (Outcome::NotHeld, Some(true)));
    }

    #[test]
    fn a_rate_lies_above_its_bound_or_does_not() {
        let rate = |bound: &str| {
            let limit = format!(r#"{{ metric = "requests_per_second", above = {bound} }}"#);
            found(&limit, trial(10, 400, 2, 0)).outcome
        };
        assert_eq!((rate("300"), rate("\"500/s\"")), (Outcome::Held, Outcome::NotHeld));
        assert_eq!(rate("398.2"), Outcome::Undecided);
    }

    #[test]
    fn no_error_in_few_requests_does_not_show_that_there_are_few_errors() {
        let limit = r#"{ metric = "error_share", below = "1 %" }"#;
        assert_eq!(found(limit, trial(10, 10, 2, 0)).outcome, Outcome::Undecided);
        assert_eq!(found(limit, trial(10, 400, 2, 0)).outcome, Outcome::Held);
        assert_eq!(found(limit, trial(10, 400, 2, 100)).outcome, Outcome::NotHeld);
    }

    #[test]
    fn too_few_requests_for_a_percentile_say_how_many_are_needed() {
        let verdict = found(r#"{ metric = "p99_9_ms", below = "50ms" }"#, trial(10, 100, 2, 0));
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(
            verdict.reason.contains("1000 requests are too few for p99_9_ms: 9000 needed"),
            "{}",
            verdict.reason
        );
    }
}
