//! How far the resources of a machine were used, waited for and failed (B. Gregg, *The USE Method*, 2012), from one recording.

use std::collections::BTreeMap;

use plimsoll_assess::watched::State;
use plimsoll_explain::seen::wait_for;
use plimsoll_model::observation::{FrameKind, Profile};
use plimsoll_model::report::WaitFor;
use plimsoll_probe::busiest::{Connection, Listener};
use plimsoll_report::figure;
use serde::Serialize;

use crate::command::watch::lines::{bytes, kinds, lost, percent};
use crate::recording::{Part, Recording};

/// From this share on a resource is used up.
const USED_UP: f64 = 0.85;
/// From this share of the time on somebody waits too much.
const WAITED: f64 = 0.1;
/// From this part on a listen queue counts as full.
const FULL: f64 = 0.9;
/// Longest list, in rows.
const LONGEST_LIST: usize = 6;

/// The length of a recording, in seconds.
pub(super) fn seconds(recording: &Recording) -> f64 {
    let at = |moment: Option<&plimsoll_assess::watched::Moment>| moment.map_or(0, |it| it.counters.at_ns);
    at(recording.moments.last()).saturating_sub(at(recording.moments.first())) as f64 / 1e9
}

/// The resources, a line each: used, waited for, failed.
pub(super) fn rows(state: &State, recording: &Recording) -> Vec<String> {
    let waited = |what: &str| {
        state
            .pressure
            .get(what)
            .map_or_else(String::new, |share| format!("; some task waited {} of the time", percent(*share)))
    };
    let mut rows = Vec::new();
    if let Some(busy) = state.cpu_busy {
        let kinds = kinds(state);
        rows.push(format!("CPU       {} of {} used ({kinds}){}", percent(busy), state.cpus, waited("cpu")));
    }
    if let Some((total, available)) = state.memory_total.zip(state.memory_available) {
        let swapped = state.swapped.filter(|pages| *pages > 0.0);
        let swapped =
            swapped.map_or_else(String::new, |pages| format!("; {} pages/s swapped", figure(pages)));
        let used = percent(1.0 - available / total.max(1.0));
        rows.push(format!("memory    {used} of {} used{}{swapped}", bytes(total), waited("memory")));
    }
    for disk in &state.disks {
        let (moved, queue) = (bytes(disk.read + disk.written), figure(disk.queue));
        rows.push(format!(
            "disk      {}: {} busy, {moved}/s, {queue} requests at a time",
            disk.name,
            percent(disk.busy)
        ));
    }
    rows.extend(
        state
            .pressure
            .get("io")
            .map(|share| format!("          some task waited for a disk {} of the time", percent(*share))),
    );
    for it in &state.interfaces {
        let lost =
            if it.lost > 0.0 { format!("; {} packets/s lost", figure(it.lost)) } else { String::new() };
        rows.push(format!(
            "network   {}: {}/s in, {}/s out{lost}",
            it.name,
            bytes(it.received),
            bytes(it.sent)
        ));
    }
    rows.extend(lost(state).map(|(what, rate)| format!("          {what}: {}/s", figure(rate))));
    rows.extend(fullest(recording).map(|it| {
        let (local, place) = (&it.local, place(it.namespace.as_ref()));
        format!("listener  {local}{place}: up to {} of {} connections wait", it.waiting, it.backlog)
    }));
    let counts: Vec<String> = COUNTS
        .iter()
        .filter_map(|(name, title)| last(recording, name).map(|count| format!("{title} {}", figure(count))))
        .collect();
    if !counts.is_empty() {
        rows.push(format!("state     {}", counts.join(", ")));
    }
    rows
}

/// Sizes of state that grows unseen.
const COUNTS: [(&str, &str); 8] = [
    ("rules.nftables", "nftables rules"),
    ("rules", "routing rules"),
    ("routes", "routes"),
    ("neighbours", "neighbours"),
    ("nf_conntrack.count", "tracked connections"),
    ("tcp.established", "established"),
    ("tcp.time_wait", "TIME_WAIT"),
    ("machine.file-nr.allocated", "open files"),
];

/// A counter as it was read last.
fn last(recording: &Recording, name: &str) -> Option<f64> {
    recording.moments.iter().rev().find_map(|moment| moment.counters.values.get(name)).copied()
}

/// The listening socket whose queue was the fullest at any time.
fn fullest(recording: &Recording) -> Option<Listener> {
    let looks = recording.parts.iter().filter_map(|part| match part {
        Part::Sockets(at) => Some(&at.look.listeners),
        _ => None,
    });
    let fullest = looks.flatten().max_by(|a, b| a.fullness().total_cmp(&b.fullness()));
    fullest.filter(|it| it.waiting > 0).cloned()
}

/// Sentences about resources that are used up or waited for.
pub(super) fn limits(state: &State, recording: &Recording, seen: &Activity) -> Vec<String> {
    let waited = |what: &str| state.pressure.get(what).copied().unwrap_or(0.0);
    let mut limits = Vec::new();
    if state.cpu_busy.is_some_and(|busy| busy >= USED_UP) {
        let by = seen.on_cpu.first().map_or_else(String::new, |(program, cpus)| {
            format!(", most of all by {program} ({} of {})", figure(*cpus), state.cpus)
        });
        limits.push(format!("The CPUs are used up{by}."));
    } else if waited("cpu") >= WAITED {
        limits.push(format!(
            "Tasks wait for a CPU {} of the time, though not all are used.",
            percent(waited("cpu"))
        ));
    }
    if waited("memory") >= WAITED {
        limits.push(format!("Tasks wait for memory {} of the time.", percent(waited("memory"))));
    }
    let busy = state.disks.iter().filter(|disk| disk.busy >= USED_UP);
    limits.extend(busy.map(|disk| format!("The disk {} has requests all the time.", disk.name)));
    if waited("io") >= WAITED {
        limits.push(format!("Tasks wait for a disk {} of the time.", percent(waited("io"))));
    }
    if state.listen_overflows.is_some_and(|rate| rate > 0.0) {
        limits.push("A listening socket lost connections because its queue was full.".to_owned());
    }
    limits.extend(fullest(recording).filter(|it| it.fullness() >= FULL).map(|it| {
        let (local, place) = (&it.local, place(it.namespace.as_ref()));
        format!("The queue of {local}{place} is full: its program accepts connections too slowly.")
    }));
    if let Some((count, most)) =
        last(recording, "nf_conntrack.count").zip(last(recording, "limit.net.netfilter.nf_conntrack_max"))
        && count >= FULL * most
    {
        limits.push(format!(
            "The table of tracked connections is full: {} of {}.",
            figure(count),
            figure(most)
        ));
    }
    if state.backlog_drops.is_some_and(|rate| rate > 0.0) {
        limits.push("The kernel dropped packets because CPUs took them too slowly.".to_owned());
    }
    if limits.is_empty() && state.causes.is_empty() {
        limits.push("Nothing that was recorded is used up, waited for, or fails.".to_owned());
    }
    limits
}

/// Processes by what they did, the largest first.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Activity {
    /// Programs, in CPUs.
    on_cpu: Vec<(String, f64)>,
    /// Functions of the kernel and of programs, as shares of the busy time.
    functions: Vec<(String, f64)>,
    /// Where threads waited that are held up, in threads at a time.
    waits: Vec<(String, f64)>,
    /// Calls that failed, per second.
    failures: Vec<(String, f64)>,
    /// Flushes and ends of processes, per second.
    calls: Vec<(String, f64)>,
    /// Who used disks, in bytes per second.
    block_io: Vec<(String, f64)>,
    /// The connections that moved most at the last look.
    busiest: Vec<Connection>,
}

impl Activity {
    pub(super) fn of(recording: &Recording, profile: Option<(Profile, f64)>) -> Self {
        let busiest = recording.parts.iter().rev().find_map(|part| match part {
            Part::Sockets(at) => Some(at.look.busiest.iter().take(LONGEST_LIST).cloned().collect()),
            _ => None,
        });
        let Some((profile, seconds)) = profile else {
            return Self { busiest: busiest.unwrap_or_default(), ..Self::default() };
        };
        let profile = profile.of_the_run();
        let seen = &profile.seen;
        let a_second = |count: u64, of: f64| if of > 0.0 { count as f64 / of } else { 0.0 };
        let watched_s = seen.watched_us as f64 / 1e6;
        let cpus = |samples: u64| a_second(samples, f64::from(profile.hertz) * seconds);
        let samples = profile.samples().max(1) as f64;
        let functions = profile.functions();
        let held_up = seen.waits.iter().filter(|wait| wait_for(&wait.site) != WaitFor::Other);
        Self {
            on_cpu: most(seen.cpu_use.iter().map(|it| (it.process.clone(), cpus(it.samples)))),
            functions: most(
                functions
                    .iter()
                    .filter(|(frame, _)| matches!(frame.kind, FrameKind::Kernel | FrameKind::User))
                    .map(|(frame, found)| (frame.name.clone(), found.own as f64 / samples)),
            ),
            waits: most(
                held_up.map(|it| {
                    (format!("{}: {}", it.process, it.site.title()), a_second(it.us, seconds * 1e6))
                }),
            ),
            failures: most(seen.failures.iter().map(|it| {
                (
                    format!("{} in {} failed with {}", it.call, it.process, it.error),
                    a_second(it.count, watched_s),
                )
            })),
            calls: most(
                profile
                    .calls
                    .iter()
                    .map(|it| (format!("{} {}", it.call.title(), it.process), a_second(it.count, seconds))),
            ),
            block_io: most(seen.block_io.iter().map(|it| {
                let what = if it.writes { "writes to" } else { "reads from" };
                (format!("{} {what} {}", it.process, it.device), a_second(it.bytes, seconds))
            })),
            busiest: busiest.unwrap_or_default(),
        }
    }

    /// The lists that hold something, each with its title.
    pub(super) fn sections(&self) -> Vec<(&'static str, Vec<String>)> {
        let list = |rows: &[(String, f64)], unit: &str| -> Vec<String> {
            rows.iter().map(|(name, value)| format!("{name}: {} {unit}", figure(*value))).collect()
        };
        let shares: Vec<String> =
            self.functions.iter().map(|(name, share)| format!("{name}: {}", percent(*share))).collect();
        let disks = self
            .block_io
            .iter()
            .map(|(name, rate)| format!("{name}: {}/s", bytes(*rate)))
            .collect::<Vec<_>>();
        let sockets: Vec<String> = self.busiest.iter().map(connection).collect();
        let sections = [
            ("Who used the CPUs", list(&self.on_cpu, "CPUs")),
            ("Functions, by their share of the busy time", shares),
            ("Where threads were held up", list(&self.waits, "threads")),
            ("Failing calls", list(&self.failures, "per second")),
            ("Flushes and ends of processes", list(&self.calls, "per second")),
            ("Who used the disks", disks),
            ("Busiest connections", sockets),
        ];
        sections.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
    }
}

/// Where a socket is, in words.
fn place(namespace: Option<&String>) -> String {
    namespace.map_or_else(String::new, |name| format!(" in {name}"))
}

fn connection(it: &Connection) -> String {
    let limited = |us: u64| percent(us as f64 / it.busy_us.max(1) as f64);
    format!(
        "{} to {}{}: {} moved, round trip {} ms, window {} segments, {} sent again, limited by the receiver {} of its busy time, by the buffer {}",
        it.local,
        it.peer,
        place(it.namespace.as_ref()),
        bytes(it.moved_bytes as f64),
        figure(f64::from(it.rtt_us) / 1e3),
        it.congestion_window,
        it.retransmits,
        limited(it.window_limited_us),
        limited(it.buffer_limited_us)
    )
}

/// Sums by name, the largest first.
fn most(values: impl Iterator<Item = (String, f64)>) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (name, value) in values {
        *sums.entry(name).or_default() += value;
    }
    let mut sums: Vec<(String, f64)> = sums.into_iter().filter(|(_, value)| *value > 0.0).collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums.truncate(LONGEST_LIST);
    sums
}
