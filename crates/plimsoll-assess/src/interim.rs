//! Interim questions of a run: are the claims decided, must a trial go on, may this machine answer at all?

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::verdict::{Standing, Verdict};

pub use crate::claims::limit::next_rate;
pub use crate::claims::recovery::window_passes;
pub use crate::claims::{so_far, sure_enough};
pub use crate::remedies::{calls_for_remedies, last_rung_restored};
use crate::{aa_test, claims, findings, soundness};

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
