//! Two runs against each other of which at least one was imported, or is a file of another tool's output.

use std::path::Path;

use plimsoll_assess::RunFigure;
use plimsoll_import::figures::{Better, Figures, Point, Series};
use plimsoll_judge::json::Test;
use plimsoll_model::plan::cell_text;
use plimsoll_model::units::Unit;
use plimsoll_report::escape::terminal;
use plimsoll_store::{RunEntry, Store};
use serde_json::json;

use super::json::COMPARE_SCHEMA;
use crate::args::{BetterDirection, PlainFormat, Reading};
use crate::command::import::verdict::Judged;
use crate::command::import::{Imported, read, sides, stored, verdict};
use crate::command::show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, state};

/// Format name of figures from a measured run.
const MEASURED: &str = "plimsoll";
/// The price of figures that were not measured in turns.
pub(crate) const COST: &str = "The figures were not measured in turns: whatever else changed between them is part of the difference. Each counts as a measurement \
                    of its own.";

/// The parameters of the comparison.
pub(crate) struct Question<'q> {
    pub(crate) margin: f64,
    pub(crate) alpha: f64,
    /// The figure of both sides, or that of each.
    pub(crate) of: &'q [String],
    pub(crate) better: Option<BetterDirection>,
    pub(crate) format: PlainFormat,
}

/// One of the two.
enum Contestant {
    Stored(Box<RunEntry>),
    File,
}

fn contestant(store: &Store, name: &str) -> Result<Contestant, Failure> {
    match state::find(store, name) {
        Ok(entry) => Ok(Contestant::Stored(Box::new(entry))),
        Err(_) if Path::new(name).is_file() => Ok(Contestant::File),
        Err(error) => Err(error),
    }
}

/// Whether either is a file, or was imported: two runs that were measured are compared by their trials.
pub(crate) fn is_asked(store: &Store, names: [&str; 2]) -> Result<bool, Failure> {
    let mut is_asked = false;
    for name in names {
        is_asked |= match contestant(store, name)? {
            Contestant::File => true,
            Contestant::Stored(entry) => stored::is_imported(&entry),
        };
    }
    Ok(is_asked)
}

/// Sets the second against the first.
pub(crate) fn judge(question: &Question<'_>, store: &Store, names: [&str; 2]) -> Result<Judged, Failure> {
    let [a, b] = names.map(|name| figures(store, name));
    let files = [a?, b?];
    let reading = |side: usize| Reading {
        metric: question.of.get(side).or_else(|| question.of.last()).cloned().into_iter().collect(),
        better: question.better,
        margin: Some(question.margin),
        ..Reading::default()
    };
    let mut of = [0, 1].map(reading);
    // A run that was measured has no main figure: it is that of the other side.
    for side in [0, 1] {
        if of[side].metric.is_empty() && is_measured(&files[side]) {
            of[side].metric = vec![sides::choose_one(&of[1 - side], &files[1 - side])?.metric];
        }
    }
    let sides = sides::pair([&of[0], &of[1]], [&files[0], &files[1]])?;
    verdict::of_sides(&of[0], Test::Compare, sides, Some(question.alpha))
}

pub(crate) fn run(question: &Question<'_>, store: &Store, names: [&str; 2]) -> Result<Exit, Failure> {
    let judged = judge(question, store, names)?;
    match question.format {
        PlainFormat::Text => {
            let [a, b] = names.map(terminal);
            output::text(|out| writeln!(out, "B = {b} against A = {a}"))?;
            verdict::print(&judged)?;
            output::text(|out| writeln!(out, "\n{COST}"))
        }
        PlainFormat::Json => {
            let mut document = judged.json();
            document["schema"] = json!(COMPARE_SCHEMA);
            document["a"] = json!(names[0]);
            document["b"] = json!(names[1]);
            document["interleaved"] = json!(false);
            document["notes"] = json!([COST]);
            output::json(&document)
        }
    }?;
    Ok(judged.exit())
}

fn is_measured(file: &Imported) -> bool {
    file.found.series.iter().all(|series| series.format == MEASURED)
}

/// The figures of one of the two.
fn figures(store: &Store, name: &str) -> Result<Imported, Failure> {
    let entry = match contestant(store, name)? {
        Contestant::File => return Ok(read::file(&Reading::default(), Path::new(name), false)?.0),
        Contestant::Stored(entry) => entry,
    };
    let found = match stored::get(store, &entry)? {
        Some(import) => together(import.files),
        None => {
            let (plan, _, trials) = show::load(store, &entry.id)?;
            let all = plimsoll_assess::figures_of(&plan, &trials);
            Figures { series: all.into_iter().map(series).collect(), ..Figures::default() }
        }
    };
    Ok(Imported { name: format!("run {}", entry.id), found })
}

/// Figures of several files as those of one.
fn together(files: Vec<Imported>) -> Figures {
    let mut all = Figures::default();
    for series in files.into_iter().flat_map(|file| file.found.series) {
        let same = |other: &&mut Series| {
            (other.format, &other.metric, &other.labels, &other.unit)
                == (series.format, &series.metric, &series.labels, &series.unit)
        };
        match all.series.iter_mut().find(same) {
            Some(other) => other.points.extend(series.points),
            None => all.series.push(series),
        }
    }
    all
}

/// A figure for each trial of a run, as a series.
fn series(figure: RunFigure) -> Series {
    let mut labels = vec![("phase", figure.phase)];
    if !figure.cell.is_empty() {
        labels.push(("cell", cell_text(&figure.cell)));
    }
    let unit = match figure.metric.unit() {
        // As other tools' formats have them.
        Unit::PerSecond => "1/s",
        Unit::PerMinute => "1/min",
        unit => unit.name(),
    };
    let better = if figure.metric.lower_is_better() { Better::Lower } else { Better::Higher };
    let point = |(number, value): (u32, f64)| Point { value, line: 0, run: number, at_s: None };
    Series {
        format: MEASURED,
        metric: figure.metric.name().to_owned(),
        labels,
        unit: unit.to_owned(),
        better,
        points: figure.values.into_iter().map(point).collect(),
    }
}
