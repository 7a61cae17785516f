//! The claim that a load comes back after a step: the step's recovery in each trial, and a verdict over all of them.
//!
//! A trial is one answer: it came back in time, or it did not. Trials that agree decide; where they differ nothing is claimed. The estimate
//! is the median time to recover.

use plimsoll_model::experiment::claim::Details;
use plimsoll_model::experiment::claim::step_recovery::{StepRecoveryClaim, StepRecoveryDetails};
use plimsoll_model::observation::Arm;
use plimsoll_model::report::{EventRecovery, RecoveryOutcome};

use crate::claims::prelude::*;
use crate::{events, windows};

/// Name of the claim in a verdict.
const CLAIM: &str = "step_recovery";
/// Foreign CPU use leaves a load at least this share of its rate in some window. A lower rate has another reason.
const LEAST_LEFT: f64 = 0.25;
/// The estimated metric.
const METRIC: &str = "time_to_recover_s";

impl ClaimKind for StepRecoveryClaim {
    /// One finding for each cell in which the step is done.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let done = |cell: &&Cell| {
            let phase = cell.experiment.phase_recorded_as(&self.phase);
            phase.is_some_and(|phase| phase.during.iter().any(|step| step.title() == self.step && !step.skip))
        };
        plan.cells.iter().filter(done).map(|cell| finding(cell, self, trials)).collect()
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        (self.phase == phase).then_some(FailureQuestion::InPart)
    }

    /// A load that continues at a lower rate may only have lost CPUs to other processes. A control would divide that out.
    fn may_be_the_doing_of_others(&self, plan: &Plan, finding: &Finding) -> bool {
        let Some(Details::StepRecovery(details)) = &finding.details else { return false };
        plan.experiment.control.is_none()
            && finding.verdict.outcome == Outcome::NotRecovered
            && details.each.iter().any(|it| it.highest >= LEAST_LEFT * it.before)
    }
}

fn finding(cell: &Cell, claim: &StepRecoveryClaim, trials: &[TrialRecord]) -> Finding {
    let of_cell = trials.iter().filter(|trial| trial.cell == cell.levels && trial.faults.is_empty());
    let each: Vec<EventRecovery> = of_cell.flat_map(|trial| of_trial(trial, claim)).collect();
    let mut verdict = judged(claim, &each);
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    let (phase, step) = (claim.phase.clone(), claim.step.clone());
    Finding::new(verdict, StepRecoveryDetails { phase, step, cell: cell.levels.clone(), each })
}

/// The recovery after the step, each time that it was done in a trial.
fn of_trial(trial: &TrialRecord, claim: &StepRecoveryClaim) -> Vec<EventRecovery> {
    let mut all = Vec::new();
    for phase in windows::measured(trial, &claim.phase) {
        let places = phase.events.iter().enumerate();
        let places = places.filter(|(_, event)| event.name == claim.step && event.arm == Arm::Treatment);
        all.extend(places.filter_map(|(place, _)| events::recovery(phase, place, claim.margin.0)));
    }
    all
}

fn judged(claim: &StepRecoveryClaim, found: &[EventRecovery]) -> Verdict {
    let sure: Vec<&EventRecovery> =
        found.iter().filter(|it| it.outcome != RecoveryOutcome::Undecided).collect();
    let n = sure.len();
    let bare = |outcome, reason: String| Verdict::bare(CLAIM, METRIC, outcome, n, reason);
    if n == 0 {
        let reason = format!(
            "too few windows before or after the step `{}`: use a longer load, or a later `at`",
            claim.step
        );
        return bare(Outcome::Undecided, reason);
    }
    let limit = claim.within.map_or(f64::INFINITY, |within| within.0.as_secs_f64());
    let too_short = |it: &&&EventRecovery| it.after_s.is_none() && limit.is_finite() && it.watched_s < limit;
    if let Some(short) = sure.iter().find(too_short) {
        let reason = format!(
            "only {:.1} s of the allowed {limit:.1} s were observed: the next step, or the end of the load, comes too soon",
            short.watched_s
        );
        return bare(Outcome::Undecided, reason);
    }
    let mut times: Vec<f64> = sure.iter().filter_map(|it| it.after_s.filter(|s| *s <= limit)).collect();
    times.sort_by(f64::total_cmp);
    let outcome = match times.len() {
        0 => Outcome::NotRecovered,
        back if back == n => Outcome::Recovered,
        _ => Outcome::Undecided,
    };
    let typical = |of: fn(&EventRecovery) -> f64| {
        let mut values: Vec<f64> = sure.iter().map(|it| of(it)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (before, lowest) = (typical(|it| it.before), typical(|it| it.lowest));
    let latency = sure[0].latency_before_ms.zip(sure[0].latency_highest_ms).map_or_else(String::new, |_| {
        let before = typical(|it| it.latency_before_ms.unwrap_or(0.0));
        let highest = typical(|it| it.latency_highest_ms.unwrap_or(0.0));
        format!(", {before:.2} ms each before, {highest:.2} ms at the worst")
    });
    let fell = format!("{before:.0}/s before, {lowest:.0}/s at the lowest after `{}`{latency}", claim.step);
    let came = match (times.first(), times.last()) {
        (Some(_), Some(longest)) if *longest <= 0.0 => "it was not affected".to_owned(),
        (Some(shortest), Some(longest)) if n > 1 => {
            format!("as good again in {} of {n} trials, after {shortest:.2} to {longest:.2} s", times.len())
        }
        (Some(after), _) => format!("recovered after {after:.2} s"),
        _ => format!("not recovered within {:.1} s", sure[0].watched_s.min(limit)),
    };
    let mut verdict = bare(outcome, format!("{fell}; {came}"));
    if outcome == Outcome::Recovered {
        verdict.estimate = Some(times[times.len() / 2]);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(after_s: Option<f64>, watched_s: f64) -> EventRecovery {
        let outcome = match after_s {
            Some(0.0) => RecoveryOutcome::Unaffected,
            Some(_) => RecoveryOutcome::Recovered,
            None => RecoveryOutcome::NotRecovered,
        };
        EventRecovery {
            outcome,
            before: 100.0,
            lowest: 10.0,
            highest: 60.0,
            latency_before_ms: None,
            latency_highest_ms: None,
            after_s,
            watched_s,
            window_s: 0.1,
        }
    }

    fn outcome(claim: &str, found: &[EventRecovery]) -> Outcome {
        let claim = format!("{{ \"phase\": \"all\", \"step\": \"cut\"{claim} }}");
        judged(&serde_json::from_str(&claim).unwrap(), found).outcome
    }

    #[test]
    fn trials_that_agree_decide_and_those_that_differ_do_not() {
        assert_eq!(outcome("", &[found(Some(0.4), 2.0), found(Some(0.0), 2.0)]), Outcome::Recovered);
        assert_eq!(outcome("", &[found(None, 2.0), found(None, 2.0)]), Outcome::NotRecovered);
        assert_eq!(outcome("", &[found(None, 2.0), found(Some(1.0), 2.0)]), Outcome::Undecided);
        assert_eq!(outcome("", &[]), Outcome::Undecided);
    }

    const CUT: &str = r#"
question = "Does it come back?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = {}
[loads.visitors]
from = "client"
to = "web"
http = { duration = "8s" }
[[phases]]
name = "all"
measure = "visitors"
during = [{ at = "3s", name = "cut", kill = { service = "web" } }]
[[claims]]
step_recovery = { phase = "all", step = "cut" }
"#;

    /// The outcome and the reason of a finding if other processes used the CPUs.
    fn beside_others(text: &str, found: &[EventRecovery]) -> (Outcome, String) {
        let plan = Plan::read("cut", text, &plimsoll_model::plan::Settings::default()).unwrap();
        let claim: StepRecoveryClaim = serde_json::from_str(r#"{ "phase": "all", "step": "cut" }"#).unwrap();
        let details = StepRecoveryDetails {
            phase: claim.phase.clone(),
            step: claim.step.clone(),
            cell: BTreeMap::new(),
            each: found.to_vec(),
        };
        let mut finding = Finding::new(judged(&claim, found), details);
        finding.claim_number = Some(1);
        crate::doubt(&plan, &mut finding, "others used 45 % of the CPU time");
        (finding.verdict.outcome, finding.verdict.reason)
    }

    #[test]
    fn a_load_that_went_on_beside_others_is_no_proof_unless_a_control_was_there() {
        let with_control = format!("{CUT}[control]\nidle_in = [\"all\"]\n");
        let (outcome, reason) = beside_others(CUT, &[found(None, 2.0)]);
        assert_eq!(outcome, Outcome::Undecided, "{reason}");
        assert!(reason.contains("others used 45 %") && reason.contains("without a control"), "{reason}");
        assert_eq!(beside_others(&with_control, &[found(None, 2.0)]).0, Outcome::NotRecovered);
        // No other program takes all of the CPUs for this long.
        let dead = EventRecovery { highest: 3.0, ..found(None, 2.0) };
        assert_eq!(beside_others(CUT, &[dead]).0, Outcome::NotRecovered);
        assert_eq!(beside_others(CUT, &[found(Some(0.4), 2.0)]).0, Outcome::Recovered);
    }

    #[test]
    fn what_comes_back_too_late_has_not_and_what_was_not_watched_for_long_enough_is_open() {
        let soon = ", \"within\": \"500ms\"";
        assert_eq!(outcome(soon, &[found(Some(0.4), 2.0)]), Outcome::Recovered);
        assert_eq!(outcome(soon, &[found(Some(0.6), 2.0)]), Outcome::NotRecovered);
        assert_eq!(outcome(soon, &[found(None, 2.0)]), Outcome::NotRecovered);
        assert_eq!(outcome(soon, &[found(None, 0.3)]), Outcome::Undecided);
    }
}
