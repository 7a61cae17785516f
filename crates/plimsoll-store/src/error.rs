//! What can go wrong with the file of runs.

use std::path::{Path, PathBuf};

/// What went wrong with the file of runs.
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
    #[error("the disk is full: cannot {operation} in {path}; what was stored before is whole")]
    Full {
        /// The file.
        path: PathBuf,
        /// What was tried.
        operation: &'static str,
    },
    /// The file could not be used.
    #[error("cannot {operation} in {path}: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What was tried.
        operation: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// What was written last has not come into the file itself yet, and without permission to write it cannot be read.
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
    /// The file was written by a newer Plimsoll.
    #[error("{path} has format {found}, and this Plimsoll knows formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
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
    #[error("{path}: {what} cannot be read: {source}")]
    Record {
        /// The file.
        path: PathBuf,
        /// Which record.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// Tells a full disk from the rest of what can go wrong.
pub(crate) fn failed(path: &Path, operation: &'static str, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => StoreError::Full { path, operation },
        _ => StoreError::Sqlite { path, operation, source },
    }
}
