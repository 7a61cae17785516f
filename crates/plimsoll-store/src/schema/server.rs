//! The tables on a server of PostgreSQL's: the same as in a file, in the schema `plimsoll` of a database, and what a file has beside it.
//!
//! Tables of another version are refused.

use postgres::Client;

use crate::database::ServerError;
use crate::database::server_error::refused;

use super::TABLES;

/// A session that makes or changes the tables holds this lock meanwhile: "plim" and a colon as letters.
const CHANGING: i64 = 0x0070_6c69_6d3a;

/// Claims and progress of runs: with a file of runs, files beside it.
const UNDER_WAY: &str = "
create table under_way (
    run text primary key,
    holder text not null,
    state text
) strict;
";

/// Content of the files beside a file of runs: the packets that a run captured. A file is cut into pieces, as a row is read as a whole.
const FILES: &str = "
create table files (
    run text not null references runs (id),
    name text not null,
    ordinal integer not null,
    bytes blob not null,
    primary key (run, name, ordinal)
) strict;
";

/// Version of the tables that this program makes and reads.
pub(crate) const VERSION: u32 = 5;

/// SQLite counts the rows of a table itself: of runs that began in one second, the later is found so.
const COUNT_RUNS: &str = "alter table runs add column rowid bigint generated always as identity";

/// Tables of SQLite's in PostgreSQL's words. Texts are compared byte by byte in both.
fn in_its_words(tables: &str) -> String {
    tables
        .replace(") strict, without rowid;", ");")
        .replace(") strict;", ");")
        .replace(" text", " text collate \"C\"")
        .replace(" integer", " bigint")
        .replace(" real", " double precision")
        .replace(" blob", " bytea")
}

/// Makes the tables where there are none.
pub(crate) fn to_write(client: &mut Client) -> Result<(), ServerError> {
    match version(client)? {
        VERSION => Ok(()),
        0 => make(client),
        found => Err(ServerError::Version { found, known: VERSION }),
    }
}

/// Makes the tables where there are none; the session may only read then.
pub(crate) fn to_read(client: &mut Client) -> Result<(), ServerError> {
    to_write(client)?;
    client.batch_execute("set default_transaction_read_only to on").map_err(|error| refused(&error))
}

/// Whether there are tables. It has to be read from the catalogue: what looks a name up (`to_regclass`) may remember that it was not there before another session made
/// it.
const THERE: &str = "
select exists (
    select 1 from pg_class join pg_namespace on pg_namespace.oid = relnamespace where nspname = 'plimsoll' and relname = 'format'
)";

/// The version of the tables; 0 where there are none.
fn version(client: &mut impl postgres::GenericClient) -> Result<u32, ServerError> {
    let mut ask = || -> Result<i32, postgres::Error> {
        let there: bool = client.query_one(THERE, &[])?.try_get(0)?;
        if !there {
            return Ok(0);
        }
        client.query_one("select coalesce(max(version), 0) from plimsoll.format", &[])?.try_get(0)
    };
    // A number that is none of ours is a newer one.
    ask().map(|found| u32::try_from(found).unwrap_or(u32::MAX)).map_err(|error| refused(&error))
}

/// Makes all tables or none. Of several programs that try at once, one does it, and the others find it done.
fn make(client: &mut Client) -> Result<(), ServerError> {
    let mut transaction = client.transaction().map_err(|error| refused(&error))?;
    transaction.execute("select pg_advisory_xact_lock($1)", &[&CHANGING]).map_err(|error| refused(&error))?;
    if version(&mut transaction)? == 0 {
        let tables = [TABLES, UNDER_WAY, FILES].map(in_its_words).concat();
        let format =
            format!("create table format (version integer not null); insert into format values ({VERSION})");
        let statements = format!(
            "create schema if not exists plimsoll; set local search_path to plimsoll; {tables} {COUNT_RUNS}; {format}"
        );
        transaction.batch_execute(&statements).map_err(|error| refused(&error))?;
    }
    transaction.commit().map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_said_in_the_words_of_the_server() {
        let tables = in_its_words(TABLES);
        assert!(tables.contains("elapsed_s double precision not null"), "{tables}");
        assert!(tables.contains("started_unix_s bigint not null"), "{tables}");
        assert!(tables.contains("id text collate \"C\" primary key"), "{tables}");
        assert!(!tables.contains("strict") && !tables.contains("rowid"), "{tables}");
    }
}
