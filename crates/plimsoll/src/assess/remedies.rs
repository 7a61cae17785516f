//! The remedies ladder: what each rung did, and where the state lives.

use plimsoll_judge::recovery::{RecoveryTrial, RecoveryVerdict};
use plimsoll_model::experiment::{RecoveryClaim, Rung};
use plimsoll_model::observation::{PhaseKind, PhaseRecord, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{RemedyResult, StateLivesIn};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::recovery;

/// Whether the last cycle of a trial did not come back, as far as the trial alone can tell.
pub(super) fn called_for(plan: &Plan, trial: &TrialRecord) -> bool {
    let judged =
        claim(plan).and_then(|claim| Some(recovery::judged(claim, &[recovery::windows(trial, claim)?])));
    judged.is_some_and(|judged| judged.verdict.outcome == Outcome::NotRecovered)
}

pub(super) fn last_rung_restored(plan: &Plan, trial: &TrialRecord) -> bool {
    let last = trial.phases.iter().rev().find(|phase| phase.kind == PhaseKind::Remedy);
    last.and_then(|phase| judged(plan, trial, phase))
        .is_some_and(|judged| judged.verdict.outcome == Outcome::Recovered)
}

/// What each rung did, in the trial in which the ladder was climbed.
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
    match judged(plan, trial, phase) {
        None => bare(Outcome::Invalid, phase.notes.first().cloned().unwrap_or_else(|| "not measured".into())),
        Some(RecoveryVerdict { verdict: Verdict { outcome, estimate, interval, .. }, .. }) => {
            let percent = estimate
                .map_or_else(String::new, |ratio| format!(": {:.0} % of the baseline", ratio * 100.0));
            let reason = match outcome {
                Outcome::Recovered => format!("the figure is back{percent}"),
                Outcome::NotRecovered => format!("the figure is not back{percent}"),
                _ => format!("not decided{percent}"),
            };
            RemedyResult { rung, outcome, estimate, interval, reason }
        }
    }
}

/// The figure after a rung against the baseline of its trial.
fn judged(plan: &Plan, trial: &TrialRecord, phase: &PhaseRecord) -> Option<RecoveryVerdict> {
    let claim = claim(plan)?;
    let baseline = recovery::pairs(recovery::measured(trial, &claim.baseline).next()?, claim.metric);
    let after = recovery::pairs(phase, claim.metric);
    (!after.is_empty()).then(|| recovery::judged(claim, &[RecoveryTrial { baseline, cycles: vec![after] }]))
}

/// The first rung that restored the figure says where the state lives; waiting longer says that it lives nowhere for long.
pub(super) fn state_lives_in(
    plan: &Plan,
    trials: &[TrialRecord],
    verdicts: &[Verdict],
) -> Option<StateLivesIn> {
    if !verdicts.iter().any(|verdict| verdict.outcome == Outcome::NotRecovered) {
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

fn claim(plan: &Plan) -> Option<&RecoveryClaim> {
    plan.experiment.claims.iter().find_map(|claim| claim.recovery.as_ref())
}
