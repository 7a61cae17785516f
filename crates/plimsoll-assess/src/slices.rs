//! The slices that most claims are about: those of the treatment. What the control does stands beside them.

use plimsoll_model::observation::{Arm, Slice, TrialRecord};

use super::windows;

/// Slices of the treatment.
pub(super) fn of_treatment<'s>(
    slices: impl IntoIterator<Item = &'s Slice>,
) -> impl Iterator<Item = &'s Slice> {
    slices.into_iter().filter(|slice| slice.arm == Arm::Treatment)
}

/// Slices of a measured phase of a trial.
pub(super) fn measured<'t>(trial: &'t TrialRecord, phase: &'t str) -> impl Iterator<Item = &'t Slice> {
    of_treatment(windows::measured(trial, phase).flat_map(|phase| &phase.slices))
}

/// Slices of a measured phase of all trials without faults, in order of time.
pub(super) fn of_sound<'t>(trials: &[&'t TrialRecord], phase: &'t str) -> Vec<&'t Slice> {
    trials.iter().filter(|trial| trial.faults.is_empty()).flat_map(|trial| measured(trial, phase)).collect()
}
