//! Mail per minute, as postal writes it: `time,messages,data(K),errors,connections,ssl`.
//!
//! postal has the time of day; here a trial begins at 00:00, with a line of its own for the names of the columns, and before
//! that one for the cell where there are several.

use std::io::{self, Write};

use plimsoll_model::report::RunReport;

use crate::wording;

/// Writes the mail of all trials, minute by minute.
///
/// # Errors
/// When `out` cannot be written to.
pub fn run(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    for trial in report.trials.iter().filter(|trial| !trial.mail_minutes.is_empty()) {
        // postal's own lines begin with a time: readers of them pass over this one.
        if !trial.cell.is_empty() {
            writeln!(out, "# trial {}: {}", trial.number, wording::cell_title(&trial.cell))?;
        }
        writeln!(out, "time,messages,data(K),errors,connections,ssl")?;
        for minute in &trial.mail_minutes {
            let (hour, past) = (minute.minute / 60, minute.minute % 60);
            let kilobytes = minute.bytes / 1024;
            let (messages, errors, connections) = (minute.messages, minute.errors, minute.connections);
            // The source speaks no TLS.
            writeln!(out, "{hour:02}:{past:02},{messages},{kilobytes},{errors},{connections},0")?;
        }
    }
    Ok(())
}
