//! Whether an intervention brings back what was lost, and so confirms a cause.

mod interventions;

use std::collections::BTreeMap;

use plimsoll_judge::share::{self, Share, Uncertain};
use plimsoll_judge::stats::dist::normal_quantile;
use plimsoll_judge::stats::median;
use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::plan::intervention::{CauseChange, ChangedSide, Compared, FACTOR, Intervention, NONE};
use plimsoll_model::verdict::{Interval, Outcome, Verdict};

use super::contrast::{self, is_of};
use super::{soundness, windows};

pub use interventions::intervention;

/// The claim, as verdicts name it.
const CLAIM: &str = "confirmation";
/// A cause is confirmed where the intervention brings back more of the loss than this, for sure. Of several causes, each needs its part of it.
const MOST_OF_IT: f64 = 0.5;
const CONFIDENCE: f64 = 0.95;

/// The verdicts on an intervention: on all changes together, and then on each alone where there are several. The estimate is the share of the loss
/// that the changes bring back.
pub(super) fn verdicts(intervention: &Intervention, plan: &Plan, trials: &[TrialRecord]) -> Vec<Verdict> {
    let sides = intervention.sides();
    let mut verdicts: Vec<Verdict> =
        sides.iter().map(|side| verdict(side, intervention, plan, trials)).collect();
    add_sums(&mut verdicts);
    verdicts
}

/// Adds to the verdict on all changes what the shares alone add up to, and to each of two what it adds to the other. A cause that the other hides
/// has a small share alone.
fn add_sums(verdicts: &mut [Verdict]) {
    let Some((together, alone @ [_, ..])) = verdicts.split_first_mut() else { return };
    let shares: Option<Vec<f64>> = alone.iter().map(|verdict| verdict.estimate).collect();
    let (Some(shares), Some(all)) = (shares, together.estimate) else { return };
    let sum = 100.0 * shares.iter().sum::<f64>();
    together.reason.push_str(&format!("; alone they add up to {sum:.0} %"));
    if let ([first, second], [of_first, of_second]) = (alone, shares.as_slice()) {
        for (verdict, other) in [(first, of_second), (second, of_first)] {
            verdict.reason.push_str(&format!("; beside the other it adds {:.0} %", 100.0 * (all - other)));
        }
    }
}

fn verdict(
    side: &ChangedSide<'_>,
    intervention: &Intervention,
    plan: &Plan,
    trials: &[TrialRecord],
) -> Verdict {
    let metric = match &intervention.compared {
        Compared::Sides { metric, .. } => metric.name(),
        Compared::Recovery { .. } => recovery(plan).map_or("", |claim| claim.metric.name()),
    };
    let causes = side.changes.iter().map(|one| one.cause).collect();
    let bare = |outcome, n, reason| Verdict { causes, ..Verdict::bare(CLAIM, metric, outcome, n, reason) };
    let all: Vec<&TrialRecord> = trials.iter().collect();
    if let Some(reason) = soundness::objection_to_comparison(&all) {
        return bare(Outcome::Invalid, 0, reason);
    }
    let found = match &intervention.compared {
        Compared::Recovery { after } => of_recovery(plan, after, side.level, trials),
        Compared::Sides { phase, metric, better, .. } => of_sides(phase, *metric, better, side.level, trials),
    };
    let needed = MOST_OF_IT * side.changes.len() as f64 / intervention.changes().count() as f64;
    match found {
        Ok(found) => {
            let (outcome, reason) = found.judged(needed, &side.changes);
            let interval = found.share.interval.map(|(low, high)| Interval(low, high));
            let estimate = interval.map(|_| found.share.estimate);
            Verdict { estimate, interval, ..bare(outcome, found.n, reason) }
        }
        Err(reason) => bare(Outcome::Undecided, trials.len(), reason),
    }
}

/// A share, and the figures that it rests on.
struct ExplainedShare {
    share: Share,
    figures: String,
    n: usize,
}

impl ExplainedShare {
    /// Whether it is more than what is needed, and why.
    fn judged(&self, needed: f64, changes: &[&CauseChange]) -> (Outcome, String) {
        let what = changes.iter().map(|one| one.change.what.as_str()).collect::<Vec<_>>().join(", and ");
        let causes = changes.iter().map(|one| one.cause.id()).collect::<Vec<_>>().join(" and ");
        let (outcome, conclusion) = match self.share.interval {
            None => {
                (Outcome::Undecided, "the loss itself is uncertain, and so is any share of it".to_owned())
            }
            Some((low, _)) if low > needed => {
                let are = if changes.len() == 1 { "is" } else { "are" };
                (Outcome::Confirmed, format!("{causes} {are} confirmed"))
            }
            Some((_, high)) if high < needed => {
                let explain = if changes.len() == 1 { "explains" } else { "explain" };
                (
                    Outcome::NotConfirmed,
                    format!("{causes} {explain} less than {:.0} % of the loss", needed * 100.0),
                )
            }
            Some(_) => (Outcome::Undecided, "more blocks are needed".to_owned()),
        };
        (outcome, format!("{what}: {}; {conclusion}", self.figures))
    }
}

fn level(trial: &TrialRecord) -> &str {
    trial.cell.get(FACTOR).map_or(NONE, String::as_str)
}

fn recovery(plan: &Plan) -> Option<&plimsoll_model::experiment::RecoveryClaim> {
    plan.experiment.claims.iter().find_map(|claim| claim.recovery())
}

/// Both ratios to the baseline on the scale of logarithms: without the intervention, and with it.
fn of_recovery(
    plan: &Plan,
    after: &str,
    changed: &str,
    trials: &[TrialRecord],
) -> Result<ExplainedShare, String> {
    let claim = recovery(plan).ok_or("the experiment claims no recovery")?;
    let of = |wanted: &str| {
        let of_cell = trials.iter().filter(|trial| level(trial) == wanted);
        let taken: Vec<_> = of_cell.filter_map(|trial| windows::of_trial(trial, claim)).collect();
        let verdict = windows::judged(claim, &taken).verdict;
        match (verdict.estimate, verdict.interval) {
            (Some(ratio), Some(interval)) if interval.lo() > 0.0 => Ok((ratio, interval)),
            _ => Err(format!("with the intervention `{wanted}`: {}", verdict.reason)),
        }
    };
    let (without, with) = (of(NONE)?, of(changed)?);
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

/// The figures of the blocks in which both sides and the changed one were measured.
fn of_sides(
    phase: &str,
    metric: Metric,
    better: &BTreeMap<String, String>,
    changed: &str,
    trials: &[TrialRecord],
) -> Result<ExplainedShare, String> {
    let mut blocks: BTreeMap<u32, [Option<f64>; 3]> = BTreeMap::new();
    for trial in trials {
        let side = match level(trial) {
            NONE => usize::from(!is_of(better, &trial.cell)),
            other if other == changed => 2,
            _ => continue,
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
    use plimsoll_model::observation::{LoadResult, PhaseRecord, Slice};
    use plimsoll_model::plan::Settings;
    use plimsoll_model::plan::intervention::Change;

    use super::super::fixture;
    use super::*;

    const CAUSES: [CauseId; 2] = [CauseId::NetRuleChain, CauseId::CpuQuotaThrottled];
    const PLAN: &str = r#"
question = "why?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 1000 }
[[phases]]
name = "all"
measure = "some"
[factors.backlog]
set = "services.web.web.backlog"
levels = [511, 1]
"#;

    /// Blocks in which the better side has a rate of 1000, the worse of 250, and the sides with changes of these.
    fn judged(causes: &[CauseId], mended: &[(&str, f64)]) -> Vec<Verdict> {
        let side = |level: &str| BTreeMap::from([("backlog".to_owned(), level.to_owned())]);
        let (phase, metric) = ("all".to_owned(), Metric::ConnectionsPerSecond);
        let mut changes = causes.iter().map(|cause| {
            let what = format!("without {}", cause.id());
            CauseChange { cause: *cause, change: Change { what, ..Change::default() } }
        });
        let intervention = Intervention {
            run: "r".to_owned(),
            compared: Compared::Sides { phase, metric, better: side("511"), worse: side("1") },
            first: changes.next().unwrap(),
            others: changes.collect(),
        };
        let trial = |block: u32, backlog: &str, level: &str, rate: f64| {
            let rate = rate * (1.0 + 0.01 * f64::from(block % 3));
            let result = LoadResult {
                connections: rate as u64,
                elapsed_ns: 1_000_000_000,
                threads: 1,
                ..LoadResult::default()
            };
            let cell = [("backlog", backlog), (FACTOR, level)];
            TrialRecord {
                block,
                cell: cell.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
                phases: vec![fixture::phase("all", result)],
                ..TrialRecord::default()
            }
        };
        let blocks = (1..=6).flat_map(|block| {
            let sides = [trial(block, "511", NONE, 1000.0), trial(block, "1", NONE, 250.0)];
            // The scatter of the changed sides is their own.
            let changed = mended.iter().map(move |(level, rate)| trial(7 - block, "1", level, *rate));
            sides.into_iter().chain(changed)
        });
        let plan = Plan::read("test", PLAN, &Settings::default()).unwrap();
        verdicts(&intervention, &plan, &blocks.collect::<Vec<_>>())
    }

    /// The outcome and the share in per cent, of each verdict.
    fn outcomes(verdicts: &[Verdict]) -> Vec<(Outcome, f64)> {
        let share = |verdict: &Verdict| (100.0 * verdict.estimate.unwrap()).round();
        verdicts.iter().map(|verdict| (verdict.outcome, share(verdict))).collect()
    }

    #[test]
    fn what_comes_back_is_a_share_of_the_loss_on_the_scale_of_ratios() {
        let one = |rate| judged(&CAUSES[..1], &[("applied", rate)]);
        let all = one(1000.0);
        assert_eq!(outcomes(&all), [(Outcome::Confirmed, 100.0)]);
        assert!(all[0].reason.contains("net.rule_chain is confirmed"), "{}", all[0].reason);
        // Twice the rate of the worse side is half of a loss of four times.
        assert_eq!(outcomes(&one(500.0)), [(Outcome::Undecided, 50.0)]);
        assert_eq!(outcomes(&one(250.0)), [(Outcome::NotConfirmed, 0.0)]);
    }

    #[test]
    fn of_two_causes_each_has_its_share_and_both_have_theirs_together() {
        let two = |all, first, second| {
            judged(&CAUSES, &[("all", all), (CAUSES[0].id(), first), (CAUSES[1].id(), second)])
        };
        // 250 * 2 = 500, and 500 * 2 = 1000: the factors of the two causes multiply, so that their shares add up.
        let alike = two(1000.0, 500.0, 500.0);
        let half = (Outcome::Confirmed, 50.0);
        assert_eq!(outcomes(&alike), [(Outcome::Confirmed, 100.0), half, half]);
        assert_eq!(alike.iter().map(|verdict| verdict.causes.len()).collect::<Vec<_>>(), [2, 1, 1]);
        let reason = &alike[0].reason;
        assert!(
            reason.starts_with("without net.rule_chain, and without cpu.quota_throttled: median"),
            "{reason}"
        );
        assert!(reason.contains("net.rule_chain and cpu.quota_throttled are confirmed"), "{reason}");
        assert!(reason.ends_with("; alone they add up to 100 %"), "{reason}");
        // One hides the other: 250 * 4 ^ 0.1 = 287 alone, and all of it together.
        let hidden = two(1000.0, 287.17, 287.17);
        let hides = (Outcome::NotConfirmed, 10.0);
        assert_eq!(outcomes(&hidden), [(Outcome::Confirmed, 100.0), hides, hides]);
        assert!(hidden[0].reason.ends_with("; alone they add up to 20 %"), "{}", hidden[0].reason);
        let reason = &hidden[1].reason;
        assert!(
            reason.ends_with(
                "net.rule_chain explains less than 25 % of the loss; beside the other it adds 90 %"
            ),
            "{reason}"
        );
        // 250 * 4 ^ 0.25 = 353.6 is the part of one in two.
        assert_eq!(outcomes(&two(1000.0, 353.55, 1000.0))[1], (Outcome::Undecided, 25.0));
    }

    #[test]
    fn after_a_flood_the_ratios_to_the_baseline_give_the_shares() {
        let claim = "[[claims]]\nrecovery = { baseline = \"before\", after = \"after\", margin = \"5 %\" }\n";
        let phases = "[[phases]]\nname = \"before\"\nmeasure = \"some\"\n[[phases]]\nname = \"after\"\nmeasure = \"some\"\n";
        let (head, _) = PLAN.split_once("[[phases]]").unwrap();
        let text = [head, phases, claim].concat();
        let plan = Plan::read("test", &text, &Settings::default()).unwrap();
        let slice = |number: u32, rate: f64| {
            let connections = (rate * (1.0 + 0.01 * f64::from(number % 3))) as u64;
            let result =
                LoadResult { connections, elapsed_ns: 1_000_000_000, threads: 1, ..LoadResult::default() };
            Slice { number, ..fixture::slice(result) }
        };
        let phase = |name: &str, rate: f64| PhaseRecord {
            slices: (1..=12).map(|number| slice(number, rate)).collect(),
            ..fixture::phase(name, LoadResult::default())
        };
        let trial = |block: u32, level: &str, rate: f64| TrialRecord {
            block,
            cell: [(FACTOR.to_owned(), level.to_owned())].into(),
            phases: vec![phase("before", 100_000.0), phase("after", rate)],
            ..TrialRecord::default()
        };
        // To a quarter without changes: half of it on the scale of logarithms is a half.
        let sides = [(NONE, 25_000.0), ("all", 100_000.0), ("one", 50_000.0)];
        let trials: Vec<TrialRecord> =
            (1..=3).flat_map(|block| sides.map(|(level, rate)| trial(block, level, rate))).collect();
        let share = |level| of_recovery(&plan, "after", level, &trials).unwrap().share.estimate;
        assert!((share("all") - 1.0).abs() < 0.01 && (share("one") - 0.5).abs() < 0.01);
        assert!(of_recovery(&plan, "after", "other", &trials).is_err());
    }

    #[test]
    fn without_the_trials_of_one_side_the_others_are_judged() {
        let found = judged(&CAUSES, &[("all", 1000.0), (CAUSES[0].id(), 500.0)]);
        assert_eq!(outcomes(&found[..2]), [(Outcome::Confirmed, 100.0), (Outcome::Confirmed, 50.0)]);
        assert_eq!((found[2].outcome, &found[2].causes[..]), (Outcome::Undecided, &CAUSES[1..]));
        assert!(!found[0].reason.contains("add up"), "{}", found[0].reason);
    }
}
