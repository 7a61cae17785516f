//! `perf report --stdio` and `perf top --stdio`: the share of each function.

use plimsoll_model::observation::{Arm, Frame, FrameKind, ProfileBuilder, ProfileClock};

use super::super::Stacks;
use super::{Format, Out, Section, command_words, decimal};

pub(super) const FORMAT: Format = Format {
    program: "perf report",
    is_command: |command| {
        let (first, rest) = command_words(command);
        first == "perf" && matches!(rest.first(), Some(&"report" | &"top"))
    },
    starts: |lines| {
        let line = lines[0].trim_start_matches(['#', ' ']);
        line.starts_with("Overhead ") && line.contains("Symbol")
            || lines[0].trim_start().starts_with("PerfTop:")
    },
    read,
};

/// Shares become samples of a profile with this many of them at this rate: one second.
const SAMPLES: f64 = 10_000.0;
const HERTZ: u32 = 10_000;
/// The kernel's parts of the CPUs' time in which nothing runs.
const IDLE: [&str; 8] = [
    "default_idle",
    "native_safe_halt",
    "intel_idle",
    "mwait_idle",
    "pv_native_safe_halt",
    "poll_idle",
    "acpi_idle_do_entry",
    "cpuidle_enter_state",
];

/// A row: `12.34%  relay  [kernel.kallsyms]  [k] fib_rules_lookup`; perf top leaves the process out.
struct Row<'t> {
    share: f64,
    process: &'t str,
    is_kernel: bool,
    symbol: &'t str,
}

fn row(line: &str) -> Option<Row<'_>> {
    let (share, rest) = line.trim_start().split_once('%')?;
    let share = decimal(share.trim())?;
    let (before, symbol) = rest.split_once("[k] ").or_else(|| rest.split_once("[.] "))?;
    let is_kernel = rest.contains("[k] ");
    let words: Vec<&str> = before.split_ascii_whitespace().filter(|word| !word.ends_with('%')).collect();
    let process = if words.len() > 1 { words[0] } else { "all" };
    let symbol = symbol.trim().split_once("  ").map_or(symbol.trim(), |(symbol, _)| symbol);
    (0.0..=100.0).contains(&share).then_some(Row { share, process, is_kernel, symbol })
}

fn read(section: &Section<'_>, out: &mut Out) {
    let mut profile = ProfileBuilder::new(Arm::Treatment, ProfileClock::Cycles, HERTZ);
    let (mut all, mut idle) = (0.0, 0.0);
    for (_, line) in section.numbered() {
        // Call chains stand below the row of their function.
        let Some(row) = row(line).filter(|_| all <= 100.0) else { continue };
        all += row.share;
        let samples = (row.share / 100.0 * SAMPLES).round() as u64;
        if IDLE.contains(&row.symbol) {
            idle += row.share;
            continue;
        }
        let kind = if row.is_kernel { FrameKind::Kernel } else { FrameKind::User };
        let symbol = row.symbol.split('.').next().filter(|_| row.is_kernel).unwrap_or(row.symbol);
        let frames = [Frame::new(FrameKind::Process, row.process), Frame::new(kind, symbol)];
        profile.add(frames.iter(), samples);
    }
    profile.miss(0, (idle / 100.0 * SAMPLES).round() as u64);
    if all > 0.0 {
        out.stacks = Some(Box::new(Stacks { profile: profile.build(), seconds: 1.0 }));
    }
}
