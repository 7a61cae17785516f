//! What other tools wrote down while something ran: the tables of vmstat and sar, and the stacks of `perf script`.
//!
//! What a file is, is seen from what is in it. A line that does not fit is an error that names it; nothing is guessed.

mod sar;
mod stacks;
mod table;
mod vmstat;

use thiserror::Error;

pub use stacks::Stacks;
pub use table::{Column, ColumnKind, Table};

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SavedError {
    /// The text has none of the known formats.
    #[error("this is none of: the output of `vmstat N`, of `sar N` (or `sar -f`), of `perf script`")]
    Unknown,
    /// A line does not fit.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1 on.
        line: usize,
        /// The expected text, and the text that was found.
        what: String,
    },
    /// The text has too little data.
    #[error("{what}")]
    TooLittle {
        /// The expected data, and the data that was found.
        what: String,
    },
}

impl SavedError {
    fn line(index: usize, what: impl Into<String>) -> Self {
        Self::Line { line: index + 1, what: what.into() }
    }
}

/// What a file has in it.
#[derive(Clone, Debug)]
pub enum Saved {
    /// Figures over time.
    Table(Table),
    /// Samples of stacks.
    Stacks(Box<Stacks>),
}

impl Saved {
    /// The name of the program that wrote it.
    #[must_use]
    pub fn program(&self) -> &'static str {
        match self {
            Self::Table(table) => table.program,
            Self::Stacks(_) => stacks::PROGRAM,
        }
    }
}

/// Reads what one of the known programs wrote.
///
/// # Errors The text is of none of these programs, a line does not fit, or there is too little to compare.
pub fn read(text: &str) -> Result<Saved, SavedError> {
    if vmstat::is_header(text) {
        vmstat::read(text).map(Saved::Table)
    } else if sar::is_banner(text) {
        sar::read(text).map(Saved::Table)
    } else if stacks::is_it(text) {
        stacks::read(text).map(|stacks| Saved::Stacks(Box::new(stacks)))
    } else {
        Err(SavedError::Unknown)
    }
}
