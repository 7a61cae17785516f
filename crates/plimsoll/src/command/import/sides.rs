//! Which figures are compared: those of two files, or of two calls of a tool in one.

use plimsoll_import::figures::{Better, Figures, Point, Series};
use plimsoll_judge::stats;

use super::Imported;
use crate::args::{BetterDirection, Reading};
use crate::failure::Failure;

/// Figures of the same thing, in a unit, with the way in which they are better.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) better: Better,
    pub(crate) values: Vec<f64>,
}

/// Two sides: what they are called, and their values.
pub(crate) struct Sides {
    pub(crate) titles: [String; 2],
    pub(crate) chosen: [Chosen; 2],
    /// The medians of everything else that both sides have.
    pub(crate) beside: Vec<SideMedians>,
}

/// The medians of a figure on both sides.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct SideMedians {
    pub(crate) metric: String,
    pub(crate) unit: String,
    /// The median of the first side, and of the second.
    pub(crate) medians: [f64; 2],
    /// How many figures each side has.
    pub(crate) n: [usize; 2],
}

/// The figures to judge: the metric that was named, or else the main one.
pub(crate) fn choose(args: &Reading, file: &Imported) -> Result<Vec<Series>, Failure> {
    let found: Vec<Series> = match args.metric.first() {
        Some(wanted) => file.found.all(wanted).into_iter().cloned().collect(),
        None => file.found.main().into_iter().cloned().collect(),
    };
    if args.metric.len() > 1 {
        return Err(Failure::Usage("--judge takes one --metric".into()));
    }
    if found.is_empty() {
        let wanted = args.metric.first().map_or("figure", String::as_str);
        return Err(Failure::Usage(format!(
            "{}: there is no `{wanted}` in it: {}",
            file.name,
            names(&file.found)
        )));
    }
    Ok(found)
}

/// The single series to judge.
pub(crate) fn choose_one(args: &Reading, file: &Imported) -> Result<Series, Failure> {
    let mut found = choose(args, file)?;
    if found.len() > 1 {
        let all: Vec<String> =
            found.iter().map(|series| format!("{} ({})", series.name(), series.format)).collect();
        return Err(Failure::Usage(format!(
            "{}: several figures; choose one by `--metric`, or by `--of` for a comparison: {}",
            file.name,
            all.join("; ")
        )));
    }
    Ok(found.remove(0))
}

/// Names of the known series, for errors.
fn names(found: &Figures) -> String {
    const NAMED: usize = 12;
    let mut all: Vec<String> = found.series.iter().map(Series::name).collect();
    all.dedup();
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    match (all.is_empty(), more) {
        (true, _) => "nothing was read".to_owned(),
        (_, 0) => all.join("; "),
        (_, more) => format!("{}; and {more} more", all.join("; ")),
    }
}

/// Which way the chosen figure is better: as the user says, or as its format does.
pub(crate) fn lower_is_better(args: &Reading, chosen: &Chosen) -> Result<bool, Failure> {
    match (args.better, chosen.better) {
        (Some(way), _) => Ok(way == BetterDirection::Lower),
        (None, Better::Lower) => Ok(true),
        (None, Better::Higher) => Ok(false),
        (None, Better::Unknown) => Err(Failure::Usage(format!(
            "the better direction of `{}` is unknown: add --better higher or --better lower",
            chosen.name
        ))),
    }
}

/// The two sides.
pub(crate) fn two(args: &Reading, files: &[Imported]) -> Result<Sides, Failure> {
    match files {
        [only] => of_one_file(args, only),
        [first, second] if args.split.is_none() => pair([args, args], [first, second]),
        _ => Err(Failure::Usage("expected two files, or one file with --split".into())),
    }
}

/// A figure of a file against one of another.
pub(crate) fn pair(of: [&Reading; 2], [first, second]: [&Imported; 2]) -> Result<Sides, Failure> {
    let [a, b] = [choose_one(of[0], first)?, choose_one(of[1], second)?];
    let all = |_: &Point| true;
    let beside = beside(&first.found, &second.found, [&all, &all]);
    let sides = [chosen(&a, &all), in_unit(chosen(&b, &all), &a.unit)?];
    Ok(Sides { titles: [first.name.clone(), second.name.clone()], chosen: sides, beside })
}

/// Two calls of a tool in one file, or what stands before and behind a line.
fn of_one_file(args: &Reading, file: &Imported) -> Result<Sides, Failure> {
    let series = choose_one(args, file)?;
    let mut runs: Vec<u32> = series.points.iter().map(|point| point.run).collect();
    runs.dedup();
    let (titles, line) = match (args.split, runs.as_slice()) {
        (Some(line), _) => ([format!("before line {line}"), format!("from line {line} on")], line),
        (None, [_, second]) => {
            let line = series.points.iter().find(|point| point.run == *second).map_or(0, |point| point.line);
            ([1, 2].map(|run| format!("call {run} of {}", series.format)), line)
        }
        (None, runs) => {
            return Err(Failure::Usage(format!(
                "{}: {} calls of {}: --split LINE sets the first line of the second side",
                file.name,
                runs.len(),
                series.format
            )));
        }
    };
    let before = move |point: &Point| point.line < line;
    let after = move |point: &Point| point.line >= line;
    let sides = [chosen(&series, &before), chosen(&series, &after)];
    // The boundary of other tools' calls is not the same line: what stands nearer to the second side is of it, by the line where each begins.
    let beside = if args.split.is_some() {
        beside(&file.found, &file.found, [&before, &after])
    } else {
        let first = |point: &Point| point.run == 1;
        let second = |point: &Point| point.run == 2;
        beside(&file.found, &file.found, [&first, &second])
    };
    Ok(Sides { titles, chosen: sides, beside })
}

fn chosen(series: &Series, of_side: &dyn Fn(&Point) -> bool) -> Chosen {
    let values = series.points.iter().filter(|point| of_side(point)).map(|point| point.value).collect();
    Chosen { name: series.name(), unit: series.unit.clone(), better: series.better, values }
}

/// The second side in the unit of the first.
fn in_unit(side: Chosen, unit: &str) -> Result<Chosen, Failure> {
    let factor = plimsoll_import::figures::factor(&side.unit, unit).ok_or_else(|| {
        Failure::Usage(format!(
            "`{}` is in {} on one side and in {} on the other",
            side.name, unit, side.unit
        ))
    })?;
    let values = side.values.iter().map(|value| value * factor).collect();
    Ok(Chosen { unit: unit.to_owned(), values, ..side })
}

/// Series of both sides.
fn beside(a: &Figures, b: &Figures, of_side: [&dyn Fn(&Point) -> bool; 2]) -> Vec<SideMedians> {
    let mut all = Vec::new();
    for first in &a.series {
        let same = |other: &&Series| {
            other.format == first.format && other.metric == first.metric && other.labels == first.labels
        };
        let Some(second) = b.series.iter().find(same) else { continue };
        let Some(factor) = plimsoll_import::figures::factor(&second.unit, &first.unit) else { continue };
        let mut values = [chosen(first, of_side[0]).values, chosen(second, of_side[1]).values];
        values[1].iter_mut().for_each(|value| *value *= factor);
        let n = [values[0].len(), values[1].len()];
        let [Some(before), Some(after)] = values.map(|values| median(&values)) else { continue };
        all.push(SideMedians { metric: first.name(), unit: first.unit.clone(), medians: [before, after], n });
    }
    all
}

/// The median; nothing of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| stats::median(values))
}
