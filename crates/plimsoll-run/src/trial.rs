//! One trial: fresh hosts, all phases, teardown.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use plimsoll_model::experiment::{Experiment, HookMoment, Phase, Rung, cpus, sysctl};
use plimsoll_model::frame::{FromAgent, Id, ToAgent};
use plimsoll_model::observation::{Arm, Fault, FaultKind, PhaseKind, PhaseRecord, Slice, TrialRecord};
use plimsoll_model::plan::{Cell, Plan, cell_text};
use plimsoll_store::Store;
use rand::rngs::StdRng;

use crate::agent_pool::{AgentPool, Key};
use crate::deployment::Deployment;
use crate::error::{RunError, TrialStop};
use crate::event::{Event, Observer};
use crate::host_provider::{Changed, HostProvider, ShapedLink};
use crate::recorded::split;
use crate::schedule::Schedule;
use crate::standstill::Standstill;
use crate::{Judge, Profiler};

/// What a trial needs from the run that it belongs to.
pub(crate) struct Surroundings<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) provider: &'r dyn HostProvider,
    pub(crate) judge: &'r dyn Judge,
    pub(crate) profiler: Option<&'r dyn Profiler>,
    pub(crate) store: &'r Store,
    pub(crate) run: &'r str,
    pub(crate) interrupt: &'r AtomicBool,
    pub(crate) skip: &'r AtomicBool,
    pub(crate) observer: &'r mut dyn Observer,
}

/// A trial under way.
pub(crate) struct Trial<'t> {
    pub(crate) plan: &'t Plan,
    pub(crate) experiment: &'t Experiment,
    pub(crate) provider: &'t dyn HostProvider,
    pub(crate) judge: &'t dyn Judge,
    /// None where the probes are switched off, too.
    pub(crate) profiler: Option<&'t dyn Profiler>,
    pub(crate) store: &'t Store,
    pub(crate) run: &'t str,
    pub(crate) observer: &'t mut dyn Observer,
    pub(crate) random: StdRng,
    pub(crate) agents: AgentPool<'t>,
    pub(crate) deployments: Vec<Deployment<'t>>,
    /// What was changed of the whole machine, for as long as the trial lasts.
    settings: Option<Box<dyn Changed>>,
    pub(crate) record: TrialRecord,
    pub(crate) cycle: u32,
    cycles: u32,
    start: Instant,
    stored: usize,
    /// Whether hooks have begun to prepare hosts.
    prepared: bool,
    /// What is still to be done while a load runs.
    pub(crate) schedule: Schedule<'t>,
    /// The background that are there now.
    pub(crate) beside: Vec<Beside>,
    links: Vec<ShapedLink>,
    standstill: Standstill,
}

/// Which trial of its run it is.
pub(crate) struct TrialPosition {
    pub(crate) number: u32,
    pub(crate) block: u32,
    pub(crate) random: StdRng,
    /// Whether to try the remedies should the figure not come back.
    pub(crate) remedies: bool,
}

/// A trial that is over: what was observed, and why it ended early, if it did.
pub(crate) struct Over {
    pub(crate) record: TrialRecord,
    pub(crate) stop: Option<TrialStop>,
    /// What agents could not read.
    pub(crate) absent: Vec<String>,
    /// What a reader of the figures must know of the hosts.
    pub(crate) notes: Vec<String>,
    /// What shaped the links, where the trial came as far as to ask.
    pub(crate) links: Vec<ShapedLink>,
}

/// Carries out one trial.
pub(crate) fn carry_out(around: &mut Surroundings<'_>, cell: &Cell, place: TrialPosition) -> Over {
    let mut trial = Trial {
        plan: around.plan,
        experiment: &cell.experiment,
        provider: around.provider,
        judge: around.judge,
        profiler: around.profiler.filter(|_| cell.experiment.run.probes && cell.experiment.run.profile),
        store: around.store,
        run: around.run,
        observer: &mut *around.observer,
        random: place.random,
        agents: AgentPool::new(around.interrupt, around.skip),
        deployments: Vec::new(),
        settings: None,
        record: TrialRecord {
            number: place.number,
            block: place.block,
            cell: cell.levels.clone(),
            ..TrialRecord::default()
        },
        cycle: 0,
        cycles: 0,
        start: Instant::now(),
        stored: 0,
        prepared: false,
        schedule: Schedule::default(),
        beside: Vec::new(),
        links: Vec::new(),
        standstill: Standstill::watch(),
    };
    let mut stop = trial.all(place.remedies).err();
    match &mut stop {
        Some(TrialStop::Fault(fault)) if fault.kind == FaultKind::AgentLost => {
            fault.what += &trial.end_of_agent();
            fault.what += &trial.last_lines();
        }
        Some(TrialStop::Error(RunError::Lost { how, .. })) => *how += &trial.end_of_agent(),
        _ => {}
    }
    trial.finish(stop)
}

/// How often counters are sampled; 0 for not at all.
pub(crate) fn sample_hz(experiment: &Experiment) -> u32 {
    if experiment.run.probes { experiment.run.sample_hz } else { 0 }
}

impl<'t> Trial<'t> {
    fn all(&mut self, remedies: bool) -> Result<(), TrialStop> {
        self.set_up()?;
        let experiment = self.experiment;
        self.phases(&experiment.phases)?;
        self.ask_for_words()?;
        self.balance_mail()?;
        self.ask_links()?;
        self.ask_clocks()?;
        self.profile_exactly()?;
        self.describe_guests()?;
        // Of a trial that is not counted nobody can tell whether the figure came back.
        let counts = self.record.faults.is_empty();
        if remedies
            && counts
            && experiment.remedies.is_some()
            && self.judge.calls_for_remedies(self.plan, &self.record)
        {
            self.climb()?;
        }
        Ok(())
    }

    fn set_up(&mut self) -> Result<(), TrialStop> {
        let start = Instant::now();
        let arms = if self.experiment.control.is_some() {
            &[Arm::Treatment, Arm::Control][..]
        } else {
            &[Arm::Treatment]
        };
        let settings = sysctl::of_machine(self.experiment);
        if !settings.is_empty() {
            self.settings = Some(self.provider.change_machine(&settings)?);
        }
        let cpus =
            cpus::assign(&self.experiment.hosts, &self.provider.usable_cpus()?).map_err(RunError::from)?;
        for &arm in arms {
            let hosts = self.provider.build(self.experiment)?;
            self.deployments.push(Deployment::new(arm, self.experiment, hosts, cpus.clone())?);
        }
        let agents = &mut self.agents;
        for deployment in &mut self.deployments {
            deployment.join(agents)?;
        }
        let keys: Vec<_> = self.deployments.iter().flat_map(Deployment::keys).collect();
        agents.welcome(&keys)?;
        self.prepared = true;
        self.hooks_of_hosts(HookMoment::Prepare)?;
        let agents = &mut self.agents;
        for deployment in &mut self.deployments {
            deployment.start_all(agents)?;
        }
        agents.sample(&keys, sample_hz(self.experiment))?;
        let took = start.elapsed();
        self.record.setup_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.observer.on(&Event::RigReady { took });
        self.start = Instant::now();
        Ok(())
    }

    /// How the agent ended that was lost, to be put behind what is said of that; empty where it is not known.
    fn end_of_agent(&mut self) -> String {
        let Some(Key { arm, host }) = self.agents.lost.take() else { return String::new() };
        let rig = self.deployments.iter_mut().find(|deployment| deployment.arm == arm);
        let end = rig.map(|deployment| deployment.end_in_words(&host)).unwrap_or_default();
        if end.is_empty() { end } else { format!(": {end}") }
    }

    /// What the consoles of hosts showed last that have ended by themselves, to be put behind what is said of that.
    fn last_lines(&mut self) -> String {
        let lines = self.deployments.iter_mut().map(Deployment::last_lines);
        lines.collect()
    }

    /// Keeps with the run what its guests are, once for each cell. At the end, so that it is in nothing that was measured.
    fn describe_guests(&mut self) -> Result<(), TrialStop> {
        if self.record.block > 1 {
            return Ok(());
        }
        let guests = self.experiment.hosts.iter().filter(|(_, host)| host.kind.own().kernel);
        let names: Vec<String> = guests.map(|(name, _)| name.clone()).collect();
        let levels = cell_text(&self.record.cell);
        let mut inventories = BTreeMap::new();
        for name in names {
            let key = self.deployment(Arm::Treatment).key(&name);
            let answer = self.agents.ask(&key, ToAgent::Inventory)?;
            // Where it cannot tell, nothing is told of it.
            if let FromAgent::Inventory(_, inventory) = answer {
                let of = if levels.is_empty() { name } else { format!("{name} ({levels})") };
                inventories.insert(of, inventory);
            }
        }
        Ok(self.store.put_inventories(self.run, &inventories).map_err(RunError::from)?)
    }

    /// Where a load met errors, what services wrote may tell why.
    fn ask_for_words(&mut self) -> Result<(), TrialStop> {
        let counted = self.record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let failed = counted.flat_map(|phase| &phase.slices).any(|slice| slice.result.failed() > 0);
        if failed {
            let (deployment, agents) = self.deployment_and_agents(Arm::Treatment);
            self.record.last_words = deployment.last_words(agents)?;
        }
        Ok(())
    }

    /// A link that lost frames which it should have carried makes the trial worthless; one that was held up is worth a note.
    fn ask_links(&mut self) -> Result<(), TrialStop> {
        // Those of the other rig are made in the same way.
        if let Some(deployment) = self.deployments.first_mut() {
            self.links = deployment.shaped_links()?;
        }
        for deployment in &mut self.deployments {
            for trouble in deployment.link_troubles()? {
                if trouble.lost_frames {
                    let (kind, phase) = (FaultKind::LinkSaturated, String::new());
                    return Err(TrialStop::Fault(Fault { kind, phase, what: trouble.what }));
                }
                if let Some(phase) = self.record.phases.last_mut() {
                    phase.notes.push(trouble.what);
                }
            }
        }
        Ok(())
    }

    fn phases(&mut self, phases: &'t [Phase]) -> Result<(), TrialStop> {
        phases.iter().try_for_each(|phase| self.phase_with_hooks(phase))
    }

    /// Carries out the phases inside a phase, as often as it says.
    pub(crate) fn steps(&mut self, phase: &Phase, inside: &'t [Phase]) -> Result<(), TrialStop> {
        self.cycles = phase.repeat.unwrap_or(1);
        for cycle in 1..=self.cycles {
            self.cycle = cycle;
            self.phases(inside)?;
        }
        (self.cycle, self.cycles) = (0, 0);
        Ok(())
    }

    pub(crate) fn begin(&mut self, name: &str, kind: PhaseKind, rung: Option<Rung>) {
        // What was asked before is of no phase that is to come.
        self.agents.skips();
        self.observer.on(&Event::PhaseStarted { name, kind, cycle: self.cycle, cycles: self.cycles });
        let start_ns = self.now_ns();
        self.record.phases.push(PhaseRecord {
            name: name.to_owned(),
            kind,
            cycle: self.cycle,
            rung,
            start_ns,
            end_ns: start_ns,
            slices: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
            captures: Vec::new(),
            profiles: Vec::new(),
        });
    }

    /// Ends the phase that was begun last, and stores it.
    pub(crate) fn end(&mut self) -> Result<(), TrialStop> {
        let end_ns = self.now_ns();
        self.current().end_ns = end_ns;
        self.current().profiles = self.profiler.map(Profiler::take).unwrap_or_default();
        self.split_latest();
        for place in self.stored..self.record.phases.len() {
            let phase = &self.record.phases[place];
            self.store.put_phase(self.run, &self.record, place, phase)?;
            self.observer.on(&Event::PhaseEnded { phase });
        }
        self.stored = self.record.phases.len();
        self.stood_still().map_or(Ok(()), |fault| Err(TrialStop::Fault(fault)))
    }

    /// A pause of the controller makes worthless what was timed across it.
    fn stood_still(&self) -> Option<Fault> {
        let pause = self.standstill.take()?;
        let what = format!(
            "Plimsoll itself stood still for {:.1} s: it was stopped, or the machine was suspended",
            pause.as_secs_f64()
        );
        Some(Fault { phase: String::new(), kind: FaultKind::StoodStill, what })
    }

    /// Where the phase that was begun last measured several loads at once, it is recorded once for each.
    fn split_latest(&mut self) {
        if let Some(latest) = self.record.phases.pop() {
            self.record.phases.extend(split(latest));
        }
    }

    /// The phase that was begun last.
    pub(crate) fn latest(&self) -> &PhaseRecord {
        self.record.phases.last().expect("a phase was begun")
    }

    pub(crate) fn current(&mut self) -> &mut PhaseRecord {
        self.record.phases.last_mut().expect("a phase was begun")
    }

    /// The counted slices of a phase.
    pub(crate) fn measured<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Slice> {
        let phases = self
            .record
            .phases
            .iter()
            .filter(move |phase| phase.name == name && phase.kind == PhaseKind::Measure);
        phases.flat_map(|phase| &phase.slices)
    }

    pub(crate) fn arms(&self) -> impl Iterator<Item = Arm> + use<'t> {
        let both = [Arm::Treatment, Arm::Control];
        both.into_iter().take(if self.experiment.control.is_some() { 2 } else { 1 })
    }

    pub(crate) fn deployment(&self, arm: Arm) -> &Deployment<'t> {
        self.deployments.iter().find(|deployment| deployment.arm == arm).expect("a deployment for each rig")
    }

    /// A rig to be changed, and what its agents are asked by.
    pub(crate) fn deployment_and_agents(&mut self, arm: Arm) -> (&mut Deployment<'t>, &mut AgentPool<'t>) {
        let deployment = self
            .deployments
            .iter_mut()
            .find(|deployment| deployment.arm == arm)
            .expect("a deployment for each rig");
        (deployment, &mut self.agents)
    }

    /// Nanoseconds since the services were ready.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Runs the hooks that clean up, where any host was prepared; what became of it.
    fn clean_up(&mut self) -> Option<Result<(), TrialStop>> {
        self.prepared.then(|| self.cleaning_up(|trial| trial.hooks_of_hosts(HookMoment::Cleanup)))
    }

    /// Takes everything down, and gives what was observed.
    fn finish(mut self, mut stop: Option<TrialStop>) -> Over {
        let mut notes = Vec::new();
        let cleaned = self.clean_up();
        if let Some(Err(failed)) = cleaned {
            match &stop {
                None => stop = Some(failed),
                // The first reason counts.
                Some(_) => notes.push(format!("cleaning up failed as well: {failed}")),
            }
        }
        self.agents.keep_fresh();
        if !matches!(stop, Some(TrialStop::Error(RunError::Lost { .. }))) {
            self.agents.end_sampling();
        }
        let end_ns = self.now_ns();
        if let Some(phase) = self.record.phases.get_mut(self.stored) {
            phase.end_ns = end_ns;
            phase.notes.push("cut short".to_owned());
            phase.profiles = self.profiler.map(Profiler::take).unwrap_or_default();
            self.split_latest();
        }
        notes.extend(self.deployments.iter().flat_map(Deployment::notes));
        let start = Instant::now();
        self.deployments.clear();
        self.settings = None;
        self.record.teardown_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.record.series = std::mem::take(&mut self.agents.series);
        self.record.sampling = self.agents.cost;
        if let Some(TrialStop::Fault(fault)) = &stop {
            // A deadline that passed meanwhile, or a host that is lost, is only its effect.
            let mut fault = self.stood_still().unwrap_or_else(|| fault.clone());
            fault.phase =
                self.record.phases.last().map_or_else(|| "set-up".to_owned(), |phase| phase.name.clone());
            self.observer.on(&Event::Fault { fault: &fault });
            self.record.faults.push(fault);
        }
        Over { record: self.record, stop, absent: self.agents.absent, notes, links: self.links }
    }
}

/// A background load that is there, on the hosts of every rig.
pub(crate) struct Beside {
    pub(crate) name: String,
    pub(crate) loads: Vec<(Key, Id)>,
    /// Whether a step started it: then it stays until a step ends it.
    pub(crate) by_step: bool,
}
