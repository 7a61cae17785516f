//! `postal`: a row at the end of each minute of the clock, so that the first is a part of one.

use super::{Better, Figures, NamedMetric, ReadError, metric};

const PROGRAM: &str = "postal";
pub(super) const METRICS: &[NamedMetric] = &[
    metric("rate", "per minute", Better::Higher),
    metric("messages", "messages", Better::Higher),
    metric("errors", "messages", Better::Lower),
];

pub(super) fn read(text: &str) -> Result<Figures, ReadError> {
    let rows: Vec<(f64, f64)> = text.lines().filter_map(row).collect();
    if rows.is_empty() {
        return Err(ReadError::Missing {
            program: PROGRAM,
            what: "row of a minute; it ran for too short a time".into(),
        });
    }
    let whole = &rows[1..];
    let sum = |rows: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
    let mut found = Figures::from([
        ("messages".to_owned(), sum(&rows, |row| row.0)),
        ("errors".to_owned(), sum(&rows, |row| row.1)),
    ]);
    if !whole.is_empty() {
        found.insert("rate".to_owned(), sum(whole, |row| row.0) / whole.len() as f64);
    }
    Ok(found)
}

/// Messages and errors of a row `05:52,580,3112,0,286,0`; nothing for any other line.
fn row(line: &str) -> Option<(f64, f64)> {
    let cells: Vec<&str> = line.trim().split(',').collect();
    let [_, messages, _, errors, ..] = cells.as_slice() else { return None };
    Some((messages.parse().ok()?, errors.parse().ok()?))
}
