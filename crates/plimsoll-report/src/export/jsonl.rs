//! Rows as JSON, an object on each line.

use std::io::{self, Write};

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;

use super::{Selection, rows};

/// Writes each row as a JSON object with the names of [`super::Row`].
///
/// # Errors
/// When `out` cannot be written to.
pub fn jsonl(
    out: &mut dyn Write,
    report: &RunReport,
    trials: &[TrialRecord],
    wanted: &Selection,
) -> io::Result<()> {
    rows(report, trials, wanted, &mut |row| {
        serde_json::to_writer(&mut *out, row)?;
        writeln!(out)
    })
}
