//! Whether an experiment makes sense as a whole: every name is declared, every choice is made once, every number is in range.

mod capture;
mod extent;
mod limit;
mod storage;

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{
    Checked, Part, Problem, check_cell, declared, in_range, mail_sink, measured, one_of, problem,
};
use super::{Cpus, Experiment, Factor, Host, Link, LinkShaper, Phase, sysctl};

/// All that makes no sense: of each host, link, service, load, phase, factor and claim, what comes first. Where there is too much of
/// something, that alone.
pub(super) fn validate(experiment: &Experiment) -> Vec<Problem> {
    let mut found = Found::default();
    found.note(extent::check(experiment));
    if !found.0.is_empty() {
        return found.0;
    }
    hosts(experiment, &mut found);
    for (name, service) in &experiment.services {
        found.note(service.check(experiment, name));
    }
    // What services pass on to is followed from name to name, which has to exist.
    if found.0.is_empty() {
        found.note(service_cycle(experiment));
    }
    found.note(storage::volumes(experiment));
    for (name, load) in &experiment.loads {
        found.note(load.check(experiment, name));
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
    if let Some(remedies) = &experiment.remedies {
        found.note(declared(
            &remedies.service,
            &experiment.services,
            "service",
            path!["remedies", "service"],
        ));
    }
    let run = &experiment.run;
    found.note(in_range(u64::from(run.min_trials), 1, u64::from(run.max_trials), path!["run", "min_trials"]));
    found.note(in_range(u64::from(run.sample_hz), 1, 100, path!["run", "sample_hz"]));
    found.0
}

/// What was found so far.
#[derive(Default)]
struct Found(Vec<Problem>);

impl Found {
    /// Notes what a check found, and goes on.
    fn note(&mut self, checked: Checked) {
        self.0.extend(checked.err());
    }
}

fn hosts(experiment: &Experiment, found: &mut Found) {
    if experiment.hosts.is_empty() {
        found.note(Err(problem(path!["hosts"], "there is no host", "at least one, such as [hosts.server]")));
    }
    for (name, host) in &experiment.hosts {
        found.note(check_host(experiment, name, host));
    }
    found.note(settings(experiment));
    for (index, link) in experiment.links.iter().enumerate() {
        found.note(check_link(experiment, index, link));
    }
}

fn check_host(experiment: &Experiment, name: &String, host: &Host) -> Checked {
    // The name becomes part of the names of links (15 bytes in the kernel) and of the control's hosts.
    let fits = !name.is_empty()
        && name.len() <= 11
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !fits {
        return Err(problem(
            path!["hosts", name],
            format!("`{name}` cannot be the name of a host"),
            "1 to 11 letters, digits, `-` or `_`",
        ));
    }
    host.kind.check(experiment, name, host)?;
    translation(experiment, name, host)?;
    if let Some(memory) = host.memory {
        in_range(memory.0, 16 << 20, 1 << 50, path!["hosts", name, "memory"])?;
    }
    if host.cpus == Cpus::Number(0) {
        return Err(problem(
            path!["hosts", name, "cpus"],
            "a host needs a CPU",
            "a number from 1, or a list",
        ));
    }
    Ok(())
}

fn check_link(experiment: &Experiment, index: usize, link: &Link) -> Checked {
    for (end, name) in link.between.iter().enumerate() {
        declared(name, &experiment.hosts, "host", path!["links", index, "between", end])?;
        let kind = experiment.hosts[name].kind;
        if !kind.own().network {
            return Err(problem(
                path!["links", index, "between", end],
                format!("`{name}` is a {} host, which has no links", kind.name()),
                "a host of kind \"namespace\"",
            ));
        }
    }
    if link.between[0] == link.between[1] {
        return Err(problem(
            path!["links", index, "between"],
            "the link joins a host to itself",
            "two different hosts",
        ));
    }
    if let Some(mtu) = link.mtu {
        in_range(u64::from(mtu), 68, 65535, path!["links", index, "mtu"])?;
    }
    link_ways(link, index)
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

/// What happens to packets on a link makes sense in each direction.
fn link_ways(link: &Link, index: usize) -> Checked {
    for way in link.ways() {
        if way.jitter > way.delay {
            return Err(problem(
                path!["links", index, "jitter"],
                "the jitter exceeds the delay",
                "a jitter of at most the delay",
            ));
        }
        if let Some(why) = way.beyond_netem().filter(|_| link.shaper == Some(LinkShaper::Netem)) {
            let why = format!("netem {why}");
            return Err(problem(path!["links", index, "shaper"], why, "`\"emulator\"`, or no `shaper`"));
        }
        if way.loss_burst.is_some_and(|burst| burst < 1.0) {
            return Err(problem(
                path!["links", index, "loss_burst"],
                "no loss is shorter than one packet",
                "a number from 1",
            ));
        }
        if way.queue.is_some() && way.rate.is_none() {
            return Err(problem(
                path!["links", index, "queue"],
                "without a rate nothing ever waits",
                "`rate` beside it",
            ));
        }
    }
    Ok(())
}

/// Addresses beside those of links, and what they are for.
fn translation(experiment: &Experiment, name: &String, host: &Host) -> Checked {
    in_range(u64::from(host.addresses), 0, 250, path!["hosts", name, "addresses"])?;
    let Some(nat) = &host.nat else { return Ok(()) };
    if !host.forward {
        return Err(problem(
            path!["hosts", name, "nat"],
            format!("`{name}` forwards no packets that it could translate"),
            "`forward = true` on the same host",
        ));
    }
    if nat.of.is_empty() {
        return Err(problem(
            path!["hosts", name, "nat", "of"],
            "nobody's packets are translated",
            "at least one host",
        ));
    }
    nat.of.iter().enumerate().try_for_each(|(index, of)| {
        declared(of, &experiment.hosts, "host", path!["hosts", name, "nat", "of", index])
    })
}

/// No service passes connections on to itself, over however many others.
fn service_cycle(experiment: &Experiment) -> Checked {
    for name in experiment.services.keys() {
        let mut seen = BTreeSet::new();
        let mut at = Some(name.as_str());
        while let Some(here) = at {
            if !seen.insert(here) {
                return Err(problem(
                    path!["services", name],
                    format!("the service `{name}` leads back to `{here}`"),
                    "a chain of services that ends",
                ));
            }
            at = experiment.services[here].onward();
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
    found: &mut Found,
) {
    if phases.is_empty() {
        found.note(Err(problem(at.to_vec(), "there is no phase", "at least one, such as [[phases]]")));
    }
    for (index, phase) in phases.iter().enumerate() {
        let here = |key: &str| [at, &path![index, key]].concat();
        found.note(check_phase(experiment, phase, &here, names));
        names.insert(phase.name.clone(), phase.measure.as_deref());
        if !phase.steps.is_empty() {
            check_phases(experiment, &phase.steps, &here("steps"), names, found);
        }
    }
}

fn check_phase(
    experiment: &Experiment,
    phase: &Phase,
    here: &impl Fn(&str) -> Vec<Part>,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let kinds = [
        ("measure", phase.measure.is_some()),
        ("drive", phase.drive.is_some()),
        ("do", !phase.actions.is_empty()),
        ("settle", phase.settle.is_some()),
        ("stop", phase.stop.is_some()),
        ("start", phase.start.is_some()),
        ("watch", phase.watch.is_some()),
        ("search", phase.search.is_some()),
        ("steps", !phase.steps.is_empty()),
    ];
    one_of(&kinds, &format!("the phase `{}`", phase.name), here("name"))?;
    if names.contains_key(&phase.name) {
        return Err(problem(
            here("name"),
            format!("there are two phases `{}`", phase.name),
            "a name of its own for each phase",
        ));
    }
    for (key, load) in [("measure", &phase.measure), ("drive", &phase.drive)] {
        if let Some(load) = load {
            declared(load, &experiment.loads, "load", here(key))?;
        }
    }
    for (key, service) in [("stop", &phase.stop), ("start", &phase.start)] {
        if let Some(service) = service {
            declared(service, &experiment.services, "service", here(key))?;
        }
    }
    for (index, action) in phase.actions.iter().enumerate() {
        action.check(experiment, &[here("do").as_slice(), &path![index]].concat())?;
    }
    if phase.skip && phase.actions.is_empty() {
        return Err(problem(here("skip"), "there is nothing to leave out", "it beside `do`"));
    }
    let with_measure =
        [("slices", phase.slices), ("most_slices", phase.most_slices), ("warm_up", phase.warm_up)];
    only_with(phase.measure.is_some(), "measure", &with_measure, here)?;
    if let Some(most) = phase.most_slices {
        in_range(u64::from(most), u64::from(phase.slices.unwrap_or(1)), 10_000, here("most_slices"))?;
    }
    if let Some(sink) = &phase.until_delivered {
        mail_sink(experiment, sink, here("until_delivered"))?;
        let load = phase.measure.as_ref().and_then(|load| experiment.loads.get(load));
        if load.is_none_or(|load| load.kind.smtp().is_none()) {
            return Err(problem(
                here("until_delivered"),
                "no mail is measured",
                "`measure` with a load of mail",
            ));
        }
    }
    if phase.extend_for.is_some() && phase.most_slices.is_none() {
        return Err(problem(here("extend_for"), "there is nothing to extend", "it beside `most_slices`"));
    }
    only_with(!phase.steps.is_empty(), "steps", &[("repeat", phase.repeat)], here)?;
    if let Some(settle) = &phase.settle
        && let Some(host) = &settle.drained
    {
        declared(host, &experiment.hosts, "host", [here("settle").as_slice(), &path!["drained"]].concat())?;
    }
    if let Some(settle) = &phase.settle
        && let Some(sink) = &settle.delivered
    {
        mail_sink(experiment, sink, [here("settle").as_slice(), &path!["delivered"]].concat())?;
    }
    if let Some(watch) = &phase.watch {
        declared(
            &watch.load,
            &experiment.loads,
            "load",
            [here("watch").as_slice(), &path!["load"]].concat(),
        )?;
        measured(&watch.against, names, [here("watch").as_slice(), &path!["against"]].concat())?;
        in_range(u64::from(watch.windows), 1, 100, [here("watch").as_slice(), &path!["windows"]].concat())?;
        in_range(
            watch.connections,
            1,
            1_000_000,
            [here("watch").as_slice(), &path!["connections"]].concat(),
        )?;
    }
    if let Some(search) = &phase.search {
        limit::check_search(experiment, &phase.name, search, &here("search"))?;
    }
    Ok(())
}

/// Numbers that mean something only beside another key, and are from 1 to 10000.
fn only_with(
    present: bool,
    key: &str,
    numbers: &[(&str, Option<u32>)],
    here: &impl Fn(&str) -> Vec<Part>,
) -> Checked {
    for (name, number) in numbers {
        let Some(number) = number else { continue };
        if !present {
            return Err(problem(
                here(name),
                format!("`{name}` means nothing here"),
                format!("it only beside `{key}`"),
            ));
        }
        in_range(u64::from(*number), u64::from(*name != "warm_up"), 10_000, here(name))?;
    }
    Ok(())
}

fn control(experiment: &Experiment, names: &BTreeMap<String, Option<&str>>) -> Checked {
    let Some(control) = &experiment.control else { return Ok(()) };
    for (index, name) in control.idle_in.iter().enumerate() {
        declared(name, names, "phase", path!["control", "idle_in", index])?;
    }
    Ok(())
}

fn factors(experiment: &Experiment, found: &mut Found) {
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
