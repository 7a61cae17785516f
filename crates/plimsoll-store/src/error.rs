//! Errors of the store of runs.

use std::path::{Path, PathBuf};

/// Error of the store of runs.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the file could not be made.
    #[error("cannot make the folder {path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file may not be opened, made or written to.
    #[error("cannot keep runs in {path}: {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The disk is full; what had been stored before is whole.
    #[error("the disk is full: cannot {operation} in {place}; what was stored before is whole")]
    Full {
        /// The file, or the server.
        place: String,
        /// The operation that failed.
        operation: &'static str,
    },
    /// The file was removed or renamed while it was open: later writes to it are lost.
    #[error("{path} is gone: it was removed or renamed while the run went on, and cannot keep the run")]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be used.
    #[error("cannot {operation} in {path}: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        operation: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file has an object that no store has.
    #[error("{path} is no store of runs: it has the {kind} `{name}`, expected tables and indexes alone")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// `view`, `trigger` or `virtual table`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The URL of a server cannot be read.
    #[error("the store's URL cannot be used: {why}")]
    Address {
        /// The reason. Parts of the URL are left out.
        why: String,
    },
    /// A server cannot be reached, or went away.
    #[error("cannot {operation} in {place}, which cannot be reached: {why}")]
    Away {
        /// The server.
        place: String,
        /// The operation that failed.
        operation: &'static str,
        /// The failure.
        why: String,
    },
    /// A server refused.
    #[error("cannot {operation} in {place}: {why}")]
    Refused {
        /// The server.
        place: String,
        /// The operation that failed.
        operation: &'static str,
        /// Its message.
        why: String,
    },
    /// An older Plimsoll made the tables.
    #[error("{place} has format {found}, and this Plimsoll reads format {known}")]
    Older {
        /// The file or server.
        place: String,
        /// The format of its tables.
        found: u32,
        /// The format that is known.
        known: u32,
    },
    /// A run is in both stores, and neither is the other with more trials.
    #[error("the run {run} is in {place} too, and differs there: {how}")]
    Differs {
        /// The run.
        run: String,
        /// The store to which it should be copied.
        place: String,
        /// The differences.
        how: String,
    },
    /// The copy differs from the original when it is read back.
    #[error("the run {run} was not copied to {place}: the copy differs from the original")]
    Spoiled {
        /// The run.
        run: String,
        /// The store to which it should be copied.
        place: String,
    },
    /// A file that stands beside the file of runs cannot be read or written.
    #[error("cannot {operation} {path}: {source}")]
    Beside {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        operation: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The latest data is not merged into the file yet, and cannot be read without permission to write.
    #[error(
        "{path} was not closed by the run that wrote it last, and cannot be read without permission to write to its folder; a copy of \
         the whole folder can be"
    )]
    NotMerged {
        /// The file.
        path: PathBuf,
    },
    /// Another process carries the run out.
    #[error("the run {run} is being carried out by {holder}")]
    Going {
        /// The run.
        run: String,
        /// Which process, in words.
        holder: String,
    },
    /// The file by which runs are claimed could not be used.
    #[error("cannot claim the run in {path}: {source}")]
    Claim {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file, or the tables of the server, were made by a newer Plimsoll.
    #[error("{place} has format {found}, and this Plimsoll knows formats up to {known}")]
    Newer {
        /// The file, or the server.
        place: String,
        /// The format of the file.
        found: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// The file is not one of a machine's weeks.
    #[error("{path} is no file of a machine's weeks, as `plimsoll watch --keep` makes it")]
    NoWeeks {
        /// The file.
        path: PathBuf,
    },
    /// A stored record cannot be read.
    #[error("{place}: {what} cannot be read: {source}")]
    Record {
        /// The file, or the server.
        place: String,
        /// Which record.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
}

impl StoreError {
    /// Whether a server is away, and may come back.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }
}

/// Separates a full disk from other errors.
pub(crate) fn failed(path: &Path, operation: &'static str, source: rusqlite::Error) -> StoreError {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => {
            StoreError::Full { place: path.display().to_string(), operation }
        }
        _ => StoreError::Sqlite { path: path.to_owned(), operation, source },
    }
}
