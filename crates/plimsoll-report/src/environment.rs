//! The environment of a run, in lines of a name and a text; and the machine's state during the run, in rows.

use std::collections::BTreeMap;

use plimsoll_model::report::{KernelConfig, LinkReport, Machine, ProgramVersion, RunReport, VmstatReport};

use crate::number::{figure, median, percent, sorted};

/// The most changed settings of the kernel that are named; the JSON has all.
const SETTINGS_NAMED: usize = 8;

/// The environment of the run. Facts that were not stored are left out.
pub(crate) fn lines(report: &RunReport) -> Vec<(String, String)> {
    let environment = &report.environment;
    let mut lines = Vec::new();
    for machine in &environment.machines {
        let whose = match environment.machines.len() {
            1 => "machine".to_owned(),
            _ if machine.hosts.is_empty() => "machine that ran Plimsoll".to_owned(),
            _ => format!("machine of {}", machine.hosts.join(", ")),
        };
        lines.push((whose, of_machine(machine)));
        let built = machine.compiler.as_ref().map(|compiler| format!("compiled with {compiler}"));
        let started = machine.command_line.as_ref().map(|words| format!("started with {words}"));
        let kernel: Vec<String> = built.into_iter().chain(started).collect();
        if !kernel.is_empty() {
            lines.push(("kernel".to_owned(), kernel.join("; ")));
        }
        if let Some(config) = &machine.kernel_config {
            lines.push(("kernel config".to_owned(), of_config(config)));
        }
        if !machine.changed_sysctls.is_empty() {
            lines.push(("changed sysctls".to_owned(), changed(machine)));
        }
    }
    let programs: Vec<String> =
        environment.programs.iter().map(|(name, program)| of_program(name, program)).collect();
    if !programs.is_empty() {
        lines.push(("programs".to_owned(), programs.join("; ")));
    }
    if let Some(version) = &environment.plimsoll {
        lines.push(("plimsoll".to_owned(), version.clone()));
    }
    let links: Vec<String> = environment.links.iter().map(of_link).collect();
    if !links.is_empty() {
        lines.push(("links".to_owned(), links.join("; ")));
    }
    for (host, settings) in &environment.sysctls {
        let all: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        lines.push((format!("sysctls of {host}"), all.join("; ")));
    }
    if !environment.experiment.is_empty() {
        lines.push(("experiment".to_owned(), of_experiment(report)));
    }
    lines
}

fn of_machine(machine: &Machine) -> String {
    let kernel = machine.kernel.as_ref().map(|release| format!("Linux {release}"));
    let cpu = machine.cpu.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
    let cpus = format!("{} CPU{}{cpu}", machine.cpus, if machine.cpus == 1 { "" } else { "s" });
    let swap = if machine.swap_bytes > 0 {
        format!(", {} swap", size(machine.swap_bytes))
    } else {
        ", no swap".to_owned()
    };
    let memory = format!("{} memory{swap}", size(machine.memory_bytes));
    let parts = [kernel, machine.os.clone(), Some(cpus), Some(memory), machine.virtualization.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The digits of a hash that are shown; the JSON has all.
const HASH_DIGITS: usize = 12;

/// `HZ=250, PREEMPT_NONE; not Kconfig's default: KFENCE; /proc/config.gz, SHA-256 0123456789ab...`.
fn of_config(config: &KernelConfig) -> String {
    let said = |(name, value): (&String, &String)| match value.as_str() {
        "y" => name.clone(),
        value => format!("{name}={value}"),
    };
    let named = |all: &BTreeMap<String, String>, wanted: &dyn Fn(&str) -> bool| {
        all.iter().filter(|(name, _)| wanted(name)).map(said).collect::<Vec<_>>().join(", ")
    };
    // The common questions first, then only what is unusual.
    let first = |name: &str| name == "HZ" || name.starts_with("PREEMPT") || name.ends_with("_MITIGATIONS");
    let usual = named(&config.options, &first);
    let changed = named(&config.changed, &|name| !first(name) || !config.options.contains_key(name));
    let digits = config.sha256.get(..HASH_DIGITS).unwrap_or(&config.sha256);
    let from = format!("{}, SHA-256 {digits}...", config.source);
    let changed = (!changed.is_empty()).then(|| format!("not Kconfig's default: {changed}"));
    let parts = [Some(usual).filter(|usual| !usual.is_empty()), changed, Some(from)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Bytes in the unit that fits: `23.5 GiB`.
fn size(bytes: u64) -> String {
    let (unit, name) = if bytes >= 1 << 30 { (1_u64 << 30, "GiB") } else { (1 << 20, "MiB") };
    format!("{} {name}", figure(bytes as f64 / unit as f64))
}

fn changed(machine: &Machine) -> String {
    let all = &machine.changed_sysctls;
    // Values of several columns are set apart by tabs.
    let word = |value: &str| value.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = all.iter().take(SETTINGS_NAMED).map(|(name, value)| format!("{name} = {}", word(value)));
    let named = named.collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(SETTINGS_NAMED) {
        0 => named,
        more => format!("{named}; {more} more in the JSON"),
    }
}

fn of_program(service: &str, program: &ProgramVersion) -> String {
    let name = program.path.rsplit('/').next().unwrap_or(&program.path);
    match &program.version {
        Some(version) => format!("{name} {version} ({service}, {})", program.path),
        None => format!("{} ({service})", program.path),
    }
}

fn of_link(link: &LinkReport) -> String {
    let [a, b] = &link.between;
    match (link.there.as_str(), link.back.as_str()) {
        ("", "") => format!("{a} -- {b}"),
        (there, back) if there == back => format!("{a} -- {b}: {there}"),
        (there, back) => {
            let text = |one: &str| {
                if one.is_empty() { "nothing".to_owned() } else { one.to_owned() }
            };
            format!("{a} -> {b}: {}; {b} -> {a}: {}", text(there), text(back))
        }
    }
}

fn of_experiment(report: &RunReport) -> String {
    let lines = report.environment.experiment.lines().count();
    let changed = match report.environment.settings.is_empty() {
        true => String::new(),
        false => format!(", with {}", report.environment.settings.join(" ")),
    };
    format!("{}, {lines} lines{changed}", report.experiment)
}

/// The titles of the columns that vmstat(8) has, behind those that name a row.
pub(crate) const VMSTAT: [&str; 11] =
    ["r", "b", "free MB", "in/s", "cs/s", "us%", "sy%", "id%", "wa%", "st%", "s"];

/// One row of vmstat's table: what names it, and its columns.
pub(crate) struct VmstatRow {
    pub(crate) phase: String,
    pub(crate) host: String,
    pub(crate) cells: Vec<String>,
}

/// State of the machine, phase by phase in their order: medians over all trials and cycles.
pub(crate) fn vmstat(report: &RunReport) -> Vec<VmstatRow> {
    let all: Vec<&VmstatReport> = report.trials.iter().flat_map(|trial| &trial.vmstat).collect();
    let mut names: Vec<(&str, &str)> = Vec::new();
    for row in &all {
        if !names.contains(&(row.phase.as_str(), row.host.as_str())) {
            names.push((&row.phase, &row.host));
        }
    }
    // A machine is sampled by one of the hosts on it, which says nothing where there is but one machine.
    let one = names.iter().all(|(_, host)| *host == names[0].1);
    let row = |&(phase, host): &(&str, &str)| {
        let of: Vec<&&VmstatReport> =
            all.iter().filter(|row| row.phase == phase && row.host == host).collect();
        let middle = |f: &dyn Fn(&VmstatReport) -> f64| {
            median(&sorted(of.iter().map(|row| f(row)))).unwrap_or(f64::NAN)
        };
        let share = |f: &dyn Fn(&VmstatReport) -> f64| percent(middle(f));
        VmstatRow {
            phase: phase.to_owned(),
            host: if one { String::new() } else { host.to_owned() },
            cells: vec![
                figure((middle(&|row| row.r) * 10.0).round() / 10.0),
                figure((middle(&|row| row.b) * 10.0).round() / 10.0),
                figure((middle(&|row| row.free_bytes) / 1e6).round()),
                figure(middle(&|row| row.interrupts_per_second).round()),
                figure(middle(&|row| row.context_switches_per_second).round()),
                share(&|row| row.user),
                share(&|row| row.system),
                share(&|row| row.idle),
                share(&|row| row.iowait),
                share(&|row| row.steal),
                figure(middle(&|row| row.seconds)),
            ],
        }
    };
    names.iter().map(row).collect()
}
