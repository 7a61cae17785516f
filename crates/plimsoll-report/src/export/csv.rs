//! Rows as a table with a heading (RFC 4180).

use std::io::{self, Write};

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;

use super::table::{Cell, Table};
use super::{Selection, rows};

/// Writes rows with a column for each factor.
///
/// # Errors
/// When `out` cannot be written to.
pub fn csv(
    out: &mut dyn Write,
    report: &RunReport,
    trials: &[TrialRecord],
    wanted: &Selection,
) -> io::Result<()> {
    let table = Table::of(trials);
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.columns().into_iter().map(|(name, _)| name))?;
    rows(report, trials, wanted, &mut |row| -> io::Result<()> {
        let cells = table.cells(row).map(|cell| match cell {
            Cell::Text(text) => text.unwrap_or_default().to_owned(),
            Cell::Count(count) => count.map(|count| count.to_string()).unwrap_or_default(),
            Cell::Number(number) => number.to_string(),
        });
        Ok(writer.write_record(cells)?)
    })?;
    writer.flush()
}
