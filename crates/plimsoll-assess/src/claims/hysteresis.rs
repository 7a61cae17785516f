//! The hysteresis claim: from the steps of a load to the judge's loops, and back to a verdict.

use plimsoll_judge::recovery::{self, Hysteresis, HysteresisSettings};
use plimsoll_model::experiment::claim::hysteresis::{HysteresisClaim, HysteresisDetails, ways};
use plimsoll_model::observation::{Arm, PhaseKind, Step};

use crate::claims::prelude::*;

impl ClaimKind for HysteresisClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let finding = |cell: &Cell| {
            let details = HysteresisDetails {
                phase: self.phase.clone(),
                cell: cell.levels.clone(),
                margin: self.margin.0,
            };
            Finding::new(verdict(&cell.levels, self, trials), details)
        };
        plan.cells.iter().map(finding).collect()
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        (self.phase == phase).then_some(FailureQuestion::InPart)
    }
}

fn verdict(levels: &BTreeMap<String, String>, claim: &HysteresisClaim, trials: &[TrialRecord]) -> Verdict {
    let metric = claim.metric.name();
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == *levels).collect();
    let loops: Vec<Hysteresis> = of_cell.iter().filter_map(|trial| of_trial(trial, claim)).collect();
    let settings = HysteresisSettings {
        margin: claim.margin.0,
        lower_is_better: claim.metric.lower_is_better(),
        ..HysteresisSettings::default()
    };
    let mut verdict = match soundness::objection_to_load(&of_cell) {
        Some(reason) => Verdict::bare("hysteresis", metric, Outcome::Invalid, loops.len(), reason),
        None => recovery::judge_loops(metric, &loops, &settings).unwrap_or_else(|error| {
            Verdict::bare("hysteresis", metric, Outcome::Undecided, loops.len(), in_words(&error))
        }),
    };
    verdict.reason = prefix(levels) + &verdict.reason;
    verdict
}

/// The loop of one trial; `None` if it has a fault, or its steps do not make one.
fn of_trial(trial: &TrialRecord, claim: &HysteresisClaim) -> Option<Hysteresis> {
    if !trial.faults.is_empty() {
        return None;
    }
    let phase = trial.phases.iter().find(|p| p.name == claim.phase && p.kind == PhaseKind::Measure)?;
    let slice = phase.slices.iter().find(|slice: &&Slice| slice.arm == Arm::Treatment)?;
    let (up, down) = ways(&slice.result.offer.as_ref()?.steps, |step| step.rate);
    let points = |way: &[Step]| -> Vec<(f64, f64)> {
        way.iter().filter_map(|step| Some((step.rate, claim.metric.of_step(step)?))).collect()
    };
    recovery::hysteresis(&points(up), &points(down)).ok()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{LoadResult, Offer};

    use super::*;
    use crate::fixture;

    /// A trial whose steps have these rates, with this number of answered requests per second.
    fn trial(steps: &[(f64, u64)]) -> TrialRecord {
        let step = |(n, (rate, requests)): (u64, &(f64, u64))| Step {
            rate: *rate,
            start_ns: n * 1_000_000_000,
            end_ns: (n + 1) * 1_000_000_000,
            requests: *requests,
            ..Step::default()
        };
        let offer = Offer { steps: (0..).zip(steps).map(step).collect(), ..Offer::default() };
        let result = LoadResult {
            elapsed_ns: 1_000_000_000,
            threads: 1,
            connections: 1,
            offer: Some(offer),
            ..LoadResult::default()
        };
        TrialRecord { phases: vec![fixture::phase("overload", result)], ..TrialRecord::default() }
    }

    fn outcome(steps: &[(f64, u64)]) -> Outcome {
        let claim: HysteresisClaim =
            serde_json::from_value(serde_json::json!({ "phase": "overload" })).unwrap();
        verdict(&Default::default(), &claim, &[trial(steps), trial(steps), trial(steps)]).outcome
    }

    #[test]
    fn the_same_way_back_is_recovered_and_a_lower_one_is_not() {
        let up = [(100.0, 100), (200.0, 190), (300.0, 200)];
        assert_eq!(outcome(&[up.as_slice(), &[(200.0, 190), (100.0, 100)]].concat()), Outcome::Recovered);
        assert_eq!(outcome(&[up.as_slice(), &[(200.0, 50), (100.0, 40)]].concat()), Outcome::NotRecovered);
    }

    #[test]
    fn steps_that_never_fall_make_no_loop() {
        assert_eq!(outcome(&[(100.0, 100), (200.0, 190)]), Outcome::Undecided);
    }
}
