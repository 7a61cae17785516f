//! The phases of a trial: measure, drive, settle, watch, search.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{
    Action, Claim, Experiment, Load, LoadKind, ModesClaim, Phase, Search, Settle, Watch,
};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::{Arm, DeepSnapshot, PhaseKind, Slice, Snapshot};
use rand::seq::SliceRandom;

use crate::agent_pool::{Key, off_the_mark};
use crate::deployment::{Deployment, machine_host};
use crate::error::{RunError, TrialStop};
use crate::event::Event;
use crate::trial::Trial;

/// How long a phase may take that does not say so itself.
pub(crate) const PHASE_LIMIT: Duration = Duration::from_secs(600);
/// So many slices beyond the fewest are run between two looks at whether it is enough.
const SLICES_BETWEEN_LOOKS: u32 = 10;
/// The name under which the counters of the whole machine are kept.
const MACHINE: &str = "machine";

impl<'t> Trial<'t> {
    /// Runs a load and counts it, cut into slices that alternate between the rigs.
    pub(crate) fn measure(&mut self, phase: &Phase, load: &str) -> Result<(), TrialStop> {
        for _ in 0..phase.warm_up.unwrap_or(0) {
            self.begin(&phase.name, PhaseKind::WarmUp, None);
            self.slices(load, &Extent::just(1), deadline(phase))?;
            self.end()?;
        }
        self.begin(&phase.name, PhaseKind::Measure, None);
        let captures = self.begin_capture(&phase.name)?;
        let extent = Extent::of(phase, self.experiment);
        let measured = self.slices(load, &extent, deadline(phase));
        self.stop_background(measured)?;
        self.end_capture(captures)?;
        self.deep(&phase.name)?;
        self.end()
    }

    /// Runs a load for its effect, on the rigs that do not sit this phase out.
    pub(crate) fn drive(&mut self, phase: &Phase, load: &str) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Drive, None);
        let limit = deadline(phase);
        self.start_and_stop_background()?;
        let driven = self.taking_part(phase).into_iter().try_for_each(|arm| {
            let slice = self.slice(arm, 0, load, self.kind(load), limit)?;
            self.current().slices.push(slice);
            Ok(())
        });
        self.stop_background(driven)?;
        self.end()
    }

    /// The rigs that do not sit a phase out.
    fn taking_part(&self, phase: &Phase) -> Vec<Arm> {
        let idle =
            self.experiment.control.as_ref().is_some_and(|control| control.idle_in.contains(&phase.name));
        self.arms().filter(|arm| *arm == Arm::Treatment || !idle).collect()
    }

    /// Does what a phase says, one thing after the other, on the rigs that do not sit it out.
    pub(crate) fn act(&mut self, phase: &'t Phase) -> Result<(), TrialStop> {
        if phase.skip {
            return Ok(());
        }
        self.begin(&phase.name, PhaseKind::Act, None);
        let deadline = deadline(phase);
        for action in &phase.actions {
            for arm in self.taking_part(phase) {
                let note = self.do_on(arm, action, deadline)?;
                if !note.is_empty() {
                    self.current().notes.push(note);
                }
            }
        }
        self.end()
    }

    fn do_on(&mut self, arm: Arm, action: &Action, deadline: Instant) -> Result<String, TrialStop> {
        if let Action::Restart(restart) = action {
            let (deployment, agents) = self.deployment_and_agents(arm);
            deployment.restart(agents, &restart.service)?;
            return Ok(String::new());
        }
        let host = action.host(self.experiment);
        let (deployment, agents) = self.deployment_and_agents(arm);
        let service = match action {
            Action::Signal(signal) => deployment.id_of(&signal.to),
            _ => None,
        };
        let (key, id) = (deployment.key(host), agents.id());
        let request = (key, id, ToAgent::Act { id, action: action.clone(), service });
        match agents.ask_all(&[request], deadline, &mut |_, _| {})?.pop() {
            Some(FromAgent::Acted { note, .. }) => Ok(note),
            Some(FromAgent::Failed { why, .. }) => Err(RunError::Agent { host: host.to_owned(), why }.into()),
            _ => Err(off_the_mark(host)),
        }
    }

    /// Stops a service, on the rigs that do not sit this phase out.
    pub(crate) fn stop(&mut self, phase: &Phase, service: &str) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Settle, None);
        for arm in self.taking_part(phase) {
            let (deployment, agents) = self.deployment_and_agents(arm);
            deployment.stop(agents, service)?;
        }
        self.end()
    }

    /// Starts a service again that was stopped.
    pub(crate) fn start_again(&mut self, phase: &Phase, service: &str) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Settle, None);
        for arm in self.taking_part(phase) {
            let (deployment, agents) = self.deployment_and_agents(arm);
            deployment.restart(agents, service)?;
        }
        self.end()
    }

    /// Runs a load in so many slices, the two rigs in random order within each, and more of the same size while its figure is not sure
    /// enough.
    pub(crate) fn slices(&mut self, load: &str, extent: &Extent, deadline: Instant) -> Result<(), TrialStop> {
        let whole = self.kind(load);
        let slices = extent.slices;
        let mut extended_from = None;
        for place in 0..extent.most {
            if place >= slices && (place - slices).is_multiple_of(SLICES_BETWEEN_LOOKS) {
                let since = *extended_from.get_or_insert_with(Instant::now);
                let too_long = extent.extend_for.is_some_and(|limit| since.elapsed() >= limit);
                if too_long || self.judge.sure_enough(self.plan, &self.latest().name, &self.latest().slices) {
                    break;
                }
            }
            if place > 0 && place.is_multiple_of(SLICES_BETWEEN_LOOKS) {
                let (name, known) = (&self.latest().name, &self.latest().slices);
                if let Some(what) = self.judge.so_far(self.plan, name, known) {
                    self.observer.on(&Event::SoFar { what: &what });
                }
            }
            let part = whole.part(place % slices, slices);
            self.round(load, place, &part, deadline)?;
        }
        Ok(())
    }

    /// The same slice on every rig, in random order.
    fn round(
        &mut self,
        load: &str,
        number: u32,
        part: &LoadKind,
        deadline: Instant,
    ) -> Result<(), TrialStop> {
        self.start_and_stop_background()?;
        let mut arms: Vec<Arm> = self.arms().collect();
        arms.shuffle(&mut self.random);
        for arm in arms {
            let slice = self.slice(arm, number, load, part.clone(), deadline)?;
            self.current().slices.push(slice);
        }
        Ok(())
    }

    fn slice(
        &mut self,
        arm: Arm,
        number: u32,
        name: &str,
        kind: LoadKind,
        deadline: Instant,
    ) -> Result<Slice, TrialStop> {
        let experiment = self.experiment;
        let load: &Load = &experiment.loads[name];
        let deployment = self.deployment(arm);
        let (key, spec, mut hosts) =
            (deployment.key(&load.from), deployment.load(name, load, kind)?, deployment.keys());
        // Only what is measured is compared, and worth its cost.
        let profiler = self.profiler.filter(|_| self.latest().kind == PhaseKind::Measure);
        let profiled = profiler.map(|profiler| (profiler, deployment.network_namespaces()));
        if !hosts.contains(&machine_host(experiment)) {
            hosts.push(machine_host(experiment));
        }
        // What was flushed until now is of no slice.
        let (of_arm, agents) = self.deployment_and_agents(arm);
        of_arm.flushes(agents)?;
        let before = self.snapshots(&hosts, false)?;
        let at_ns = self.now_ns();
        let id = self.agents.id();
        let observer = &mut self.observer;
        let mut tell = |arm, progress: &_| observer.on(&Event::Progress { arm, progress });
        if let Some((profiler, namespaces)) = profiled {
            profiler.start(namespaces);
        }
        let answers = self.agents.ask_all(&[(key, id, ToAgent::Run { id, load: spec })], deadline, &mut tell);
        if let Some(profiler) = profiler {
            profiler.stop(arm);
        }
        let mut result = match answers?.pop() {
            Some(FromAgent::Finished { result, .. }) => *result,
            Some(FromAgent::Failed { why, .. }) => {
                return Err(RunError::Load { load: name.into(), host: load.from.clone(), why }.into());
            }
            _ => return Err(off_the_mark(&load.from)),
        };
        let phase = experiment.all_phases().find(|phase| phase.name == self.latest().name);
        if let Some(sink) = phase.and_then(|phase| phase.until_delivered.as_ref()) {
            self.deliver(arm, sink, &mut result, deadline)?;
        }
        let after = self.snapshots(&hosts, false)?;
        let counters = changes(arm, &machine_host(experiment), &hosts, &before, &after);
        let (of_arm, agents) = self.deployment_and_agents(arm);
        let flushes = of_arm.flushes(agents)?;
        Ok(Slice { arm, number, at_ns, result, counters, background: self.background_running(), flushes })
    }

    /// Reads the counters of several hosts at once.
    fn snapshots(&mut self, hosts: &[Key], deep: bool) -> Result<Vec<Snapshot>, TrialStop> {
        let mut requests = Vec::new();
        for host in hosts {
            let id = self.agents.id();
            requests.push((host.clone(), id, ToAgent::Snapshot { id, deep }));
        }
        let answers = self.agents.ask_all(&requests, Instant::now() + PHASE_LIMIT, &mut |_, _| {})?;
        let snapshots = answers.into_iter().zip(hosts).map(|(answer, host)| match answer {
            FromAgent::Counters { snapshot, .. } => Ok(snapshot),
            FromAgent::Failed { why, .. } => Err(RunError::Agent { host: host.host.clone(), why }.into()),
            _ => Err(off_the_mark(&host.host)),
        });
        snapshots.collect()
    }

    /// Reads the expensive files of every host, too.
    fn deep(&mut self, phase: &str) -> Result<(), TrialStop> {
        let hosts: Vec<Key> = self.deployments.iter().flat_map(Deployment::keys).collect();
        let snapshots = self.snapshots(&hosts, true)?;
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

    /// Waits until the hosts have come to rest.
    pub(crate) fn settle(&mut self, phase: &Phase, settle: &Settle) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Settle, None);
        self.agents.idle(Instant::now() + settle.at_least.0)?;
        let limit = phase.at_most.map_or(PHASE_LIMIT, |most| most.0);
        if let Some(sink) = &settle.delivered {
            self.wait_for_mail(sink, limit)?;
        }
        if let Some(host) = &settle.drained {
            self.drain(host, settle.time_wait, limit)?;
        }
        self.end()
    }

    fn drain(&mut self, host: &str, time_wait: bool, limit: Duration) -> Result<(), TrialStop> {
        let give_up_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let mut requests = Vec::new();
        for arm in self.arms().collect::<Vec<_>>() {
            let id = self.agents.id();
            requests.push((self.deployment(arm).key(host), id, ToAgent::Drain { id, time_wait, give_up_ms }));
        }
        let keys: Vec<Key> = requests.iter().map(|(key, ..)| key.clone()).collect();
        let answers = self.agents.ask_all(&requests, Instant::now() + limit * 2, &mut |_, _| {})?;
        for (key, answer) in keys.iter().zip(answers) {
            let note = match answer {
                FromAgent::Drained { waited_ms, left: 0, .. } => {
                    format!("no connection left on `{}` after {waited_ms} ms", key.label())
                }
                FromAgent::Drained { waited_ms, left, .. } => {
                    format!("{left} connections left on `{}` after {waited_ms} ms", key.label())
                }
                FromAgent::Failed { why, .. } => {
                    return Err(RunError::Agent { host: key.host.clone(), why }.into());
                }
                _ => return Err(off_the_mark(&key.host)),
            };
            self.current().notes.push(note);
        }
        Ok(())
    }

    /// Measures windows until several in a row are as good as the baseline, or it is time to give up.
    pub(crate) fn watch(&mut self, phase: &Phase, watch: &Watch) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Watch, None);
        let baseline: Vec<Slice> = self.measured(&watch.against).cloned().collect();
        let part = self.kind(&watch.load).window(watch.connections);
        let start = Instant::now();
        let mut in_a_row = 0;
        for number in 0.. {
            let due = start + watch.every.0 * number;
            if in_a_row >= watch.windows || due >= start + watch.give_up.0 {
                break;
            }
            self.agents.idle(due)?;
            self.round(&watch.load, number, &part, Instant::now() + PHASE_LIMIT)?;
            in_a_row = if self.window_passes(number, &baseline) { in_a_row + 1 } else { 0 };
        }
        let note = if in_a_row >= watch.windows {
            format!("{in_a_row} windows in a row were as good as `{}`", watch.against)
        } else {
            format!(
                "never {} windows in a row as good as `{}` within {}",
                watch.windows, watch.against, watch.give_up
            )
        };
        self.current().notes.push(note);
        self.end()
    }

    /// Offers a load at one rate after another, on the rig that goes through every phase, until the judge knows the highest that holds its
    /// bound.
    pub(crate) fn search(&mut self, phase: &Phase, search: &Search) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Search, None);
        let whole = self.kind(&search.load);
        let limit = deadline(phase);
        for number in 0..search.most {
            let next = self.judge.next_rate(self.experiment, &phase.name, &self.latest().slices);
            let Some(probe) = next.and_then(|rate| whole.at_rate(rate)) else { break };
            let slice = self.slice(Arm::Treatment, number, &search.load, probe, limit)?;
            self.current().slices.push(slice);
            self.agents.idle(Instant::now() + search.rest.0)?;
        }
        self.end()
    }

    fn window_passes(&mut self, number: u32, baseline: &[Slice]) -> bool {
        let window = |arm| {
            self.latest().slices.iter().rev().find(move |slice| slice.number == number && slice.arm == arm)
        };
        window(Arm::Treatment)
            .is_some_and(|main| self.judge.window_passes(self.plan, baseline, main, window(Arm::Control)))
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
        let about_modes = |claim: &Claim| claim.modes().is_some_and(|claim| claim.phase == phase.name);
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

fn deadline(phase: &Phase) -> Instant {
    Instant::now() + phase.at_most.map_or(PHASE_LIMIT, |most| most.0)
}

/// What the counters of a rig changed by, without those that did not change; the machine's own, as one of its hosts has read them, under a name
/// of their own. A guest's machine is its own, so what it reads of it is the guest's.
fn changes(
    arm: Arm,
    of_machine: &Key,
    hosts: &[Key],
    before: &[Snapshot],
    after: &[Snapshot],
) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut all: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for ((key, before), after) in hosts.iter().zip(before).zip(after) {
        for (name, change) in before.change(after) {
            let of_all = key == of_machine && name.starts_with("machine.");
            if change == 0.0 || !of_all && key.arm != arm {
                continue;
            }
            let host = if of_all { MACHINE } else { &key.host };
            all.entry(host.to_owned()).or_default().insert(name, change);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_counters_are_kept_once_and_the_other_rigs_not_at_all() {
        let snapshot = |value| Snapshot {
            at_ns: 0,
            values: [("machine.stat.ctxt", value), ("snmp.Tcp.ActiveOpens", value), ("sockstat.TCP.tw", 1.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        };
        let hosts = [Key::new(Arm::Control, "client"), Key::new(Arm::Treatment, "client")];
        let of = |reader: &Key| {
            changes(
                Arm::Control,
                reader,
                &hosts,
                &[snapshot(1.0), snapshot(2.0)],
                &[snapshot(4.0), snapshot(7.0)],
            )
        };
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
