//! Rows as OpenMetrics text: <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::table::{Cell, Table};
use super::{Exported, Row, rows};
use crate::escape;

/// Writes rows as gauges, each metric a family of its own, with their times. A family stands in one piece, so that all are kept until their end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn openmetrics(out: &mut dyn Write, exported: &Exported<'_>) -> io::Result<()> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let started = exported.report.started_unix_s as f64;
    rows(exported, &mut |row| -> io::Result<()> {
        let family = families.entry(name(row.metric)).or_default();
        family.metric = row.metric.to_owned();
        // The points of one labelled metric stand together, in the order of time.
        let line = format!("{} {}\n", row.value, started + row.at_s);
        family.points.entry(labels(row)).or_default().push_str(&line);
        Ok(())
    })?;
    write(out, families)
}

/// Writes the rows of a table that has columns `metric` and `value` as gauges without times. Every other column is a label, so that no two rows are the
/// same.
///
/// # Errors
/// When `out` cannot be written to.
pub fn openmetrics_of(out: &mut dyn Write, table: &dyn Table) -> io::Result<()> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let columns: Vec<String> = table.columns().into_iter().map(|(name, _)| name.to_owned()).collect();
    table.rows(&mut |cells| {
        let (mut metric, mut value) = ("", None);
        let mut labels = Labels::default();
        for (column, cell) in columns.iter().zip(cells) {
            match (column.as_str(), cell) {
                ("metric", Cell::Text(text)) => metric = text.unwrap_or_default(),
                ("value", Cell::Number(number)) => value = *number,
                (column, Cell::Text(Some(text))) => labels.add(column, text),
                (column, Cell::Count(Some(count))) => labels.add(column, &count.to_string()),
                (column, Cell::Number(Some(number))) => labels.add(column, &number.to_string()),
                _ => {}
            }
        }
        let Some(value) = value else { return Ok(()) };
        let family = families.entry(name(metric)).or_default();
        family.metric = metric.to_owned();
        family.points.entry(labels.end()).or_default().push_str(&format!("{value}\n"));
        Ok(())
    })?;
    write(out, families)
}

fn write(out: &mut dyn Write, families: BTreeMap<String, Family>) -> io::Result<()> {
    for (name, Family { metric, points }) in families {
        writeln!(out, "# TYPE {name} gauge")?;
        writeln!(out, "# HELP {name} {}", escaped(&metric))?;
        for (labels, lines) in points {
            lines.lines().try_for_each(|line| writeln!(out, "{name}{labels} {line}"))?;
        }
    }
    writeln!(out, "# EOF")
}

/// All points of a metric.
#[derive(Default)]
struct Family {
    /// Name elsewhere.
    metric: String,
    /// By their labels.
    points: BTreeMap<String, String>,
}

/// The name of a family: letters, digits and underscores.
fn name(metric: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("plimsoll_{}", metric.chars().map(fits).collect::<String>())
}

fn labels(row: &Row<'_>) -> String {
    let mut labels = Labels::default();
    labels.add("run", row.run);
    labels.add("experiment", row.experiment);
    labels.add("trial", &row.trial.to_string());
    for (factor, level) in row.cell {
        let name: String = factor.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        labels.add(&format!("factor_{name}"), level);
    }
    for (name, value) in [("arm", row.arm), ("phase", row.phase), ("host", row.host)] {
        if let Some(value) = value {
            labels.add(name, value);
        }
    }
    for (name, value) in [("cycle", row.cycle), ("slice", row.slice)] {
        if let Some(value) = value {
            labels.add(name, &value.to_string());
        }
    }
    labels.end()
}

/// Labels between their braces.
#[derive(Default)]
struct Labels(String);

impl Labels {
    fn add(&mut self, name: &str, value: &str) {
        let comma = if self.0.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{comma}{name}=\"{}\"", escaped(value));
    }

    fn end(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// A text in which backslashes, quotation marks and line ends are escaped.
fn escaped(text: &str) -> String {
    let text = escape::block(text);
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
