//! The phases of a trial.

mod search;
mod settle;
mod watch;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{
    Claim, Experiment, HookMoment, Load, LoadKind, ModesClaim, Phase, PhaseWork, recorded_as,
};
use plimsoll_model::frame::{FromAgent, Id, ToAgent};
use plimsoll_model::observation::{Arm, DeepSnapshot, LoadResult, PhaseKind, Slice};
use rand::seq::SliceRandom;

use crate::agent_pool::{Key, off_the_mark};
use crate::deployment::{Deployment, machine_host};
use crate::error::{RunError, TrialStop};
use crate::event::Event;
use crate::recorded::loads_of;
use crate::trial::Trial;

/// How long a phase may take that does not say so itself.
pub(crate) const PHASE_LIMIT: Duration = Duration::from_secs(600);
/// So many slices beyond the fewest are run between two looks at whether it is enough.
const SLICES_BETWEEN_LOOKS: u32 = 10;
/// The name under which the counters of the whole machine are kept.
const MACHINE: &str = "machine";

impl<'t> Trial<'t> {
    /// Carries out a phase, but for the phases inside it.
    pub(crate) fn phase(&mut self, phase: &'t Phase) -> Result<(), TrialStop> {
        match &phase.kind {
            PhaseWork::Measure(loads) => self.measure(phase, loads.all()),
            PhaseWork::Drive(drive) => self.drive(phase, drive.loads.all()),
            PhaseWork::Do(todo) => self.act(phase, &todo.actions),
            PhaseWork::Settle(settle) => self.settle(phase, settle),
            PhaseWork::Stop(stop) => self.stop(phase, &stop.service),
            PhaseWork::Start(start) => self.start_again(phase, &start.service),
            PhaseWork::Watch(watch) => self.watch(phase, watch),
            PhaseWork::Search(search) => self.search(phase, search),
            PhaseWork::Steps(inner) => self.steps(phase, &inner.phases),
        }
    }

    /// Runs loads and counts them, cut into slices that alternate between the rigs; several run at once.
    pub(crate) fn measure(&mut self, phase: &'t Phase, loads: &[String]) -> Result<(), TrialStop> {
        for _ in 0..phase.warm_up.unwrap_or(0) {
            self.begin(&phase.name, PhaseKind::WarmUp, None);
            self.slices(loads, &Extent::just(1), deadline(phase))?;
            self.end()?;
        }
        self.begin(&phase.name, PhaseKind::Measure, None);
        let captures = self.begin_capture(&phase.name)?;
        let extent = Extent::of(phase, self.experiment);
        self.schedule(phase, self.taking_part(phase));
        let measured = self.slices(loads, &extent, deadline(phase)).and_then(|()| self.schedule_is_over());
        if matches!(measured, Err(TrialStop::Skipped)) {
            self.end_capture(captures)?;
            return measured;
        }
        self.stop_background(measured)?;
        self.end_capture(captures)?;
        self.deep(&phase.name)?;
        self.end()
    }

    /// Runs loads for their effect, several at once, on the rigs that do not sit this phase out.
    pub(crate) fn drive(&mut self, phase: &'t Phase, loads: &[String]) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Drive, None);
        let limit = deadline(phase);
        self.start_and_stop_background()?;
        let whole: Vec<_> = loads.iter().map(|load| (load.clone(), self.kind(load))).collect();
        let driven = self.taking_part(phase).into_iter().try_for_each(|arm| {
            self.schedule(phase, vec![arm]);
            let slices = self.slice(arm, 0, &whole, limit)?;
            self.current().slices.extend(slices);
            self.schedule_is_over()
        });
        self.stop_background(driven)?;
        self.end()
    }

    /// The rigs that do not sit a phase out.
    pub(crate) fn taking_part(&self, phase: &Phase) -> Vec<Arm> {
        let idle =
            self.experiment.control.as_ref().is_some_and(|control| control.idle_in.contains(&phase.name));
        self.arms().filter(|arm| *arm == Arm::Treatment || !idle).collect()
    }

    /// Runs a load in so many slices, the two rigs in random order within each, and more of the same size while its figure is not sure
    /// enough.
    pub(crate) fn slices(
        &mut self,
        loads: &[String],
        extent: &Extent,
        deadline: Instant,
    ) -> Result<(), TrialStop> {
        let whole: Vec<LoadKind> = loads.iter().map(|load| self.kind(load)).collect();
        let slices = extent.slices;
        let mut extended_from = None;
        for place in 0..extent.most {
            if place >= slices && (place - slices).is_multiple_of(SLICES_BETWEEN_LOOKS) {
                let since = *extended_from.get_or_insert_with(Instant::now);
                let too_long = extent.extend_for.is_some_and(|limit| since.elapsed() >= limit);
                if too_long || self.is_sure_enough() {
                    break;
                }
            }
            if place > 0 && place.is_multiple_of(SLICES_BETWEEN_LOOKS) {
                let known = self.by_load();
                let told =
                    known.iter().filter_map(|(name, slices)| self.judge.so_far(self.plan, name, slices));
                let told: Vec<String> = told.collect();
                told.iter().for_each(|what| self.observer.on(&Event::SoFar { what }));
            }
            let part = |whole: &LoadKind| whole.part(place % slices, slices);
            let parts: Vec<_> = loads.iter().cloned().zip(whole.iter().map(part)).collect();
            self.round(&parts, place, deadline)?;
        }
        Ok(())
    }

    /// Whether the slices so far tell the figure of each load surely enough.
    fn is_sure_enough(&self) -> bool {
        self.by_load().iter().all(|(name, slices)| self.judge.sure_enough(self.plan, name, slices))
    }

    /// The slices of the latest phase, by the name under which those of each load are recorded.
    fn by_load(&self) -> Vec<(String, Cow<'_, [Slice]>)> {
        let latest = self.latest();
        let loads = loads_of(latest);
        if loads.is_empty() {
            return vec![(latest.name.clone(), Cow::Borrowed(&latest.slices))];
        }
        let slices = |load: &str| latest.slices.iter().filter(|slice| slice.load == load).cloned().collect();
        let named = |load: &String| (recorded_as(&latest.name, load), slices(load));
        loads.iter().map(named).collect()
    }

    /// The same slice on every rig, in random order.
    pub(crate) fn round(
        &mut self,
        parts: &[(String, LoadKind)],
        number: u32,
        deadline: Instant,
    ) -> Result<(), TrialStop> {
        self.start_and_stop_background()?;
        self.do_what_is_due()?;
        let mut arms: Vec<Arm> = self.arms().collect();
        arms.shuffle(&mut self.random);
        for arm in arms {
            let slices = self.slice(arm, number, parts, deadline)?;
            self.current().slices.extend(slices);
        }
        Ok(())
    }

    /// One slice on one rig, of each of these loads, which run at once.
    pub(crate) fn slice(
        &mut self,
        arm: Arm,
        number: u32,
        loads: &[(String, LoadKind)],
        deadline: Instant,
    ) -> Result<Vec<Slice>, TrialStop> {
        let experiment = self.experiment;
        let mut hosts = self.deployment(arm).keys();
        // Only what is measured is compared, and worth its cost.
        let profiler = self.profiler.filter(|_| self.latest().kind == PhaseKind::Measure);
        let profiled = profiler.map(|profiler| (profiler, self.deployment(arm).network_namespaces()));
        if !hosts.contains(&machine_host(experiment)) {
            hosts.push(machine_host(experiment));
        }
        let phase = experiment.all_phases().find(|phase| phase.name == self.latest().name);
        if let Some(phase) = phase {
            self.hooks_of_phase(phase, HookMoment::BeforeEach, Some(arm))?;
        }
        let mut requests = self.requests(arm, loads)?;
        // What was flushed until now is of no slice.
        let (of_arm, agents) = self.deployment_and_agents(arm);
        of_arm.flushes(agents)?;
        self.ask_counters(
            &hosts,
            |id| ToAgent::Mark { id },
            |answer| matches!(answer, FromAgent::Done { .. }).then_some(()),
        )?;
        self.begin_together(&mut requests)?;
        let at_ns = self.now_ns();
        if let Some((profiler, namespaces)) = profiled {
            profiler.start(namespaces);
        }
        let answers = self.ask_and_do_what_is_due(&requests, deadline);
        if let Some(profiler) = profiler {
            profiler.stop(arm);
        }
        if matches!(answers, Err(TrialStop::Skipped))
            && let Some(phase) = phase
        {
            self.hooks_of_phase(phase, HookMoment::AfterEach, Some(arm))?;
        }
        let results = results(loads, &requests, answers?)?;
        let mut results: Vec<LoadResult> = results.into_iter().map(|each| self.of_all(each)).collect();
        if let Some((phase, sink)) = phase.and_then(|phase| Some((phase, phase.until_delivered.as_ref()?))) {
            for result in &mut results {
                let delivered = self.skippable(|trial| trial.deliver(arm, sink, result, deadline));
                if matches!(delivered, Err(TrialStop::Skipped)) {
                    self.hooks_of_phase(phase, HookMoment::AfterEach, Some(arm))?;
                }
                delivered?;
            }
        }
        let changes = self.ask_counters(
            &hosts,
            |id| ToAgent::Changes { id },
            |answer| match answer {
                FromAgent::Changed { changes, .. } => Some(changes),
                _ => None,
            },
        )?;
        let counters = counters_of(arm, &machine_host(experiment), &hosts, changes);
        let (of_arm, agents) = self.deployment_and_agents(arm);
        let flushes = of_arm.flushes(agents)?;
        if let Some(phase) = phase {
            self.hooks_of_phase(phase, HookMoment::AfterEach, Some(arm))?;
        }
        let background = self.background_running();
        let several = loads.len() > 1;
        let slice = |((name, _), result): (&(String, LoadKind), LoadResult)| Slice {
            arm,
            number,
            at_ns,
            load: if several { name.clone() } else { String::new() },
            result,
            counters: counters.clone(),
            background: background.clone(),
            flushes: flushes.clone(),
        };
        let slices: Vec<Slice> = loads.iter().zip(results).map(slice).collect();
        for slice in &slices {
            self.observer.on(&Event::SliceEnded { slice });
        }
        Ok(slices)
    }

    /// What the agents are asked for that these loads run: one request for each host of each load.
    pub(crate) fn requests(
        &mut self,
        arm: Arm,
        loads: &[(String, LoadKind)],
    ) -> Result<Vec<Request>, TrialStop> {
        let experiment = self.experiment;
        let mut requests = Vec::new();
        for (name, kind) in loads {
            let load: &Load = &experiment.loads[name];
            for from in experiment.members(&load.from) {
                let deployment = self.deployment(arm);
                let (key, spec) = (deployment.key(from), deployment.load(name, load, from, kind.clone())?);
                let id = self.agents.id();
                requests.push((key, id, ToAgent::Run { id, load: spec, at_ns: None }));
            }
        }
        Ok(requests)
    }

    /// Asks several hosts at once to read their counters, and takes from each what it is to answer with.
    fn ask_counters<A>(
        &mut self,
        hosts: &[Key],
        request: impl Fn(Id) -> ToAgent,
        answer: impl Fn(FromAgent) -> Option<A>,
    ) -> Result<Vec<A>, TrialStop> {
        let mut requests = Vec::new();
        for host in hosts {
            let id = self.agents.id();
            requests.push((host.clone(), id, request(id)));
        }
        let answers = self.agents.ask_all(&requests, Instant::now() + PHASE_LIMIT, &mut |_, _| {})?;
        let each = answers.into_iter().zip(hosts).map(|(answered, host)| match answered {
            FromAgent::Failed { why, .. } => Err(RunError::Agent { host: host.host.clone(), why }.into()),
            answered => answer(answered).ok_or_else(|| off_the_mark(&host.host)),
        });
        each.collect()
    }

    /// Reads the expensive files of every host, too.
    fn deep(&mut self, phase: &str) -> Result<(), TrialStop> {
        let hosts: Vec<Key> = self.deployments.iter().flat_map(Deployment::keys).collect();
        let snapshots = self.ask_counters(
            &hosts,
            |id| ToAgent::Snapshot { id },
            |answer| match answer {
                FromAgent::Counters { snapshot, .. } => Some(snapshot),
                _ => None,
            },
        )?;
        let cycle = self.cycle;
        let named = hosts.into_iter().zip(snapshots).map(|(key, snapshot)| DeepSnapshot {
            phase: phase.to_owned(),
            cycle,
            arm: key.arm,
            host: key.host,
            snapshot,
        });
        self.record.deep.extend(named);
        Ok(())
    }

    pub(crate) fn kind(&self, load: &str) -> LoadKind {
        self.experiment.loads[load].kind.clone()
    }
}

/// How many slices are measured.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// At least so many.
    slices: u32,
    /// At most so many.
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

/// A request to an agent.
pub(crate) type Request = (Key, Id, ToAgent);

/// What each host found of each load.
fn results(
    loads: &[(String, LoadKind)],
    requests: &[Request],
    answers: Vec<FromAgent>,
) -> Result<Vec<Vec<(Key, LoadResult)>>, TrialStop> {
    let mut all: Vec<Vec<(Key, LoadResult)>> = loads.iter().map(|_| Vec::new()).collect();
    for ((key, _, request), answer) in requests.iter().zip(answers) {
        let ToAgent::Run { load, .. } = request else { continue };
        let Some(place) = loads.iter().position(|(name, _)| *name == load.name) else { continue };
        match answer {
            FromAgent::Finished { result, .. } => all[place].push((key.clone(), *result)),
            FromAgent::Failed { why, .. } => {
                let (load, host) = (load.name.clone(), key.host.clone());
                return Err(RunError::Load { load, host, why }.into());
            }
            _ => return Err(off_the_mark(&key.host)),
        }
    }
    Ok(all)
}

pub(crate) fn deadline(phase: &Phase) -> Instant {
    Instant::now() + phase.at_most.map_or(PHASE_LIMIT, |most| most.0)
}

/// What the counters of a rig changed by, as each host told; the machine's own, as one of its hosts has read them, under a name of their own. A
/// guest's machine is its own, so what it reads of it is the guest's.
fn counters_of(
    arm: Arm,
    of_machine: &Key,
    hosts: &[Key],
    changes: Vec<BTreeMap<String, f64>>,
) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut all: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for (key, mut own) in hosts.iter().zip(changes) {
        if key == of_machine {
            let machine = own.extract_if(.., |name, _| name.starts_with("machine."));
            all.entry(MACHINE.to_owned()).or_default().extend(machine);
        }
        if key.arm == arm {
            all.entry(key.host.clone()).or_default().extend(own);
        }
    }
    all.retain(|_, changes| !changes.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_counters_are_kept_once_and_the_other_rigs_not_at_all() {
        let changes = |change| {
            [("machine.stat.ctxt", change), ("snmp.Tcp.ActiveOpens", change)]
                .map(|(name, change)| (name.to_owned(), change))
                .into()
        };
        let hosts = [Key::new(Arm::Control, "client"), Key::new(Arm::Treatment, "client")];
        let of = |reader: &Key| counters_of(Arm::Control, reader, &hosts, vec![changes(3.0), changes(5.0)]);
        let opened = ("snmp.Tcp.ActiveOpens".to_owned(), 3.0);
        let all = of(&hosts[1]);
        assert_eq!(all["client"], BTreeMap::from([opened.clone(), ("machine.stat.ctxt".to_owned(), 3.0)]));
        assert_eq!(all[MACHINE], BTreeMap::from([("machine.stat.ctxt".to_owned(), 5.0)]));
        // Where another host reads the machine, a guest's are the guest's own, and those of the other rig nobody's.
        let all = of(&Key::new(Arm::Treatment, "server"));
        assert_eq!(all["client"], BTreeMap::from([opened, ("machine.stat.ctxt".to_owned(), 3.0)]));
        assert!(!all.contains_key(MACHINE));
    }
}
