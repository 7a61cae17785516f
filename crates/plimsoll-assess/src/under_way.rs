//! Questions of a run in progress.

use plimsoll_model::experiment::Experiment;
use plimsoll_model::observation::{Slice, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::verdict::{Standing, Verdict};

use crate::{aa_test, claims, findings, remedies, soundness};

/// Whether the slices of a measured phase determine its figure surely enough for the claims. Their scatter alone decides that, never the figure.
pub fn sure_enough(plan: &Plan, phase: &str, slices: &[Slice]) -> bool {
    claims::sure_enough(plan, phase, slices)
}

/// Describes in a sentence how far a phase is while it is measured; `None` if there is nothing to say.
pub fn so_far(plan: &Plan, phase: &str, slices: &[Slice]) -> Option<String> {
    claims::so_far(plan, phase, slices)
}

/// Whether one window of a watch is as good as the baseline, whose slices are those of both rigs; `control` is the control's window.
pub fn window_passes(plan: &Plan, baseline: &[Slice], window: &Slice, control: Option<&Slice>) -> bool {
    claims::recovery::window_passes(plan, baseline, window, control)
}

/// The rate of the next probe, in requests per second, of a phase that searches for a limit and has made these; nothing when the limit is
/// known well enough.
pub fn next_rate(experiment: &Experiment, phase: &str, probes: &[Slice]) -> Option<f64> {
    claims::limit::next_rate(experiment, phase, probes)
}

/// Whether the figure of this trial did not recover, judged from the trial alone.
pub fn calls_for_remedies(plan: &Plan, trial: &TrialRecord) -> bool {
    remedies::called_for(plan, trial)
}

/// Whether the last rung of the ladder in this trial brought the figure back.
pub fn last_rung_restored(plan: &Plan, trial: &TrialRecord) -> bool {
    remedies::last_rung_restored(plan, trial)
}

/// Whether the trials of block 0, which all carried out the same cell, show that the machine cannot carry an answer.
pub fn unfit(plan: &Plan, trials: &[TrialRecord]) -> bool {
    aa_test::of(plan, trials).is_some_and(|aa_test| !aa_test.fit)
}

/// Verdict on each claim if the run ended now.
pub fn verdicts(plan: &Plan, trials: &[TrialRecord]) -> Vec<Verdict> {
    findings(plan, trials).into_iter().map(|finding| finding.verdict).collect()
}

/// Whether every claim is decided by the trials so far.
pub fn decided(plan: &Plan, trials: &[TrialRecord]) -> bool {
    let findings = findings(plan, trials);
    let known = !findings.is_empty() && findings.iter().all(|it| it.verdict.standing() != Standing::Open);
    known || soundness::is_hopeless(plan, trials, claims::asked_about_failures)
}
