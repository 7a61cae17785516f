//! Rows as a table with a heading (RFC 4180).

use std::collections::BTreeSet;
use std::io::{self, Write};

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;

use super::{Selection, rows};

/// Columns that every table has, those of the factors after the first four.
const BEFORE: [&str; 4] = ["run", "experiment", "trial", "block"];
const BEHIND: [&str; 8] = ["arm", "phase", "cycle", "slice", "host", "at_s", "metric", "value"];

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
    let factors: BTreeSet<&str> =
        trials.iter().flat_map(|trial| trial.cell.keys()).map(String::as_str).collect();
    let mut table = csv::Writer::from_writer(out);
    let columns: Vec<&str> = BEFORE.into_iter().chain(factors.iter().copied()).chain(BEHIND).collect();
    table.write_record(&columns)?;
    rows(report, trials, wanted, &mut |row| -> io::Result<()> {
        let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut cells =
            vec![row.run.to_owned(), row.experiment.to_owned(), row.trial.to_string(), row.block.to_string()];
        cells.extend(factors.iter().map(|factor| row.cell.get(*factor).cloned().unwrap_or_default()));
        cells.extend([
            text(row.arm),
            text(row.phase),
            number(row.cycle),
            number(row.slice),
            text(row.host),
            row.at_s.to_string(),
            row.metric.to_owned(),
            row.value.to_string(),
        ]);
        Ok(table.write_record(&cells)?)
    })?;
    table.flush()
}
