//! Growth of functions between the two compared sides, from the profiles of phases.

use std::collections::BTreeSet;

use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_explain::renamed;
use plimsoll_model::observation::{Arm, PhaseRecord, Profile, ProfileBuilder, Slice, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{ComparedProfile, Finding, ProfileReport};

use super::claims;
use super::evidence::{CONNECTION, divided_by, operations};
use super::sides::{self, Difference, Side};

/// The stacks of the two sides that are compared, each over all trials, for a picture; `None` if they were not sampled.
pub fn stacks(plan: &Plan, trials: &[TrialRecord]) -> Option<[Profile; 2]> {
    let findings = claims::findings(plan, trials);
    let phases = sides::of(plan, trials, &findings)?.phases;
    let side = |side| merged(&phases, side, Arm::Treatment).map(|sampled| sampled.profile);
    let (mut before, after) = (side(Side::Before)?, side(Side::After)?);
    // Functions that only have another name are the same in a picture as well.
    renamed::align(&mut before, &after);
    Some([before, after])
}

/// All stacks that were sampled on the rig that is measured; `None` if none were.
pub fn all_stacks(trials: &[TrialRecord]) -> Option<Profile> {
    let phases: Vec<&PhaseRecord> = trials.iter().flat_map(|trial| &trial.phases).collect();
    of_phases(&phases).map(|sampled| sampled.profile)
}

/// The samples of phases on the rig that is measured; `None` if they were not sampled.
pub(super) fn of_phases(phases: &[&PhaseRecord]) -> Option<Sampled> {
    let phases: Vec<(&PhaseRecord, Side)> = phases.iter().map(|phase| (*phase, Side::After)).collect();
    merged(&phases, Side::After, Arm::Treatment)
}

/// Growth from one side's phases to the other's; `None` if they were not sampled.
pub(super) fn of(phases: &[(&PhaseRecord, Side)]) -> Option<ProfileReport> {
    let side = |side, arm| merged(phases, side, arm);
    let control = side(Side::Before, Arm::Control).zip(side(Side::After, Arm::Control));
    let control = control.as_ref().map(|(before, after)| [before, after]);
    let slices: Vec<&Slice> = phases.iter().flat_map(|(phase, _)| &phase.slices).collect();
    let per = divided_by(CONNECTION, &slices);
    contrast(&side(Side::Before, Arm::Treatment)?, &side(Side::After, Arm::Treatment)?, control, per)
}

/// Growth in each comparison that found a difference, where there are several; once where several figures of a phase differ.
pub(super) fn each<'t>(trials: &'t [TrialRecord], findings: &'t [Finding]) -> Vec<ComparedProfile> {
    let mut seen = BTreeSet::new();
    let sure: Vec<Difference<'_>> = sides::sure(findings)
        .map(|(_, difference)| difference)
        .filter(|difference| seen.insert((difference.phase, difference.sides)))
        .collect();
    if sure.len() < 2 {
        return Vec::new();
    }
    let found = sure.iter().filter_map(|difference| {
        let profile = of(&difference.phases(trials)).filter(ProfileReport::tells)?;
        let [better, worse] = difference.sides.map(Clone::clone);
        Some(ComparedProfile { phase: difference.phase.to_owned(), better, worse, profile })
    });
    found.collect()
}

/// The samples of all phases of a side on one rig, and what was carried out meanwhile. Only phases that were sampled count.
fn merged(phases: &[(&PhaseRecord, Side)], side: Side, arm: Arm) -> Option<Sampled> {
    let mut all: Option<ProfileBuilder> = None;
    let profiles = || phases.iter().flat_map(|(phase, _)| &phase.profiles);
    let knows_hosts = profiles().any(Profile::knows_hosts);
    let (mut done, mut nanoseconds) = (0, 0);
    for (phase, _) in phases.iter().filter(|(_, of)| *of == side) {
        let Some(profile) = phase.profiles.iter().find(|profile| profile.arm == arm) else { continue };
        all.get_or_insert_with(|| ProfileBuilder::new(arm, profile.clock, profile.hertz))
            .merge(&profile.of_the_run_among(knows_hosts));
        for slice in phase.slices.iter().filter(|slice| slice.arm == arm) {
            done += operations(slice).unwrap_or(0);
            nanoseconds += slice.result.elapsed_ns;
        }
    }
    Some(Sampled { profile: all?.build(), operations: done, seconds: nanoseconds as f64 / 1e9 })
}
