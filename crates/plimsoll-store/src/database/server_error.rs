//! Errors of a server, and whether they may be over later.

use std::error::Error;
use std::io;

use postgres::error::SqlState;

/// Why a server did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// The server cannot be reached, or went away; it may come back.
    #[error("{0}")]
    Away(String),
    /// The server refused.
    #[error("{0}")]
    Refused(String),
    /// Its disk is full.
    #[error("its disk is full")]
    Full,
    /// Its tables are of another version.
    #[error("the tables there are of version {found}, and version {known} is known here")]
    Version { found: u32, known: u32 },
    /// While the session was broken, another process has claimed the run.
    #[error("another process has claimed the run {0}")]
    Taken(String),
}

/// The error, and whether it may be over later.
pub(crate) fn refused(error: &postgres::Error) -> ServerError {
    let Some(said) = error.as_db_error() else {
        let mut why = error.to_string();
        let mut source = error.source();
        let is_io = source.and_then(|source| source.downcast_ref::<io::Error>());
        let is_settled = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        };
        // A request that was never sent, as with a missing password, fails again later.
        let is_away = is_io.map_or(source.is_none(), |error| !is_settled(error));
        while let Some(deeper) = source {
            why = format!("{why}: {deeper}");
            source = deeper.source();
        }
        return if is_away { ServerError::Away(why) } else { ServerError::Refused(why) };
    };
    let why = match said.detail() {
        Some(detail) => format!("{} ({detail})", said.message()),
        None => said.message().to_owned(),
    };
    let code = said.code();
    let passes = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    if *code == SqlState::DISK_FULL {
        ServerError::Full
    } else if passes.contains(code) || code.code().starts_with("08") {
        ServerError::Away(why)
    } else {
        ServerError::Refused(why)
    }
}
