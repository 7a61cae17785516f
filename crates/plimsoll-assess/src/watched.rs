//! A host right now: its counters second by second, and the causes that they point to.
//!
//! The last seconds are compared with the quietest that were seen so far, in the way in which two commands are compared that were run in turns.
//! Where nothing quiet was seen yet, which is so when the trouble came first, only counters speak that stand still on a host in good order: they
//! are compared with none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use plimsoll_explain::causes::{CpuTime, Known, SavedCpu, named};
use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_model::cause::Cause;
use plimsoll_model::observation::Snapshot;
use plimsoll_model::report::Evidence;
use serde::{Deserialize, Serialize};

use super::evidence::{CommandRun, bursts, of_commands, shares_of_commands};

/// Length of "right now", in seconds.
const NOW: usize = 10;
/// Number of seconds kept, from which quiet ones are selected.
const KEPT: usize = 600;
/// Number of quiet seconds that make a reference.
const REFERENCE: std::ops::RangeInclusive<usize> = 10..=30;
/// Without a reference a counter speaks when it moves this often in a second.
const LOUD: f64 = 1.0;
/// A second is quiet if the CPUs are less busy than the first share, and tasks wait for less than the second.
const QUIET: (f64, f64) = (0.5, 0.05);
/// Divisor of counters, in words.
pub(super) const PER: &str = "second";
/// The most processes, devices and causes that are listed.
const SHOWN: usize = 5;
/// How long a verdict stays that the last looks no longer give: one that changes each second cannot be read.
const HELD_NS: u64 = 5_000_000_000;

/// One reading of the counters: a line of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// The counters; those that did not move since the moment before may be left out.
    pub counters: Snapshot,
    /// CPU users since the last look; absent without a look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<ProcessUse>>,
}

/// A process that used the CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// How many CPUs it kept busy.
    pub cpus: f64,
}

/// State of a host. Absent fields are not counted on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct State {
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Shares of the CPUs' time by kind, without `idle`: `user`, `system`, `softirq` ...
    pub cpu: BTreeMap<&'static str, f64>,
    /// The share of the CPUs' time that was used or stolen.
    pub cpu_busy: Option<f64>,
    /// How many CPUs there are.
    pub cpus: usize,
    /// Tasks that run or wait for a CPU.
    pub runnable: Option<f64>,
    /// Tasks that wait for a disk.
    pub blocked: Option<f64>,
    /// The share of the time in which some task waited for `cpu`, `memory` or `io` (PSI).
    pub pressure: BTreeMap<&'static str, f64>,
    /// Bytes of memory.
    pub memory_total: Option<f64>,
    /// Bytes that can be had without swapping.
    pub memory_available: Option<f64>,
    /// Pages written to swap and read from it, per second.
    pub swapped: Option<f64>,
    /// Block devices, the busiest first.
    pub disks: Vec<Disk>,
    /// Network interfaces, the busiest first.
    pub interfaces: Vec<Interface>,
    /// TCP segments sent again, per second.
    pub retransmits: Option<f64>,
    /// Connections that found a full listen queue, per second.
    pub listen_overflows: Option<f64>,
    /// Packets that the kernel dropped before a protocol saw them, per second.
    pub backlog_drops: Option<f64>,
    /// CPU time of a control group, and the share of the time in which it was throttled.
    pub group: Option<Group>,
    /// CPU time of a process that is followed, with its children.
    pub followed: Option<Followed>,
    /// CPU users, most first.
    pub processes: Vec<ProcessUse>,
    /// CPU time of all of them, with the kernel and processes that were gone before a look.
    pub used: Option<Used>,
    /// How many quiet seconds the last ones are compared with; 0 where there were not enough.
    pub quiet_seconds: usize,
    /// Causes that it points to, the likeliest first.
    pub causes: Vec<Cause>,
    /// For how many seconds the counters have pointed elsewhere; `causes` changes after five.
    pub causes_seconds_old: f64,
}

/// CPU time used between the two looks that `processes` rests on; stolen time is in neither.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Used {
    /// CPUs that were busy.
    pub cpus: f64,
    /// How long ago the first of the two looks was at the second.
    pub seconds: f64,
}

/// A block device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disk {
    /// Its name.
    pub name: String,
    /// The share of the time in which it had requests.
    pub busy: f64,
    /// How many requests waited or were carried out, on average.
    pub queue: f64,
    /// Bytes read per second.
    pub read: f64,
    /// Bytes written per second.
    pub written: f64,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Bytes received per second.
    pub received: f64,
    /// Bytes sent per second.
    pub sent: f64,
    /// Packets dropped or damaged per second, both ways.
    pub lost: f64,
}

/// CPU time of a control group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// CPUs that it kept busy.
    pub cpus: f64,
    /// The share of the time in which its quota held it back.
    pub throttled: f64,
    /// Bytes of memory that it has.
    pub memory: Option<f64>,
    /// Bytes per second that it read from block devices.
    pub read: Option<f64>,
    /// Bytes per second that it wrote to them.
    pub written: Option<f64>,
}

/// CPU time of a process and its children.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Followed {
    /// CPUs that they kept busy.
    pub cpus: f64,
    /// Bytes of memory that they hold; what they share counts for each.
    pub memory: f64,
    /// How many they are.
    pub processes: f64,
}

/// A second, or what was one.
struct Second {
    run: CommandRun,
    cpu: [f64; 3],
    hardship: f64,
    quiet: bool,
}

/// Remembers what was read of a host.
#[derive(Default)]
pub struct Watched {
    values: BTreeMap<String, f64>,
    at_ns: Option<u64>,
    seconds: VecDeque<Second>,
    processes: Vec<ProcessUse>,
    used: Option<Used>,
    /// When processes were last looked at, and the CPU time used until then, in microseconds.
    processes_at: Option<(u64, f64)>,
    held: HeldVerdict,
}

/// Verdict on the screen. It stays for some seconds after the counters point elsewhere.
#[derive(Clone, Default)]
struct HeldVerdict {
    found_at_ns: u64,
    quiet_seconds: usize,
    causes: Vec<Cause>,
}

impl HeldVerdict {
    /// Takes in the causes of a look, and returns the age of the shown verdict in seconds.
    fn take(&mut self, at_ns: u64, (quiet_seconds, causes): (usize, Vec<Cause>)) -> f64 {
        let same = causes.iter().map(|it| it.id).eq(self.causes.iter().map(|it| it.id));
        let age_ns = at_ns.saturating_sub(self.found_at_ns);
        if !same && !self.causes.is_empty() && age_ns <= HELD_NS {
            return age_ns as f64 / 1e9;
        }
        *self = Self { found_at_ns: at_ns, quiet_seconds, causes };
        0.0
    }
}

/// The name under which a moment has the CPU time of a process and its children, in microseconds.
pub const TREE_CPU: &str = "tree.cpu_us";
/// Counter of their memory, in bytes.
pub const TREE_MEMORY: &str = "tree.rss_bytes";
/// Counter of their number.
pub const TREE_PROCESSES: &str = "tree.processes";

const KINDS: [&str; 8] = ["user", "nice", "system", "irq", "softirq", "steal", "iowait", "idle"];

impl Watched {
    /// Takes a reading and returns the state of the host; `None` for the first reading, which has no predecessor.
    pub fn take(&mut self, moment: &Moment) -> Option<State> {
        let (mut state, changes, seconds) = self.learn(moment)?;
        let second =
            LastSecond { values: &self.values, changes: &changes, seconds }.second(&state, changes.clone());
        if self.seconds.len() == KEPT {
            self.seconds.pop_front();
        }
        self.seconds.push_back(second);
        state.causes_seconds_old = self.held.take(moment.counters.at_ns, self.causes());
        let HeldVerdict { quiet_seconds, causes, .. } = self.held.clone();
        (state.quiet_seconds, state.causes) = (quiet_seconds, causes);
        Some(state)
    }

    /// A second of a recording.
    fn second(&mut self, moment: &Moment) -> Option<Second> {
        let (state, changes, seconds) = self.learn(moment)?;
        Some(LastSecond { values: &self.values, changes: &changes, seconds }.second(&state, changes.clone()))
    }

    /// The state without its causes, which cost most of the work.
    pub fn state(&mut self, moment: &Moment) -> Option<State> {
        self.learn(moment).map(|(state, ..)| state)
    }

    /// The counters as they were read last, by name.
    pub fn counters(&self) -> &BTreeMap<String, f64> {
        &self.values
    }

    /// How the host is, by how much each counter moved, and in how many seconds.
    fn learn(&mut self, moment: &Moment) -> Option<(State, BTreeMap<String, f64>, f64)> {
        let before = self.values.clone();
        self.values.extend(moment.counters.values.iter().map(|(name, value)| (name.clone(), *value)));
        let at_ns = moment.counters.at_ns;
        self.learn_processes(moment);
        let since = self.at_ns.replace(at_ns)?;
        let seconds = at_ns.saturating_sub(since) as f64 / 1e9;
        if seconds <= 0.0 {
            return None;
        }
        let mut changes = BTreeMap::new();
        for (name, now) in &self.values {
            let Some(then) = before.get(name).filter(|then| *then != now) else { continue };
            changes.insert(name.clone(), now - then);
        }
        let now = LastSecond { values: &self.values, changes: &changes, seconds };
        let mut state = now.state();
        state.at_unix_ms = moment.at_unix_ms;
        state.processes = self.processes.iter().take(SHOWN).cloned().collect();
        state.used = self.used;
        Some((state, changes, seconds))
    }

    /// Takes the CPU use by process since the last look at processes, and the total.
    fn learn_processes(&mut self, moment: &Moment) {
        let kinds = KINDS.iter().filter(|kind| !["idle", "iowait", "steal"].contains(*kind));
        let all = || kinds.filter_map(|kind| self.values.get(&format!("machine.stat.cpu.{kind}"))).sum();
        // Of a process that is followed, only its children are listed.
        let used_us = self.values.get(TREE_CPU).copied().unwrap_or_else(all);
        let at_ns = moment.counters.at_ns;
        let Some((since, before)) = self.processes_at else {
            self.processes_at = Some((at_ns, used_us));
            return;
        };
        let Some(processes) = &moment.processes else { return };
        let seconds = at_ns.saturating_sub(since) as f64 / 1e9;
        self.processes.clone_from(processes);
        self.used = (seconds > 0.0).then(|| Used { cpus: (used_us - before) / 1e6 / seconds, seconds });
        self.processes_at = Some((at_ns, used_us));
    }

    /// How many quiet seconds there are to compare with, and what the last ones point to.
    fn causes(&self) -> (usize, Vec<Cause>) {
        let first = self.seconds.len().saturating_sub(NOW);
        if self.seconds.len() < NOW / 2 {
            return (0, Vec::new());
        }
        let now: Vec<&Second> = self.seconds.iter().skip(first).collect();
        let mut quiet: Vec<&Second> = self.seconds.iter().take(first).filter(|second| second.quiet).collect();
        quiet.sort_by(|a, b| a.hardship.total_cmp(&b.hardship));
        quiet.truncate(*REFERENCE.end());
        if quiet.len() < *REFERENCE.start() {
            quiet.clear();
        }
        (quiet.len(), causes_of(&quiet, &now))
    }
}

/// Counters that set seconds apart from quiet ones; without quiet ones, those that should stand still and move.
fn causes_of(quiet: &[&Second], now: &[&Second]) -> Vec<Cause> {
    let (mut before, mut after) = (runs(quiet), runs(now));
    if quiet.is_empty() {
        only_loud(&mut after);
        before = vec![CommandRun { seconds: 1.0, ..CommandRun::default() }; after.len()];
    }
    let mut evidence = of_commands([&before, &after], None, PER);
    let (saved, of_cpus) = cpu_time(quiet, now);
    evidence.extend(of_cpus);
    let known = Known { evidence: &evidence, saved: vec![saved], ..Known::default() };
    let mut causes = named(&known);
    causes.truncate(SHOWN);
    causes
}

fn runs(seconds: &[&Second]) -> Vec<CommandRun> {
    seconds.iter().map(|it| it.run.clone()).collect()
}

/// How a host was from the first of these moments to the last, and what it points to without anything to compare it with; nothing of fewer than two.
pub fn alone(moments: &[Moment]) -> Option<State> {
    let mut watched = Watched::default();
    let mut seconds = Vec::new();
    let mut last = Moment::default();
    for moment in moments {
        seconds.extend(watched.second(moment));
        last.at_unix_ms = moment.at_unix_ms;
        last.counters.at_ns = moment.counters.at_ns;
        last.processes = moment.processes.clone().or(last.processes);
    }
    last.counters.values = watched.values;
    let mut whole = Watched::default();
    whole.state(moments.first()?);
    let mut state = whole.state(&last)?;
    state.causes = causes_of(&[], &seconds.iter().collect::<Vec<_>>());
    Some(state)
}

/// Changes between two recordings of a host, second by second, and where its CPUs' time went.
pub(super) fn moved(before: &[Moment], after: &[Moment]) -> (Vec<Evidence>, SavedCpu) {
    let seconds = |moments: &[Moment]| -> Vec<Second> {
        let mut watched = Watched::default();
        moments.iter().filter_map(|moment| watched.second(moment)).collect()
    };
    let (before, after) = (seconds(before), seconds(after));
    let (before, after): (Vec<&Second>, Vec<&Second>) = (before.iter().collect(), after.iter().collect());
    let [was, is] = [runs(&before), runs(&after)];
    let mut evidence = of_commands([&was, &is], None, PER);
    let (saved, of_cpus) = cpu_time(&before, &after);
    evidence.extend(of_cpus);
    evidence.extend(shares_of_commands([&was, &is]));
    let known: BTreeSet<String> = evidence.iter().map(|it| it.metric.clone()).collect();
    evidence.extend(bursts([&was, &is], PER).into_iter().filter(|it| !known.contains(&it.metric)));
    (evidence, saved)
}

/// Leaves what moves often enough to speak without anything to compare it with.
fn only_loud(runs: &mut [CommandRun]) {
    let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (name, change) in runs.iter().flat_map(|run| &run.counters) {
        *sums.entry(name.clone()).or_default() += change;
    }
    for run in runs {
        run.counters.retain(|name, _| sums.get(name).is_some_and(|sum| *sum >= LOUD * seconds));
    }
}

/// Where the CPUs' time went, as saved tables have it.
fn cpu_time(quiet: &[&Second], now: &[&Second]) -> (SavedCpu, Vec<Evidence>) {
    let of = |seconds: &[&Second], kind: usize| -> Vec<f64> {
        seconds.iter().map(|it| 100.0 * it.cpu[kind]).collect()
    };
    let mean = |values: &[f64]| {
        if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
    };
    let time = |seconds: &[&Second]| CpuTime {
        user: mean(&of(seconds, 0)),
        system: mean(&of(seconds, 1)),
        idle: mean(&of(seconds, 2)),
    };
    let figure = |name: &str, kind| Figure {
        host: "machine".into(),
        metric: format!("{name} (of all CPUs' time)"),
        unit: "%".into(),
        before: if quiet.is_empty() { vec![0.0; now.len()] } else { of(quiet, kind) },
        after: of(now, kind),
        ..Figure::default()
    };
    let saved = SavedCpu { before: time(quiet), after: time(now), rates: None };
    (saved, rank(&[figure("us", 0), figure("sy", 1)], usize::MAX))
}

/// Values and changes of the last second.
struct LastSecond<'a> {
    values: &'a BTreeMap<String, f64>,
    changes: &'a BTreeMap<String, f64>,
    seconds: f64,
}

impl LastSecond<'_> {
    /// Change of a counter in a second; `None` if there is no such counter.
    fn rate(&self, name: &str) -> Option<f64> {
        let moved = || self.changes.get(name).copied().unwrap_or(0.0).max(0.0);
        self.values.contains_key(name).then(|| moved() / self.seconds)
    }

    fn level(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// The share of the time in which the quota of a group held it back: in microseconds, or in nanoseconds of version 1.
    fn throttled(&self) -> f64 {
        let of = |name: &str, a_second: f64| self.rate(name).map(|moved| moved / a_second);
        of("cgroup.cpu.throttled_usec", 1e6).or_else(|| of("cgroup.cpu.throttled_time", 1e9)).unwrap_or(0.0)
    }

    fn followed(&self) -> Option<Followed> {
        Some(Followed {
            cpus: self.rate(TREE_CPU)? / 1e6,
            memory: self.level(TREE_MEMORY)?,
            processes: self.level(TREE_PROCESSES)?,
        })
    }

    /// The names between a start and an end: of devices, interfaces.
    fn between(&self, start: &'static str, end: &'static str) -> impl Iterator<Item = &str> {
        let all = self.values.range(start.to_owned()..).take_while(move |(name, _)| name.starts_with(start));
        all.filter_map(move |(name, _)| name.strip_prefix(start)?.strip_suffix(end))
    }

    fn state(&self) -> State {
        let times = KINDS.map(|kind| self.rate(&format!("machine.stat.cpu.{kind}")));
        let all: f64 = times.iter().flatten().sum();
        let shares = KINDS.into_iter().zip(times);
        let cpu: BTreeMap<&str, f64> = shares
            .filter_map(|(kind, time)| Some((kind, time? / all.max(1.0))))
            .filter(|it| it.0 != "idle")
            .collect();
        let busy = cpu.iter().filter(|(kind, _)| **kind != "iowait").map(|(_, share)| share).sum();
        let pressure = ["cpu", "memory", "io"]
            .into_iter()
            .filter_map(|what| Some((what, self.rate(&format!("machine.pressure.{what}.some"))? / 1e6)));
        State {
            cpu_busy: (all > 0.0).then_some(busy),
            cpus: self.between("machine.stat.cpu", ".user").filter(|cpu| !cpu.is_empty()).count(),
            cpu,
            runnable: self.level("machine.stat.procs_running"),
            blocked: self.level("machine.stat.procs_blocked"),
            pressure: pressure.collect(),
            memory_total: self.level("machine.meminfo.MemTotal"),
            memory_available: self.level("machine.meminfo.MemAvailable"),
            swapped: self
                .rate("machine.vmstat.pswpin")
                .zip(self.rate("machine.vmstat.pswpout"))
                .map(|(i, o)| i + o),
            disks: self.disks(),
            interfaces: self.interfaces(),
            retransmits: self.rate("snmp.Tcp.RetransSegs"),
            listen_overflows: self.rate("netstat.TcpExt.ListenOverflows"),
            backlog_drops: self.rate("machine.softnet.dropped"),
            group: self.rate("cgroup.cpu.usage_usec").map(|used| Group {
                cpus: used / 1e6,
                throttled: self.throttled(),
                memory: self.level("cgroup.memory.current"),
                read: self.rate("cgroup.io.read_bytes"),
                written: self.rate("cgroup.io.written_bytes"),
            }),
            followed: self.followed(),
            ..State::default()
        }
    }

    fn disks(&self) -> Vec<Disk> {
        let of =
            |name: &str, field: &str| self.rate(&format!("machine.diskstats.{name}.{field}")).unwrap_or(0.0);
        let disks = self.between("machine.diskstats.", ".busy").map(|name| Disk {
            name: name.to_owned(),
            busy: of(name, "busy") / 1e6,
            queue: of(name, "queue_time") / 1e6,
            read: of(name, "read_bytes"),
            written: of(name, "written_bytes"),
        });
        let mut disks: Vec<Disk> =
            disks.filter(|disk| disk.busy > 0.0 || disk.read + disk.written > 0.0).collect();
        disks.sort_by(|a, b| b.busy.total_cmp(&a.busy));
        disks.truncate(SHOWN);
        disks
    }

    fn interfaces(&self) -> Vec<Interface> {
        let of = |name: &str, field: &str| self.rate(&format!("dev.{name}.{field}")).unwrap_or(0.0);
        let interfaces = self.between("dev.", ".rx_bytes").map(|name| Interface {
            name: name.to_owned(),
            received: of(name, "rx_bytes"),
            sent: of(name, "tx_bytes"),
            lost: ["rx_dropped", "tx_dropped", "rx_errors", "tx_errors"].iter().map(|it| of(name, it)).sum(),
        });
        let mut interfaces: Vec<Interface> =
            interfaces.filter(|it| it.received + it.sent + it.lost > 0.0).collect();
        interfaces.sort_by(|a, b| (b.received + b.sent).total_cmp(&(a.received + a.sent)));
        interfaces.truncate(SHOWN);
        interfaces
    }

    fn second(&self, state: &State, counters: BTreeMap<String, f64>) -> Second {
        let of = |kinds: &[&str]| kinds.iter().filter_map(|kind| state.cpu.get(kind)).sum::<f64>();
        let (user, system) = (of(&["user", "nice"]), of(&["system", "irq", "softirq", "steal"]));
        let waits = state.pressure.values().copied().fold(0.0, f64::max);
        let busy = state.cpu_busy.unwrap_or(0.0);
        Second {
            run: CommandRun { counters, seconds: self.seconds, operations: None },
            cpu: [user, system, (1.0 - user - system).max(0.0)],
            hardship: busy + waits,
            quiet: busy < QUIET.0 && waits < QUIET.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;

    use super::*;

    /// A host with two CPUs whose counters move by so much in each second.
    struct Host {
        watched: Watched,
        values: BTreeMap<String, f64>,
        second: u64,
    }

    impl Host {
        fn new() -> Self {
            Self { watched: Watched::default(), values: BTreeMap::new(), second: 0 }
        }

        fn goes_on(&mut self, seconds: u64, rates: &[(&str, f64)]) -> State {
            let mut last = None;
            for _ in 0..seconds {
                self.second += 1;
                for (name, rate) in rates {
                    *self.values.entry((*name).to_owned()).or_default() += rate;
                }
                let at_ns = self.second * 1_000_000_000;
                let counters = Snapshot { at_ns, values: self.values.clone() };
                let moment = Moment { at_unix_ms: self.second * 1000, counters, processes: None };
                last = self.watched.take(&moment).or(last);
            }
            last.expect("a state")
        }
    }

    const IDLE: [(&str, f64); 4] = [
        ("machine.stat.cpu.user", 1e5),
        ("machine.stat.cpu.system", 1e5),
        ("machine.stat.cpu.idle", 1.8e6),
        ("netstat.TcpExt.ListenOverflows", 0.0),
    ];
    const OVERFLOWING: [(&str, f64); 5] = [
        ("machine.stat.cpu.user", 2e5),
        ("machine.stat.cpu.system", 2e5),
        ("machine.stat.cpu.idle", 1.6e6),
        ("netstat.TcpExt.ListenOverflows", 40.0),
        ("netstat.TcpExt.TCPSynRetrans", 30.0),
    ];

    fn ids(state: &State) -> Vec<CauseId> {
        state.causes.iter().map(|cause| cause.id).collect()
    }

    #[test]
    fn a_listen_queue_that_overflows_is_named_against_the_quiet_time_before_and_gone_when_it_is_over() {
        let mut host = Host::new();
        let state = host.goes_on(30, &IDLE);
        assert!(state.causes.is_empty(), "{:?}", state.causes);
        assert!((state.cpu_busy.unwrap() - 0.1).abs() < 1e-9);
        let state = host.goes_on(11, &OVERFLOWING);
        assert_eq!((ids(&state), state.quiet_seconds), (vec![CauseId::NetListenOverflow], 30));
        assert_eq!(state.listen_overflows, Some(40.0));
        let state = host.goes_on(6, &IDLE);
        assert_eq!(ids(&state), [CauseId::NetListenOverflow], "a verdict stays for some seconds");
        assert!((1.0..=5.0).contains(&state.causes_seconds_old), "{}", state.causes_seconds_old);
        let state = host.goes_on(5, &IDLE);
        assert!(state.causes.is_empty(), "{:?}", state.causes);
        assert_eq!(state.causes_seconds_old, 0.0);
    }

    #[test]
    fn trouble_that_was_there_first_is_named_without_anything_to_compare_it_with() {
        let mut host = Host::new();
        let busy = [
            ("machine.stat.cpu.user", 1.9e6),
            ("machine.stat.cpu.system", 0.1e6),
            ("machine.stat.cpu.idle", 0.0),
            ("netstat.TcpExt.TCPTimeouts", 0.2),
        ];
        let state = host.goes_on(12, &busy);
        assert_eq!((ids(&state), state.quiet_seconds), (vec![CauseId::CpuUserSaturated], 0));
        assert!(host.goes_on(3, &OVERFLOWING).quiet_seconds == 0);
    }

    #[test]
    fn processes_stand_beside_what_was_used_of_the_cpus_since_they_were_last_looked_at() {
        let mut watched = Watched::default();
        let mut look = |second: u64, processes: Option<Vec<ProcessUse>>| {
            // Half a CPU of user time, a quarter of softirq, and as much is stolen.
            let rates = [("user", 5e5), ("softirq", 2.5e5), ("steal", 2.5e5), ("idle", 1e6)];
            let values =
                rates.map(|(kind, rate)| (format!("machine.stat.cpu.{kind}"), rate * second as f64)).into();
            let counters = Snapshot { at_ns: second * 1_000_000_000, values };
            watched.take(&Moment { at_unix_ms: second * 1000, counters, processes })
        };
        let worker = vec![ProcessUse { pid: 7, name: "rustc".into(), cpus: 0.5 }];
        assert!(look(1, None).is_none());
        assert_eq!(look(2, None).unwrap().used, None);
        let expected = Some(Used { cpus: 0.75, seconds: 4.0 });
        assert_eq!(look(5, Some(worker.clone())).unwrap().used, expected);
        let later = look(6, None).unwrap();
        assert_eq!((later.used, later.processes), (expected, worker));
    }

    #[test]
    fn devices_and_groups_are_reported_in_their_units() {
        let state = Host::new().goes_on(
            3,
            &[
                ("machine.diskstats.sda.busy", 5e5),
                ("machine.diskstats.sda.queue_time", 2e6),
                ("machine.diskstats.sda.written_bytes", 4096.0),
                ("dev.eth0.rx_bytes", 1000.0),
                ("dev.eth0.tx_bytes", 0.0),
                ("cgroup.cpu.usage_usec", 1.5e6),
                ("cgroup.cpu.throttled_usec", 2.5e5),
                ("machine.stat.cpu0.user", 1.0),
                ("machine.stat.cpu1.user", 1.0),
            ],
        );
        let disk = &state.disks[0];
        assert_eq!((disk.name.as_str(), disk.busy, disk.queue, disk.written), ("sda", 0.5, 2.0, 4096.0));
        assert_eq!((state.interfaces[0].received, state.cpus), (1000.0, 2));
        assert_eq!(
            state.group,
            Some(Group { cpus: 1.5, throttled: 0.25, memory: None, read: None, written: None })
        );
        assert_eq!(state.cpu_busy, None, "what is not counted is absent");
    }
}
