//! Figures that other tools wrote down: benchmarks, kernel counters over time, tables of any program.
//!
//! Text is read line by line, in memory that does not grow with it: [`stream`] hands each [`Figure`] to a function, and [`read`] keeps them as
//! [`Series`]. The content of a line shows its format. Text may be quoted, indented and stand in prose; several tools may follow one
//! another. Each figure has the line that it was read from, and a [`Coverage`] lists which lines were read and which were not: nothing is
//! guessed, and nothing is left out silently.
//!
//! Each format is one file of [`formats`] and one line in its list. Nothing here knows of experiments: loads that are programs of the user's own are read
//! by it, and files that are imported.
//!
//! ```
//! let text = "Requests per second:    219.43 [#/sec] (mean)\n";
//! let found = plimsoll_figures::read(text, &Default::default()).unwrap();
//! let rate = found.one("requests_per_second").unwrap();
//! assert_eq!((rate.values(), rate.unit.as_str()), (vec![219.43], "1/s"));
//! ```
#![warn(clippy::print_stderr)]
#![forbid(unsafe_code)]

mod clean;
mod coverage;
mod error;
mod figure;
mod format;
pub mod formats;
mod json;
mod line;
pub mod magic;
mod number;
pub mod perf_script;
mod rules;
mod scan;
mod series;
mod sysstat;
mod unit;
mod unsupported;
pub mod vmstat;

pub use coverage::{Call, Coverage, Part, Stretch, WithoutFigures};
pub use error::ReadError;
pub use figure::{Better, Figure};
pub use format::{Checked, Format, Measured, Options};
pub use number::Decimal;
pub use scan::stream;
pub use series::{Figures, Point, Series, SeriesSelector, read, read_from};
pub use unit::factor;
