//! Results of a run, written for its reader: a terminal, a program, a CI system, a browser.
//!
//! Every writer is a pure function of a [`RunReport`](plimsoll_model::report::RunReport) (and, for the charts over time, of the raw
//! [`TrialRecord`](plimsoll_model::observation::TrialRecord)s) into an [`io::Write`](std::io::Write). Nothing is measured or judged
//! here: a figure that a writer shows was either found before, or is a median, a sum or a share of figures that were, and the text
//! beside it says so. All errors are the writer's own.
//!
//! Names of hosts, phases and experiments come from files that anybody may have written, and reasons may quote what a program
//! wrote. Each format keeps them from being more than text: see [`escape`], and [`control_characters`] for terminals.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod control_characters;
pub mod escape;
mod events;
pub mod export;
pub mod folded;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
mod loads;
mod machines;
pub mod markdown;
mod next;
pub mod postal;
pub mod pprof;
pub mod text;
pub mod tone;
pub mod weeks;

mod answer;
mod chart;
mod claims;
mod environment;
mod findings;
mod levels;
mod number;
mod profile;
mod section;
mod seen;
mod steps;
mod summary;
mod wording;

pub use number::{figure, moment, seconds};
