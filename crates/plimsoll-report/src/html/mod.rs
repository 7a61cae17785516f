//! One offline page with interactive charts.
//!
//! The page fetches nothing: style, script and data are in it, and its content security policy forbids the browser to load
//! anything else. Charts are drawn by Plotly, of which `bundle` has the part that they need: packed in the page, or beside it;
//! every figure also stands in a table, for print, for screen readers and for browsers without scripts.

pub mod bundle;
mod chart;
pub mod history;
mod levels;
mod numbers;
mod packets;
mod page;
mod places;
pub mod recording;
mod section;
mod sections;
pub mod served;
mod sides;
mod spans;
mod tables;
mod timeline;

use std::io::{self, Write};

use plimsoll_model::observation::{Profile, TrialRecord};
use plimsoll_model::report::RunReport;
use plimsoll_model::trace::TimeSequence;

pub use numbers::{NumbersPage, Rows, judged};
pub use packets::trace;

use bundle::Bundle;

/// The id of the element that chooses the trial to draw over time.
const TRIAL_PICKER: &str = "trial-picker";
/// The id of the element that chooses the counter to draw.
const COUNTER_PICKER: &str = "counter-picker";
/// The id of the element that chooses the connection to draw.
const CONNECTION_PICKER: &str = "connection-picker";

/// Inputs of charts beyond the report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn<'r> {
    /// Connections from its captures that are worth a look.
    pub time_sequences: &'r [TimeSequence],
    /// The stacks of the two sides that the report's profile compares.
    pub stacks: Option<&'r [Profile; 2]>,
    /// Where the page has the program from that draws its charts.
    pub bundle: Bundle,
    /// Whether a server sends it, which has pages for the causes, too.
    pub served: bool,
}

/// Writes the page of a run.
///
/// `records` are the raw trials behind the report, for the charts over time; without them these charts are left out, and the page
/// says so.
///
/// # Errors
/// Those of the writer.
pub fn run(
    out: &mut dyn Write,
    report: &RunReport,
    records: &[TrialRecord],
    drawn: &Drawn<'_>,
) -> io::Result<()> {
    let body = sections::body(report, records, drawn);
    page::write(out, &format!("{}: {}", report.experiment, report.run), &body, drawn.bundle)
}
