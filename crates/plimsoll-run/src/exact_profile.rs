//! Profiles of hosts whose time counts instructions.
//!
//! Sampling takes instructions, so there is none during measurements. The end of each cell's first trial repeats the measured load for its
//! profile alone: the samples in a function are proportional to its instructions.

use std::time::Instant;

use plimsoll_model::experiment::GuestClock;
use plimsoll_model::observation::{Arm, PhaseKind};

use crate::agent_pool::Key;
use crate::error::TrialStop;
use crate::pending_steps::PHASE_LIMIT;
use crate::phase;
use crate::trial::Trial;

/// The first block has each cell once.
const FIRST_BLOCK: u32 = 1;

/// Runs each measured load once more for its profile, if its host has a virtual clock. A missing part is noted with the
/// phase, and spoils nothing.
pub(crate) fn profile_exactly(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let experiment = trial.experiment;
    if trial.recorder.record.block != FIRST_BLOCK || !experiment.run.profile {
        return Ok(());
    }
    for place in 0..trial.recorder.record.phases.len() {
        let phase = &trial.recorder.record.phases[place];
        let load = experiment.all_phases().find(|known| known.name == phase.name);
        let load = load.and_then(|known| known.measured_load());
        let Some(load) = load.filter(|_| phase.kind == PhaseKind::Measure && phase.rung.is_none()) else {
            continue;
        };
        if experiment.hosts[&experiment.loads[load].from].clock != GuestClock::Virtual {
            continue;
        }
        for arm in trial.arms() {
            profile_once_more(trial, place, load, arm)?;
        }
        let phase = &trial.recorder.record.phases[place];
        trial.recorder.store.put_phase(trial.recorder.run, &trial.recorder.record, place, phase)?;
    }
    Ok(())
}

fn profile_once_more(trial: &mut Trial<'_>, place: usize, load: &str, arm: Arm) -> Result<(), TrialStop> {
    let requests = phase::requests(trial, arm, &[(load.to_owned(), trial.kind(load))])?;
    let hosts: Vec<Key> = requests.iter().map(|(key, ..)| key.clone()).collect();
    trial.begin_profile(&hosts)?;
    trial.rigs.agents.ask_all(&requests, Instant::now() + PHASE_LIMIT, &mut |_, _| {})?;
    trial.end_profile(&hosts)?;
    let sampled = trial.take_profiles(&hosts)?;
    let phase = &mut trial.recorder.record.phases[place];
    for sampled in sampled {
        match sampled {
            Ok(profile) => phase.profiles.push(profile),
            Err(note) => phase.notes.push(note),
        }
    }
    Ok(())
}
