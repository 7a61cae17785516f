//! Imported files as text: each figure or series on a line, and which lines were read and which were not.

use std::io::{self, Write};

use plimsoll_import::figures::{Coverage, Part, Point, Series};

use super::sides::{SideMedians, median};
use super::{Imported, posted};

/// The most stretches of unread lines that are listed.
const STRETCHES: usize = 20;
/// Up to this number, values and calls are listed one by one.
const FEW: usize = 4;

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
        calls(out, coverage)?;
        lines(out, coverage)?;
        posted::text(out, &posted::of(file))?;
    }
    Ok(())
}

/// A line for each series, or for each call of the tool where it has many values of several.
fn series(out: &mut dyn Write, all: &[Series]) -> io::Result<()> {
    let width = all.iter().map(|series| series.name().chars().count()).max().unwrap_or(0);
    for series in all {
        let name = series.name();
        let pad = " ".repeat(width - name.chars().count());
        let calls: Vec<&[Point]> = series.points.chunk_by(|one, next| one.run == next.run).collect();
        let each = series.points.len() > FEW && (2..=FEW).contains(&calls.len());
        let rows = if each { calls.clone() } else { vec![series.points.as_slice()] };
        for points in rows {
            let of = match calls.len() {
                1 => String::new(),
                _ if each => format!(", call {}", points[0].run),
                calls => format!(", {calls} calls"),
            };
            writeln!(out, "  {:16} {name}{pad}  {}{of})", series.format, values(points, &series.unit))?;
        }
    }
    Ok(())
}

/// Heading or command above each call of a tool, where there are several.
fn calls(out: &mut dyn Write, coverage: &Coverage) -> io::Result<()> {
    for call in coverage.calls.iter().take(STRETCHES) {
        if let Some(title) = &call.title {
            writeln!(out, "call {} of {} stands below: {title}", call.run, call.format)?;
        }
    }
    Ok(())
}

/// The values themselves, or how they are distributed; and their lines, behind an open bracket.
fn values(points: &[Point], unit: &str) -> String {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let lines = range(points[0].line, points[points.len() - 1].line);
    if values.len() <= FEW {
        let all: Vec<String> = values.iter().map(|value| shown(*value)).collect();
        return format!("{} {unit}  ({lines}", all.join(", "));
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [middle, least, most] = [median(&values).unwrap_or(f64::NAN), least, most].map(shown);
    format!("{middle} {unit}  (median of {}, {least} to {most}; {lines}", values.len())
}

/// A value without the trace that sums, halves and units leave in the last digits of a float.
pub(super) fn shown(value: f64) -> String {
    let rounded: f64 = format!("{value:.12e}").parse().unwrap_or(value);
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
    without_figures(out, coverage)?;
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

/// Lines that were recognised, but have no figure that is read.
fn without_figures(out: &mut dyn Write, coverage: &Coverage) -> io::Result<()> {
    for lines in coverage.without_figures.chunk_by(|one, next| one.format == next.format) {
        let named: Vec<String> =
            lines.iter().take(STRETCHES).map(|these| range(these.from, these.to)).collect();
        let more = if lines.len() > STRETCHES { " and more" } else { "" };
        writeln!(
            out,
            "of {}, but without a figure that is read: {}{more}",
            lines[0].format,
            named.join(", ")
        )?;
    }
    Ok(())
}

/// The medians of both sides.
pub(super) fn beside(out: &mut dyn Write, all: &[SideMedians]) -> io::Result<()> {
    let width = all.iter().map(|beside| beside.metric.chars().count()).max().unwrap_or(0);
    for SideMedians { metric, unit, medians: [before, after], n } in all {
        let pad = " ".repeat(width - metric.chars().count());
        let ratio = if *before == 0.0 { String::new() } else { format!("  (x {:.3})", after / before) };
        let (before, after) = (shown(*before), shown(*after));
        writeln!(out, "  {metric}{pad}  {before} -> {after} {unit}{ratio}  n {} -> {}", n[0], n[1])?;
    }
    Ok(())
}
