//! The figures of vmstat(8) in each phase, from the counters that were sampled.

use std::collections::BTreeMap;

use plimsoll_model::observation::{PhaseRecord, Sample, TrialRecord};
use plimsoll_model::report::VmstatReport;

const RUNNING: &str = "machine.stat.procs_running";
const BLOCKED: &str = "machine.stat.procs_blocked";
const FREE: &str = "machine.meminfo.MemFree";
const INTERRUPTS: &str = "machine.stat.intr";
const SWITCHES: &str = "machine.stat.ctxt";
/// Fields of the first line of `/proc/stat`. Time of guests is in user time already, and not counted twice (proc_stat(5)).
const STATES: [&str; 8] = [
    "machine.stat.cpu.user",
    "machine.stat.cpu.nice",
    "machine.stat.cpu.system",
    "machine.stat.cpu.irq",
    "machine.stat.cpu.softirq",
    "machine.stat.cpu.idle",
    "machine.stat.cpu.iowait",
    "machine.stat.cpu.steal",
];

/// One reading of all columns.
struct Reading {
    at_ns: u64,
    running: f64,
    blocked: f64,
    free: f64,
    interrupts: f64,
    switches: f64,
    states: [f64; STATES.len()],
}

/// The rows of a trial, phase by phase, for each host that sampled its machine. A phase with fewer than two samples has none.
pub(super) fn rows(trial: &TrialRecord) -> Vec<VmstatReport> {
    let Some(origin) = origin_ns(trial) else { return Vec::new() };
    let hosts: Vec<(&String, Vec<Reading>)> =
        trial.series.iter().map(|(host, samples)| (host, readings(samples))).collect();
    let of_phase = |phase: &PhaseRecord| {
        let rows: Vec<VmstatReport> =
            hosts.iter().filter_map(|(host, readings)| row(phase, host, readings, origin)).collect();
        rows
    };
    trial.phases.iter().flat_map(of_phase).collect()
}

/// Time of the samples when the trial started: each slice has its start on both scales.
fn origin_ns(trial: &TrialRecord) -> Option<u64> {
    let slices = trial.phases.iter().flat_map(|phase| &phase.slices);
    let mut origins: Vec<u64> =
        slices.filter_map(|slice| slice.result.started_ns.checked_sub(slice.at_ns)).collect();
    origins.sort_unstable();
    origins.get(origins.len() / 2).copied()
}

/// The samples with what each leaves out because it had not changed; none of a host that does not see a machine.
fn readings(samples: &[Sample]) -> Vec<Reading> {
    let mut known: BTreeMap<&str, f64> = BTreeMap::new();
    let mut readings = Vec::new();
    for sample in samples {
        known.extend(sample.values.iter().map(|(name, value)| (name.as_str(), *value)));
        let of = |name: &str| known.get(name).copied().unwrap_or(0.0);
        if known.contains_key(SWITCHES) {
            readings.push(Reading {
                at_ns: sample.at_ns,
                running: of(RUNNING),
                blocked: of(BLOCKED),
                free: of(FREE),
                interrupts: of(INTERRUPTS),
                switches: of(SWITCHES),
                states: STATES.map(of),
            });
        }
    }
    readings
}

fn row(phase: &PhaseRecord, host: &str, readings: &[Reading], origin: u64) -> Option<VmstatReport> {
    let (from, to) = (origin + phase.start_ns, origin + phase.end_ns);
    let inside: Vec<&Reading> =
        readings.iter().filter(|reading| (from..=to).contains(&reading.at_ns)).collect();
    // All counters start at 0 when a guest reboots; what it did meanwhile is unknown.
    let pairs: Vec<(&Reading, &Reading)> = inside
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .filter(|(before, later)| later.switches >= before.switches)
        .collect();
    let sum = |of: &dyn Fn(&Reading) -> f64| -> f64 {
        // The kernel's own sum of idle time can go back by a tick.
        pairs.iter().map(|(before, later)| (of(later) - of(before)).max(0.0)).sum()
    };
    let seconds = sum(&|r| r.at_ns as f64 / 1e9);
    if seconds <= 0.0 {
        return None;
    }
    let mean = |of: fn(&Reading) -> f64| inside.iter().map(|r| of(r)).sum::<f64>() / inside.len() as f64;
    let spent: Vec<f64> = (0..STATES.len()).map(|state| sum(&|r| r.states[state])).collect();
    let all = spent.iter().sum::<f64>();
    let share = |of: &[usize]| if all > 0.0 { of.iter().map(|&i| spent[i]).sum::<f64>() / all } else { 0.0 };
    Some(VmstatReport {
        phase: phase.name.clone(),
        kind: phase.kind,
        cycle: phase.cycle,
        host: host.to_owned(),
        seconds,
        // The sampler itself runs while it reads, and vmstat leaves itself out, too.
        r: (mean(|r| r.running) - 1.0).max(0.0),
        b: mean(|r| r.blocked),
        free_bytes: mean(|r| r.free),
        interrupts_per_second: sum(&|r| r.interrupts) / seconds,
        context_switches_per_second: sum(&|r| r.switches) / seconds,
        user: share(&[0, 1]),
        system: share(&[2, 3, 4]),
        idle: share(&[5]),
        iowait: share(&[6]),
        steal: share(&[7]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::observation::{Arm, LoadResult, PhaseKind, Slice};

    fn sample(at_s: u64, values: &[(&str, f64)]) -> Sample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Sample { at_ns: at_s * 1_000_000_000, values }
    }

    fn phase(name: &str, start_s: u64, end_s: u64) -> PhaseRecord {
        let slice = Slice {
            load: String::new(),
            arm: Arm::Treatment,
            number: 1,
            at_ns: start_s * 1_000_000_000,
            result: LoadResult { started_ns: (1000 + start_s) * 1_000_000_000, ..LoadResult::default() },
            counters: BTreeMap::new(),
            background: Vec::new(),
            flushes: BTreeMap::new(),
        };
        PhaseRecord {
            name: name.into(),
            kind: PhaseKind::Measure,
            cycle: 0,
            rung: None,
            start_ns: start_s * 1_000_000_000,
            end_ns: end_s * 1_000_000_000,
            slices: vec![slice],
            events: Vec::new(),
            notes: Vec::new(),
            captures: Vec::new(),
            profiles: Vec::new(),
        }
    }

    #[test]
    fn a_phase_has_the_columns_of_vmstat_from_its_own_samples_alone() {
        let (user, idle) = (STATES[0], STATES[5]);
        let samples = vec![
            sample(
                1000,
                &[(SWITCHES, 50.0), (INTERRUPTS, 10.0), (RUNNING, 3.0), (BLOCKED, 1.0), (FREE, 4e9)],
            ),
            sample(1001, &[(SWITCHES, 150.0), (user, 1.5e6), (idle, 0.5e6)]),
            // Unchanged values are left out.
            sample(1002, &[(SWITCHES, 450.0), (INTERRUPTS, 30.0), (RUNNING, 5.0), (user, 3e6), (idle, 1e6)]),
            sample(1005, &[(SWITCHES, 9e9), (RUNNING, 90.0), (user, 9e9)]),
            sample(1006, &[]),
        ];
        let trial = TrialRecord {
            phases: vec![phase("all", 0, 3), phase("short", 3, 4), phase("still", 5, 6)],
            series: BTreeMap::from([
                ("client".to_owned(), samples),
                ("server".to_owned(), vec![sample(1000, &[("tcp.time_wait", 1.0)]), sample(1001, &[])]),
            ]),
            ..TrialRecord::default()
        };
        let rows = rows(&trial);
        let names: Vec<_> = rows.iter().map(|row| (row.phase.as_str(), row.host.as_str())).collect();
        assert_eq!(names, [("all", "client"), ("still", "client")], "a phase needs two samples");
        let all = &rows[0];
        assert!(
            (all.r - (3.0 + 3.0 + 5.0) / 3.0 + 1.0).abs() < 1e-9 && (all.b - 1.0).abs() < 1e-9,
            "{all:?}"
        );
        assert_eq!((all.seconds, all.free_bytes), (2.0, 4e9));
        assert_eq!((all.interrupts_per_second, all.context_switches_per_second), (10.0, 200.0));
        assert_eq!((all.user, all.system, all.idle), (0.75, 0.0, 0.25));
        assert_eq!((rows[1].user, rows[1].context_switches_per_second), (0.0, 0.0));
    }

    #[test]
    fn a_reboot_within_a_phase_takes_nothing_away() {
        let (user, idle) = (STATES[0], STATES[5]);
        let counted = |at_s, count: f64| {
            sample(at_s, &[(SWITCHES, count), (INTERRUPTS, count), (user, count), (idle, count)])
        };
        let samples =
            vec![counted(1000, 9000.0), counted(1001, 9100.0), counted(1004, 10.0), counted(1005, 310.0)];
        let trial = TrialRecord {
            phases: vec![phase("reboot", 0, 6)],
            series: BTreeMap::from([("guest".to_owned(), samples)]),
            ..TrialRecord::default()
        };
        let row = &rows(&trial)[0];
        assert_eq!(
            (row.seconds, row.interrupts_per_second, row.context_switches_per_second),
            (2.0, 200.0, 200.0)
        );
        assert_eq!((row.user, row.idle), (0.5, 0.5));
    }
}
