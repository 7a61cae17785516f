//! The phases of a trial.

pub(crate) mod alternating_slices;
mod search;
mod settle;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use plimsoll_model::experiment::{Experiment, HookMoment, Load, LoadKind, Phase, PhaseWork};
use plimsoll_model::frame::{FromAgent, Id, ToAgent};
use plimsoll_model::observation::{Arm, DeepSnapshot, LoadResult, PhaseKind, Slice};

use self::alternating_slices::{Extent, slices};
use crate::agent_pool::{Key, Request, off_the_mark};
use crate::deployment::{Deployment, machine_host};
use crate::error::{RunError, TrialStop};
use crate::event::Event;
use crate::pending_steps::deadline;
use crate::trial::Trial;
use crate::{background, capture, hook, mail, skip, step, together};

/// The name under which the counters of the whole machine are kept.
const MACHINE: &str = "machine";

/// Carries out phases, one after the other.
pub(crate) fn phases<'t>(trial: &mut Trial<'t>, phases: &'t [Phase]) -> Result<(), TrialStop> {
    phases.iter().try_for_each(|phase| phase_with_hooks(trial, phase))
}

/// Carries out a phase with the hooks around it.
fn phase_with_hooks<'t>(trial: &mut Trial<'t>, phase: &'t Phase) -> Result<(), TrialStop> {
    let runs_load = !phase.loads().is_empty();
    if runs_load {
        hook::hooks_of_hosts(trial, HookMoment::BeforeEach)?;
    }
    let prepared = hook::hooks_of_phase(trial, phase, HookMoment::Prepare, None);
    let done = prepared.and_then(|()| {
        let done = carry_out_phase(trial, phase);
        skip::unless_skipped(trial, done)
    });
    let cleaned =
        hook::cleaning_up(trial, |trial| hook::hooks_of_phase(trial, phase, HookMoment::Cleanup, None));
    done.and(cleaned)?;
    if runs_load { hook::hooks_of_hosts(trial, HookMoment::AfterEach) } else { Ok(()) }
}

fn carry_out_phase<'t>(trial: &mut Trial<'t>, phase: &'t Phase) -> Result<(), TrialStop> {
    match &phase.kind {
        PhaseWork::Measure(loads) => measure(trial, phase, loads.all()),
        PhaseWork::Drive(work) => drive(trial, phase, work.loads.all()),
        PhaseWork::Do(todo) => step::act(trial, phase, &todo.actions),
        PhaseWork::Settle(settle) => settle::settle(trial, phase, settle),
        PhaseWork::Stop(stop) => step::stop_service(trial, phase, &stop.service),
        PhaseWork::Start(start) => step::start_service(trial, phase, &start.service),
        PhaseWork::Watch(watch) => watch::watch(trial, phase, watch),
        PhaseWork::Search(search) => search::search(trial, phase, search),
        PhaseWork::Steps(inner) => steps(trial, phase, &inner.phases),
    }
}

/// Carries out the phases inside a phase, as often as it says.
fn steps<'t>(trial: &mut Trial<'t>, phase: &Phase, inside: &'t [Phase]) -> Result<(), TrialStop> {
    trial.recorder.cycles = phase.repeat.unwrap_or(1);
    for cycle in 1..=trial.recorder.cycles {
        trial.recorder.cycle = cycle;
        phases(trial, inside)?;
    }
    (trial.recorder.cycle, trial.recorder.cycles) = (0, 0);
    Ok(())
}

/// Runs loads and counts them, cut into slices that alternate between the rigs; several run at once.
pub(crate) fn measure<'t>(
    trial: &mut Trial<'t>,
    phase: &'t Phase,
    loads: &[String],
) -> Result<(), TrialStop> {
    for _ in 0..phase.warm_up.unwrap_or(0) {
        trial.begin(&phase.name, PhaseKind::WarmUp, None);
        slices(trial, loads, &Extent::just(1), deadline(phase))?;
        trial.end()?;
    }
    trial.begin(&phase.name, PhaseKind::Measure, None);
    let captures = capture::begin_capture(trial, &phase.name)?;
    let extent = Extent::of(phase, trial.experiment);
    step::set_pending_steps(trial, phase, trial.taking_part(phase));
    let measured =
        slices(trial, loads, &extent, deadline(phase)).and_then(|()| step::end_pending_steps(trial));
    if matches!(measured, Err(TrialStop::Skipped)) {
        capture::end_capture(trial, captures)?;
        return measured;
    }
    background::stop_background(trial, measured)?;
    capture::end_capture(trial, captures)?;
    deep(trial, &phase.name)?;
    trial.end()
}

/// Runs loads for their effect, several at once, on the rigs that do not sit this phase out.
pub(crate) fn drive<'t>(trial: &mut Trial<'t>, phase: &'t Phase, loads: &[String]) -> Result<(), TrialStop> {
    trial.begin(&phase.name, PhaseKind::Drive, None);
    let limit = deadline(phase);
    background::start_and_stop_background(trial)?;
    let whole: Vec<_> = loads.iter().map(|load| (load.clone(), trial.kind(load))).collect();
    let driven = trial.taking_part(phase).into_iter().try_for_each(|arm| {
        step::set_pending_steps(trial, phase, vec![arm]);
        let slices = slice(trial, arm, 0, &whole, limit)?;
        trial.recorder.current().slices.extend(slices);
        step::end_pending_steps(trial)
    });
    background::stop_background(trial, driven)?;
    trial.end()
}

/// One slice on one rig, of each of these loads, which run at once, with the hooks around it.
pub(crate) fn slice(
    trial: &mut Trial<'_>,
    arm: Arm,
    number: u32,
    loads: &[(String, LoadKind)],
    deadline: Instant,
) -> Result<Vec<Slice>, TrialStop> {
    let phase = trial.experiment.all_phases().find(|phase| phase.name == trial.recorder.latest().name);
    let hooks = |trial: &mut Trial<'_>, moment| {
        phase.map_or(Ok(()), |phase| hook::hooks_of_phase(trial, phase, moment, Some(arm)))
    };
    hooks(trial, HookMoment::BeforeEach)?;
    let slices = counted_loads(trial, arm, number, loads, phase, deadline);
    if matches!(slices, Ok(_) | Err(TrialStop::Skipped)) {
        hooks(trial, HookMoment::AfterEach)?;
    }
    let slices = slices?;
    for slice in &slices {
        trial.recorder.observer.on(&Event::SliceEnded { slice });
    }
    Ok(slices)
}

/// Runs the loads of a slice between two readings of the counters.
fn counted_loads(
    trial: &mut Trial<'_>,
    arm: Arm,
    number: u32,
    loads: &[(String, LoadKind)],
    phase: Option<&Phase>,
    deadline: Instant,
) -> Result<Vec<Slice>, TrialStop> {
    let experiment = trial.experiment;
    let of_machine = machine_host(experiment);
    let mut hosts = trial.rigs.deployment(arm).keys();
    if !hosts.contains(&of_machine) {
        hosts.push(of_machine.clone());
    }
    let requests = requests(trial, arm, loads)?;
    // Discard flushes made before this slice.
    let (of_arm, agents) = trial.rigs.deployment_and_agents(arm);
    of_arm.flushes(agents)?;
    let marked = |answer| matches!(answer, FromAgent::Done { .. }).then_some(());
    ask_counters(trial, &hosts, |id| ToAgent::Mark { id }, marked)?;
    let (at_ns, mut results) = run_loads(trial, arm, loads, requests, deadline)?;
    if let Some(sink) = phase.and_then(|phase| phase.until_delivered.as_ref()) {
        for result in &mut results {
            skip::skippable(trial, |trial| mail::deliver(trial, arm, sink, result, deadline))?;
        }
    }
    let changed = |answer| match answer {
        FromAgent::Changed { changes, services_us, .. } => Some((changes, services_us)),
        _ => None,
    };
    let changes = ask_counters(trial, &hosts, |id| ToAgent::Changes { id }, changed)?;
    let (changes, times): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
    // Several loads share the services, and nobody knows what each of them cost.
    if let [result] = results.as_mut_slice() {
        result.services_us = of_all_services(experiment, arm, &hosts, &times);
    }
    let counters = counters_of(arm, &of_machine, &hosts, changes);
    let (of_arm, agents) = trial.rigs.deployment_and_agents(arm);
    let flushes = of_arm.flushes(agents)?;
    let of_load = |((name, _), result): (&(String, LoadKind), LoadResult)| Slice {
        arm,
        number,
        at_ns,
        load: if loads.len() > 1 { name.clone() } else { String::new() },
        result,
        counters: counters.clone(),
        background: background::background_running(trial),
        flushes: flushes.clone(),
    };
    Ok(loads.iter().zip(results).map(of_load).collect())
}

/// Runs loads, and profiles the machine meanwhile if they are measured. Returns their start and the result of each.
fn run_loads(
    trial: &mut Trial<'_>,
    arm: Arm,
    loads: &[(String, LoadKind)],
    mut requests: Vec<Request>,
    deadline: Instant,
) -> Result<(u64, Vec<LoadResult>), TrialStop> {
    // Only what is measured is compared, and worth its cost.
    let profiler = trial.recorder.profiler.filter(|_| trial.recorder.latest().kind == PhaseKind::Measure);
    let profiled = profiler.map(|profiler| (profiler, trial.rigs.deployment(arm).network_namespaces()));
    let guests = trial.guests_to_sample(arm);
    trial.begin_profile(&guests)?;
    together::begin_together(trial, &mut requests)?;
    let at_ns = trial.recorder.now_ns();
    if let Some((profiler, namespaces)) = profiled {
        profiler.start(namespaces);
    }
    let answers = step::ask_and_do_what_is_due(trial, &requests, deadline);
    if let Some(profiler) = profiler {
        profiler.stop(arm);
    }
    if matches!(answers, Ok(_) | Err(TrialStop::Skipped)) {
        trial.end_profile(&guests)?;
    }
    let found = results(loads, &requests, answers?)?;
    Ok((at_ns, found.into_iter().map(|each| together::of_all(trial, each)).collect()))
}

/// What the agents are asked for that these loads run: one request for each host of each load.
pub(crate) fn requests(
    trial: &mut Trial<'_>,
    arm: Arm,
    loads: &[(String, LoadKind)],
) -> Result<Vec<Request>, TrialStop> {
    let experiment = trial.experiment;
    let mut requests = Vec::new();
    for (name, kind) in loads {
        let load: &Load = &experiment.loads[name];
        for from in experiment.members(&load.from) {
            let deployment = trial.rigs.deployment(arm);
            let (key, spec) = (deployment.key(from), deployment.load(name, load, from, kind.clone())?);
            let id = trial.rigs.agents.id();
            requests.push((key, id, ToAgent::Run { id, load: spec, at_ns: None }));
        }
    }
    Ok(requests)
}

/// Asks several hosts at once to read their counters, and takes from each what it is to answer with.
fn ask_counters<A>(
    trial: &mut Trial<'_>,
    hosts: &[Key],
    request: impl Fn(Id) -> ToAgent,
    answer: impl Fn(FromAgent) -> Option<A>,
) -> Result<Vec<A>, TrialStop> {
    let answers = trial.rigs.agents.ask_each(hosts, request)?;
    let each = answers.into_iter().zip(hosts).map(|(answered, host)| match answered {
        FromAgent::Failed { why, .. } => Err(RunError::Agent { host: host.host.clone(), why }.into()),
        answered => answer(answered).ok_or_else(|| off_the_mark(&host.host)),
    });
    each.collect()
}

/// Reads the expensive files of every host, too.
fn deep(trial: &mut Trial<'_>, phase: &str) -> Result<(), TrialStop> {
    let hosts: Vec<Key> = trial.rigs.deployments.iter().flat_map(Deployment::keys).collect();
    let read = |answer| match answer {
        FromAgent::Counters { snapshot, .. } => Some(snapshot),
        _ => None,
    };
    let snapshots = ask_counters(trial, &hosts, |id| ToAgent::Snapshot { id }, read)?;
    let cycle = trial.recorder.cycle;
    let named = hosts.into_iter().zip(snapshots).map(|(key, snapshot)| DeepSnapshot {
        phase: phase.to_owned(),
        cycle,
        arm: key.arm,
        host: key.host,
        snapshot,
    });
    trial.recorder.record.deep.extend(named);
    Ok(())
}

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

/// Changes of a rig's counters, as each host reported them. Those of the machine, read by one of its hosts, have a name
/// of their own. A guest's machine is its own, so what it reads of it is the guest's.
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

/// CPU time of all services of a rig, in microseconds; `None` if a part of it is not known.
fn of_all_services(experiment: &Experiment, arm: Arm, hosts: &[Key], times: &[Option<u64>]) -> Option<u64> {
    let services = || experiment.services.values();
    if services().next().is_none() || services().any(|service| !service.kind.is_started()) {
        return None;
    }
    let serving: BTreeSet<&str> = services().flat_map(|service| experiment.members(&service.on)).collect();
    let of = |host: &str| {
        let mut each = hosts.iter().zip(times);
        each.find(|(key, _)| key.arm == arm && key.host == host).and_then(|(_, us)| *us)
    };
    serving.into_iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::service::RunningService;
    use plimsoll_model::frame::ServiceKind;
    use plimsoll_model::plan::{Plan, Settings};

    use super::*;

    #[test]
    fn services_have_a_time_where_that_of_each_is_known() {
        let text = "question = \"?\"\n[hosts.a]\n[hosts.b]\n[[links]]\nbetween = [\"a\", \"b\"]\n\
                    [services.web]\non = \"b\"\nweb = {}\n[services.relay]\non = \"a\"\nrelay = { to = \"web\" }\n\
                    [loads.few]\nfrom = \"a\"\nto = \"relay\"\nhttp = { connections = 1 }\n\
                    [[phases]]\nname = \"p\"\nmeasure = \"few\"\n";
        let mut both = Plan::read("two", text, &Settings::default()).unwrap().experiment;
        let hosts =
            [Key::new(Arm::Control, "a"), Key::new(Arm::Treatment, "a"), Key::new(Arm::Treatment, "b")];
        let of = |experiment: &Experiment, times: [Option<u64>; 3]| {
            of_all_services(experiment, Arm::Treatment, &hosts, &times)
        };
        assert_eq!(of(&both, [Some(1000), Some(2), Some(30)]), Some(32), "the other rig's is not counted");
        assert_eq!(of(&both, [Some(1000), Some(2), None]), None);
        both.services.get_mut("web").unwrap().kind = ServiceKind::Running(RunningService::default());
        assert_eq!(of(&both, [None, Some(2), Some(30)]), None, "one runs already, and was not started here");
    }

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
