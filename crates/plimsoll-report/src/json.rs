//! The public JSON, as the model's types have it.

use std::io::{self, Write};

use plimsoll_model::report::RunReport;
use plimsoll_model::verdict::{VERDICT_SCHEMA, Verdict};
use serde::Serialize;

/// Writes a run, indented, with a line end behind it. Its schema is [`plimsoll_model::report::RUN_SCHEMA`].
///
/// # Errors
/// Those of the writer.
pub fn run(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// Writes a single verdict, indented, with its schema's name in front and a line end behind it.
///
/// # Errors
/// Those of the writer.
pub fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Versioned { schema: VERDICT_SCHEMA, verdict })?;
    writeln!(out)
}

/// A verdict that stands alone says what form it has.
#[derive(Serialize)]
struct Versioned<'a> {
    schema: &'static str,
    #[serde(flatten)]
    verdict: &'a Verdict,
}
