//! Rows as OpenMetrics text: <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;

use super::{Row, Selection, rows};

/// Writes rows as gauges, each metric a family of its own, with their times. A family stands in one piece, so that all are kept until their end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn openmetrics(
    out: &mut dyn Write,
    report: &RunReport,
    trials: &[TrialRecord],
    wanted: &Selection,
) -> io::Result<()> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let started = report.started_unix_s as f64;
    rows(report, trials, wanted, &mut |row| -> io::Result<()> {
        let family = families.entry(name(row.metric)).or_default();
        family.metric = row.metric.to_owned();
        // The points of one labelled metric stand together, in the order of time.
        let line = format!("{} {}\n", row.value, started + row.at_s);
        family.points.entry(labels(row)).or_default().push_str(&line);
        Ok(())
    })?;
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
    /// What it is called elsewhere.
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
    let mut text = String::from("{");
    let mut label = |name: &str, value: &str| {
        let comma = if text.len() > 1 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{name}=\"{}\"", escaped(value));
    };
    label("run", row.run);
    label("experiment", row.experiment);
    label("trial", &row.trial.to_string());
    for (factor, level) in row.cell {
        let name: String = factor.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        label(&format!("factor_{name}"), level);
    }
    for (name, value) in [("arm", row.arm), ("phase", row.phase), ("host", row.host)] {
        if let Some(value) = value {
            label(name, value);
        }
    }
    for (name, value) in [("cycle", row.cycle), ("slice", row.slice)] {
        if let Some(value) = value {
            label(name, &value.to_string());
        }
    }
    text.push('}');
    text
}

/// A text in which backslashes, quotation marks and line ends are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
