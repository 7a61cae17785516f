//! The two sides that a run's verdict compares, as the phases that belong to each.

use plimsoll_explain::causes::Measured;
use plimsoll_model::experiment::RecoveryClaim;
use plimsoll_model::observation::{PhaseRecord, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::ProfileReport;

use super::contrast::{self, is_of};
use super::windows;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Before the flood, or the better one.
    Before = 0,
    /// After the flood, or the worse one.
    After = 1,
}

/// What is compared.
pub(super) struct Compared<'t> {
    /// The claim, where it is about a system that is to come back.
    pub(super) recovery: Option<&'t RecoveryClaim>,
    /// The measured phases, each with its side.
    pub(super) phases: Vec<(&'t PhaseRecord, Side)>,
}

/// The baseline and the last phase after a flood; all other cells and the one that is odd; or the better and the worse side of a difference. The
/// first claim of these kinds decides; nothing where there is none, or where it found nothing.
pub(super) fn of<'t>(plan: &'t Plan, trials: &'t [TrialRecord]) -> Option<Compared<'t>> {
    let claims = &plan.experiment.claims;
    if let Some(claim) = claims.iter().find_map(|claim| claim.recovery()) {
        let of_trial = |trial: &'t TrialRecord| {
            let before = windows::measured(trial, &claim.baseline).next().map(|phase| (phase, Side::Before));
            let after = windows::measured(trial, &claim.after).last().map(|phase| (phase, Side::After));
            [before, after].into_iter().flatten()
        };
        return Some(Compared { recovery: Some(claim), phases: trials.iter().flat_map(of_trial).collect() });
    }
    let odd = claims.iter().find_map(|claim| {
        let claim = claim.interaction()?;
        Some((&claim.phase, contrast::odd_cell(claim, trials)?))
    });
    if let Some((phase, odd)) = odd {
        let side =
            |trial: &TrialRecord| Some(if is_of(&odd, &trial.cell) { Side::After } else { Side::Before });
        return Some(Compared { recovery: None, phases: of_trials(phase, trials.iter(), side) });
    }
    let (phase, [better, worse]) = claims.iter().find_map(|claim| {
        let claim = claim.difference()?;
        Some((&claim.phase, contrast::better_and_worse(plan, claim, trials)?))
    })?;
    let side = |trial: &TrialRecord| match (is_of(&better, &trial.cell), is_of(&worse, &trial.cell)) {
        (true, _) => Some(Side::Before),
        (_, true) => Some(Side::After),
        _ => None,
    };
    Some(Compared { recovery: None, phases: of_trials(phase, trials.iter(), side) })
}

/// What is measured in a phase, and whether that waits for a disk: a storage load does, and so do hosts on which something else than what is told of
/// makes files durable.
pub(super) fn measured<'p>(plan: &'p Plan, phase: &str, profile: Option<&ProfileReport>) -> Measured<'p> {
    let experiment = &plan.experiment;
    let load = experiment.all_phases().find(|it| it.name == phase).and_then(|it| it.measure.as_ref());
    Measured {
        service: load.and_then(|name| experiment.loads.get(name)).map_or("", |load| &load.to),
        waits_for_disk: !experiment.volumes.is_empty()
            || profile.is_some_and(|profile| profile.own_syncs_per_s > 0.0),
    }
}

/// A phase of the better run's trials, and of the worse one's.
pub(super) fn of_runs<'t>(
    phase: &'t str,
    better: &[&'t TrialRecord],
    worse: &[&'t TrialRecord],
) -> Vec<(&'t PhaseRecord, Side)> {
    let mut phases = of_trials(phase, better.iter().copied(), |_| Some(Side::Before));
    phases.extend(of_trials(phase, worse.iter().copied(), |_| Some(Side::After)));
    phases
}

fn of_trials<'t>(
    phase: &'t str,
    trials: impl Iterator<Item = &'t TrialRecord>,
    side: impl Fn(&TrialRecord) -> Option<Side>,
) -> Vec<(&'t PhaseRecord, Side)> {
    let sided = trials.filter_map(|trial| Some((trial, side(trial)?)));
    sided.flat_map(|(trial, side)| windows::measured(trial, phase).map(move |phase| (phase, side))).collect()
}
