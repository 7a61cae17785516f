//! Steps: actions in the middle of a trial, in a phase of their own or while a load runs.

use std::time::Instant;

use plimsoll_model::experiment::{Action, ActionKind, Phase};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::{Arm, Fault, FaultKind, PhaseKind, StepEvent};

use crate::agent_pool::{AgentPool, Key, Request, Update, off_the_mark, too_long};
use crate::background;
use crate::deployment::Deployment;
use crate::error::{RunError, TrialStop};
use crate::event::Event;
use crate::pending_steps::{PHASE_LIMIT, PendingSteps, deadline};
use crate::trial::Trial;

/// Carries out the actions of a phase in order, on the rigs that take part.
pub(crate) fn act<'t>(
    trial: &mut Trial<'t>,
    phase: &'t Phase,
    actions: &'t [Action],
) -> Result<(), TrialStop> {
    if phase.skip {
        return Ok(());
    }
    trial.begin(&phase.name, PhaseKind::Act, None);
    let deadline = deadline(phase);
    for action in actions.iter().filter(|action| !action.skip) {
        // A step is not left half done.
        if trial.rigs.agents.take_skip() {
            return Err(TrialStop::Skipped);
        }
        carry_out(trial, action, &trial.taking_part(phase), deadline)?;
    }
    trial.end()
}

/// Stops a service, on the rigs that take part in the phase.
pub(crate) fn stop_service(trial: &mut Trial<'_>, phase: &Phase, service: &str) -> Result<(), TrialStop> {
    on_each(trial, phase, &format!("stop {service}"), |deployment, agents| deployment.stop(agents, service))
}

/// Restarts a stopped service.
pub(crate) fn start_service(trial: &mut Trial<'_>, phase: &Phase, service: &str) -> Result<(), TrialStop> {
    on_each(trial, phase, &format!("start {service}"), |deployment, agents| {
        deployment.restart(agents, service)
    })
}

fn on_each(
    trial: &mut Trial<'_>,
    phase: &Phase,
    what: &str,
    doing: impl Fn(&mut Deployment<'_>, &mut AgentPool<'_>) -> Result<(), TrialStop>,
) -> Result<(), TrialStop> {
    trial.begin(&phase.name, PhaseKind::Act, None);
    for arm in trial.taking_part(phase) {
        timed(trial, arm, &phase.name, what, |trial| {
            let (deployment, agents) = trial.rigs.deployment_and_agents(arm);
            doing(deployment, agents)
        })?;
    }
    trial.end()
}

/// Schedules the actions of a phase relative to the start of its load.
pub(crate) fn set_pending_steps<'t>(trial: &mut Trial<'t>, phase: &'t Phase, arms: Vec<Arm>) {
    let todo = phase.during.iter().filter(|action| !action.skip);
    let mut waiting: Vec<_> = todo.map(|action| (action.at.unwrap_or_default().0, action)).collect();
    waiting.sort_by_key(|(at, _)| *at);
    trial.pending_steps = PendingSteps { waiting: waiting.into(), arms, began: None };
}

/// Requires at the end of a load that all its steps are done.
pub(crate) fn end_pending_steps(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let pending = std::mem::take(&mut trial.pending_steps);
    let Some((at, action)) = pending.waiting.front() else { return Ok(()) };
    let took = pending.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
    let what = format!(
        "the step `{}` was due {:.1} s after the start of the load, which ended after {took:.1} s",
        action.title(),
        at.as_secs_f64()
    );
    Err(TrialStop::Fault(Fault { phase: String::new(), kind: FaultKind::StepMissed, what }))
}

/// Carries out due steps, between two slices of a load.
pub(crate) fn do_what_is_due(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    while trial.pending_steps.due().is_some_and(|due| due <= Instant::now()) {
        next_step(trial)?;
    }
    Ok(())
}

fn next_step(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let Some((_, action)) = trial.pending_steps.waiting.pop_front() else { return Ok(()) };
    let arms = trial.pending_steps.arms.clone();
    carry_out(trial, action, &arms, Instant::now() + PHASE_LIMIT)
}

/// Requests loads and waits for their results. Carries out steps that come due meanwhile.
pub(crate) fn ask_and_do_what_is_due(
    trial: &mut Trial<'_>,
    requests: &[Request],
    deadline: Instant,
) -> Result<Vec<FromAgent>, TrialStop> {
    let asked = trial.rigs.agents.begin(requests)?;
    trial.pending_steps.began.get_or_insert_with(Instant::now);
    loop {
        let due = trial.pending_steps.due();
        let until = due.map_or(deadline, |due| due.min(deadline));
        let observer = &mut trial.recorder.observer;
        let mut on_update = |key: &Key, update: Update<'_>| match update {
            Update::Progress(progress) => observer.on(&Event::Progress { arm: key.arm, progress }),
            Update::Samples(samples) => {
                observer.on(&Event::Sampled { arm: key.arm, host: &key.host, samples });
            }
        };
        let before = trial.rigs.agents.may_be_skipped(true);
        let collected = trial.rigs.agents.collect(&asked, until, &mut on_update);
        trial.rigs.agents.may_be_skipped(before);
        match collected {
            Ok(Some(answers)) => return Ok(answers),
            Err(TrialStop::Skipped) => {
                trial.rigs.agents.cut_short(&asked)?;
                return Err(TrialStop::Skipped);
            }
            Err(stop) => return Err(stop),
            Ok(None) => {}
        }
        match due {
            Some(due) if due <= deadline => next_step(trial)?,
            _ => return Err(too_long(&trial.rigs.agents.silent(&asked))),
        }
    }
}

/// Carries out a step on these rigs.
fn carry_out(
    trial: &mut Trial<'_>,
    action: &Action,
    arms: &[Arm],
    deadline: Instant,
) -> Result<(), TrialStop> {
    let what = match action.kind.host(trial.experiment) {
        Some(host) => format!("{} on {host}", action.kind.describe()),
        None => action.kind.describe(),
    };
    for arm in arms {
        let note =
            timed(trial, *arm, &action.title(), &what, |trial| do_on(trial, *arm, &action.kind, deadline))?;
        if !note.is_empty() {
            trial.recorder.current().notes.push(note);
        }
    }
    Ok(())
}

/// Carries out an action, and notes its time in the timeline.
fn timed<T>(
    trial: &mut Trial<'_>,
    arm: Arm,
    name: &str,
    what: &str,
    doing: impl FnOnce(&mut Trial<'_>) -> Result<T, TrialStop>,
) -> Result<T, TrialStop> {
    let at_ns = trial.recorder.now_ns();
    trial.recorder.observer.on(&Event::Step { name });
    let done = doing(trial)?;
    let took_ns = trial.recorder.now_ns().saturating_sub(at_ns);
    let (name, what) = (name.to_owned(), what.to_owned());
    trial.recorder.current().events.push(StepEvent { name, what, arm, at_ns, took_ns });
    Ok(done)
}

/// Carries out an action on one rig. Returns a note for readers, which is often empty.
fn do_on(
    trial: &mut Trial<'_>,
    arm: Arm,
    action: &ActionKind,
    deadline: Instant,
) -> Result<String, TrialStop> {
    let (deployment, agents) = trial.rigs.deployment_and_agents(arm);
    let done = match action {
        ActionKind::Restart(it) => deployment.restart(agents, &it.service),
        ActionKind::Start(it) => deployment.restart(agents, &it.service),
        ActionKind::Stop(it) => deployment.stop(agents, &it.service),
        ActionKind::Kill(it) => deployment.kill(agents, &it.service),
        ActionKind::Link(it) => deployment.change_link(it),
        ActionKind::StartLoad(it) => background::start_load(trial, arm, &it.load),
        ActionKind::StopLoad(it) => background::stop_load(trial, arm, &it.load),
        ActionKind::Run(_)
        | ActionKind::Set(_)
        | ActionKind::Fill(_)
        | ActionKind::Signal(_)
        | ActionKind::FlushRules(_) => return done_by_agent(trial, arm, action, deadline),
    };
    done.map(|()| String::new())
}

/// Lets the agent of the host carry out an action.
pub(crate) fn done_by_agent(
    trial: &mut Trial<'_>,
    arm: Arm,
    action: &ActionKind,
    deadline: Instant,
) -> Result<String, TrialStop> {
    let host = action.host(trial.experiment).unwrap_or_default().to_owned();
    let (deployment, agents) = trial.rigs.deployment_and_agents(arm);
    let service = action.signal().and_then(|signal| deployment.id_of(&signal.to));
    let volume = action.fill().and_then(|fill| fill.volume.as_ref());
    let volume = volume.map(|volume| deployment.volume(volume)).transpose()?;
    let (key, id) = (deployment.key(&host), agents.id());
    let request = (key, id, ToAgent::Act { id, action: action.clone(), service, volume });
    match agents.ask_all(&[request], deadline, &mut |_, _| {})?.pop() {
        Some(FromAgent::Acted { note, .. }) => Ok(note),
        Some(FromAgent::Failed { why, .. }) => Err(RunError::Agent { host, why }.into()),
        _ => Err(off_the_mark(&host)),
    }
}
