//! The course of a trial: set-up, phases, teardown.

use std::collections::BTreeMap;
use std::time::Instant;

use plimsoll_model::experiment::HookMoment;
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::{Arm, Fault, FaultKind, PhaseKind, TrialRecord};
use plimsoll_model::plan::{Cell, cell_text};
use rand::rngs::StdRng;

use crate::agent_pool::AgentPool;
use crate::context::Context;
use crate::deployment::Deployment;
use crate::error::{RunError, TrialStop};
use crate::event::Observer;
use crate::host_provider::ShapedLink;
use crate::pending_steps::PendingSteps;
use crate::phase::phases;
use crate::recorder::Recorder;
use crate::rigs::Rigs;
use crate::trial::Trial;
use crate::{exact_profile, hook, ladder, mail, together};

/// Position of a trial in its run.
pub(crate) struct TrialPosition {
    pub(crate) number: u32,
    pub(crate) block: u32,
    pub(crate) random: StdRng,
    /// Whether to try the remedies if the figure does not come back.
    pub(crate) remedies: bool,
}

/// A finished trial: its record, and the reason for an early end.
pub(crate) struct Over {
    pub(crate) record: TrialRecord,
    pub(crate) stop: Option<TrialStop>,
    /// Counters that agents could not read.
    pub(crate) absent: Vec<String>,
    /// Notes about the hosts for readers of the figures.
    pub(crate) notes: Vec<String>,
    /// Shapers of the links; empty if the trial ended before it asked for them.
    pub(crate) links: Vec<ShapedLink>,
}

/// Carries out one trial of the run with this id.
pub(crate) fn carry_out(
    context: &Context<'_>,
    run: &str,
    observer: &mut dyn Observer,
    cell: &Cell,
    position: TrialPosition,
) -> Over {
    let experiment = &cell.experiment;
    let profiler = context.profiler.filter(|_| experiment.run.probes && experiment.run.profile);
    let record = TrialRecord {
        number: position.number,
        block: position.block,
        cell: cell.levels.clone(),
        ..TrialRecord::default()
    };
    let mut trial = Trial {
        context,
        experiment,
        random: position.random,
        rigs: Rigs::new(AgentPool::new(context.interrupt, context.skip)),
        recorder: Recorder::new(context.store, run, profiler, observer, record),
        pending_steps: PendingSteps::default(),
    };
    let mut links = Vec::new();
    let mut stop = all(&mut trial, &mut links, position.remedies).err();
    match &mut stop {
        Some(TrialStop::Fault(fault)) if fault.kind == FaultKind::AgentLost => {
            fault.what += &trial.rigs.end_of_agent();
            fault.what += &trial.rigs.last_lines();
        }
        Some(TrialStop::Error(RunError::Lost { how, .. })) => *how += &trial.rigs.end_of_agent(),
        _ => {}
    }
    finish(trial, links, stop)
}

fn all(trial: &mut Trial<'_>, links: &mut Vec<ShapedLink>, remedies: bool) -> Result<(), TrialStop> {
    set_up(trial)?;
    let experiment = trial.experiment;
    phases(trial, &experiment.phases)?;
    ask_for_words(trial)?;
    mail::balance_mail(trial)?;
    ask_links(trial, links)?;
    together::ask_clocks(trial)?;
    exact_profile::profile_exactly(trial)?;
    describe_guests(trial)?;
    // A trial that does not count cannot show whether the figure came back.
    let counts = trial.recorder.record.faults.is_empty();
    if remedies
        && counts
        && experiment.remedies.is_some()
        && trial.context.judge.calls_for_remedies(trial.context.plan, &trial.recorder.record)
    {
        ladder::climb(trial)?;
    }
    Ok(())
}

fn set_up(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let start = Instant::now();
    trial.rigs.build(trial.context.provider, trial.experiment)?;
    hook::hooks_of_hosts(trial, HookMoment::Prepare)?;
    trial.rigs.start(trial.experiment)?;
    trial.recorder.rig_ready(start);
    Ok(())
}

/// Stores the inventories of the run's guests, once for each cell. They are read at the end, outside of all measurements.
fn describe_guests(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    if trial.recorder.record.block > 1 {
        return Ok(());
    }
    let guests = trial.experiment.hosts.iter().filter(|(_, host)| host.kind.own().kernel);
    let names: Vec<String> = guests.map(|(name, _)| name.clone()).collect();
    let levels = cell_text(&trial.recorder.record.cell);
    let mut inventories = BTreeMap::new();
    for name in names {
        let key = trial.rigs.deployment(Arm::Treatment).key(&name);
        let answer = trial.rigs.agents.ask(&key, ToAgent::Inventory)?;
        // An agent without an inventory is left out.
        if let FromAgent::Inventory(_, inventory) = answer {
            let of = if levels.is_empty() { name } else { format!("{name} ({levels})") };
            inventories.insert(of, inventory);
        }
    }
    Ok(trial.recorder.store.put_inventories(trial.recorder.run, &inventories).map_err(RunError::from)?)
}

/// Notes the services' last words after errors of a load: they may give the reason.
fn ask_for_words(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let counted = trial.recorder.record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let failed = counted.flat_map(|phase| &phase.slices).any(|slice| slice.result.failed() > 0);
    if failed {
        let (deployment, agents) = trial.rigs.deployment_and_agents(Arm::Treatment);
        trial.recorder.record.last_words = deployment.last_words(agents)?;
    }
    Ok(())
}

/// A link that lost frames which it should have carried makes the trial worthless; one that was held up is worth a note.
fn ask_links(trial: &mut Trial<'_>, links: &mut Vec<ShapedLink>) -> Result<(), TrialStop> {
    // The other rig has the same shapers.
    if let Some(deployment) = trial.rigs.deployments.first_mut() {
        *links = deployment.shaped_links()?;
    }
    for deployment in &mut trial.rigs.deployments {
        for trouble in deployment.link_troubles()? {
            if trouble.lost_frames {
                let (kind, phase) = (FaultKind::LinkSaturated, String::new());
                return Err(TrialStop::Fault(Fault { kind, phase, what: trouble.what }));
            }
            if let Some(phase) = trial.recorder.record.phases.last_mut() {
                phase.notes.push(trouble.what);
            }
        }
    }
    Ok(())
}

/// Runs the clean-up hooks, if any host was prepared.
fn clean_up(trial: &mut Trial<'_>) -> Option<Result<(), TrialStop>> {
    let prepared = trial.rigs.prepared;
    prepared.then(|| hook::cleaning_up(trial, |trial| hook::hooks_of_hosts(trial, HookMoment::Cleanup)))
}

/// Takes everything down, and returns the finished trial.
fn finish(mut trial: Trial<'_>, links: Vec<ShapedLink>, mut stop: Option<TrialStop>) -> Over {
    let mut notes = Vec::new();
    if let Some(Err(failed)) = clean_up(&mut trial) {
        match &stop {
            None => stop = Some(failed),
            // The first reason counts.
            Some(_) => notes.push(format!("cleaning up failed as well: {failed}")),
        }
    }
    let Trial { mut rigs, mut recorder, .. } = trial;
    rigs.agents.keep_fresh();
    if !matches!(stop, Some(TrialStop::Error(RunError::Lost { .. }))) {
        rigs.agents.end_sampling();
    }
    recorder.cut_short();
    notes.extend(rigs.deployments.iter().flat_map(Deployment::notes));
    recorder.record.teardown_us = rigs.take_down();
    recorder.record.series = std::mem::take(&mut rigs.agents.series);
    recorder.record.sampling = rigs.agents.cost;
    if let Some(TrialStop::Fault(fault)) = &stop {
        recorder.fault(fault);
    }
    Over { record: recorder.record, stop, absent: rigs.agents.absent, notes, links }
}
