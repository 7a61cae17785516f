//! Whether an intervention brings back what was lost, and so confirms a cause.

mod interventions;

use std::collections::BTreeMap;

use plimsoll_judge::share::{self, Share, Uncertain};
use plimsoll_judge::stats::dist::normal_quantile;
use plimsoll_judge::stats::median;
use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::plan::intervention::{APPLIED, Compared, FACTOR, Intervention};
use plimsoll_model::verdict::{Interval, Outcome, Verdict};

use super::contrast::{self, is_of};
use super::{soundness, windows};

pub use interventions::intervention;

/// The claim, as verdicts name it.
const CLAIM: &str = "confirmation";
/// A cause is confirmed where the intervention brings back more of the loss than this, for sure.
const MOST_OF_IT: f64 = 0.5;
const CONFIDENCE: f64 = 0.95;

/// The verdict on an intervention: the estimate is the share of the loss that it brings back.
pub(super) fn verdict(intervention: &Intervention, plan: &Plan, trials: &[TrialRecord]) -> Verdict {
    let metric = match &intervention.compared {
        Compared::Sides { metric, .. } => metric.name(),
        Compared::Recovery { .. } => recovery(plan).map_or("", |claim| claim.metric.name()),
    };
    let all: Vec<&TrialRecord> = trials.iter().collect();
    if let Some(reason) = soundness::objection_to_comparison(&all) {
        return Verdict::bare(CLAIM, metric, Outcome::Invalid, 0, reason);
    }
    let found = match &intervention.compared {
        Compared::Recovery { after } => of_recovery(plan, after, trials),
        Compared::Sides { phase, metric, better, .. } => of_sides(phase, *metric, better, trials),
    };
    match found {
        Ok(found) => found.verdict(metric, intervention),
        Err(reason) => Verdict::bare(CLAIM, metric, Outcome::Undecided, trials.len(), reason),
    }
}

/// A share, and the figures that it rests on.
struct ExplainedShare {
    share: Share,
    figures: String,
    n: usize,
}

impl ExplainedShare {
    fn verdict(self, metric: &str, intervention: &Intervention) -> Verdict {
        let (what, figures) = (&intervention.what, &self.figures);
        let Some((low, high)) = self.share.interval else {
            let reason =
                format!("{what}: {figures}; the loss itself is uncertain, and so is any share of it");
            return Verdict::bare(CLAIM, metric, Outcome::Undecided, self.n, reason);
        };
        let outcome = if low > MOST_OF_IT {
            Outcome::Confirmed
        } else if high < MOST_OF_IT {
            Outcome::NotConfirmed
        } else {
            Outcome::Undecided
        };
        let conclusion = match outcome {
            Outcome::Confirmed => format!("{} is confirmed", intervention.cause.id()),
            Outcome::NotConfirmed => format!("{} does not explain most of the loss", intervention.cause.id()),
            _ => "more blocks are needed".to_owned(),
        };
        let reason = format!("{what}: {figures}; {conclusion}");
        Verdict {
            estimate: Some(self.share.estimate),
            interval: Some(Interval(low, high)),
            ..Verdict::bare(CLAIM, metric, outcome, self.n, reason)
        }
    }
}

fn is_applied(trial: &TrialRecord) -> bool {
    trial.cell.get(FACTOR).is_some_and(|level| level == APPLIED)
}

fn recovery(plan: &Plan) -> Option<&plimsoll_model::experiment::RecoveryClaim> {
    plan.experiment.claims.iter().find_map(|claim| claim.recovery())
}

/// Both ratios to the baseline on the scale of logarithms: without the intervention, and with it.
fn of_recovery(plan: &Plan, after: &str, trials: &[TrialRecord]) -> Result<ExplainedShare, String> {
    let claim = recovery(plan).ok_or("the experiment claims no recovery")?;
    let of = |applied: bool| {
        let of_cell = trials.iter().filter(|trial| is_applied(trial) == applied);
        let taken: Vec<_> = of_cell.filter_map(|trial| windows::of_trial(trial, claim)).collect();
        let verdict = windows::judged(claim, &taken).verdict;
        match (verdict.estimate, verdict.interval) {
            (Some(ratio), Some(interval)) if interval.lo() > 0.0 => Ok((ratio, interval)),
            _ => Err(format!("{}: {}", if applied { "with it" } else { "without it" }, verdict.reason)),
        }
    };
    let (without, with) = (of(false)?, of(true)?);
    let quantile = normal_quantile(0.5 + CONFIDENCE / 2.0);
    let log = |(ratio, interval): (f64, Interval)| {
        let error = (interval.hi() / interval.lo()).ln() / 2.0 / quantile;
        Uncertain { mean: ratio.ln(), variance: error.powi(2) }
    };
    let (lost, left) = (log(without), log(with));
    let back = Uncertain { mean: lost.mean - left.mean, variance: lost.variance + left.variance };
    let figures = format!(
        "{} in `{after}` is {:.2} of the baseline with it and {:.2} without it",
        claim.metric.name().replace('_', " "),
        with.0,
        without.0
    );
    Ok(ExplainedShare { share: share::ratio(back, lost, lost.variance, quantile), figures, n: trials.len() })
}

/// The figures of the blocks in which all three cells were measured.
fn of_sides(
    phase: &str,
    metric: Metric,
    better: &BTreeMap<String, String>,
    trials: &[TrialRecord],
) -> Result<ExplainedShare, String> {
    let mut blocks: BTreeMap<u32, [Option<f64>; 3]> = BTreeMap::new();
    for trial in trials {
        let side = match (is_applied(trial), is_of(better, &trial.cell)) {
            (true, _) => 2,
            (false, true) => 0,
            (false, false) => 1,
        };
        blocks.entry(trial.block).or_default()[side] = contrast::figure(trial, phase, metric);
    }
    let whole = blocks.into_values().filter_map(|[good, bad, mended]| Some((good?, bad?, mended?)));
    let (mut good, mut bad, mut mended) = (Vec::new(), Vec::new(), Vec::new());
    for (of_good, of_bad, of_mended) in whole {
        good.push(of_good);
        bad.push(of_bad);
        mended.push(of_mended);
    }
    let share = share::of_blocks(&good, &bad, &mended, contrast::scale(metric), CONFIDENCE)
        .map_err(|error| super::in_words(&error))?;
    let middle = |of: &[f64]| {
        let middle = median(of);
        if metric.is_share() { format!("{:.1} %", middle * 100.0) } else { format!("{middle:.1}") }
    };
    let figures = format!(
        "median {} {} with it, {} without it, {} on the better side",
        metric.name().replace('_', " "),
        middle(&mended),
        middle(&bad),
        middle(&good)
    );
    Ok(ExplainedShare { share, figures, n: bad.len() })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;
    use plimsoll_model::observation::LoadResult;

    use super::super::fixture;
    use super::*;

    fn intervention() -> Intervention {
        let side = |level: &str| BTreeMap::from([("backlog".to_owned(), level.to_owned())]);
        Intervention {
            cause: CauseId::NetListenOverflow,
            run: "r".to_owned(),
            what: "a longer queue".to_owned(),
            set: Vec::new(),
            actions: Vec::new(),
            without_background: false,
            compared: Compared::Sides {
                phase: "all".to_owned(),
                metric: Metric::ConnectionsPerSecond,
                better: side("511"),
                worse: side("1"),
            },
        }
    }

    /// Six blocks in which the better side has a rate of 1000, the worse of 250, and the mended one of this.
    fn judged(mended: f64) -> Verdict {
        let trial = |block: u32, backlog: &str, level: &str, rate: f64| {
            let rate = rate * (1.0 + 0.01 * f64::from(block % 3));
            let result = LoadResult {
                connections: rate as u64,
                elapsed_ns: 1_000_000_000,
                threads: 1,
                ..LoadResult::default()
            };
            TrialRecord {
                block,
                cell: [("backlog", backlog), (FACTOR, level)]
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
                    .into(),
                phases: vec![fixture::phase("all", result)],
                ..TrialRecord::default()
            }
        };
        let blocks = (1..=6).flat_map(|block| {
            [
                trial(block, "511", "none", 1000.0),
                trial(block, "1", "none", 250.0),
                trial(7 - block, "1", APPLIED, mended),
            ]
        });
        let trials: Vec<TrialRecord> = blocks.collect();
        let (phase, metric, better) = match &intervention().compared {
            Compared::Sides { phase, metric, better, .. } => (phase.clone(), *metric, better.clone()),
            Compared::Recovery { .. } => unreachable!("the fixture compares sides"),
        };
        of_sides(&phase, metric, &better, &trials).unwrap().verdict("connections_per_second", &intervention())
    }

    #[test]
    fn what_comes_back_is_a_share_of_the_loss_on_the_scale_of_ratios() {
        let all = judged(1000.0);
        assert_eq!(all.outcome, Outcome::Confirmed, "{}", all.reason);
        assert!((all.estimate.unwrap() - 1.0).abs() < 0.02, "{}", all.reason);
        assert!(all.reason.contains("net.listen_overflow is confirmed"), "{}", all.reason);
        // Twice the rate of the worse side is half of a loss of four times.
        let half = judged(500.0);
        assert_eq!(half.outcome, Outcome::Undecided, "{}", half.reason);
        assert!((half.estimate.unwrap() - 0.5).abs() < 0.02, "{}", half.reason);
        let none = judged(250.0);
        assert_eq!(none.outcome, Outcome::NotConfirmed, "{}", none.reason);
    }
}
