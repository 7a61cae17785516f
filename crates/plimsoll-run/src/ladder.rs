//! The remedies ladder: the remedy that brings the figure back shows where the state lives.

use std::time::Instant;

use plimsoll_model::experiment::{Experiment, Remedies, Rung};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::PhaseKind;

use crate::error::TrialStop;
use crate::event::Event;
use crate::host_provider::ProviderError;
use crate::pending_steps::PHASE_LIMIT;
use crate::phase::alternating_slices::{Extent, slices};
use crate::rigs::sample_hz;
use crate::skip;
use crate::trial::Trial;

/// Tries one rung after the other and measures after each, until the figure is back.
///
/// Each is applied to the control as well: state that measurements left there would make the restored rig look better than its baseline.
pub(crate) fn climb(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let experiment = trial.experiment;
    let Some(remedies) = &experiment.remedies else { return Ok(()) };
    let claim = experiment.claims.iter().find_map(|claim| claim.recovery());
    let Some((load, extent)) = claim.and_then(|claim| find(experiment, &claim.after)) else {
        return Ok(());
    };
    let loads = [load.clone()];
    for &rung in &remedies.ladder {
        trial.recorder.observer.on(&Event::Remedy { rung });
        trial.begin(rung.name(), PhaseKind::Remedy, Some(rung));
        let climbed = try_rung(trial, rung, remedies, &loads, &extent);
        skip::unless_skipped(trial, climbed)?;
        let counts = trial.recorder.record.faults.is_empty();
        if !counts || trial.context.judge.last_rung_restored(trial.context.plan, &trial.recorder.record) {
            break;
        }
    }
    Ok(())
}

fn try_rung(
    trial: &mut Trial<'_>,
    rung: Rung,
    remedies: &Remedies,
    loads: &[String],
    extent: &Extent,
) -> Result<(), TrialStop> {
    if let Some(note) = apply(trial, rung, remedies)? {
        trial.recorder.current().notes.push(note);
        return trial.end();
    }
    let limit = Instant::now() + PHASE_LIMIT;
    // Restarted services and rebuilt hosts warm up in a slice that is not kept.
    slices(trial, loads, &Extent::just(1), limit)?;
    trial.recorder.current().slices.clear();
    slices(trial, loads, extent, limit)?;
    trial.end()
}

/// Applies a rung. Returns a note if that is impossible here.
fn apply(trial: &mut Trial<'_>, rung: Rung, remedies: &Remedies) -> Result<Option<String>, TrialStop> {
    let experiment = trial.experiment;
    let host = &experiment.services[&remedies.service].on;
    match rung {
        Rung::WaitLonger => {
            skip::skippable(trial, |trial| trial.rigs.agents.idle(Instant::now() + remedies.wait.0))?;
        }
        Rung::RestartService => {
            for arm in trial.arms() {
                let (deployment, agents) = trial.rigs.deployment_and_agents(arm);
                deployment.restart(agents, &remedies.service)?;
            }
        }
        Rung::DropCaches => return drop_caches(trial, host),
        Rung::RebuildHost => {
            let hz = sample_hz(experiment);
            for arm in trial.arms() {
                let (deployment, agents) = trial.rigs.deployment_and_agents(arm);
                match deployment.rebuild(agents, host, hz) {
                    Err(TrialStop::Error(crate::RunError::Host(
                        error @ ProviderError::NotRebuildable(_),
                    ))) => {
                        return Ok(Some(format!("not tried: {error}")));
                    }
                    other => other?,
                }
            }
        }
    }
    Ok(None)
}

fn drop_caches(trial: &mut Trial<'_>, host: &str) -> Result<Option<String>, TrialStop> {
    if let Err(error) = trial.context.provider.drop_caches() {
        return Ok(Some(format!("not tried: {error}")));
    }
    for arm in trial.arms() {
        let key = trial.rigs.deployment(arm).key(host);
        if let FromAgent::Failed { why, .. } =
            trial.rigs.agents.ask(&key, |id| ToAgent::FlushCaches { id })?
        {
            return Ok(Some(format!("not tried: {why}")));
        }
    }
    Ok(None)
}

/// The load that a phase measures, and in how many slices.
fn find<'e>(experiment: &'e Experiment, name: &str) -> Option<(&'e String, Extent)> {
    let phase = experiment.phase_recorded_as(name)?;
    Some((experiment.measured_load(name)?, Extent::of(phase, experiment)))
}
