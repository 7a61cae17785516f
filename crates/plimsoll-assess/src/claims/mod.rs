//! Judgement of each kind of claim: from measurements to findings. One file for each kind, of its name.

use plimsoll_explain::causes::Shown;
use plimsoll_model::experiment::Claim;

use self::prelude::*;

/// Imports that every kind of claim needs.
mod prelude {
    pub(super) use std::collections::BTreeMap;

    pub(super) use plimsoll_model::experiment::Metric;
    pub(super) use plimsoll_model::observation::{Slice, TrialRecord};
    pub(super) use plimsoll_model::plan::{Cell, Plan};
    pub(super) use plimsoll_model::report::Finding;
    pub(super) use plimsoll_model::verdict::{Outcome, Verdict};

    pub(super) use super::ClaimKind;
    pub(super) use crate::soundness::{self, FailureQuestion};
    pub(super) use crate::{in_words, prefix, slices};
}

/// The operations of every kind of claim.
trait ClaimKind {
    /// Verdict on the trials: a finding for each cell where the claim is about a single system, else one for each comparison or curve.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding>;

    /// Whether the slices of a measured phase determine its figure surely enough. Their scatter alone decides that, never the figure.
    fn sure_enough(&self, _plan: &Plan, _phase: &str, _slices: &[Slice]) -> bool {
        true
    }

    /// Describes in a sentence how far a phase is while it is measured; `None` if there is nothing to say.
    fn so_far(&self, _phase: &str, _slices: &[Slice]) -> Option<String> {
        None
    }

    /// Why failures in a phase may be the question of the claim; `None` if they spoil the measurement.
    fn asks_about_failures(&self, _phase: &str) -> Option<FailureQuestion> {
        None
    }

    /// Whether it counts the tasks of other processes like those of the system.
    fn counts_other_processes(&self) -> bool {
        false
    }

    /// Whether a finding may be what other processes did, where they used the CPUs.
    fn may_be_the_doing_of_others(&self, _plan: &Plan, _finding: &Finding) -> bool {
        false
    }

    /// Background loads in one of its findings, from which causes are named.
    fn shows(&self, _plan: &Plan, _trials: &[TrialRecord], _finding: &Finding) -> Vec<Shown> {
        Vec::new()
    }
}

macro_rules! define {
    ($($(#[$_of_kind:meta])* $key:ident: $kind:ident($_claim:ident) finds $_details:ident,)+) => {
        $(pub(crate) mod $key;)+

        /// Questions that every kind answers.
        fn kind(claim: &Claim) -> &dyn ClaimKind {
            match claim {
                $(Claim::$kind(claim) => claim,)+
            }
        }
    };
}

plimsoll_model::each_claim!(define);

/// Findings of each claim, in the order of the experiment.
pub(crate) fn findings(plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
    let of_claim = |(number, claim): (u32, &Claim)| -> Vec<Finding> {
        let numbered = |finding: Finding| {
            let Finding { verdict, details, .. } = finding;
            let verdict = Verdict { claim: claim.name().to_owned(), ..verdict };
            let verdict = match claim.expected() {
                Some(expected) => verdict.expecting(expected),
                None => verdict,
            };
            Finding { claim_number: Some(number), verdict, details }
        };
        kind(claim).judge(plan, trials).into_iter().map(numbered).collect()
    };
    (1..).zip(&plan.experiment.claims).flat_map(of_claim).collect()
}

/// The claim that a finding answers; `None` if it answers none.
pub(crate) fn of<'p>(plan: &'p Plan, finding: &Finding) -> Option<&'p Claim> {
    plan.experiment.claims.get(finding.claim_number?.checked_sub(1)? as usize)
}

/// Whether the slices of a measured phase determine its figure surely enough for all claims.
pub fn sure_enough(plan: &Plan, phase: &str, slices: &[Slice]) -> bool {
    plan.experiment.claims.iter().all(|claim| kind(claim).sure_enough(plan, phase, slices))
}

/// Describes in a sentence how far a phase is while it is measured.
pub fn so_far(plan: &Plan, phase: &str, slices: &[Slice]) -> Option<String> {
    plan.experiment.claims.iter().find_map(|claim| kind(claim).so_far(phase, slices))
}

/// Why failures in a phase may be what is asked about.
pub(crate) fn asked_about_failures(plan: &Plan, phase: &str) -> Option<FailureQuestion> {
    plan.experiment.claims.iter().find_map(|claim| kind(claim).asks_about_failures(phase))
}

/// Whether a finding counts the tasks of other processes like those of the system.
pub(crate) fn counts_other_processes(plan: &Plan, finding: &Finding) -> bool {
    of(plan, finding).is_some_and(|claim| kind(claim).counts_other_processes())
}

/// Whether a finding may be what other processes did, where they used the CPUs.
pub(crate) fn may_be_the_doing_of_others(plan: &Plan, finding: &Finding) -> bool {
    of(plan, finding).is_some_and(|claim| kind(claim).may_be_the_doing_of_others(plan, finding))
}

/// Background loads in findings.
pub(crate) fn shown(plan: &Plan, trials: &[TrialRecord], findings: &[Finding]) -> Vec<Shown> {
    let shows = |finding: &Finding| of(plan, finding).map(|claim| kind(claim).shows(plan, trials, finding));
    findings.iter().filter_map(shows).flatten().collect()
}
