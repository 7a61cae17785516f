//! Fate of mail: acknowledged against arrived, the disks' work for it, and how long each command took.

use std::collections::BTreeMap;

use plimsoll_model::observation::{Arm, MailFacts, PhaseKind};
use plimsoll_model::report::{DiskPerMessage, FlushReport, PhaseReport, RunReport, TrialReport};

use super::{LoadFigures, Shown};
use crate::number::{count, figure, median, millis, sorted};
use crate::section::{Column, Row, Section, right};
use crate::wording;

/// A table: what it shows, its columns, and its rows.
type Table = (&'static str, &'static [&'static str], Vec<Vec<String>>);

impl Shown for MailFacts {
    const TITLE: &'static str = "Mail";

    fn sections(report: &RunReport, _found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let section = |(caption, titles, rows): Table| {
            let columns: Vec<Column> = titles.iter().map(|title| right(title)).collect();
            Section::new(caption).table(columns, rows.into_iter().map(Row::of))
        };
        tables(report).into_iter().map(section).collect()
    }
}

/// All tables that have something to show.
fn tables(report: &RunReport) -> Vec<Table> {
    let tables: [Table; 5] = [
        ("Mail, acknowledged against arrived", &BALANCE, balances(report)),
        ("Disks, for each message", &DISKS, disks(report)),
        (
            "Waiting for disks: fsync by relays, and anybody on the machine for each message, in ms",
            &WAITS,
            waits(report),
        ),
        ("Time to answer, by command", &COMMANDS, commands(report)),
        ("Mail, by minute", &MINUTES, minutes(report)),
    ];
    tables.into_iter().filter(|(.., rows)| !rows.is_empty()).collect()
}

/// The columns of [`balances`].
const BALANCE: [&str; 9] =
    ["trial", "sink", "acknowledged", "arrived", "lost", "doubled", "corrupted", "unreported", "waited s"];
/// The columns of [`commands`].
const COMMANDS: [&str; 6] = ["trial", "phase", "command", "p50 ms", "p99 ms", "max ms"];

/// The columns of [`minutes`].
const MINUTES: [&str; 6] = ["trial", "minute", "messages", "kB", "errors", "sessions"];
/// The most minutes that are shown: those of an hour.
const MOST_MINUTES: usize = 60;
/// The columns of [`disks`].
const DISKS: [&str; 10] = [
    "cell",
    "phase",
    "device",
    "trials",
    "flushes",
    "flush ms",
    "commits",
    "writes",
    "kB written",
    "busy ms",
];
/// The columns of [`waits`].
const WAITS: [&str; 9] = [
    "cell",
    "phase",
    "service",
    "flushes",
    "p50 ms",
    "p99 ms",
    "for a message",
    "anybody waited",
    "kB written back",
];

/// Key of a row: a cell, a phase, and a device or a service.
type RowKey<'r> = (String, &'r str, &'r str);

/// The measured and driven phases of the treatment, each with its cell.
fn phases(report: &RunReport) -> impl Iterator<Item = (String, &PhaseReport)> {
    report.trials.iter().flat_map(|trial| {
        let counts = |phase: &&PhaseReport| phase.kind != PhaseKind::WarmUp && phase.arm == Arm::Treatment;
        trial.phases.iter().filter(counts).map(|phase| (wording::cell_title(&trial.cell), phase))
    })
}

fn middle<T, V: Into<Option<f64>>>(of: &[T], value: impl Fn(&T) -> V) -> f64 {
    median(&sorted(of.iter().filter_map(|it| value(it).into()))).unwrap_or(f64::NAN)
}

/// Work of disks for each message, medians over trials; the two levels of a factor stand below each other.
fn disks(report: &RunReport) -> Vec<Vec<String>> {
    let mut all: BTreeMap<RowKey<'_>, Vec<DiskPerMessage>> = BTreeMap::new();
    for (cell, phase) in phases(report) {
        for (device, disk) in &phase.disks {
            all.entry((cell.clone(), &phase.name, device)).or_default().push(*disk);
        }
    }
    let rows = all.into_iter().map(|((cell, phase, device), disks)| {
        let figures = [
            middle(&disks, |disk| disk.flushes),
            middle(&disks, |disk| disk.flush_us / 1e3),
            middle(&disks, |disk| disk.commits),
            middle(&disks, |disk| disk.writes),
            middle(&disks, |disk| disk.written_bytes / 1024.0),
            middle(&disks, |disk| disk.busy_us / 1e3),
        ];
        let words = [cell, phase.to_owned(), device.to_owned(), disks.len().to_string()].into_iter();
        words.chain(figures.map(figure)).collect()
    });
    rows.collect()
}

/// How long relays waited for their own flushes, and for disks in all; medians over trials.
fn waits(report: &RunReport) -> Vec<Vec<String>> {
    let mut all: BTreeMap<RowKey<'_>, Vec<(FlushReport, &PhaseReport)>> = BTreeMap::new();
    for (cell, phase) in phases(report) {
        for (service, flushes) in &phase.flushes {
            all.entry((cell.clone(), &phase.name, service)).or_default().push((*flushes, phase));
        }
    }
    let rows = all.into_iter().map(|((cell, phase, service), of)| {
        let ms = |us: f64| figure(us / 1e3);
        let figures = [
            figure(middle(&of, |(flushes, _)| flushes.per_message)),
            ms(middle(&of, |(flushes, _)| flushes.latency_us.p50 as f64)),
            ms(middle(&of, |(flushes, _)| flushes.latency_us.p99 as f64)),
            ms(middle(&of, |(flushes, _)| flushes.us_per_message)),
            ms(middle(&of, |(_, phase)| phase.io_pressure_us)),
            figure(middle(&of, |(_, phase)| phase.written_back_bytes.map(|bytes| bytes / 1024.0))),
        ];
        [cell, phase.to_owned(), service.to_owned()].into_iter().chain(figures).collect()
    });
    rows.collect()
}

/// Fate of the mail, a row for each trial, sink and rig.
fn balances(report: &RunReport) -> Vec<Vec<String>> {
    let rows =
        report.trials.iter().flat_map(|trial| trial.mail.iter().map(move |balance| (trial.number, balance)));
    rows.map(|(trial, balance)| {
        let sink = match balance.arm {
            Arm::Treatment => balance.sink.clone(),
            Arm::Control => format!("{}, control", balance.sink),
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
fn commands(report: &RunReport) -> Vec<Vec<String>> {
    let has_commands = |trial: &&TrialReport| trial.phases.iter().any(|phase| !phase.commands_us.is_empty());
    let Some(trial) = report.trials.iter().rev().find(has_commands) else { return Vec::new() };
    let counts = |phase: &&PhaseReport| phase.kind != PhaseKind::WarmUp && phase.arm == Arm::Treatment;
    let rows = trial.phases.iter().filter(counts).flat_map(|phase| {
        phase.commands_us.iter().map(|(command, times)| {
            let times = [times.p50, times.p99, times.max].map(millis);
            [trial.number.to_string(), phase.name.clone(), command.clone()].into_iter().chain(times).collect()
        })
    });
    rows.collect()
}

/// Mail of each minute, of the last trial that took longer than one.
fn minutes(report: &RunReport) -> Vec<Vec<String>> {
    let long = |trial: &&TrialReport| trial.mail_minutes.len() > 1;
    let Some(trial) = report.trials.iter().rev().find(long) else { return Vec::new() };
    let rows = trial.mail_minutes.iter().take(MOST_MINUTES).map(|minute| {
        let sent = [minute.messages, minute.bytes / 1024, minute.errors, minute.connections];
        let words = [trial.number.to_string(), (minute.minute + 1).to_string()].into_iter();
        words.chain(sent.map(count)).collect()
    });
    rows.collect()
}
