//! The slices that most claims are about: those of the main rig. What the control does stands beside them.

use plimsoll_model::observation::{Slice, TrialRecord, Twin};

use super::windows;

/// Those of the main rig among some slices.
pub(super) fn of_main<'s>(slices: impl IntoIterator<Item = &'s Slice>) -> impl Iterator<Item = &'s Slice> {
    slices.into_iter().filter(|slice| slice.twin == Twin::Main)
}

/// Those of a measured phase of a trial.
pub(super) fn measured<'t>(trial: &'t TrialRecord, phase: &'t str) -> impl Iterator<Item = &'t Slice> {
    of_main(windows::measured(trial, phase).flat_map(|phase| &phase.slices))
}

/// Those of a measured phase of all trials without faults, in order of time.
pub(super) fn of_sound<'t>(trials: &[&'t TrialRecord], phase: &'t str) -> Vec<&'t Slice> {
    trials.iter().filter(|trial| trial.faults.is_empty()).flat_map(|trial| measured(trial, phase)).collect()
}
