//! Figures that other tools wrote down: benchmarks, kernel counters over time, tables of any program.
//!
//! Text is read line by line, in memory that does not grow with it: [`stream`] hands each [`Figure`] to a function, and [`read`] keeps them as
//! [`Series`]. What a line is, is seen from what is in it. Text may be quoted, indented and stand in prose; several tools may follow one
//! another. Each figure has the line that it was read from, and a [`Coverage`] tells which lines were read and which were not: nothing is
//! guessed, and nothing is left out silently.
//!
//! Each format is one file of [`formats`] and one line in its list.
//!
//! ```
//! let text = "Requests per second:    219.43 [#/sec] (mean)\n";
//! let found = plimsoll_import::figures::read(text, &Default::default()).unwrap();
//! let rate = found.one("requests_per_second").unwrap();
//! assert_eq!((rate.values(), rate.unit.as_str()), (vec![219.43], "1/s"));
//! ```

mod coverage;
mod error;
mod figure;
mod format;
pub mod formats;
mod json;
mod line;
mod number;
mod scan;
mod series;
mod sysstat;
mod unit;

pub use coverage::{Coverage, Part, Stretch};
pub use error::ReadError;
pub use figure::{Better, Figure};
pub use format::{Checked, Format, Measured, Options};
pub use number::Decimal;
pub use scan::stream;
pub use series::{Figures, Point, Series, Wanted, read, read_from};
pub use unit::factor;
