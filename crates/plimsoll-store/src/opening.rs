//! A store is opened: a file, which may be there or not, be readable or not; or a server.

use std::cmp::Ordering;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::{Location, Store, StoreError, failed, schema};
use crate::database::address::Address;
use crate::database::server::Prepare;
use crate::database::{Database, Server, ServerError};

impl Store {
    /// Opens a store to write to it. A server is reached, and gets its tables where it has none yet, or older ones.
    ///
    /// # Errors
    /// When it cannot be made or reached, is no store of runs, or was written by a newer version.
    pub fn open_at(place: &Location) -> Result<Self, StoreError> {
        match place {
            Location::File(path) => Self::open(path),
            Location::Server { address, .. } => Self::on_server(place, address, schema::server::to_write),
        }
    }

    /// Opens a store to read what is in it.
    ///
    /// # Errors
    /// When it is no store of runs, was written by a newer version, may not be read, or cannot be reached.
    pub fn open_at_to_read(place: &Location) -> Result<Self, StoreError> {
        match place {
            Location::File(path) => Self::open_to_read(path),
            Location::Server { address, .. } => Self::on_server(place, address, schema::server::to_read),
        }
    }

    /// The store in the same session, for another thread; `None` if runs are in a file.
    pub fn in_same_session(&self) -> Option<Self> {
        let Database::Server(server) = &self.database else { return None };
        Some(Self { place: self.place.clone(), database: Database::Server(Arc::clone(server)) })
    }

    /// How many answers of a server have come until now, also while another thread waits for one in the same session; 0 where runs are in a file.
    pub fn answers(&self) -> u64 {
        match &self.database {
            Database::Server(server) => server.answers(),
            Database::File(_) => 0,
        }
    }

    fn on_server(place: &Location, address: &Address, prepare: Prepare) -> Result<Self, StoreError> {
        let server = Server::at(address.clone(), prepare);
        server.reach().map_err(|error| of_server(place, "open the runs", error))?;
        Ok(Self { place: place.clone(), database: Database::Server(Arc::new(server)) })
    }

    /// Opens the file, and makes it and its folder where they are not there yet.
    ///
    /// # Errors
    /// When it cannot be made, is no file of runs, or was written by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let doing = |source| unopened(path, source);
        let connection = Connection::open(path).map_err(doing)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(doing)?;
        distrust(path, &connection)?;
        let found = schema::prepare(&connection).map_err(doing)?;
        Self::in_file(path, connection, found)
    }

    /// Opens the file to read what is in it, which takes no permission to write. Where there is no file, or nothing in it yet, there are no runs.
    ///
    /// # Errors
    /// When it is no file of runs, was written by a newer version, or may not be read.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let doing = |source| unread(path, source);
        let none = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_in_memory()?;
            schema::prepare(&connection)?;
            Ok(connection)
        };
        let connection = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => none().map_err(doing)?,
            Err(source) => return Err(StoreError::Open { path: path.to_owned(), source }),
            Ok(_) => {
                // SQLite itself falls back to reading where it may not write to the file. But it would make files beside it then, which
                // its owner could not use later; so it must make none where there are none.
                let log_is_there = beside(path, "-shm").exists();
                let tried = match access(path, AccessFlags::W_OK) {
                    Err(_) if !log_is_there => None,
                    _ => Some(readable(path, OpenFlags::SQLITE_OPEN_READ_WRITE, "")),
                };
                match tried {
                    Some(Ok(connection)) => connection,
                    Some(Err(error)) if !is_refusal(&error) => return Err(doing(error)),
                    _ if std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) => {
                        return Err(StoreError::NotMerged { path: path.to_owned() });
                    }
                    _ => readable(path, OpenFlags::SQLITE_OPEN_READ_ONLY, "?immutable=1").map_err(doing)?,
                }
            }
        };
        distrust(path, &connection)?;
        let is_blank = schema::is_blank(&connection).map_err(doing)?;
        let connection = if is_blank { none().map_err(doing)? } else { connection };
        let found = schema::format(&connection).map_err(doing)?;
        Self::in_file(path, connection, found)
    }

    /// An open file, in which this format was found.
    fn in_file(path: &Path, connection: Connection, found: u32) -> Result<Self, StoreError> {
        let place = Location::File(path.to_owned());
        let known = schema::FORMAT;
        match found.cmp(&known) {
            Ordering::Less => Err(StoreError::Older { place: place.to_string(), found, known }),
            Ordering::Equal => Ok(Self { place, database: Database::File(connection) }),
            Ordering::Greater => Err(StoreError::Newer { place: place.to_string(), found, known }),
        }
    }
}

/// Keeps a foreign file from running code of its own: functions in its schema, and views or triggers in the place of tables, which could
/// go on for ever (<https://www.sqlite.org/security.html>).
fn distrust(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let doing = |source| unread(path, source);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(doing)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(doing)?;
    let foreign = connection.query_row(schema::FOREIGN, [], |row| Ok((row.get(0)?, row.get(1)?)));
    match foreign.optional().map_err(doing)? {
        None => Ok(()),
        Some((kind, name)) => Err(StoreError::Foreign { path: path.to_owned(), kind, name }),
    }
}

/// Answer of a server, or its silence.
pub(crate) fn of_server(place: &Location, operation: &'static str, error: ServerError) -> StoreError {
    let place = place.to_string();
    match error {
        ServerError::Away(why) => StoreError::Away { place, operation, why },
        ServerError::Refused(why) => StoreError::Refused { place, operation, why },
        ServerError::Full => StoreError::Full { place, operation },
        ServerError::Version { found, known } if found < known => StoreError::Older { place, found, known },
        ServerError::Version { found, known } => StoreError::Newer { place, found, known },
        ServerError::Taken(run) => StoreError::Going { run, holder: "another process".into() },
    }
}

/// A file that stands beside the file of runs.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Opens a file of runs that is there, and tries to read it: only that shows whether it can be.
fn readable(path: &Path, how: OpenFlags, query: &str) -> rusqlite::Result<Connection> {
    let connection = if query.is_empty() {
        Connection::open_with_flags(path, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?
    } else {
        // As a URI (https://www.sqlite.org/uri.html), in which these stand for something else.
        let text = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let how = how | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(format!("file:{text}{query}"), how)?
    };
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.query_row("select count(*) from sqlite_master", [], |_| Ok(()))?;
    Ok(connection)
}

fn is_refusal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

/// Why a file could not be read; the system is asked again, as in [`unopened`].
fn unread(path: &Path, source: rusqlite::Error) -> StoreError {
    match is_refusal(&source).then(|| std::fs::File::open(path)) {
        Some(Err(source)) => StoreError::Open { path: path.to_owned(), source },
        _ => failed(path, "open the runs", source),
    }
}

/// Reason why a file could not be opened. SQLite does not pass on the system's error, so the system is asked again.
fn unopened(path: &Path, source: rusqlite::Error) -> StoreError {
    let refused = is_refusal(&source);
    let ask = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match refused.then(ask) {
        Some(Err(source)) => StoreError::Open { path: path.to_owned(), source },
        _ => failed(path, "open the runs", source),
    }
}
