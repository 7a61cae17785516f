//! Files of other tools, written during a measurement: the tables of vmstat and sar, the stacks of `perf script`, and the counters that ordinary
//! commands print.
//!
//! The content of a text shows its format, as do prompts and file names that name a command. A line of a table that does not fit is an
//! error that names it; of counters, lines that are not known are counted. Nothing is guessed.

mod archive;
mod commands;
mod counters;
mod sar;
mod stacks;
mod table;
mod vmstat;

use thiserror::Error;

pub use archive::{ArchiveError, Member, Members, members};
pub use commands::kernel_log_signs;
pub use counters::{Counters, Reading, Unread, Window};
pub use stacks::Stacks;
pub use table::{Column, ColumnKind, Table};

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SavedError {
    /// The text has none of the known formats.
    #[error(
        "this is none of: the output of `vmstat N`, of `sar N` (or `sar -f`), of `perf script`, of {}",
        programs()
    )]
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

fn programs() -> String {
    let all: Vec<String> = commands::programs().map(|program| format!("`{program}`")).collect();
    all.join(", ")
}

impl SavedError {
    fn line(index: usize, what: impl Into<String>) -> Self {
        Self::Line { line: index + 1, what: what.into() }
    }
}

/// Content of a file.
#[derive(Clone, Debug)]
pub enum Saved {
    /// Figures over time.
    Table(Table),
    /// Samples of stacks.
    Stacks(Box<Stacks>),
    /// A machine's counters.
    Counters(Box<Counters>),
}

impl Saved {
    /// The name of the program that wrote it.
    pub fn program(&self) -> &str {
        match self {
            Self::Table(table) => table.program,
            Self::Stacks(_) => stacks::PROGRAM,
            Self::Counters(counters) => &counters.program,
        }
    }
}

/// Whether a file of this path has a known format by its name, as in the folders of a sosreport.
pub fn is_known(path: &str) -> bool {
    commands::is_known(path)
}

/// Reads what the known programs wrote, one or several in a text. `path` names the file: `proc/net/snmp`, `netstat_-s`.
///
/// # Errors The text is of none of these programs, a line of a table does not fit, or there is too little to compare.
pub fn read(text: &str, path: &str) -> Result<Vec<Saved>, SavedError> {
    match commands::read(text, path) {
        Err(SavedError::Unknown) => read_table(text).map(|saved| vec![saved]),
        found => found,
    }
}

/// Reads a text that is one table or one list of stacks.
fn read_table(text: &str) -> Result<Saved, SavedError> {
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
