//! Background loads: they run beside the measured load, and start and stop between its slices.

use std::time::Duration;

use plimsoll_model::experiment::BackgroundLoad;
use plimsoll_model::frame::Id;
use plimsoll_model::observation::Arm;
use plimsoll_model::units::Span;

use crate::agent_pool::Key;
use crate::error::TrialStop;
use crate::rigs::RunningBackground;
use crate::trial::Trial;

/// Safety limit: how long a background load runs if never stopped.
const FOR_GOOD: Span = Span::secs(86_400);
/// Time for a new background load to get going before the next measurement.
const ARRIVAL: Duration = Duration::from_millis(50);

/// Starts and stops background loads as their schedule says, between two slices of the latest phase.
pub(crate) fn start_and_stop_background(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let experiment = trial.experiment;
    if experiment.background.is_empty() {
        return Ok(());
    }
    let (phase, began) = (trial.recorder.latest().name.clone(), trial.recorder.latest().start_ns);
    let since = Duration::from_nanos(trial.recorder.now_ns().saturating_sub(began));
    let mut came = false;
    for (name, background) in &experiment.background {
        let concerns = background.during.is_empty() || background.during.contains(&phase);
        let wanted = concerns && background.is_there(since);
        let there = trial.rigs.background.iter().position(|beside| !beside.by_step && beside.name == *name);
        match (wanted, there) {
            (true, None) => {
                start(trial, name, background)?;
                came = true;
            }
            (false, Some(place)) => stop_at(trial, place)?,
            _ => {}
        }
    }
    if came {
        trial.rigs.agents.idle(std::time::Instant::now() + ARRIVAL)?;
    }
    Ok(())
}

/// Names of the running background loads.
pub(crate) fn background_running(trial: &Trial<'_>) -> Vec<String> {
    trial.rigs.background.iter().map(|beside| beside.name.clone()).collect()
}

/// Ends all of them, also after a failed measurement. The first reason counts.
pub(crate) fn stop_background(
    trial: &mut Trial<'_>,
    measured: Result<(), TrialStop>,
) -> Result<(), TrialStop> {
    measured?;
    while let Some(place) = trial.rigs.background.iter().position(|beside| !beside.by_step) {
        stop_at(trial, place)?;
    }
    Ok(())
}

fn start(trial: &mut Trial<'_>, name: &str, background: &BackgroundLoad) -> Result<(), TrialStop> {
    let mut loads = Vec::new();
    for arm in trial.arms() {
        loads.extend(set_beside(trial, arm, &background.load)?);
    }
    trial.rigs.background.push(RunningBackground { name: name.to_owned(), loads, by_step: false });
    Ok(())
}

/// Starts a load without a given end on one rig.
pub(crate) fn set_beside(trial: &mut Trial<'_>, arm: Arm, name: &str) -> Result<Vec<(Key, Id)>, TrialStop> {
    let experiment = trial.experiment;
    let load = &experiment.loads[name];
    let kind = trial.kind(name).lasting(FOR_GOOD);
    let mut loads = Vec::new();
    for from in experiment.members(&load.from) {
        let deployment = trial.rigs.deployment(arm);
        let (key, spec) = (deployment.key(from), deployment.load(name, load, from, kind.clone())?);
        let id = trial.rigs.agents.set_going(&key, name, spec)?;
        loads.push((key, id));
    }
    Ok(loads)
}

fn stop_at(trial: &mut Trial<'_>, place: usize) -> Result<(), TrialStop> {
    for (key, id) in trial.rigs.background.remove(place).loads {
        trial.rigs.agents.call_off(&key, id)?;
    }
    Ok(())
}

/// Starts a load on a rig beside the measured one, until a step or the trial ends it.
pub(crate) fn start_load(trial: &mut Trial<'_>, arm: Arm, load: &str) -> Result<(), TrialStop> {
    let loads = set_beside(trial, arm, load)?;
    match trial.rigs.background.iter_mut().find(|beside| beside.by_step && beside.name == load) {
        Some(beside) => beside.loads.extend(loads),
        None => trial.rigs.background.push(RunningBackground { name: load.to_owned(), loads, by_step: true }),
    }
    Ok(())
}

/// Ends on a rig a load that a step has started.
pub(crate) fn stop_load(trial: &mut Trial<'_>, arm: Arm, load: &str) -> Result<(), TrialStop> {
    let Some(place) = trial.rigs.background.iter().position(|beside| beside.by_step && beside.name == load)
    else {
        return Ok(());
    };
    let all = std::mem::take(&mut trial.rigs.background[place].loads);
    let (ended, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, _)| key.arm == arm);
    trial.rigs.background[place].loads = others;
    if trial.rigs.background[place].loads.is_empty() {
        trial.rigs.background.remove(place);
    }
    ended.into_iter().try_for_each(|(key, id)| trial.rigs.agents.call_off(&key, id))
}
