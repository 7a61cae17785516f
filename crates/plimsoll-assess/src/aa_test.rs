//! The trials of block 0: the same cell again and again, before anything is varied.

use plimsoll_judge::Scale;
use plimsoll_judge::compare::aa_test::{Fitness, GROSS, fitness};
use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::report::AaTest;

use super::contrast;

/// The chance to call a machine unfit that is not.
const ALPHA: f64 = 0.01;

/// Advice where the machine is unfit.
pub(super) const NEXT: &str = "stop other processes that use the CPUs and disks, pin the hosts to their own CPUs (`cpus`), or measure longer";

/// Cuts off the trials of block 0, which come first.
pub(super) fn split(trials: &[TrialRecord]) -> (&[TrialRecord], &[TrialRecord]) {
    trials.split_at(trials.partition_point(|trial| trial.block == 0))
}

/// Result of the A/A test for the figure with the most scatter; `None` if there are none.
pub(super) fn of(plan: &Plan, trials: &[TrialRecord]) -> Option<AaTest> {
    let (aa_test, varied) = split(trials);
    if aa_test.is_empty() {
        return None;
    }
    let blocks = varied.last().map_or(0, |trial| trial.block).max(plan.experiment.run.max_trials);
    let pairs = blocks as usize * (plan.cells.len() / 2).max(1);
    let judged = measured(plan).into_iter().map(|(phase, metric)| judge(aa_test, phase, metric, pairs));
    judged.max_by(|a, b| a.scatter.unwrap_or(f64::INFINITY).total_cmp(&b.scatter.unwrap_or(f64::INFINITY)))
}

/// The phases and figures that claims about factors rest on.
fn measured(plan: &Plan) -> Vec<(&str, Metric)> {
    plan.experiment.claims.iter().filter_map(contrast::about).collect()
}

fn judge(aa_test: &[TrialRecord], phase: &str, metric: Metric, pairs: usize) -> AaTest {
    let figures: Vec<f64> =
        aa_test.iter().filter_map(|trial| contrast::figure(trial, phase, metric)).collect();
    let scale = contrast::scale(metric);
    let found = fitness(&figures, pairs, ALPHA, scale);
    let reason = match &found {
        Ok(found) => sentence(figures.len(), found, pairs, scale),
        Err(error) => format!("the machine could not be compared with itself: {}", super::in_words(error)),
    };
    AaTest {
        phase: phase.to_owned(),
        metric: metric.name().to_owned(),
        scatter: found.as_ref().ok().map(|found| found.scatter),
        smallest_difference: found.as_ref().ok().map(|found| match scale {
            Scale::Ratio => 1.0 + found.smallest,
            Scale::Difference => found.smallest,
        }),
        fit: found.as_ref().map_or(true, |found| found.fit),
        figures,
        reason,
    }
}

fn sentence(trials: usize, found: &Fitness, pairs: usize, scale: Scale) -> String {
    let amount = |share: f64| match scale {
        Scale::Ratio => format!("{:.1} %", 100.0 * share),
        Scale::Difference => format!("{:.1} percentage points", 100.0 * share),
    };
    let scatter = format!(
        "{trials} trials of the same cell, one after the other, scattered by {}",
        amount(found.scatter)
    );
    if found.fit {
        format!("{scatter}: {pairs} pairs can detect a difference of {}", amount(found.smallest))
    } else {
        format!(
            "the comparison of the machine with itself failed: {scatter}, so that not even a difference of {} could be shown in {pairs} \
             pairs",
            amount(GROSS)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use plimsoll_model::observation::LoadResult;
    use plimsoll_model::plan::Settings;
    use plimsoll_model::verdict::Outcome;

    const TWO_SIZES: &str = r#"
question = "does the backlog matter?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.few]
from = "a"
to = "web"
http = { connections = 6 }
[factors.backlog]
set = "services.web.web.backlog"
levels = [16, 128]
[[phases]]
name = "measured"
measure = "few"
[[claims]]
difference = { factor = "backlog", phase = "measured" }
[run]
min_trials = 8
max_trials = 20
"#;

    fn plan() -> Plan {
        Plan::read("two-sizes", TWO_SIZES, &Settings::default()).unwrap()
    }

    fn trial(plan: &Plan, number: u32, block: u32, cell: usize, rate: u64) -> TrialRecord {
        let result =
            LoadResult { elapsed_ns: 1_000_000_000, connections: rate, threads: 1, ..LoadResult::default() };
        TrialRecord {
            number,
            block,
            cell: plan.cells[cell].levels.clone(),
            phases: vec![fixture::phase("measured", result)],
            ..TrialRecord::default()
        }
    }

    /// Four trials of the A/A test on the machine, and twenty blocks whose second cell has half the rate.
    fn trials(plan: &Plan, aa_test: [u64; 4]) -> Vec<TrialRecord> {
        let first = (1..).zip(aa_test).map(|(number, rate)| trial(plan, number, 0, 0, rate));
        let rate = |block: u32, cell: usize| [1000, 500][cell] + u64::from(block * 37 % 11);
        let varied = (1..=20)
            .flat_map(|block| [0, 1].map(|cell| trial(plan, 4 + block, block, cell, rate(block, cell))));
        first.chain(varied).collect()
    }

    #[test]
    fn a_machine_that_agrees_with_itself_shows_how_small_a_difference_it_can_show() {
        let plan = plan();
        let trials = trials(&plan, [1000, 1010, 995, 1004]);
        let found = of(&plan, &trials).unwrap();
        assert!(found.fit && found.smallest_difference.unwrap() < 1.02, "{found:?}");
        assert_eq!(found.figures.len(), 4);
        assert_eq!(crate::findings(&plan, &trials)[0].verdict.outcome, Outcome::Slower);
    }

    #[test]
    fn a_machine_that_differs_grossly_from_itself_makes_every_claim_invalid() {
        let plan = plan();
        let trials = trials(&plan, [1000, 30, 9000, 200]);
        let found = of(&plan, &trials).unwrap();
        assert!(!found.fit, "{found:?}");
        let verdict = &crate::findings(&plan, &trials)[0].verdict;
        assert_eq!(verdict.outcome, Outcome::Invalid);
        assert!(
            verdict.reason.contains("comparison of the machine with itself failed"),
            "{}",
            verdict.reason
        );
    }

    #[test]
    fn a_run_without_such_trials_has_no_such_note() {
        let plan = plan();
        assert_eq!(of(&plan, &trials(&plan, [1; 4])[4..]), None);
    }
}
