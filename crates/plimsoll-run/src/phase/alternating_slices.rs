//! Slices of the two rigs alternate in random order, and more follow while they scatter too much.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{Claim, Experiment, LoadKind, ModesClaim, Phase, recorded_as};
use plimsoll_model::observation::{Arm, Slice};
use rand::seq::SliceRandom;

use super::slice;
use crate::error::TrialStop;
use crate::event::Event;
use crate::load_records::loads_of;
use crate::trial::Trial;
use crate::{background, step};

/// The slices between two looks at whether the phase may end, beyond the fewest.
const SLICES_BETWEEN_LOOKS: u32 = 10;

/// How many slices are measured.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// The fewest slices.
    slices: u32,
    /// The most slices.
    most: u32,
    /// How long those beyond the fewest may take.
    extend_for: Option<Duration>,
}

impl Extent {
    pub(crate) fn of(phase: &Phase, experiment: &Experiment) -> Self {
        let names = phase.recorded_as();
        let about_modes = |claim: &Claim| claim.modes().is_some_and(|claim| names.contains(&claim.phase));
        let usual = if experiment.claims.iter().any(about_modes) { ModesClaim::MEASUREMENTS } else { 1 };
        let slices = phase.slices.unwrap_or(usual);
        Self {
            slices,
            most: phase.most_slices.unwrap_or(slices),
            extend_for: phase.extend_for.map(|span| span.0),
        }
    }

    pub(crate) fn just(slices: u32) -> Self {
        Self { slices, most: slices, extend_for: None }
    }
}

/// Runs a load in slices, the two rigs in random order within each. More slices of the same size follow while its
/// figure is not sure enough.
pub(crate) fn slices(
    trial: &mut Trial<'_>,
    loads: &[String],
    extent: &Extent,
    deadline: Instant,
) -> Result<(), TrialStop> {
    let whole: Vec<LoadKind> = loads.iter().map(|load| trial.kind(load)).collect();
    let slices = extent.slices;
    let mut extended_from = None;
    for place in 0..extent.most {
        if place >= slices && (place - slices).is_multiple_of(SLICES_BETWEEN_LOOKS) {
            let since = *extended_from.get_or_insert_with(Instant::now);
            let too_long = extent.extend_for.is_some_and(|limit| since.elapsed() >= limit);
            if too_long || is_sure_enough(trial) {
                break;
            }
        }
        if place > 0 && place.is_multiple_of(SLICES_BETWEEN_LOOKS) {
            let known = by_load(trial);
            let sentences = known
                .iter()
                .filter_map(|(name, slices)| trial.context.judge.so_far(trial.context.plan, name, slices));
            let sentences: Vec<String> = sentences.collect();
            sentences.iter().for_each(|what| trial.recorder.observer.on(&Event::SoFar { what }));
        }
        let part = |whole: &LoadKind| whole.part(place % slices, slices);
        let parts: Vec<_> = loads.iter().cloned().zip(whole.iter().map(part)).collect();
        round(trial, &parts, place, deadline)?;
    }
    Ok(())
}

/// Whether the slices so far tell the figure of each load surely enough.
fn is_sure_enough(trial: &Trial<'_>) -> bool {
    by_load(trial)
        .iter()
        .all(|(name, slices)| trial.context.judge.sure_enough(trial.context.plan, name, slices))
}

/// The slices of the latest phase, by the name under which those of each load are recorded.
fn by_load<'s>(trial: &'s Trial<'_>) -> Vec<(String, Cow<'s, [Slice]>)> {
    let latest = trial.recorder.latest();
    let loads = loads_of(latest);
    if loads.is_empty() {
        return vec![(latest.name.clone(), Cow::Borrowed(&latest.slices))];
    }
    let slices = |load: &str| latest.slices.iter().filter(|slice| slice.load == load).cloned().collect();
    let named = |load: &String| (recorded_as(&latest.name, load), slices(load));
    loads.iter().map(named).collect()
}

/// Runs one slice on every rig, in random order.
pub(crate) fn round(
    trial: &mut Trial<'_>,
    parts: &[(String, LoadKind)],
    number: u32,
    deadline: Instant,
) -> Result<(), TrialStop> {
    background::start_and_stop_background(trial)?;
    step::do_what_is_due(trial)?;
    let mut arms: Vec<Arm> = trial.arms().collect();
    arms.shuffle(&mut trial.random);
    for arm in arms {
        let slices = slice(trial, arm, number, parts, deadline)?;
        trial.recorder.current().slices.extend(slices);
    }
    Ok(())
}
