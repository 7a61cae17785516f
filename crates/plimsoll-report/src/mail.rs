//! The tables on mail, for every format that has tables.

use std::collections::BTreeMap;

use plimsoll_model::observation::{PhaseKind, Twin};
use plimsoll_model::report::{DiskPerMessage, PhaseReport, RunReport, TrialReport};

use crate::number::{count, figure, median, millis, sorted};

/// The columns of [`balances`].
pub(crate) const BALANCE: [&str; 9] =
    ["trial", "sink", "acknowledged", "arrived", "lost", "doubled", "corrupted", "not told", "waited s"];
/// The columns of [`commands`].
pub(crate) const COMMANDS: [&str; 6] = ["trial", "phase", "command", "p50 ms", "p99 ms", "max ms"];

/// The columns of [`disks`].
pub(crate) const DISKS: [&str; 9] =
    ["cell", "phase", "device", "trials", "flushes", "commits", "writes", "kB written", "busy ms"];

/// What disks did for each message, medians over trials; the two levels of a factor stand below each other.
pub(crate) fn disks(report: &RunReport) -> Vec<Vec<String>> {
    let mut all: BTreeMap<(String, &str, &str), Vec<DiskPerMessage>> = BTreeMap::new();
    for trial in &report.trials {
        for phase in
            trial.phases.iter().filter(|phase| phase.kind != PhaseKind::WarmUp && phase.twin == Twin::Main)
        {
            for (device, disk) in &phase.disks {
                all.entry((crate::summary::cell_title(&trial.cell), &phase.name, device))
                    .or_default()
                    .push(*disk);
            }
        }
    }
    let rows = all.into_iter().map(|((cell, phase, device), disks)| {
        let middle = |of: fn(&DiskPerMessage) -> f64| median(&sorted(disks.iter().map(of))).unwrap_or(0.0);
        let figures = [
            middle(|disk| disk.flushes),
            middle(|disk| disk.commits),
            middle(|disk| disk.writes),
            middle(|disk| disk.written_bytes / 1024.0),
            middle(|disk| disk.busy_us / 1e3),
        ];
        let words = [cell, phase.to_owned(), device.to_owned(), disks.len().to_string()].into_iter();
        words.chain(figures.map(figure)).collect()
    });
    rows.collect()
}

/// What became of the mail, a row for each trial, sink and rig.
pub(crate) fn balances(report: &RunReport) -> Vec<Vec<String>> {
    let rows =
        report.trials.iter().flat_map(|trial| trial.mail.iter().map(move |balance| (trial.number, balance)));
    rows.map(|(trial, balance)| {
        let sink = match balance.twin {
            Twin::Main => balance.sink.clone(),
            Twin::Control => format!("{}, control", balance.sink),
        };
        let counts = [
            balance.acknowledged,
            balance.arrived,
            balance.lost,
            balance.doubled,
            balance.corrupted,
            balance.unacknowledged,
        ];
        let words = [trial.to_string(), sink].into_iter();
        words.chain(counts.map(count)).chain([figure(balance.waited_ms as f64 / 1e3)]).collect()
    })
    .collect()
}

/// How long each command took in the last trial's measured and driven phases.
pub(crate) fn commands(report: &RunReport) -> Vec<Vec<String>> {
    let told = |trial: &&TrialReport| trial.phases.iter().any(|phase| !phase.commands_us.is_empty());
    let Some(trial) = report.trials.iter().rev().find(told) else { return Vec::new() };
    let counts = |phase: &&PhaseReport| phase.kind != PhaseKind::WarmUp && phase.twin == Twin::Main;
    let rows = trial.phases.iter().filter(counts).flat_map(|phase| {
        phase.commands_us.iter().map(|(command, times)| {
            let times = [times.p50, times.p99, times.max].map(millis);
            [trial.number.to_string(), phase.name.clone(), command.clone()].into_iter().chain(times).collect()
        })
    });
    rows.collect()
}
