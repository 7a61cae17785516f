//! The remedies ladder: what each rung did, and where the state lives.

use plimsoll_judge::recovery::RecoveryTrial;
use plimsoll_model::cause::CauseEvidence;
use plimsoll_model::experiment::{RecoveryClaim, Rung};
use plimsoll_model::observation::{PhaseRecord, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{Finding, RemedyResult, StateLivesIn};
use plimsoll_model::verdict::{Interval, Outcome};

use super::windows;

/// Whether the last cycle of a trial did not recover, judged from this trial alone.
pub fn calls_for_remedies(plan: &Plan, trial: &TrialRecord) -> bool {
    let judged =
        claim(plan).and_then(|claim| Some(windows::judged(claim, &[windows::of_trial(trial, claim)?])));
    judged.is_some_and(|judged| judged.verdict.outcome == Outcome::NotRecovered)
}

/// Whether the last rung of the ladder in this trial brought the figure back.
pub fn last_rung_restored(plan: &Plan, trial: &TrialRecord) -> bool {
    let last = rungs(trial).last();
    last.is_some_and(|(rung, phase)| result(plan, trial, rung, phase).outcome == Outcome::Recovered)
}

/// The phase measured after a longer wait, if the figure recovered in it.
pub(super) fn restored_by_waiting<'t>(plan: &Plan, trial: &'t TrialRecord) -> Option<&'t PhaseRecord> {
    let (rung, phase) = rungs(trial).find(|(rung, _)| *rung == Rung::WaitLonger)?;
    (result(plan, trial, rung, phase).outcome == Outcome::Recovered).then_some(phase)
}

/// Effect of each rung, in the trial in which the ladder was climbed.
pub(super) fn results(plan: &Plan, trials: &[TrialRecord]) -> Vec<RemedyResult> {
    let climbed = trials.iter().find(|trial| rungs(trial).next().is_some());
    climbed.map_or_else(Vec::new, |trial| {
        rungs(trial).map(|(rung, phase)| result(plan, trial, rung, phase)).collect()
    })
}

fn rungs(trial: &TrialRecord) -> impl Iterator<Item = (Rung, &PhaseRecord)> {
    trial.phases.iter().filter_map(|phase| Some((phase.rung?, phase)))
}

fn result(plan: &Plan, trial: &TrialRecord, rung: Rung, phase: &PhaseRecord) -> RemedyResult {
    let bare = |outcome, reason| RemedyResult { rung, outcome, estimate: None, interval: None, reason };
    let Some((estimate, interval)) = judged(plan, trial, phase) else {
        return bare(Outcome::Invalid, phase.notes.first().cloned().unwrap_or_else(|| "not measured".into()));
    };
    let Some(held_down) = held_down(plan, trial) else {
        return bare(Outcome::Invalid, "there is no figure after the flood to compare with".into());
    };
    let outcome = against(held_down, interval);
    let percent = format!("{:.0} % of the baseline", estimate * 100.0);
    let reason = match outcome {
        Outcome::Recovered => format!("the figure recovered: {percent}"),
        Outcome::NotRecovered => format!("the figure did not recover: {percent}"),
        _ => format!("not decided: {percent}"),
    };
    let reason = match rebooted(plan).filter(|_| rung == Rung::RebuildHost) {
        Some(host) => format!("after a reboot of the guest `{host}`, {reason}"),
        None => reason,
    };
    RemedyResult { rung, outcome, estimate: Some(estimate), interval: Some(interval), reason }
}

/// The host that the last rung rebuilds, if it has its own kernel, which that reboots.
fn rebooted(plan: &Plan) -> Option<&str> {
    let experiment = &plan.experiment;
    let host = &experiment.services.get(&experiment.remedies.as_ref()?.service)?.on;
    experiment.hosts.get(host)?.kind.own().kernel.then_some(host)
}

/// A rung has brought the figure back when the whole interval lies nearer to the baseline (a ratio of 1) than to where the figure was held
/// down, on the scale of logarithms; it has not when all of it lies nearer to the latter. How near to the baseline it came to the last per
/// cent is not what the ladder asks: it asks where the state lives.
fn against(held_down: f64, interval: Interval) -> Outcome {
    let middle = held_down.max(f64::MIN_POSITIVE).sqrt();
    let (back, down) = if held_down < 1.0 {
        (interval.lo() >= middle, interval.hi() < middle)
    } else {
        (interval.hi() <= middle, interval.lo() > middle)
    };
    match (back, down) {
        (true, _) => Outcome::Recovered,
        (_, true) => Outcome::NotRecovered,
        _ => Outcome::Undecided,
    }
}

/// The ratio after the last flood of a trial, before anything was tried.
fn held_down(plan: &Plan, trial: &TrialRecord) -> Option<f64> {
    let claim = claim(plan)?;
    windows::judged(claim, &[windows::of_trial(trial, claim)?]).verdict.estimate
}

/// The figure after a rung against the baseline of its trial.
fn judged(plan: &Plan, trial: &TrialRecord, phase: &PhaseRecord) -> Option<(f64, Interval)> {
    let claim = claim(plan)?;
    let baseline = windows::pairs(windows::measured(trial, &claim.baseline).next()?, claim.metric);
    let after = windows::pairs(phase, claim.metric);
    if after.is_empty() {
        return None;
    }
    let verdict = windows::judged(claim, &[RecoveryTrial { baseline, cycles: vec![after] }]).verdict;
    verdict.estimate.zip(verdict.interval)
}

/// The first rung that restored the figure says where the state lives; waiting longer says that it lives nowhere for long.
pub(super) fn state_lives_in(
    plan: &Plan,
    trials: &[TrialRecord],
    findings: &[Finding],
) -> Option<StateLivesIn> {
    if !findings.iter().any(|finding| finding.verdict.outcome == Outcome::NotRecovered) {
        return None;
    }
    let results = results(plan, trials);
    if let Some(restored) = results.iter().find(|result| result.outcome == Outcome::Recovered) {
        return match restored.rung {
            Rung::WaitLonger => None,
            Rung::RestartService => Some(StateLivesIn::Service),
            Rung::DropCaches => Some(StateLivesIn::Cache),
            Rung::RebuildHost => Some(StateLivesIn::HostKernel),
        };
    }
    let rebuilt = results
        .iter()
        .any(|result| result.rung == Rung::RebuildHost && result.outcome == Outcome::NotRecovered);
    rebuilt.then_some(StateLivesIn::Elsewhere)
}

/// The figure relative to its baseline before and after the rung that brought it back.
pub(super) fn restored(plan: &Plan, trials: &[TrialRecord]) -> Option<CauseEvidence> {
    let climbed = trials.iter().find(|trial| rungs(trial).next().is_some())?;
    let back = results(plan, trials).into_iter().find(|result| result.outcome == Outcome::Recovered)?;
    Some(CauseEvidence {
        metric: format!(
            "{}, relative to the baseline, by `{}`",
            claim(plan)?.metric.name(),
            back.rung.name()
        ),
        before: held_down(plan, climbed)?,
        after: back.estimate?,
        unit: "ratio".into(),
    })
}

fn claim(plan: &Plan) -> Option<&RecoveryClaim> {
    plan.experiment.claims.iter().find_map(|claim| claim.recovery())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_is_judged_by_whether_it_came_nearer_to_the_baseline_than_to_where_it_was() {
        assert_eq!(against(0.25, Interval(0.8, 1.3)), Outcome::Recovered);
        assert_eq!(against(0.25, Interval(0.2, 0.3)), Outcome::NotRecovered);
        assert_eq!(against(0.25, Interval(0.3, 0.9)), Outcome::Undecided);
        assert_eq!(
            against(0.9, Interval(0.93, 1.02)),
            Outcome::Undecided,
            "a small loss asks for a narrow interval"
        );
        assert_eq!(against(4.0, Interval(0.9, 1.2)), Outcome::Recovered, "where lower is better");
        assert_eq!(against(4.0, Interval(3.0, 5.0)), Outcome::NotRecovered);
    }
}
