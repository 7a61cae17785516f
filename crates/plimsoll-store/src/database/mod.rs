//! A file of SQLite's and a server of PostgreSQL's behind one door: statements and values in, rows out. The statements
//! are the same for both, except the few that [`Differing`] has twice.

pub(crate) mod address;
mod passwords;
pub(crate) mod server;
pub(crate) mod server_error;
mod tls;
mod value;

use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

pub(crate) use server::Server;
pub(crate) use server_error::ServerError;
pub(crate) use value::{OfValue, Row, Value, WrongColumn, values};

/// A statement that SQLite and PostgreSQL have to be asked in different words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differing {
    pub(crate) file: &'static str,
    pub(crate) server: &'static str,
}

/// Where rows are.
#[derive(Debug)]
pub(crate) enum Database {
    /// In a file, by SQLite.
    File(Connection),
    /// On a server, by PostgreSQL.
    Server(Arc<Server>),
}

/// Why a statement was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error(transparent)]
    File(#[from] rusqlite::Error),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Column(#[from] WrongColumn),
}

impl Database {
    /// The words that are meant for this one.
    pub(crate) fn words(&self, statement: Differing) -> &'static str {
        match self {
            Self::File(_) => statement.file,
            Self::Server(_) => statement.server,
        }
    }

    /// Carries a statement out; how many rows it changed.
    pub(crate) fn execute(&self, statement: &str, values: &[Value]) -> Result<usize, DatabaseError> {
        match self {
            Self::File(file) => {
                Ok(file.prepare_cached(statement)?.execute(params_from_iter(values.iter()))?)
            }
            Self::Server(server) => Ok(server.execute(statement, values)?),
        }
    }

    /// All rows that a statement gives.
    pub(crate) fn query(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        match self {
            Self::File(file) => {
                let mut prepared = file.prepare_cached(statement)?;
                let columns = prepared.column_count();
                let rows =
                    prepared.query_map(params_from_iter(values.iter()), |row| Row::of_file(row, columns))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Self::Server(server) => Ok(server.query(statement, values)?),
        }
    }

    /// The first row that a statement gives.
    pub(crate) fn first(&self, statement: &str, values: &[Value]) -> Result<Option<Row>, DatabaseError> {
        Ok(self.query(statement, values)?.into_iter().next())
    }

    /// Carries out all of it or nothing.
    pub(crate) fn whole<T>(
        &self,
        work: impl FnOnce() -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.whole_or(&std::convert::identity, work)
    }

    /// Runs `work` in a transaction, for work with an error type of its own.
    pub(crate) fn whole_or<T, E>(
        &self,
        to_error: &dyn Fn(DatabaseError) -> E,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::File(file) => {
                let transaction = file.unchecked_transaction().map_err(|error| to_error(error.into()))?;
                // Without a commit it is rolled back when it is dropped.
                let done = work()?;
                transaction.commit().map_err(|error| to_error(error.into()))?;
                Ok(done)
            }
            Self::Server(server) => {
                server.begin().map_err(|error| to_error(error.into()))?;
                match work() {
                    Ok(done) => {
                        server.commit().map_err(|error| to_error(error.into()))?;
                        Ok(done)
                    }
                    Err(error) => {
                        server.roll_back();
                        Err(error)
                    }
                }
            }
        }
    }
}
