//! Whether an experiment makes sense as a whole. Each host, link, service, load, phase and claim is checked in its own file.

mod capture;
mod extent;
pub(super) mod limit;
mod storage;

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Checked, Part, Problem, check_cell, declared, in_range, measured, one_of, problem};
use super::{Experiment, Factor, Phase, Remedies, Rung, group, sysctl};

/// All problems: of each host, link, service, load, phase, factor and claim, the first. Where there is too much of
/// something, that alone.
pub(super) fn validate(experiment: &Experiment) -> Vec<Problem> {
    let mut found = Problems::default();
    found.note(extent::check(experiment));
    if !found.0.is_empty() {
        return found.0;
    }
    hosts(experiment, &mut found);
    for (name, service) in &experiment.services {
        found.note(service.check(experiment, name));
    }
    // Services are followed to those that they pass on to, which must exist.
    if found.0.is_empty() {
        found.note(service_cycle(experiment));
    }
    found.note(storage::volumes(experiment));
    for (name, load) in &experiment.loads {
        found.note(load.check(experiment, name));
        found.note(joined(experiment, name));
    }
    let mut names = BTreeMap::new();
    check_phases(experiment, &experiment.phases, &path!["phases"], &mut names, &mut found);
    found.note(control(experiment, &names));
    found.note(capture::check(experiment, &names));
    found.note(storage::background(experiment, &names));
    factors(experiment, &mut found);
    for (index, claim) in experiment.claims.iter().enumerate() {
        found.note(claim.check(experiment, index, &names));
    }
    found.note(remedies(experiment));
    let run = &experiment.run;
    found.note(in_range(u64::from(run.min_trials), 1, u64::from(run.max_trials), path!["run", "min_trials"]));
    found.note(in_range(u64::from(run.sample_hz), 1, 100, path!["run", "sample_hz"]));
    found.0
}

/// The service is declared, and Plimsoll can restart it where the ladder says so.
fn remedies(experiment: &Experiment) -> Checked {
    let Some(Remedies { service, ladder, .. }) = &experiment.remedies else { return Ok(()) };
    declared(service, &experiment.services, "service", path!["remedies", "service"])?;
    if experiment.services[service].kind.is_started() || !ladder.contains(&Rung::RestartService) {
        return Ok(());
    }
    let message = format!("`{service}` runs already, and Plimsoll cannot restart it");
    let expected = "a ladder without it: `ladder = [\"wait_longer\"]`";
    Err(problem(path!["remedies", "ladder"], message, expected))
}

/// The problems found so far.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    /// Notes what a check found, and goes on.
    fn note(&mut self, checked: Checked) {
        self.0.extend(checked.err());
    }
}

fn hosts(experiment: &Experiment, found: &mut Problems) {
    if experiment.hosts.is_empty() {
        found.note(Err(problem(path!["hosts"], "there is no host", "at least one, such as [hosts.server]")));
    }
    for (name, host) in &experiment.hosts {
        found.note(host.check(experiment, name));
    }
    found.note(group::check(experiment));
    found.note(settings(experiment));
    for (index, link) in experiment.links.iter().enumerate() {
        found.note(link.check(experiment, index));
    }
}

/// A load reaches a service on another host of its own network over a link.
fn joined(experiment: &Experiment, name: &str) -> Checked {
    let load = &experiment.loads[name];
    let Some(service) = experiment.services.get(&load.to).filter(|service| service.on != load.from) else {
        return Ok(());
    };
    let alone = |host: &&String| {
        let has_network = experiment.hosts.get(*host).is_some_and(|host| host.kind.own().network);
        has_network && !experiment.links.iter().any(|link| link.between.contains(host))
    };
    let Some(host) = [&load.from, &service.on].into_iter().find(alone) else { return Ok(()) };
    Err(problem(
        path!["loads", name, "to"],
        format!(
            "the host `{host}` has no link, so `{}` on `{}` cannot be reached from `{}`",
            load.to, service.on, load.from
        ),
        format!("a link: [[links]] with between = [\"{}\", \"{}\"]", load.from, service.on),
    ))
}

/// Every setting of the kernel has a name, and hosts agree on those of the machine.
fn settings(experiment: &Experiment) -> Checked {
    let machine = sysctl::of_machine(experiment);
    for (host, of_host) in &experiment.hosts {
        for (name, value) in &of_host.sysctls {
            let here = path!["hosts", host, "sysctls", name];
            if sysctl::path(name).is_none() {
                return Err(problem(
                    here,
                    format!("`{name}` is no name of a setting"),
                    "one such as \"net.ipv4.tcp_syncookies\"",
                ));
            }
            if let Some(why) = sysctl::refusal(name) {
                return Err(problem(
                    here,
                    format!("`{name}` is never changed: {why}"),
                    "a setting of the kernel that is a value",
                ));
            }
            if machine.get(name).is_some_and(|other| *other != value.to_string()) {
                return Err(problem(
                    here,
                    format!(
                        "`{name}` is a setting of the whole machine, and another host sets it to something else"
                    ),
                    "one value for all hosts",
                ));
            }
        }
    }
    Ok(())
}

/// No service needs itself, over however many others.
fn service_cycle(experiment: &Experiment) -> Checked {
    for name in experiment.services.keys() {
        let mut waiting = vec![(name.as_str(), Vec::new())];
        while let Some((here, way)) = waiting.pop() {
            if way.contains(&here) {
                return Err(problem(
                    path!["services", name],
                    format!("the service `{name}` leads back to `{here}`"),
                    "a chain of services that ends",
                ));
            }
            let way: Vec<&str> = way.into_iter().chain([here]).collect();
            waiting.extend(experiment.services[here].needs().into_iter().map(|next| (next, way.clone())));
        }
    }
    Ok(())
}

/// Checks phases and the steps inside them, and notes which measured load stands behind each name.
fn check_phases<'e>(
    experiment: &'e Experiment,
    phases: &'e [Phase],
    at: &[Part],
    names: &mut BTreeMap<String, Option<&'e str>>,
    found: &mut Problems,
) {
    if phases.is_empty() {
        found.note(Err(problem(at.to_vec(), "there is no phase", "at least one, such as [[phases]]")));
    }
    for (index, phase) in phases.iter().enumerate() {
        let here = [at, &path![index]].concat();
        if names.contains_key(&phase.name) {
            found.note(Err(problem(
                [here.as_slice(), &path!["name"]].concat(),
                format!("there are two phases `{}`", phase.name),
                "a name of its own for each phase",
            )));
        }
        found.note(phase.check(experiment, here.clone(), names));
        names.insert(phase.name.clone(), phase.measured_load().map(String::as_str));
        if let several @ [_, _, ..] = phase.measures() {
            names.extend(phase.recorded_as().into_iter().zip(several.iter().map(|load| Some(load.as_str()))));
        }
        if !phase.inside().is_empty() {
            let inside = [here.as_slice(), &path!["steps"]].concat();
            check_phases(experiment, phase.inside(), &inside, names, found);
        }
    }
}

fn control(experiment: &Experiment, names: &BTreeMap<String, Option<&str>>) -> Checked {
    let Some(control) = &experiment.control else { return Ok(()) };
    for (index, name) in control.idle_in.iter().enumerate() {
        declared(name, names, "phase", path!["control", "idle_in", index])?;
    }
    Ok(())
}

fn factors(experiment: &Experiment, found: &mut Problems) {
    for (name, factor) in &experiment.factors {
        found.note(check_factor(name, factor));
    }
    let mut seen = Vec::new();
    for (index, cell) in experiment.cells.iter().enumerate() {
        found.note(check_cell(experiment, cell, &path!["cells", index]));
        if seen.contains(&cell) {
            let message = "this cell stands here twice";
            found.note(Err(problem(path!["cells", index], message, "cells that differ")));
        }
        seen.push(cell);
    }
}

fn check_factor(name: &String, factor: &Factor) -> Checked {
    if factor.levels.len() < 2 {
        return Err(problem(
            path!["factors", name, "levels"],
            "a factor varies something",
            "at least two levels",
        ));
    }
    let distinct: BTreeSet<String> = factor.levels.iter().map(ToString::to_string).collect();
    if distinct.len() < factor.levels.len() {
        return Err(problem(
            path!["factors", name, "levels"],
            "a level stands here twice",
            "levels that differ",
        ));
    }
    if factor.set.iter().next().is_none() {
        return Err(problem(
            path!["factors", name, "set"],
            "nothing is set",
            "at least one path into this file",
        ));
    }
    Ok(())
}
