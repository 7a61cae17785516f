//! Imported files as a page or a mail: the verdict with its chart, the figures, and which lines were read.

use plimsoll_import::figures::{Coverage, Part, Series};
use plimsoll_model::numbers::Numbers;
use plimsoll_report::html::bundle::Bundle;
use plimsoll_report::html::{self, NumbersPage, Rows};
use plimsoll_report::text;

use super::sides::{SideMedians, median};
use super::text::{range, shown};
use super::verdict::Judged;
use super::{Import, Imported};
use crate::failure::Failure;
use crate::output;

/// The most series that are drawn if nothing is judged.
const DRAWN: usize = 12;

pub(super) fn print(import: &Import) -> Result<(), Failure> {
    with_page(import, |page| output::document(|out| html::judged(out, page, Bundle::Inside)))
}

pub(super) fn mail(import: &Import) -> Result<(), Failure> {
    with_page(import, |page| output::text(|out| text::judged_by_mail(out, page)))
}

/// Makes the page of an import, and hands it to `write`.
pub(crate) fn with_page<R>(import: &Import, write: impl FnOnce(&NumbersPage<'_>) -> R) -> R {
    let names: Vec<&str> = import.files.iter().map(|file| file.name.as_str()).collect();
    let title = names.join(", ");
    let asked = match &import.reading.judge {
        Some(test) => format!("What other tools printed, judged: {test}"),
        None => "What other tools printed".to_owned(),
    };
    let verdict = import.judged.as_ref().and_then(Judged::verdict);
    let facts = import.judged.as_ref().map(Judged::facts).unwrap_or_default();
    let numbers = match &import.judged {
        Some(judged) => judged.numbers().map(|numbers| (title.clone(), numbers)).into_iter().collect(),
        None => import.files.iter().flat_map(drawn).take(DRAWN).collect::<Vec<_>>(),
    };
    let medians = import.judged.as_ref().and_then(Judged::medians);
    let mut tables: Vec<Rows> =
        medians.map(|(titles, beside)| medians_of(titles, beside)).into_iter().collect();
    for file in &import.files {
        tables.push(figures(&file.name, &file.found.series));
        tables.push(lines(&file.name, &file.found.coverage));
    }
    tables.retain(|table| !table.rows.is_empty());
    let words = names.iter().map(|name| (*name).to_owned()).chain(import.reading.words());
    let again = ["plimsoll import".to_owned()]
        .into_iter()
        .chain(words.map(|word| plimsoll_model::shell::shell_word(&word).into_owned()));
    let page = NumbersPage {
        title: &title,
        asked: &asked,
        verdict: verdict.as_ref(),
        numbers: &numbers,
        facts: &facts,
        tables: &tables,
        again: &again.collect::<Vec<_>>().join(" "),
    };
    write(&page)
}

/// Each series of a file that has several values, in the order of the text.
fn drawn(file: &Imported) -> impl Iterator<Item = (String, Numbers)> {
    let several = file.found.series.iter().filter(|series| series.points.len() > 1);
    several.map(|series| {
        let values = series.values().into_iter().map(Some).collect();
        (titled(series), Numbers::Series { values, levels: Vec::new() })
    })
}

/// The name of a series, with its unit.
fn titled(series: &Series) -> String {
    if series.unit.is_empty() { series.name() } else { format!("{}, {}", series.name(), series.unit) }
}

pub(crate) fn medians_of([a, b]: &[String; 2], beside: &[SideMedians]) -> Rows {
    let row = |beside: &SideMedians| {
        let [before, after] = beside.medians;
        let [of_a, of_b] = beside.n;
        vec![
            beside.metric.clone(),
            shown(before),
            shown(after),
            beside.unit.clone(),
            format!("{of_a}, {of_b}"),
        ]
    };
    Rows {
        name: format!("Medians of everything that both sides have: {a}, {b}"),
        columns: vec![
            ("figure", false),
            ("first", true),
            ("second", true),
            ("unit", false),
            ("values", true),
        ],
        rows: beside.iter().map(row).collect(),
    }
}

fn figures(name: &str, all: &[Series]) -> Rows {
    let row = |series: &Series| {
        let values = series.values();
        let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(*value), most.max(*value))
        });
        let lines = match series.points.as_slice() {
            [] => String::new(),
            [first, .., last] => range(first.line, last.line),
            [only] => range(only.line, only.line),
        };
        let n = values.len();
        let middle = median(&values).map_or_else(String::new, shown);
        vec![
            series.format.to_owned(),
            series.name(),
            middle,
            series.unit.clone(),
            n.to_string(),
            least.to_string(),
            most.to_string(),
            lines,
        ]
    };
    Rows {
        name: format!("Figures of {name}"),
        columns: vec![
            ("format", false),
            ("figure", false),
            ("median", true),
            ("unit", false),
            ("values", true),
            ("least", true),
            ("most", true),
            ("lines", false),
        ],
        rows: all.iter().map(row).collect(),
    }
}

/// Coverage of each line.
fn lines(name: &str, coverage: &Coverage) -> Rows {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for stretch in &coverage.stretches {
        let became = match &stretch.part {
            Part::Read { format, run } => format!("read as {format}, call {run}"),
            Part::Elsewhere { format, command } => format!("of {format}: use `{command}`"),
            Part::Unsupported { tool } => format!("output of {tool}, which is not supported"),
            Part::Skipped { what } | Part::Refused { why: what } => format!("not read: {what}"),
        };
        rows.push(vec![range(stretch.from, stretch.to), became, stretch.figures.to_string()]);
    }
    if coverage.more > 0 {
        rows.push(vec![format!("and {} more places", coverage.more), String::new(), String::new()]);
    }
    Rows {
        name: format!("Lines of {name}"),
        columns: vec![("lines", false), ("what became of them", false), ("figures", true)],
        rows,
    }
}
