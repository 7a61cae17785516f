//! Imported files as text: each figure or series on a line, and which lines were read and which were not.

use std::io::{self, Write};

use plimsoll_import::figures::{Coverage, Part, Series};

use super::sides::{Beside, median};
use super::{Imported, posted};

/// The most stretches of unread lines that are listed.
const STRETCHES: usize = 20;

/// Writes what was read from each file.
pub(super) fn files(out: &mut dyn Write, files: &[Imported]) -> io::Result<()> {
    for (index, file) in files.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let coverage = &file.found.coverage;
        let formats = coverage.formats();
        let formats =
            if formats.is_empty() { "no format that is known".to_owned() } else { formats.join(", ") };
        writeln!(
            out,
            "{}: {} figures of {formats}, in {} lines",
            file.name, coverage.figures, coverage.lines
        )?;
        series(out, &file.found.series)?;
        lines(out, coverage)?;
        posted::text(out, &posted::of(file))?;
    }
    Ok(())
}

/// A line for each series.
fn series(out: &mut dyn Write, all: &[Series]) -> io::Result<()> {
    let width = all.iter().map(|series| series.name().chars().count()).max().unwrap_or(0);
    for series in all {
        let (name, unit) = (series.name(), &series.unit);
        let pad = " ".repeat(width - name.chars().count());
        write!(out, "  {:16} {name}{pad}  ", series.format)?;
        match series.points.as_slice() {
            [only] => writeln!(out, "{} {unit}  (line {})", only.value, only.line)?,
            points => {
                let values = series.values();
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let middle = median(&values).unwrap_or(f64::NAN);
                let (first, last) = (points[0].line, points[points.len() - 1].line);
                let calls = points.last().map_or(1, |point| point.run) - points[0].run + 1;
                let calls = if calls > 1 { format!(", {calls} calls") } else { String::new() };
                writeln!(
                    out,
                    "{} {unit}  (median of {}, {least} to {most}; lines {first} to {last}{calls})",
                    halved(middle),
                    points.len()
                )?;
            }
        }
    }
    Ok(())
}

/// A median without the trace that adding and halving leaves in the last digits of a float.
pub(super) fn halved(median: f64) -> String {
    let rounded: f64 = format!("{median:.12e}").parse().unwrap_or(median);
    rounded.to_string()
}

/// Lines, in words.
pub(super) fn range(from: u64, to: u64) -> String {
    if from == to { format!("line {from}") } else { format!("lines {from} to {to}") }
}

/// Which lines were read, and which were not.
fn lines(out: &mut dyn Write, coverage: &Coverage) -> io::Result<()> {
    for stretch in &coverage.stretches {
        if let Part::Elsewhere { format, command } = stretch.part {
            writeln!(out, "{}: this is of {format}; use `{command}`", range(stretch.from, stretch.to))?;
        }
    }
    for stretch in &coverage.stretches {
        if let Part::Unsupported { tool } = stretch.part {
            writeln!(out, "{}: output of {tool}, which is not supported", range(stretch.from, stretch.to))?;
        }
    }
    let skipped = || {
        coverage.stretches.iter().filter_map(|stretch| match &stretch.part {
            Part::Skipped { what } | Part::Refused { why: what } => Some((stretch, what)),
            _ => None,
        })
    };
    if coverage.skipped > 0 {
        writeln!(out, "{} non-empty lines were not read:", coverage.skipped)?;
    }
    for (stretch, what) in skipped().take(STRETCHES) {
        writeln!(out, "  {}: {what}", range(stretch.from, stretch.to))?;
    }
    let more = skipped().count().saturating_sub(STRETCHES) as u64 + coverage.more;
    if more > 0 {
        writeln!(out, "  and {more} more places; --format json has them")?;
    }
    Ok(())
}

/// The medians of both sides.
pub(super) fn beside(out: &mut dyn Write, all: &[Beside]) -> io::Result<()> {
    let width = all.iter().map(|beside| beside.metric.chars().count()).max().unwrap_or(0);
    for Beside { metric, unit, medians: [before, after], n } in all {
        let pad = " ".repeat(width - metric.chars().count());
        let ratio = if *before == 0.0 { String::new() } else { format!("  (x {:.3})", after / before) };
        let (before, after) = (halved(*before), halved(*after));
        writeln!(out, "  {metric}{pad}  {before} -> {after} {unit}{ratio}  n {} -> {}", n[0], n[1])?;
    }
    Ok(())
}
