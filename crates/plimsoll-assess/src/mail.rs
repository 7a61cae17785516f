//! The figures of mail.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::observation::{
    Arm, FlushFacts, Interval, MailFacts, Percentiles, PhaseKind, Slice, TrialRecord,
};
use plimsoll_model::report::{DiskPerMessage, FlushReport, MailMinute};

use super::pooled;

const MINUTE_NS: u64 = 60_000_000_000;

/// The mail of a trial's treatment, minute by minute.
pub(super) fn minutes(trial: &TrialRecord) -> Vec<MailMinute> {
    let counted = trial.phases.iter().filter(|phase| phase.kind != PhaseKind::WarmUp);
    let slices = counted.flat_map(|phase| &phase.slices);
    let mut minutes: BTreeMap<u64, MailMinute> = BTreeMap::new();
    for slice in
        slices.filter(|slice| slice.arm == Arm::Treatment && slice.result.found::<MailFacts>().is_some())
    {
        for Interval { end_ns, connections, requests, errors, bytes, .. } in &slice.result.intervals {
            let minute = (slice.at_ns + end_ns).saturating_sub(1) / MINUTE_NS;
            let entry = minutes.entry(minute).or_insert(MailMinute { minute, ..MailMinute::default() });
            entry.messages += requests;
            entry.bytes += bytes;
            entry.errors += errors;
            entry.connections += connections;
        }
    }
    minutes.into_values().collect()
}

/// How long servers took to answer each command: the greatest of each percentile over slices.
pub(super) fn commands(slices: &[&Slice]) -> BTreeMap<String, Percentiles> {
    let mut all: BTreeMap<String, Percentiles> = BTreeMap::new();
    for (command, latency) in
        slices.iter().filter_map(|slice| slice.result.found::<MailFacts>()).flat_map(|mail| &mail.commands)
    {
        let (most, more) = (all.entry(command.clone()).or_default(), latency.percentiles);
        *most = Percentiles {
            p50: most.p50.max(more.p50),
            p90: most.p90.max(more.p90),
            p95: most.p95.max(more.p95),
            p99: most.p99.max(more.p99),
            p99_9: most.p99_9.max(more.p99_9),
            max: most.max.max(more.max),
        };
    }
    all
}

/// Messages that slices saw accepted for delivery.
fn messages(slices: &[&Slice]) -> f64 {
    slices
        .iter()
        .filter(|slice| slice.result.found::<MailFacts>().is_some())
        .map(|slice| slice.result.requests as f64)
        .sum()
}

/// Work of each written device for a message.
pub(super) fn disks(slices: &[&Slice]) -> BTreeMap<String, DiskPerMessage> {
    let all = messages(slices);
    let mut disks: BTreeMap<String, DiskPerMessage> = BTreeMap::new();
    if all == 0.0 {
        return disks;
    }
    for (name, change) in slices.iter().filter_map(|slice| slice.counters.get("machine")).flatten() {
        let mut parts = name.split('.').skip(1);
        let (Some(file), Some(device), Some(field), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let sum: fn(&mut DiskPerMessage) -> &mut f64 = match (file, field) {
            ("diskstats", "flushes") => |disk: &mut DiskPerMessage| &mut disk.flushes,
            ("diskstats", "flush_time") => |disk: &mut DiskPerMessage| &mut disk.flush_us,
            ("diskstats", "writes") => |disk: &mut DiskPerMessage| &mut disk.writes,
            ("diskstats", "written_bytes") => |disk: &mut DiskPerMessage| &mut disk.written_bytes,
            ("diskstats", "busy") => |disk: &mut DiskPerMessage| &mut disk.busy_us,
            ("jbd2", "commits") => |disk: &mut DiskPerMessage| &mut disk.commits,
            _ => continue,
        };
        *sum(disks.entry(device.to_owned()).or_default()) += change / all;
    }
    disks.retain(|_, disk| disk.writes > 0.0);
    disks
}

/// Time in which some task waited for a disk, in microseconds for each message.
pub(super) fn io_pressure(slices: &[&Slice]) -> Option<f64> {
    of_machine(slices, "machine.pressure.io.some")
}

/// Bytes that were written back for each message.
pub(super) fn written_back(slices: &[&Slice]) -> Option<f64> {
    /// Unit of the kernel's page counters on the machines that Plimsoll is built for.
    const PAGE: f64 = 4096.0;
    of_machine(slices, "machine.vmstat.nr_written").map(|pages| pages * PAGE)
}

/// Growth of a counter of the machine, for each message.
fn of_machine(slices: &[&Slice], name: &str) -> Option<f64> {
    let all = messages(slices);
    let counters = slices.iter().filter_map(|slice| slice.counters.get("machine"));
    // Counters that did not change are left out.
    let sum: f64 = counters.filter_map(|counters| counters.get(name)).sum();
    (all > 0.0).then(|| sum / all)
}

/// Flushes of each relay.
pub(super) fn flushes(slices: &[&Slice]) -> BTreeMap<String, FlushReport> {
    let all = messages(slices);
    let names: BTreeSet<&String> = slices.iter().flat_map(|slice| slice.flushes.keys()).collect();
    let report = |name: &String| {
        let of: Vec<&FlushFacts> = slices.iter().filter_map(|slice| slice.flushes.get(name)).collect();
        let sum = |field: fn(&FlushFacts) -> u64| of.iter().map(|facts| field(facts)).sum::<u64>() as f64;
        FlushReport {
            per_message: sum(|facts| facts.count) / all,
            us_per_message: sum(|facts| facts.spent_us) / all,
            latency_us: pooled::percentiles(of.iter().map(|facts| &facts.histogram)),
        }
    };
    if all == 0.0 {
        return BTreeMap::new();
    }
    names
        .into_iter()
        .map(|name| (name.clone(), report(name)))
        .filter(|(_, report)| report.per_message > 0.0)
        .collect()
}
