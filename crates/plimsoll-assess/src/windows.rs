//! Measurements before and after floods, in the form that the judge of recovery takes.

use std::collections::BTreeMap;

use plimsoll_judge::recovery::{self, RecoverySettings, RecoveryTrial, RecoveryVerdict, WindowPair};
use plimsoll_model::experiment::{Metric, RecoveryClaim};
use plimsoll_model::observation::{Arm, PhaseKind, PhaseRecord, Slice, TrialRecord};
use plimsoll_model::verdict::{Outcome, Verdict};

/// The judge's answer on trials; what it cannot judge is undecided, and says why.
pub(super) fn judged(claim: &RecoveryClaim, trials: &[RecoveryTrial]) -> RecoveryVerdict {
    let metric = claim.metric.name();
    recovery::judge_trials(metric, trials, &settings(claim)).unwrap_or_else(|error| RecoveryVerdict {
        verdict: Verdict::bare("recovery", metric, Outcome::Undecided, trials.len(), super::in_words(&error)),
        per_cycle: Vec::new(),
        trend: None,
    })
}

pub(super) fn settings(claim: &RecoveryClaim) -> RecoverySettings {
    RecoverySettings {
        margin: claim.margin.0,
        lower_is_better: claim.metric.lower_is_better(),
        ..RecoverySettings::default()
    }
}

/// A trial as the judge takes it; `None` if it has no baseline or no windows after a flood, or a fault.
pub(super) fn of_trial(trial: &TrialRecord, claim: &RecoveryClaim) -> Option<RecoveryTrial> {
    if !trial.faults.is_empty() {
        return None;
    }
    let baseline = pairs(measured(trial, &claim.baseline).next()?, claim.metric);
    let cycles: Vec<Vec<WindowPair>> =
        measured(trial, &claim.after).map(|phase| pairs(phase, claim.metric)).collect();
    (!baseline.is_empty() && !cycles.is_empty()).then_some(RecoveryTrial { baseline, cycles })
}

pub(super) fn measured<'t>(trial: &'t TrialRecord, name: &'t str) -> impl Iterator<Item = &'t PhaseRecord> {
    trial.phases.iter().filter(move |phase| phase.name == name && phase.kind == PhaseKind::Measure)
}

/// The slices of a phase, each with the control's slice of the same number.
pub(super) fn pairs(phase: &PhaseRecord, metric: Metric) -> Vec<WindowPair> {
    pairs_of(&phase.slices, metric)
}

pub(super) fn pairs_of(slices: &[Slice], metric: Metric) -> Vec<WindowPair> {
    let control: BTreeMap<u32, &Slice> =
        slices.iter().filter(|slice| slice.arm == Arm::Control).map(|slice| (slice.number, slice)).collect();
    let main = slices.iter().filter(|slice| slice.arm == Arm::Treatment);
    main.map(|slice| pair(slice, control.get(&slice.number).copied(), metric)).collect()
}

pub(super) fn pair(main: &Slice, control: Option<&Slice>, metric: Metric) -> WindowPair {
    let figure = |slice: &Slice| slice.result.figure(metric).unwrap_or(0.0);
    WindowPair { treatment: figure(main), control: control.map(figure) }
}
