//! The delivery claim, and the figures of mail beside it.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::experiment::DeliveryClaim;
use plimsoll_model::observation::{
    Arm, FlushFacts, Interval, MailBalance, Percentiles, PhaseKind, Slice, TrialRecord,
};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{DiskPerMessage, FlushReport, MailMinute};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::{pooled, prefix, validity};

const MINUTE_NS: u64 = 60_000_000_000;

/// One verdict for each cell. A single message that is lost decides it, whatever else was measured; that none was, only a trial that came
/// to its end.
pub(super) fn verdicts(plan: &Plan, claim: &DeliveryClaim, trials: &[TrialRecord]) -> Vec<Verdict> {
    plan.cells.iter().map(|cell| verdict(&cell.levels, claim, trials)).collect()
}

fn verdict(levels: &BTreeMap<String, String>, claim: &DeliveryClaim, trials: &[TrialRecord]) -> Verdict {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == *levels).collect();
    let balances: Vec<&MailBalance> = of_cell
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .flat_map(|trial| &trial.mail)
        .filter(|balance| balance.sink == claim.sink)
        .collect();
    let mut verdict = judge(claim, &balances);
    if verdict.outcome == Outcome::Undecided
        && let Some(reason) = validity::objection_to_load(&of_cell)
    {
        verdict = Verdict::bare("delivery", METRIC, Outcome::Invalid, 0, reason);
    }
    verdict.reason = prefix(levels) + &verdict.reason;
    verdict
}

const METRIC: &str = "messages";

fn judge(claim: &DeliveryClaim, balances: &[&MailBalance]) -> Verdict {
    let sum = |of: fn(&MailBalance) -> u64| balances.iter().map(|balance| of(balance)).sum::<u64>();
    let (all, arrived, lost) = (sum(|b| b.acknowledged), sum(|b| b.arrived), sum(|b| b.lost));
    let (doubled, corrupted) = (sum(|b| b.doubled), sum(|b| b.corrupted));
    let counts = format!(
        "of {all} acknowledged messages {arrived} arrived: {lost} lost, {doubled} doubled, {corrupted} corrupted"
    );
    let (outcome, reason) = if all == 0 {
        (Outcome::Undecided, "no message was acknowledged yet".to_owned())
    } else if lost > 0 || corrupted > 0 || doubled > 0 && !claim.doubles {
        let first = balances.iter().flat_map(|balance| &balance.lost_ids).next();
        let example = first.map_or_else(String::new, |id| {
            format!("; {id} is one that did not arrive within {}", claim.within)
        });
        (Outcome::NotDelivered, format!("{counts}{example}"))
    } else {
        (Outcome::Delivered, counts)
    };
    let estimate = (all > 0).then(|| arrived as f64 / all as f64);
    Verdict { estimate, ..Verdict::bare("delivery", METRIC, outcome, balances.len(), reason) }
}

/// The mail of a trial's treatment, minute by minute.
pub(super) fn minutes(trial: &TrialRecord) -> Vec<MailMinute> {
    let counted = trial.phases.iter().filter(|phase| phase.kind != PhaseKind::WarmUp);
    let slices = counted.flat_map(|phase| &phase.slices);
    let mut minutes: BTreeMap<u64, MailMinute> = BTreeMap::new();
    for slice in slices.filter(|slice| slice.arm == Arm::Treatment && slice.result.mail.is_some()) {
        for Interval { end_ns, connections, requests, errors, bytes } in &slice.result.intervals {
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
        slices.iter().filter_map(|slice| slice.result.mail.as_ref()).flat_map(|mail| &mail.commands)
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

/// Messages that slices were told would be delivered.
fn messages(slices: &[&Slice]) -> f64 {
    slices.iter().filter(|slice| slice.result.mail.is_some()).map(|slice| slice.result.requests as f64).sum()
}

/// What each device that was written to did for a message.
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
    /// What the kernel counts in pages of this size on the machines that Plimsoll is built for.
    const PAGE: f64 = 4096.0;
    of_machine(slices, "machine.vmstat.nr_written").map(|pages| pages * PAGE)
}

/// What a counter of the machine grew by, for each message.
fn of_machine(slices: &[&Slice], name: &str) -> Option<f64> {
    let all = messages(slices);
    let counters = slices.iter().filter_map(|slice| slice.counters.get("machine"));
    // Counters that did not change are left out.
    let sum: f64 = counters.filter_map(|counters| counters.get(name)).sum();
    (all > 0.0).then(|| sum / all)
}

/// What each relay flushed.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(lost: u64, doubled: u64, corrupted: u64) -> MailBalance {
        MailBalance {
            sink: "sink".into(),
            arm: Arm::Treatment,
            acknowledged: 100,
            arrived: 100 - lost,
            lost,
            doubled,
            corrupted,
            unacknowledged: 0,
            waited_ms: 5,
            lost_ids: (0..lost).map(|id| format!("{id:016x}")).collect(),
        }
    }

    fn outcome(balances: &[MailBalance], doubles: bool) -> Verdict {
        let claim: DeliveryClaim =
            serde_json::from_value(serde_json::json!({ "sink": "sink", "doubles": doubles })).unwrap();
        judge(&claim, &balances.iter().collect::<Vec<_>>())
    }

    #[test]
    fn one_message_that_is_lost_or_spoiled_decides_it() {
        let even = balance(0, 0, 0);
        assert_eq!(outcome(&[even.clone(), even.clone()], true).outcome, Outcome::Delivered);
        let lost = outcome(&[even.clone(), balance(1, 0, 0)], true);
        assert_eq!((lost.outcome, lost.estimate), (Outcome::NotDelivered, Some(0.995)));
        assert!(lost.reason.contains("0000000000000000 is one"), "{}", lost.reason);
        assert_eq!(outcome(&[balance(0, 0, 1)], true).outcome, Outcome::NotDelivered);
        assert_eq!(outcome(&[], true).outcome, Outcome::Undecided);
    }

    #[test]
    fn doubles_count_where_the_claim_says_so() {
        assert_eq!(outcome(&[balance(0, 3, 0)], true).outcome, Outcome::Delivered);
        assert_eq!(outcome(&[balance(0, 3, 0)], false).outcome, Outcome::NotDelivered);
    }
}
