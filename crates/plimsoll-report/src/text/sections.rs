//! Sections with a form of their own in a terminal: the environment, notes, and how to repeat the run.

use std::io::{self, Write};

use plimsoll_model::report::RunReport;

use super::Page;
use crate::environment;
use crate::wording;

/// The environment of the run.
pub(super) fn environment(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let lines = environment::lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    page.heading("Measured on")?;
    lines.iter().try_for_each(|(name, text)| page.item(&format!("{name}: {text}")))
}

/// Faults of trials, and what a reader must know.
pub(super) fn notes(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let notes: Vec<String> = wording::notes(report);
    if notes.is_empty() {
        return Ok(());
    }
    page.heading("Notes")?;
    notes.iter().try_for_each(|note| page.item(note))
}

/// Cost of sampling, the run's id, and how to repeat it.
pub(super) fn provenance(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    writeln!(page.out)?;
    if let Some(cost) = wording::sampling(&report.sampling) {
        page.paragraph(&cost, 0)?;
    }
    page.paragraph(&wording::provenance(report), 0)?;
    page.paragraph(&format!("The same again: {}", wording::reproduce(report)), 0)
}
