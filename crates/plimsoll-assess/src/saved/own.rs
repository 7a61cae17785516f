//! Plimsoll's own recordings and stored runs, in the form of other tools' files, so that either can stand beside these.

use std::collections::BTreeMap;

use plimsoll_import::saved::{Column, ColumnKind, Counters, Reading, Saved, Stacks, Table, Window};
use plimsoll_model::observation::{
    Arm, FrameKind, PhaseKind, PhaseRecord, Profile, ProfileBuilder, TrialRecord,
};
use plimsoll_model::plan::{Plan, cell_text};

use crate::evidence::shares::STATES;
use crate::evidence::{MACHINE, is_evident_level, is_level};
use crate::recorded::Recorded;
use crate::{aa_test, profile, sides};

/// The programs of such sides.
pub(super) const RECORDING: &str = "plimsoll record";
pub(super) const RUN: &str = "plimsoll run";
/// The most readings of a recording: a day has 86,400 moments.
const MOST_READINGS: usize = 120;
/// Counters that no other tool prints, and that say little by themselves.
const ONLY_OWN: [&str; 2] = ["processes.", "wait."];
/// A table needs as many rows.
const FEWEST_ROWS: usize = 3;

/// A recording as counters and stacks. `uptime` is the time since the machine was started at the first moment, in seconds.
pub fn of_recording(recorded: &Recorded, host: &str, uptime: Option<f64>) -> Vec<Saved> {
    let first_ns = recorded.moments.first().map_or(0, |moment| moment.counters.at_ns);
    let offset = uptime.map_or(0.0, |uptime| uptime - first_ns as f64 / 1e9);
    let stride = recorded.moments.len().div_ceil(MOST_READINGS).max(1);
    let mut known: BTreeMap<&str, f64> = BTreeMap::new();
    let mut readings = Vec::new();
    for (number, moment) in recorded.moments.iter().enumerate() {
        known.extend(moment.counters.values.iter().map(|(name, value)| (name.as_str(), *value)));
        if number % stride == 0 {
            readings.push(reading(&known, offset + moment.counters.at_ns as f64 / 1e9));
        }
    }
    let host = (!host.is_empty()).then(|| host.to_owned());
    let counters = Counters { program: RECORDING.to_owned(), host, readings, ..Counters::default() };
    let stacks = recorded.profile.as_ref().map(|(profile, seconds)| stacks(profile, *seconds));
    std::iter::once(Saved::Counters(Box::new(counters))).chain(stacks).collect()
}

fn reading(known: &BTreeMap<&str, f64>, at: f64) -> Reading {
    let mut reading = Reading { at: Some(at), ..Reading::default() };
    for (name, value) in
        known.iter().filter(|(name, _)| !ONLY_OWN.iter().any(|start| name.starts_with(start)))
    {
        if is_level(name) {
            reading.levels.insert((*name).to_owned(), vec![*value]);
        } else {
            reading.totals.insert((*name).to_owned(), *value);
        }
    }
    reading
}

/// Stacks as `perf script` has them: each begins with its process.
fn stacks(profile: &Profile, seconds: f64) -> Saved {
    let own = profile.of_the_run();
    let mut all = ProfileBuilder::new(own.arm, own.clock, own.hertz);
    for (stack, samples) in own.stacks() {
        let of_process = stack.into_iter().skip_while(|frame| matches!(frame.kind, FrameKind::Host));
        all.add(of_process, samples);
    }
    all.miss(own.lost, own.idle);
    all.see(&own.seen);
    Saved::Stacks(Box::new(Stacks { profile: all.build(), seconds }))
}

/// Which part of a run stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first measured phase of its first cell, as the side before.
    First,
    /// The last measured phase of its last cell, as the side after.
    Last,
}

impl Part {
    fn of<T>(self, mut all: impl DoubleEndedIterator<Item = T>) -> Option<T> {
        match self {
            Self::First => all.next(),
            Self::Last => all.next_back(),
        }
    }
}

/// A run as counters and stacks of the measured host, with a name for that part; `None` if nothing was measured.
pub fn of_run(plan: &Plan, trials: &[TrialRecord], part: Part) -> Option<(Vec<Saved>, String)> {
    let (_, trials) = aa_test::split(trials);
    let cell = &part.of(plan.cells.iter())?.levels;
    let of_cell: Vec<&TrialRecord> =
        trials.iter().filter(|trial| trial.cell == *cell && trial.faults.is_empty()).collect();
    let is_measured = |phase: &&PhaseRecord| phase.kind == PhaseKind::Measure && !phase.slices.is_empty();
    let name = part.of(of_cell.first()?.phases.iter().filter(is_measured))?.name.clone();
    let phases: Vec<&PhaseRecord> = of_cell
        .iter()
        .filter_map(|trial| part.of(trial.phases.iter().filter(is_measured).filter(|it| it.name == name)))
        .collect();
    let load = plan.experiment.measured_load(&name).and_then(|load| plan.experiment.loads.get(load));
    let served = sides::measured(plan, &name, None).hosts.into_iter().next();
    let host = served.or_else(|| load.map(|load| load.from.clone()))?;
    let counters = Counters {
        program: RUN.to_owned(),
        host: Some(host.clone()),
        readings: levels(&of_cell, &name, &host),
        windows: phases.iter().flat_map(|phase| windows(phase, &host)).collect(),
        ..Counters::default()
    };
    let sampled = profile::of_phases(&phases).map(|sampled| stacks(&sampled.profile, sampled.seconds));
    let cell = if cell.is_empty() { String::new() } else { format!(", {}", cell_text(cell)) };
    let saved = std::iter::once(Saved::Counters(Box::new(counters))).chain(sampled).collect();
    Some((saved, format!("phase {name}, host {host}{cell}")))
}

/// Changes of the counters of the machine and of a host in each slice.
fn windows(phase: &PhaseRecord, host: &str) -> Vec<Window> {
    let slices = phase.slices.iter().filter(|slice| slice.arm == Arm::Treatment);
    slices
        .map(|slice| {
            let counters = [MACHINE, host].into_iter().filter_map(|host| slice.counters.get(host)).flatten();
            let moved = counters.filter(|(name, _)| !is_level(name));
            Window {
                seconds: Some(slice.result.elapsed_ns as f64 / 1e9),
                values: moved.map(|(name, value)| (name.clone(), *value)).collect(),
            }
        })
        .collect()
}

/// The levels of a host when a phase began, for each trial.
fn levels(trials: &[&TrialRecord], phase: &str, host: &str) -> Vec<Reading> {
    let looks = trials.iter().flat_map(|trial| &trial.deep);
    let of_host = looks.filter(|it| it.phase == phase && it.host == host && it.arm == Arm::Treatment);
    of_host
        .map(|look| {
            let levels = look.snapshot.values.iter().filter(|(name, _)| is_evident_level(name));
            let levels = levels.map(|(name, value)| (name.clone(), vec![*value])).collect();
            Reading { levels, ..Reading::default() }
        })
        .collect()
}

/// Whether a side is of Plimsoll's own, which reads everything that it has a name for.
pub(super) fn is_own(side: &[Saved]) -> bool {
    side.iter().any(|saved| [RECORDING, RUN].contains(&saved.program()))
}

/// The columns of a table that counters hold as well, interval by interval.
pub(super) fn table(wanted: &Table, counters: &Counters) -> Option<Table> {
    let intervals = intervals(counters);
    let column = |column: &Column| {
        let values: Option<Vec<f64>> = intervals.iter().map(|interval| interval.column(column)).collect();
        values.map(|values| Column { values, ..column.clone() })
    };
    let columns: Vec<Column> = wanted.columns.iter().filter_map(column).collect();
    (intervals.len() >= FEWEST_ROWS && !columns.is_empty())
        .then_some(Table { program: wanted.program, columns })
}

/// Changes in a stretch of time, and the levels at its end.
struct Interval<'c> {
    seconds: f64,
    moved: BTreeMap<&'c str, f64>,
    levels: Option<&'c BTreeMap<String, Vec<f64>>>,
}

fn intervals(counters: &Counters) -> Vec<Interval<'_>> {
    let between = counters.readings.windows(2).filter_map(|pair| {
        let seconds = pair[1].at? - pair[0].at?;
        let moved = pair[1]
            .totals
            .iter()
            .filter_map(|(name, now)| Some((name.as_str(), now - pair[0].totals.get(name)?)));
        (seconds > 0.0).then(|| Interval { seconds, moved: moved.collect(), levels: Some(&pair[1].levels) })
    });
    let given = counters.windows.iter().filter_map(|window| {
        let moved = window.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Some(Interval { seconds: window.seconds?, moved, levels: None })
    });
    between.chain(given).collect()
}

/// Columns of vmstat and sar that count events per second: the counter, and its unit.
const RATES: [(&str, &str, f64); 20] = [
    ("si", "machine.vmstat.pswpin", 4.0),
    ("so", "machine.vmstat.pswpout", 4.0),
    ("bi", "machine.vmstat.pgpgin", 1.0),
    ("bo", "machine.vmstat.pgpgout", 1.0),
    ("in", "machine.stat.intr", 1.0),
    ("cs", "machine.stat.ctxt", 1.0),
    ("intr/s", "machine.stat.intr", 1.0),
    ("cswch/s", "machine.stat.ctxt", 1.0),
    ("proc/s", "machine.stat.processes", 1.0),
    ("pswpin/s", "machine.vmstat.pswpin", 1.0),
    ("pswpout/s", "machine.vmstat.pswpout", 1.0),
    ("pgpgin/s", "machine.vmstat.pgpgin", 1.0),
    ("pgpgout/s", "machine.vmstat.pgpgout", 1.0),
    ("fault/s", "machine.vmstat.pgfault", 1.0),
    ("majflt/s", "machine.vmstat.pgmajfault", 1.0),
    ("active/s", "snmp.Tcp.ActiveOpens", 1.0),
    ("passive/s", "snmp.Tcp.PassiveOpens", 1.0),
    ("iseg/s", "snmp.Tcp.InSegs", 1.0),
    ("oseg/s", "snmp.Tcp.OutSegs", 1.0),
    ("retrans/s", "snmp.Tcp.RetransSegs", 1.0),
];
/// Columns that are parts of the CPUs' time, and what they add up: vmstat(8), sar(1).
const PARTS: [(&str, &[&str]); 14] = [
    ("us", &["user", "nice"]),
    ("sy", &["system", "irq", "softirq"]),
    ("id", &["idle"]),
    ("wa", &["iowait"]),
    ("st", &["steal"]),
    ("%user", &["user"]),
    ("%usr", &["user"]),
    ("%nice", &["nice"]),
    ("%system", &["system", "irq", "softirq"]),
    ("%sys", &["system"]),
    ("%iowait", &["iowait"]),
    ("%steal", &["steal"]),
    ("%soft", &["softirq"]),
    ("%idle", &["idle"]),
];

impl Interval<'_> {
    fn column(&self, column: &Column) -> Option<f64> {
        let name = column.name.as_str();
        if let Some((_, states)) = PARTS.iter().find(|(known, _)| *known == name) {
            let state = |state: &&str| self.moved.get(format!("machine.stat.cpu.{state}").as_str());
            let of = |states: &[&str]| states.iter().filter_map(state).sum::<f64>();
            let all = of(&STATES);
            return (all > 0.0).then(|| 100.0 * of(states) / all);
        }
        if column.kind == ColumnKind::Level {
            let level = |name: &str| self.levels?.get(name)?.first().copied();
            return match name {
                // The reading process runs as well, and vmstat leaves itself out.
                "r" => level("machine.stat.procs_running").map(|tasks| (tasks - 1.0).max(0.0)),
                "b" => level("machine.stat.procs_blocked"),
                _ => None,
            };
        }
        let (_, counter, unit) = RATES.iter().find(|(known, ..)| *known == name)?;
        Some(self.moved.get(counter)? * unit / self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_import::saved::read;
    use plimsoll_model::cause::CauseId;
    use plimsoll_model::observation::{Frame, ProfileClock, Snapshot};

    use super::super::explain;
    use super::*;
    use crate::watched::Moment;

    /// Thirty seconds of a host with two CPUs: full listen queues, the share of time in the kernel, context switches.
    fn recording(overflows: f64, system: f64, switches: f64) -> Recorded {
        let moment = |second: u64| {
            let count = |rate: f64| rate * second as f64;
            let values = [
                ("netstat.TcpExt.ListenOverflows", count(overflows)),
                ("netstat.TcpExt.TCPTimeouts", count(overflows)),
                ("snmp.Tcp.PassiveOpens", count(100.0)),
                ("machine.stat.cpu.user", count(0.2e6)),
                ("machine.stat.cpu.system", count(2e6 * system)),
                ("machine.stat.cpu.idle", count(2e6 * (0.9 - system))),
                ("machine.stat.cpu0.user", count(0.2e6)),
                ("machine.stat.cpu1.user", 0.0),
                ("machine.stat.ctxt", count(switches)),
                ("machine.stat.procs_running", 3.0),
                ("rules", 7.0),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            let counters = Snapshot { at_ns: second * 1_000_000_000, values };
            Moment { at_unix_ms: second * 1000, counters, processes: None }
        };
        Recorded { moments: (1..=30).map(moment).collect(), ..Recorded::default() }
    }

    #[test]
    fn a_recording_and_the_text_of_a_command_are_compared_by_what_both_have() {
        let text = "#kernel\nTcpPassiveOpens 9000 0.0\nTcpInSegs 90000 0.0\n";
        let healthy = read(text, "").unwrap();
        let sick = of_recording(&recording(40.0, 0.1, 500.0), "web1", Some(90.0));
        let found = explain(&healthy, &sick, None).unwrap();
        assert_eq!(found.explained.causes[0].id, CauseId::NetListenOverflow, "{:?}", found.explained);
        let overflows = &found.explained.causes[0].evidence[0];
        // Forty a second, and a hundred connections.
        assert!((overflows.after - 0.4).abs() < 1e-9, "{overflows:?}");
        assert!(found.explained.evidence.iter().any(|it| it.host == "web1"));
        let not_compared = found.notes.iter().find(|note| note.starts_with("Not compared"));
        assert_eq!(not_compared.unwrap(), "Not compared: only after has machine.stat, rules.");
    }

    #[test]
    fn a_recording_stands_beside_the_table_that_vmstat_printed_in_the_same_columns() {
        let line = |cs: u32| format!(" 3  0      0 100 100 100    0   0    0    0 100 {cs} 10 20 70  0  0\n");
        let lines: String = [900, 7000, 7100, 7050, 7010].into_iter().map(line).collect();
        let text = format!(
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n{lines}"
        );
        let table = read(&text, "").unwrap();
        let sick = of_recording(&recording(0.0, 0.8, 500.0), "", None);
        let found = explain(&table, &sick, None).unwrap();
        let of = |name: &str| found.explained.evidence.iter().find(|it| it.metric.starts_with(name)).unwrap();
        let (switches, system) = (of("cs "), of("sy "));
        assert!((switches.before - 7030.0).abs() < 50.0 && (switches.after - 500.0).abs() < 1e-9);
        assert!((system.before - 20.0).abs() < 1e-9 && (system.after - 80.0).abs() < 1e-9);
        assert_eq!(found.explained.causes[0].id, CauseId::CpuKernelSaturated);
        assert!(explain(&table, &read("Linux version 6.1\n", "dmesg").unwrap_or_default(), None).is_none());
    }

    #[test]
    fn a_long_recording_is_thinned_and_its_stacks_begin_with_a_process() {
        let mut long = recording(1.0, 0.1, 1.0);
        let last = long.moments.clone();
        long.moments.extend(last.iter().cycle().take(10_000).cloned());
        let frames = [FrameKind::Host, FrameKind::Process, FrameKind::Kernel];
        let frames: Vec<Frame> = frames
            .into_iter()
            .zip(["here", "nginx", "tcp_ack"])
            .map(|(kind, name)| Frame::new(kind, name))
            .collect();
        let mut profile = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 49);
        profile.add(&frames, 5);
        long.profile = Some((profile.build(), 30.0));
        let saved = of_recording(&long, "", None);
        let [Saved::Counters(counters), Saved::Stacks(stacks)] = saved.as_slice() else {
            panic!("{saved:?}")
        };
        assert!(counters.readings.len() <= MOST_READINGS && counters.readings.len() > MOST_READINGS / 2);
        let (stack, samples) = stacks.profile.stacks().next().unwrap();
        assert_eq!((stack[0].name.as_str(), stack.len(), samples), ("nginx", 2, 5));
    }
}
