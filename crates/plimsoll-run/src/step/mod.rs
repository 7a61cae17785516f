//! Steps: what is done in the middle of a trial, in a phase of its own or while a load runs.

mod link;
mod load;
mod service;

use std::time::Instant;

use plimsoll_model::experiment::{Action, ActionKind, Phase};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::{Arm, Fault, FaultKind, PhaseKind, StepEvent};

use crate::agent_pool::{Heard, Key, off_the_mark, too_long};
use crate::error::{RunError, TrialStop};
use crate::event::Event;
use crate::phase::{Request, deadline};
use crate::schedule::Schedule;
use crate::trial::Trial;

impl<'t> Trial<'t> {
    /// Does what a phase says, one thing after the other, on the rigs that do not sit it out.
    pub(crate) fn act(&mut self, phase: &'t Phase, actions: &'t [Action]) -> Result<(), TrialStop> {
        if phase.skip {
            return Ok(());
        }
        self.begin(&phase.name, PhaseKind::Act, None);
        let deadline = deadline(phase);
        for action in actions.iter().filter(|action| !action.skip) {
            // A step is not left half done.
            if self.agents.skips() {
                return Err(TrialStop::Skipped);
            }
            self.carry_out(action, &self.taking_part(phase), deadline)?;
        }
        self.end()
    }

    /// Stops a service, on the rigs that do not sit this phase out.
    pub(crate) fn stop(&mut self, phase: &Phase, service: &str) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Act, None);
        for arm in self.taking_part(phase) {
            self.timed(arm, &phase.name, &format!("stop {service}"), |trial| {
                trial.stop_service(arm, service)
            })?;
        }
        self.end()
    }

    /// Starts a service again that was stopped.
    pub(crate) fn start_again(&mut self, phase: &Phase, service: &str) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Act, None);
        for arm in self.taking_part(phase) {
            self.timed(arm, &phase.name, &format!("start {service}"), |trial| {
                trial.restart_service(arm, service)
            })?;
        }
        self.end()
    }

    /// What is to be done while the load of a phase runs, counted from when that begins.
    pub(crate) fn schedule(&mut self, phase: &'t Phase, arms: Vec<Arm>) {
        let todo = phase.during.iter().filter(|action| !action.skip);
        let mut waiting: Vec<_> = todo.map(|action| (action.at.unwrap_or_default().0, action)).collect();
        waiting.sort_by_key(|(at, _)| *at);
        self.schedule = Schedule { waiting: waiting.into(), arms, began: None };
    }

    /// The load is over: so has to be what was to be done meanwhile.
    pub(crate) fn schedule_is_over(&mut self) -> Result<(), TrialStop> {
        let schedule = std::mem::take(&mut self.schedule);
        let Some((at, action)) = schedule.waiting.front() else { return Ok(()) };
        let took = schedule.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        let what = format!(
            "the step `{}` was to be done {:.1} s after the start of the load, which had ended after {took:.1} s",
            action.title(),
            at.as_secs_f64()
        );
        Err(TrialStop::Fault(Fault { phase: String::new(), kind: FaultKind::StepMissed, what }))
    }

    /// Does what is due by now, between two slices of a load.
    pub(crate) fn do_what_is_due(&mut self) -> Result<(), TrialStop> {
        while self.schedule.due().is_some_and(|due| due <= Instant::now()) {
            self.next_step()?;
        }
        Ok(())
    }

    fn next_step(&mut self) -> Result<(), TrialStop> {
        let Some((_, action)) = self.schedule.waiting.pop_front() else { return Ok(()) };
        let arms = self.schedule.arms.clone();
        self.carry_out(action, &arms, Instant::now() + crate::phase::PHASE_LIMIT)
    }

    /// Asks agents to run loads and waits for their answers. What is due meanwhile is done meanwhile.
    pub(crate) fn ask_and_do_what_is_due(
        &mut self,
        requests: &[Request],
        deadline: Instant,
    ) -> Result<Vec<FromAgent>, TrialStop> {
        let asked = self.agents.begin(requests)?;
        self.schedule.began.get_or_insert_with(Instant::now);
        loop {
            let due = self.schedule.due();
            let until = due.map_or(deadline, |due| due.min(deadline));
            let observer = &mut self.observer;
            let mut tell = |key: &Key, heard: Heard<'_>| match heard {
                Heard::Progress(progress) => observer.on(&Event::Progress { arm: key.arm, progress }),
                Heard::Samples(samples) => {
                    observer.on(&Event::Sampled { arm: key.arm, host: &key.host, samples });
                }
            };
            let before = self.agents.may_be_skipped(true);
            let collected = self.agents.collect(&asked, until, &mut tell);
            self.agents.may_be_skipped(before);
            match collected {
                Ok(Some(answers)) => return Ok(answers),
                Err(TrialStop::Skipped) => {
                    self.agents.cut_short(&asked)?;
                    return Err(TrialStop::Skipped);
                }
                Err(stop) => return Err(stop),
                Ok(None) => {}
            }
            match due {
                Some(due) if due <= deadline => self.next_step()?,
                _ => return Err(too_long(&self.agents.silent(&asked))),
            }
        }
    }

    /// Carries out a step on these rigs.
    fn carry_out(&mut self, action: &Action, arms: &[Arm], deadline: Instant) -> Result<(), TrialStop> {
        let what = match action.kind.host(self.experiment) {
            Some(host) => format!("{} on {host}", action.kind.describe()),
            None => action.kind.describe(),
        };
        for arm in arms {
            let note =
                self.timed(*arm, &action.title(), &what, |trial| trial.do_on(*arm, &action.kind, deadline))?;
            if !note.is_empty() {
                self.current().notes.push(note);
            }
        }
        Ok(())
    }

    /// Does something, and notes in the timeline when.
    fn timed<T>(
        &mut self,
        arm: Arm,
        name: &str,
        what: &str,
        doing: impl FnOnce(&mut Self) -> Result<T, TrialStop>,
    ) -> Result<T, TrialStop> {
        let at_ns = self.now_ns();
        self.observer.on(&Event::Step { name });
        let done = doing(self)?;
        let took_ns = self.now_ns().saturating_sub(at_ns);
        let (name, what) = (name.to_owned(), what.to_owned());
        self.current().events.push(StepEvent { name, what, arm, at_ns, took_ns });
        Ok(done)
    }

    /// Does it on one rig; what a reader should know of it, which is often nothing.
    fn do_on(&mut self, arm: Arm, action: &ActionKind, deadline: Instant) -> Result<String, TrialStop> {
        let done = match action {
            ActionKind::Restart(it) => self.restart_service(arm, &it.service),
            ActionKind::Start(it) => self.restart_service(arm, &it.service),
            ActionKind::Stop(it) => self.stop_service(arm, &it.service),
            ActionKind::Kill(it) => self.kill_service(arm, &it.service),
            ActionKind::Link(it) => self.change_link(arm, it),
            ActionKind::StartLoad(it) => self.start_load(arm, &it.load),
            ActionKind::StopLoad(it) => self.stop_load(arm, &it.load),
            ActionKind::Run(_)
            | ActionKind::Set(_)
            | ActionKind::Fill(_)
            | ActionKind::Signal(_)
            | ActionKind::FlushRules(_) => return self.done_by_agent(arm, action, deadline),
        };
        done.map(|()| String::new())
    }

    /// Has the agent of its host do it.
    pub(crate) fn done_by_agent(
        &mut self,
        arm: Arm,
        action: &ActionKind,
        deadline: Instant,
    ) -> Result<String, TrialStop> {
        let host = action.host(self.experiment).unwrap_or_default().to_owned();
        let (deployment, agents) = self.deployment_and_agents(arm);
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
}
