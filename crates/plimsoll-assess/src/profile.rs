//! From the profiles of phases to what grew between the two sides that are compared.

use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_model::observation::{Arm, PhaseRecord, Profile, ProfileBuilder, Slice, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::ProfileReport;

use super::claims;
use super::evidence::{CONNECTION, divided_by, operations};
use super::sides::{self, Side};

/// The stacks of the two sides that are compared, each over all trials, for a picture; nothing where they were not sampled.
#[must_use]
pub fn stacks(plan: &Plan, trials: &[TrialRecord]) -> Option<[Profile; 2]> {
    let findings = claims::findings(plan, trials);
    let phases = sides::of(plan, trials, &findings)?.phases;
    let side = |side| merged(&phases, side, Arm::Treatment).map(|sampled| sampled.profile);
    Some([side(Side::Before)?, side(Side::After)?])
}

/// All stacks that were sampled on the rig that is measured; nothing where none were.
#[must_use]
pub fn all_stacks(trials: &[TrialRecord]) -> Option<Profile> {
    let phases: Vec<(&PhaseRecord, Side)> =
        trials.iter().flat_map(|trial| &trial.phases).map(|phase| (phase, Side::After)).collect();
    merged(&phases, Side::After, Arm::Treatment).map(|sampled| sampled.profile)
}

/// What grew from one side's phases to the other's; nothing where they were not sampled.
pub(super) fn of(phases: &[(&PhaseRecord, Side)]) -> Option<ProfileReport> {
    let side = |side, arm| merged(phases, side, arm);
    let control = side(Side::Before, Arm::Control).zip(side(Side::After, Arm::Control));
    let control = control.as_ref().map(|(before, after)| [before, after]);
    let slices: Vec<&Slice> = phases.iter().flat_map(|(phase, _)| &phase.slices).collect();
    let per = divided_by(CONNECTION, &slices);
    contrast(&side(Side::Before, Arm::Treatment)?, &side(Side::After, Arm::Treatment)?, control, per)
}

/// The samples of all phases of a side on one rig, and what was carried out meanwhile. Only phases that were sampled count.
fn merged(phases: &[(&PhaseRecord, Side)], side: Side, arm: Arm) -> Option<Sampled> {
    let mut all: Option<ProfileBuilder> = None;
    let (mut done, mut nanoseconds) = (0, 0);
    for (phase, _) in phases.iter().filter(|(_, of)| *of == side) {
        let Some(profile) = phase.profiles.iter().find(|profile| profile.arm == arm) else { continue };
        all.get_or_insert_with(|| ProfileBuilder::new(arm, profile.clock, profile.hertz))
            .merge(&profile.of_the_run());
        for slice in phase.slices.iter().filter(|slice| slice.arm == arm) {
            done += operations(slice).unwrap_or(0);
            nanoseconds += slice.result.elapsed_ns;
        }
    }
    Some(Sampled { profile: all?.build(), operations: done, seconds: nanoseconds as f64 / 1e9 })
}
