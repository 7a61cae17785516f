//! From slices to figures per connection, for the explainer to rank.

mod derived;
mod opens;
mod settings;
pub(super) mod shares;

pub(super) use derived::{busiest, open_files, queues};
pub(super) use opens::of_runs as opened_files;
pub use settings::counters as settings;
pub(super) use settings::differing as differing_settings;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_judge::stats::median;
use plimsoll_model::experiment::{LoadFacts, RecoveryClaim};
use plimsoll_model::observation::{Arm, DeepSnapshot, ErrorKind, PhaseKind, PhaseRecord, Slice, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::Evidence;

use super::sides::{Compared, Side};

/// Deep-snapshot values that are levels and not per connection, by the start of the name.
const LEVELS: [&str; 10] = [
    "locks.held",
    "rules",
    "routes",
    "neighbours",
    "processes.count",
    "descriptors",
    "tcp.",
    "machine.slab.",
    "nf_conntrack.count",
    "filesystem.",
];

/// Further ones that recordings have, which say little by themselves.
const OTHER_LEVELS: [&str; 7] =
    ["limit.", "wait.", "locks.", "processes.", "machine.file-nr.", "files.", settings::START];

/// Levels by which two trials are compared: objects that were made and left there. All others differ by earlier work.
const LEVELS_OF_SIDES: [&str; 8] = [
    "tcp.listener.",
    "rules",
    "routes",
    "descriptors.fullest",
    "nf_conntrack.count",
    "tcp.backlog",
    "filesystem.",
    "locks.held",
];
/// Levels that two recordings of a host are compared by as well.
const LEVELS_OF_RECORDINGS: [&str; 9] = [
    "limit.",
    "dns.open_questions",
    "listen.fullest_share",
    "listen.uneven_share",
    "listen.waiting",
    "neighbours",
    "tcp.time_wait",
    "tcp.close_wait",
    HELD,
];
/// Share of the busiest connections that hold data back until what they sent is acknowledged.
const HELD: &str = "tcp.held_share";
/// Levels must differ by so much.
const LEAST_COUNTS: f64 = 10.0;

/// Changes between the two compared sides, the strongest first.
pub(super) fn of(plan: &Plan, compared: &Compared<'_>, trials: &[TrialRecord]) -> Vec<Evidence> {
    let mut figures = counted(plan, &compared.phases);
    figures.extend(match compared.recovery {
        Some(claim) => levels(claim, trials),
        None => levels_of_sides(&compared.phases, trials),
    });
    ranked(plan, figures)
}

/// Changes between the phases of one run and those of another, the strongest first.
pub(super) fn of_runs(plan: &Plan, phases: &[(&PhaseRecord, Side)]) -> Vec<Evidence> {
    ranked(plan, counted(plan, phases))
}

/// A run of a command, as the machine saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandRun {
    /// Changes of the counters.
    pub counters: BTreeMap<String, f64>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How many operations the figure says that it carried out; `None` if it counts none.
    pub operations: Option<f64>,
}

/// Changes between the runs of one command and those of another, the strongest first.
/// Counters are those of each operation, which has this many parts that count; of each run without `parts`.
pub(super) fn of_commands(
    [better, worse]: [&[CommandRun]; 2],
    parts: Option<f64>,
    per: &str,
) -> Vec<Evidence> {
    let mut values = Values::default();
    for (side, runs) in [better, worse].into_iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            let operations = parts.map_or(1.0, |parts| run.operations.unwrap_or(1.0) * parts);
            for (name, change) in &run.counters {
                let (host, name) = placed(name);
                if !matters(name) {
                    continue;
                }
                let is_machines = host == MACHINE;
                let key = (host, name.to_owned());
                if is_machines {
                    put(&mut values.of_a_second, key.clone(), (side, number), change / run.seconds);
                }
                put(&mut values.of_one, key, (side, number), change / operations);
            }
        }
    }
    values.pad([better.len(), worse.len(), 0, 0]);
    rank(&values.figures(per), usize::MAX)
}

/// Puts in what a counter moved by in a run of this number. A counter that a run does not have did not move in it.
fn put(values: &mut Sides, key: (String, String), (side, number): (usize, usize), value: f64) {
    let of_side = &mut values.entry(key).or_default()[side];
    of_side.resize(number, 0.0);
    of_side.push(value);
}

/// What the counters of other network namespaces begin with.
const ELSEWHERE: &str = "netns.";

/// The host of a counter, and its name there: `netns.web.netstat.TcpExt.ListenDrops` is of the network namespace `web`.
fn placed(name: &str) -> (String, &str) {
    let placed = name.strip_prefix(ELSEWHERE).and_then(|rest| {
        let at = rest.rfind(".snmp.").or_else(|| rest.rfind(".netstat."))?;
        let place = &rest[..at];
        // A pseudonym begins with its kind: `namespace-0a1b`.
        let is_pseudonym = place.starts_with("namespace-");
        let host = if is_pseudonym { place.to_owned() } else { format!("namespace {place}") };
        Some((host, &rest[at + 1..]))
    });
    let here = || (if name.starts_with("machine.") { MACHINE } else { HERE }.to_owned(), name);
    placed.unwrap_or_else(here)
}

/// Shares that follow from the counters of runs: of the CPUs' and the disks' time.
pub(super) fn shares_of_commands([better, worse]: [&[CommandRun]; 2]) -> Vec<Evidence> {
    let mut values = Values::default();
    for (side, runs) in [better, worse].into_iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            for (name, value) in shares::all(&run.counters, run.seconds) {
                let is_machines = name.starts_with("cpu.") || name.starts_with("disk.");
                let host = if is_machines { MACHINE } else { HERE };
                put(&mut values.of_one, (host.to_owned(), name), (side, number), value);
            }
        }
    }
    values.pad([better.len(), worse.len(), 0, 0]);
    rank(&figures(values.of_one, None), usize::MAX)
}

/// What connections and queues were like on average over all looks in a run.
pub(super) fn levels_of_commands([better, worse]: [&[CommandRun]; 2]) -> Vec<Evidence> {
    let mut values = Sides::new();
    for (side, runs) in [better, worse].into_iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            let of = |name: &str| run.counters.get(name).copied().unwrap_or(0.0);
            let looked_at = of("tcp.looked_at");
            let held = (looked_at > 0.0).then(|| (HELD.to_owned(), 100.0 * of("tcp.held") / looked_at));
            let open = open_files(&run.counters);
            for (name, value) in queues(&run.counters).into_iter().chain(held).chain(open) {
                put(&mut values, (HERE.to_owned(), name), (side, number), value);
            }
        }
    }
    for places in values.values_mut() {
        places[0].resize(better.len(), 0.0);
        places[1].resize(worse.len(), 0.0);
    }
    rank(&figures(values, None), usize::MAX)
}

/// Least movement that ends a standstill: the counts, and the number of runs that have some.
const LEAST_BURSTS: (f64, usize) = (10.0, 3);

/// Mean rates of counters that stood still on the better side and moved on the worse one. The kernel drops and logs in bursts, so most seconds have none.
pub(super) fn bursts([better, worse]: [&[CommandRun]; 2], per: &str) -> Vec<Evidence> {
    let mut sums: BTreeMap<&String, (f64, usize)> = BTreeMap::new();
    for (name, change) in worse.iter().flat_map(|run| &run.counters).filter(|it| matters(it.0) && *it.1 > 0.0)
    {
        let (sum, runs) = sums.entry(name).or_default();
        *sum += change;
        *runs += 1;
    }
    let stood_still = |name: &String| better.iter().all(|run| !run.counters.contains_key(name));
    let seconds: f64 = worse.iter().map(|run| run.seconds).sum();
    // A reading of another namespace stands for many seconds.
    let least_runs = |name: &str| if name.starts_with(ELSEWHERE) { 1 } else { LEAST_BURSTS.1 };
    let moved = sums.into_iter().filter(|(name, (sum, runs))| {
        *sum >= LEAST_BURSTS.0 && *runs >= least_runs(name) && stood_still(name)
    });
    let none = || Vec::new();
    let values = moved.map(|(name, (sum, _))| {
        let (host, name) = placed(name);
        ((host, name.to_owned()), [vec![0.0], vec![sum / seconds], none(), none()])
    });
    rank(&figures(values.collect(), Some(per)), usize::MAX)
}

fn ranked(plan: &Plan, mut figures: Vec<Figure>) -> Vec<Evidence> {
    // Disks have counters of the whole machine only; where they are part of the experiment, these count as its own.
    if !plan.experiment.volumes.is_empty() {
        figures.iter_mut().for_each(|figure| figure.is_shared = false);
    }
    rank(&figures, usize::MAX)
}

/// Prefix of the counters of block devices.
const DISKS: &str = "machine.diskstats.";
/// A device that is busy for this part of each second, in microseconds, has hardly any time left.
const BUSY_US: f64 = 0.8e6;

/// Counters that rise and fall, of which a change during a slice says nothing.
const GAUGES: [&str; 16] = [
    "dns.",
    "listen.",
    "served.",
    "neighbour.entries",
    "cgroup.memory.current",
    "machine.vmstat.workingset_nodes",
    "netstat.MPTcpExt.MPCurrEstab",
    "snmp.Tcp.CurrEstab",
    "machine.meminfo.",
    "machine.loadavg.",
    "machine.slab.",
    "machine.stat.procs_",
    "machine.vmstat.nr_",
    "machine.sockstat.",
    "sockstat.",
    "nf_conntrack.count",
];
/// The host that the counters of the whole machine stand under.
pub(super) const MACHINE: &str = "machine";
/// The host that the network namespace stands under in which commands run.
pub(super) const HERE: &str = "here";
/// Least growth per connection of the flood that counts as left behind.
const LEAST_GROWTH: f64 = 0.05;
/// The smallest object of a slab, in bytes.
const SMALLEST_OBJECT: f64 = 8.0;

/// By host and counter: before or better, after or worse, and the same on the control.
pub(super) type Sides = BTreeMap<(String, String), [Vec<f64>; 4]>;

/// Changes of counters in each slice.
#[derive(Default)]
struct Values {
    /// For each connection or operation.
    of_one: Sides,
    /// The counters of the whole machine in each second. Where fewer operations are carried out in the same time, whatever goes on all the time
    /// grows for each of them and says nothing.
    of_a_second: Sides,
}

/// The counters of phases, each with its side. What one side never moved has no values there; they are zeros.
fn counted(plan: &Plan, phases: &[(&PhaseRecord, Side)]) -> Vec<Figure> {
    let mut values = Values::default();
    let mut windows = [0; 4];
    let mut per = CONNECTION;
    for (phase, side) in phases {
        let slices: Vec<&Slice> = phase.slices.iter().collect();
        per = divided_by(per, &slices);
        add(&mut values, &slices, *side);
        add_errors(&mut values.of_one, plan, &phase.name, &slices, *side);
        for slice in slices.iter().filter(|slice| operations(slice).is_some()) {
            windows[place(slice, *side)] += 1;
        }
    }
    values.pad(windows);
    let mut figures = values.figures(per);
    figures.extend(derived::of(plan, phases));
    figures
}

/// Where the values of a slice stand in [`Sides`].
pub(super) fn place(slice: &Slice, side: Side) -> usize {
    side as usize + if slice.arm == Arm::Treatment { 0 } else { 2 }
}

impl Values {
    /// Pads with zeros, for windows in which a counter did not move: `windows` values for each place.
    fn pad(&mut self, windows: [usize; 4]) {
        for places in self.of_one.values_mut().chain(self.of_a_second.values_mut()) {
            for (values, windows) in places.iter_mut().zip(windows) {
                // Shares of errors are there for slices in which nothing was done, too.
                values.resize(windows.max(values.len()), 0.0);
            }
        }
    }

    /// Cost of each connection or operation; of the whole machine's counters only those that moved in each second as well, and those of
    /// devices that are busy all the time on both sides.
    fn figures(mut self, per: &str) -> Vec<Figure> {
        let of_a_second = &self.of_a_second;
        self.of_one.retain(|counter, sides| {
            of_a_second.get(counter).is_none_or(|each_second| direction(each_second) == direction(sides))
                || is_of_busy_device(of_a_second, &counter.1)
        });
        figures(self.of_one, Some(per))
    }
}

/// Whether it is a counter of a block device that both sides keep busy: it can do no more in a second, so that only the time of each operation counts.
fn is_of_busy_device(of_a_second: &Sides, counter: &str) -> bool {
    let device = counter.strip_prefix(DISKS).and_then(|rest| rest.rsplit_once('.'));
    let busy = device.map(|(device, _)| (MACHINE.to_owned(), format!("{DISKS}{device}.busy")));
    let busy = busy.and_then(|busy| of_a_second.get(&busy));
    busy.is_some_and(|[before, after, ..]| [before, after].iter().all(|side| median(side) >= BUSY_US))
}

/// Whether what moved rose; `None` if it did not move.
fn direction([before, after, ..]: &[Vec<f64>; 4]) -> Option<bool> {
    let figure = Figure { before: before.clone(), after: after.clone(), ..Figure::default() };
    Some(rank(&[figure], 1).first()?.shift > 0.0)
}

/// Bytes per operation of a bulk transfer. Each connection lasts the whole slice, so that connections are no measure of work.
const MEGABYTE: u64 = 1_000_000;

/// Divisor of counters: connections, requests where several share a connection or need none, or megabytes of bulk transfers.
pub(super) fn operations(slice: &Slice) -> Option<u64> {
    let result = &slice.result;
    let number =
        if is_bulk(slice) { result.bytes / MEGABYTE } else { result.connections.max(result.requests) };
    (number > 0).then_some(number)
}

fn is_bulk(slice: &Slice) -> bool {
    matches!(slice.result.facts, Some(LoadFacts::Bulk(_)))
}

/// Which part of the operations per second of the better side the worse one lacks; `None` if it lacks none, as under a load that goes at a rate.
pub(super) fn lost(compared: &Compared<'_>) -> Option<f64> {
    let rate = |of: Side| {
        let slices =
            compared.phases.iter().filter(|(_, side)| *side == of).flat_map(|(phase, _)| &phase.slices);
        let (mut number, mut ns) = (0, 0);
        for slice in slices {
            number += operations(slice).unwrap_or(0);
            ns += slice.result.elapsed_ns;
        }
        (ns > 0).then(|| number as f64 / ns as f64)
    };
    let lost = 1.0 - rate(Side::After)? / rate(Side::Before).filter(|rate| *rate > 0.0)?;
    (lost > 0.0).then_some(lost)
}

/// Divisor of counters, in words, where each connection carries one request.
pub(super) const CONNECTION: &str = "connection";

/// Divisor of the counters of further slices, after those that were divided by `before`.
pub(super) fn divided_by(before: &'static str, slices: &[&Slice]) -> &'static str {
    let shared = slices.iter().any(|slice| slice.result.requests > slice.result.connections);
    if slices.iter().any(|slice| is_bulk(slice)) {
        "MB"
    } else if shared {
        "operation"
    } else {
        before
    }
}

/// Adds the counters of slices, for each connection or operation. A counter that a slice does not have did not move in it.
fn add(values: &mut Values, slices: &[&Slice], side: Side) {
    let names: BTreeSet<(&String, &String)> = slices
        .iter()
        .flat_map(|slice| {
            slice.counters.iter().flat_map(|(host, counters)| counters.keys().map(move |name| (host, name)))
        })
        .filter(|(_, name)| matters(name))
        .collect();
    for (host, name) in names {
        let key = (host.clone(), name.clone());
        for (slice, number) in slices.iter().filter_map(|slice| Some((slice, operations(slice)?))) {
            let change =
                slice.counters.get(host).and_then(|counters| counters.get(name)).copied().unwrap_or(0.0);
            let place = place(slice, side);
            values.of_one.entry(key.clone()).or_default()[place].push(change / number as f64);
            if host == MACHINE
                && let Some(rate) = slice.result.per_second(change)
            {
                values.of_a_second.entry(key.clone()).or_default()[place].push(rate);
            }
        }
    }
}

/// Errors that the system named: these say which resource ran out, or that no service was there.
const ERRORS: [(ErrorKind, &str); 4] = [
    (ErrorKind::NoPort, "errors.no_port"),
    (ErrorKind::NoDescriptor, "errors.no_descriptor"),
    (ErrorKind::Refused, "errors.refused"),
    (ErrorKind::Reset, "errors.reset"),
];

/// Adds the errors of the load that a phase measures, as shares of its attempts, on the host that it runs on.
fn add_errors(values: &mut Sides, plan: &Plan, phase: &str, slices: &[&Slice], side: Side) {
    let experiment = &plan.experiment;
    let load = experiment.measured_load(phase);
    let Some(load) = load.and_then(|name| experiment.loads.get(name)) else { return };
    for (kind, name) in ERRORS {
        let entry = values.entry((load.from.clone(), name.to_owned())).or_default();
        for slice in slices.iter().filter(|slice| slice.arm == Arm::Treatment) {
            let errors = slice.result.errors.get(&kind).copied().unwrap_or(0) as f64;
            let all = operations(slice).unwrap_or(0) as f64 + errors;
            entry[side as usize].push(if all > 0.0 { errors / all } else { 0.0 });
        }
    }
}

/// CPU time of single CPUs, and counters that sampling itself moves, add nothing to their sums. Traffic over loopback is counted by its protocols.
fn matters(name: &str) -> bool {
    let of_one_cpu = name.split('.').any(|part| {
        part.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    !of_one_cpu && !is_level(name) && !name.starts_with("dev.lo.") && !name.ends_with(".idle")
}

/// Whether a figure rises and falls, so that its change in a stretch of time says nothing.
pub(super) fn is_level(name: &str) -> bool {
    GAUGES.iter().chain(&LEVELS).chain(&OTHER_LEVELS).any(|start| name.starts_with(start))
}

/// State that lies about: rules, routes, processes, sockets, slabs. Only what grew by at least a few per cent of the connections that
/// flooded the system counts; anything less was not left behind by them.
fn levels(claim: &RecoveryClaim, trials: &[TrialRecord]) -> Vec<Figure> {
    let mut values = Sides::new();
    for trial in trials {
        let last = trial.deep.iter().filter(|deep| deep.phase == claim.after).map(|deep| deep.cycle).max();
        for deep in &trial.deep {
            let side = match deep {
                DeepSnapshot { phase, .. } if *phase == claim.baseline => 0,
                DeepSnapshot { phase, cycle, .. } if *phase == claim.after && Some(*cycle) == last => 1,
                _ => continue,
            };
            for (name, value) in deep
                .snapshot
                .values
                .iter()
                .filter(|(name, _)| LEVELS.iter().any(|start| name.starts_with(start)))
            {
                let host = if name.starts_with("machine.") { MACHINE } else { &deep.host };
                let place = side + if deep.arm == Arm::Treatment { 0 } else { 2 };
                values.entry((host.to_owned(), name.clone())).or_default()[place].push(*value);
            }
        }
    }
    let flooded = trials.iter().map(flooded).min().unwrap_or(0) as f64;
    values.retain(|(_, name), [before, after, ..]| {
        let least = LEAST_GROWTH * flooded * if name.ends_with(".bytes") { SMALLEST_OBJECT } else { 1.0 };
        before.iter().zip(after.iter()).all(|(before, after)| (after - before).abs() >= least)
    });
    figures(values, None)
}

/// Levels on two sides that are trials, as they were when the compared phase began. Only those that differ by more than
/// a few counts.
fn levels_of_sides(phases: &[(&PhaseRecord, Side)], trials: &[TrialRecord]) -> Vec<Figure> {
    let mut values = Sides::new();
    for (phase, side) in phases {
        let of_phase = |trial: &&TrialRecord| trial.phases.iter().any(|it| std::ptr::eq(it, *phase));
        let Some(trial) = trials.iter().find(of_phase) else { continue };
        for deep in trial.deep.iter().filter(|deep| deep.phase == phase.name && deep.arm == Arm::Treatment) {
            let is_level = |name: &&String| LEVELS_OF_SIDES.iter().any(|start| name.starts_with(start));
            for (name, value) in deep.snapshot.values.iter().filter(|(name, _)| is_level(name)) {
                let key = (deep.host.clone(), name.clone());
                values.entry(key).or_default()[*side as usize].push(*value);
            }
        }
    }
    values.retain(|_, [before, after, ..]| {
        before.iter().zip(after.iter()).all(|(before, after)| (after - before).abs() >= LEAST_COUNTS)
    });
    figures(values, None)
}

/// Whether a level is evidence by itself: objects that were made and left there.
pub(super) fn is_evident_level(name: &str) -> bool {
    LEVELS_OF_SIDES.iter().chain(&LEVELS_OF_RECORDINGS).any(|start| name.starts_with(start))
}

/// Levels of two recordings of a host, as each ended. Only those that differ by more than a few counts.
pub(super) fn levels_of_recordings(
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
) -> Vec<Evidence> {
    let both = before.iter().filter(|(name, _)| is_evident_level(name)).filter_map(|(name, before)| {
        // Settings do not scatter, and a mean over many looks hardly does.
        let is_exact = name.starts_with("limit.") || name.starts_with("dns.");
        let least = if is_exact { 1.0 } else { LEAST_COUNTS };
        let after = after.get(name).filter(|after| (**after - before).abs() >= least)?;
        let none = || Vec::new();
        Some(((HERE.to_owned(), name.clone()), [vec![*before], vec![*after], none(), none()]))
    });
    rank(&figures(both.collect(), None), usize::MAX)
}

/// How many connections the driven phases of a trial made on the treatment.
fn flooded(trial: &TrialRecord) -> u64 {
    let driven =
        trial.phases.iter().filter(|phase| phase.kind == PhaseKind::Drive).flat_map(|phase| &phase.slices);
    driven.filter(|slice| slice.arm == Arm::Treatment).map(|slice| slice.result.connections).sum()
}

/// Values as figures: divided by the number of connections or operations, or as levels.
pub(super) fn figures(values: Sides, per: Option<&str>) -> Vec<Figure> {
    let figure = |((host, name), [before, after, control_before, control_after]): (
        (String, String),
        [Vec<f64>; 4],
    )| Figure {
        unit: unit(&name, per),
        metric: per.map_or_else(|| format!("{name} (level)"), |per| format!("{name} (per {per})")),
        is_shared: host == MACHINE,
        host,
        before,
        after,
        control_before,
        control_after,
    };
    values.into_iter().map(figure).collect()
}

fn unit(name: &str, per: Option<&str>) -> String {
    let is_time = name.contains("stat.cpu.") || name.contains("pressure.") || name.ends_with("_time");
    if name.split(' ').any(|word| word.ends_with("_share")) {
        return "%".to_owned();
    }
    let unit = if is_time {
        "µs"
    } else if name.ends_with("bytes") || name.ends_with("Octets") {
        "B"
    } else {
        "count"
    };
    per.map_or_else(|| unit.to_owned(), |per| format!("{unit}/{per}"))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::LoadResult;
    use plimsoll_model::plan::Settings;

    use super::super::fixture;
    use super::*;

    /// Slices of a phase, each with its connections, its refusals and the change of a host's counter.
    fn phase(slices: &[(u64, u64, Option<f64>)]) -> PhaseRecord {
        let slice = |(connections, no_port, counter): &(u64, u64, Option<f64>)| {
            let errors = BTreeMap::from([(ErrorKind::NoPort, *no_port)]);
            let result = LoadResult {
                connections: *connections,
                elapsed_ns: 1_000_000_000,
                errors,
                ..LoadResult::default()
            };
            let counters =
                counter.map(|value| BTreeMap::from([("netstat.TcpExt.ListenOverflows".to_owned(), value)]));
            Slice {
                load: String::new(),
                counters: counters.into_iter().map(|counters| ("client".to_owned(), counters)).collect(),
                ..fixture::slice(result)
            }
        };
        PhaseRecord {
            slices: slices.iter().map(slice).collect(),
            ..fixture::phase("baseline", LoadResult::default())
        }
    }

    fn evidence_between(before: &PhaseRecord, after: &PhaseRecord) -> Vec<(String, f64, f64)> {
        let text = include_str!("../../../experiments/recovery/flood-relay.toml");
        let plan = Plan::read("flood-relay", text, &Settings::default()).unwrap();
        let evidence = of_runs(&plan, &[(before, Side::Before), (after, Side::After)]);
        evidence.into_iter().map(|it| (it.metric, it.before, it.after)).collect()
    }

    #[test]
    fn a_counter_that_one_side_never_moved_was_zero_there() {
        let good = phase(&[(100, 0, None), (100, 0, None), (100, 0, None)]);
        let bad = phase(&[(100, 0, Some(300.0)), (100, 0, Some(200.0)), (100, 0, Some(400.0))]);
        let overflows = ("netstat.TcpExt.ListenOverflows (per connection)".to_owned(), 0.0, 3.0);
        assert_eq!(evidence_between(&good, &bad), [overflows]);
    }

    #[test]
    fn what_rises_and_falls_and_what_loopback_carries_is_no_evidence() {
        for name in
            ["snmp.Tcp.CurrEstab", "cgroup.memory.current", "dev.lo.rx_bytes", "machine.stat.cpu1.user"]
        {
            assert!(!matters(name), "{name}");
        }
        for name in ["snmp.Tcp.RetransSegs", "dev.eth0.rx_bytes", "machine.stat.cpu.user"] {
            assert!(matters(name), "{name}");
        }
    }

    #[test]
    fn a_counter_of_another_namespace_stands_under_it_by_its_own_name() {
        let of = |value: f64| CommandRun {
            counters: [("netns.a_b.netstat.TcpExt.ListenOverflows".to_owned(), value)].into(),
            seconds: 1.0,
            operations: None,
        };
        let quiet = vec![of(0.0); 8];
        let loud: Vec<CommandRun> = (0..8).map(|number| of(20.0 + f64::from(number))).collect();
        let found = of_commands([&quiet, &loud], None, "second");
        assert_eq!((found.len(), found[0].host.as_str()), (1, "namespace a_b"));
        assert!(found[0].metric.starts_with("netstat.TcpExt.ListenOverflows"), "{found:?}");
        assert_eq!(placed("netns.namespace-0a1b.snmp.Tcp.InSegs").0, "namespace-0a1b");
    }

    #[test]
    fn one_reading_of_another_namespace_stands_for_all_seconds_since_the_one_before() {
        let rate = |name: &str| {
            let second = |moved: bool| CommandRun {
                counters: moved.then(|| (name.to_owned(), 26.0)).into_iter().collect(),
                seconds: 1.0,
                operations: None,
            };
            let found = bursts(
                [&vec![second(false); 10], &[vec![second(false); 9], vec![second(true)]].concat()],
                "second",
            );
            found.first().map(|it| it.after)
        };
        assert_eq!(rate("netns.back.snmp.Tcp.RetransSegs"), Some(2.6));
        assert_eq!(rate("snmp.Tcp.RetransSegs"), None, "something of one second");
    }

    #[test]
    fn shares_of_errors_count_where_nothing_at_all_was_done() {
        let good = phase(&[(100, 0, None), (100, 0, None), (100, 0, None)]);
        let bad = phase(&[
            (100, 0, None),
            (0, 100, None),
            (0, 100, None),
            (0, 100, None),
            (0, 100, None),
            (0, 100, None),
        ]);
        assert_eq!(evidence_between(&good, &bad), [("errors.no_port (per connection)".to_owned(), 0.0, 1.0)]);
    }
}
