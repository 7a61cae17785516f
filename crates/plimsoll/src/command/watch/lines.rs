//! How a host is, as lines of text or of JSON.

use std::fmt::Write as _;

use plimsoll_assess::watched::State;
use plimsoll_model::cause::CauseId;
use plimsoll_report::escape::terminal;
use plimsoll_report::figure;
use serde_json::json;

use crate::args::PlainFormat;
use crate::failure::Failure;
use crate::output;

const SCHEMA: &str = "plimsoll.watch/1";

/// Prints states, a line each; causes when others are named than before.
pub(super) struct Lines {
    format: PlainFormat,
    printed: Vec<CauseId>,
}

impl Lines {
    pub(super) fn new(format: PlainFormat) -> Self {
        Self { format, printed: Vec::new() }
    }

    pub(super) fn print(&mut self, state: &State) -> Result<(), Failure> {
        match self.format {
            PlainFormat::Json => {
                let mut line = json!({ "schema": SCHEMA });
                if let (Some(line), Ok(serde_json::Value::Object(state))) =
                    (line.as_object_mut(), serde_json::to_value(state))
                {
                    line.extend(state);
                }
                output::document(|out| writeln!(out, "{line}"))
            }
            PlainFormat::Text => {
                let now: Vec<CauseId> = state.causes.iter().map(|cause| cause.id).collect();
                let news = now != self.printed;
                self.printed = now;
                output::text(|out| {
                    writeln!(out, "{}", in_a_line(state))?;
                    for line in causes(state).iter().filter(|_| news) {
                        writeln!(out, "          {line}")?;
                    }
                    Ok(())
                })
            }
        }
    }
}

/// The time of day, in UTC.
pub(super) fn clock(state: &State) -> String {
    let seconds = state.at_unix_ms / 1000 % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

pub(in crate::command) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Bytes, with a decimal unit.
pub(in crate::command) fn bytes(number: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(size, _)| number >= *size);
    unit.map_or_else(|| format!("{number:.0} B"), |(size, unit)| format!("{} {unit}", figure(number / size)))
}

/// The kinds of CPU time that are worth a word, most first.
pub(in crate::command) fn kinds(state: &State) -> String {
    let mut kinds: Vec<(&&str, &f64)> = state.cpu.iter().filter(|(_, share)| **share >= 0.005).collect();
    kinds.sort_by(|a, b| b.1.total_cmp(a.1));
    let shares: Vec<String> =
        kinds.iter().map(|(kind, share)| format!("{kind} {:.0}", 100.0 * **share)).collect();
    shares.join(", ")
}

fn in_a_line(state: &State) -> String {
    let mut line = clock(state);
    if let Some(busy) = state.cpu_busy {
        write!(line, "  CPU {}", percent(busy)).ok();
        let kinds = kinds(state);
        if !kinds.is_empty() {
            write!(line, " ({kinds})").ok();
        }
    }
    if let Some(group) = &state.group {
        write!(line, "  group {} CPUs, throttled {}", figure(group.cpus), percent(group.throttled)).ok();
    }
    if let Some(followed) = &state.followed {
        write!(line, "  process and children {} CPUs", figure(followed.cpus)).ok();
    }
    if let Some(runnable) = state.runnable {
        write!(line, "  runnable {runnable:.0}").ok();
    }
    for (what, share) in &state.pressure {
        write!(line, "  wait for {what} {}", percent(*share)).ok();
    }
    if let Some((total, available)) = state.memory_total.zip(state.memory_available) {
        write!(line, "  memory {} free", percent(available / total)).ok();
    }
    for disk in state.disks.iter().take(1) {
        write!(line, "  {} {} busy, {}/s", disk.name, percent(disk.busy), bytes(disk.read + disk.written))
            .ok();
    }
    for it in state.interfaces.iter().take(1) {
        write!(line, "  {} {}/s", it.name, bytes(it.received + it.sent)).ok();
    }
    for (what, rate) in lost(state) {
        write!(line, "  {what} {}/s", figure(rate)).ok();
    }
    line
}

/// Errors of packets and connections, where there were any.
pub(in crate::command) fn lost(state: &State) -> impl Iterator<Item = (&'static str, f64)> {
    let of_interfaces: f64 = state.interfaces.iter().map(|it| it.lost).sum();
    [
        ("sent again", state.retransmits.unwrap_or(0.0)),
        ("listen queue full", state.listen_overflows.unwrap_or(0.0)),
        ("dropped before any protocol", state.backlog_drops.unwrap_or(0.0)),
        ("lost by interfaces", of_interfaces),
    ]
    .into_iter()
    .filter(|(_, rate)| *rate > 0.0)
}

/// The causes, each with what speaks for it.
pub(in crate::command) fn causes(state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    for cause in &state.causes {
        lines.push(format!(
            "{}. {} ({}, {:.0} % sure)",
            cause.rank,
            terminal(&cause.headline()),
            cause.id.id(),
            100.0 * cause.confidence
        ));
        for it in &cause.evidence {
            let before =
                if state.quiet_seconds > 0 { format!("{} to ", figure(it.before)) } else { String::new() };
            lines.push(format!("     {}: {before}{} {}", terminal(&it.metric), figure(it.after), it.unit));
        }
        lines.push(format!("     {}", cause.remedy));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_assess::watched::{Disk, Interface};

    use super::*;

    #[test]
    fn a_line_has_use_and_what_was_lost() {
        let state = State {
            at_unix_ms: 3_723_000,
            cpu: BTreeMap::from([("user", 0.6), ("softirq", 0.2), ("steal", 0.001)]),
            cpu_busy: Some(0.8),
            runnable: Some(5.0),
            pressure: BTreeMap::from([("cpu", 0.34)]),
            memory_total: Some(4e9),
            memory_available: Some(1e9),
            disks: vec![Disk { name: "sda".into(), busy: 0.5, queue: 1.0, read: 1e6, written: 2e6 }],
            interfaces: vec![Interface { name: "eth0".into(), received: 1500.0, sent: 0.0, lost: 2.0 }],
            ..State::default()
        };
        assert_eq!(
            in_a_line(&state),
            "01:02:03  CPU 80 % (user 60, softirq 20)  runnable 5  wait for cpu 34 %  memory 25 % free  sda 50 % busy, 3 MB/s  \
             eth0 1.50 kB/s  lost by interfaces 2/s"
        );
    }
}
