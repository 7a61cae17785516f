//! The tables on a server of PostgreSQL's: the same as in a file, in the schema `plimsoll` of a database, and what a file has beside it.
//!
//! Their version counts the steps by which they came to be. A command that writes brings older ones up to this program's; a newer one is refused.

use postgres::{Client, Transaction};

use crate::database::ServerError;
use crate::database::server_error::refused;

use super::{FIGURES_TABLE, IMPORTED, INDEXES, INVENTORIES, LABELS, TABLES, VERSIONS};

/// Who makes or changes the tables holds this lock meanwhile: "plim" and a colon as letters.
const CHANGING: i64 = 0x0070_6c69_6d3a;

/// Who carries out which run, and how far that is: with a file of runs, files beside it.
const UNDER_WAY: &str = "
create table under_way (
    run text primary key,
    holder text not null,
    state text
) strict;
";

/// What stands in files beside a file of runs: the packets that a run captured. A file is cut into pieces, as a row is read as a whole.
const FILES: &str = "
create table files (
    run text not null references runs (id),
    name text not null,
    ordinal integer not null,
    bytes blob not null,
    primary key (run, name, ordinal)
) strict;
";

type Step = fn(&mut Transaction<'_>) -> Result<(), postgres::Error>;

/// The steps, each of which leads from one version to the next.
const STEPS: [Step; 2] = [as_in_a_file, files];

/// The version of the tables that this program makes and reads.
pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// The tables that a file of runs has, and who carries out which run.
fn as_in_a_file(database: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    for tables in [TABLES, INVENTORIES, VERSIONS, LABELS, FIGURES_TABLE, INDEXES, IMPORTED, UNDER_WAY] {
        database.batch_execute(&in_its_words(tables))?;
    }
    // SQLite counts the rows of a table itself: of runs that began in one second, the later is found so.
    database.batch_execute("alter table runs add column rowid bigint generated always as identity")
}

fn files(database: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    database.batch_execute(&in_its_words(FILES))
}

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

/// Makes the tables where there are none, and brings older ones up to this version.
pub(crate) fn to_write(client: &mut Client) -> Result<(), ServerError> {
    prepare(client, true)
}

/// Makes the tables where there are none; the session may only read then. Older ones are left to who writes.
pub(crate) fn to_read(client: &mut Client) -> Result<(), ServerError> {
    prepare(client, false)?;
    client.batch_execute("set default_transaction_read_only to on").map_err(|error| refused(&error))
}

fn prepare(client: &mut Client, writes: bool) -> Result<(), ServerError> {
    match version(client)? {
        VERSION => Ok(()),
        found @ 1..VERSION if !writes => Err(ServerError::Version { found, known: VERSION }),
        0..VERSION => bring_up(client, VERSION),
        found => Err(ServerError::Version { found, known: VERSION }),
    }
}

/// Whether there are tables. It has to be read from the catalogue: what looks a name up (`to_regclass`) may remember that it was not there before somebody else made
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

/// All steps to a version or none. Of several programs that try at once, one does it, and the others find it done.
pub(crate) fn bring_up(client: &mut Client, wanted: u32) -> Result<(), ServerError> {
    let mut transaction = client.transaction().map_err(|error| refused(&error))?;
    transaction.execute("select pg_advisory_xact_lock($1)", &[&CHANGING]).map_err(|error| refused(&error))?;
    let found = version(&mut transaction)?;
    let mut step_by_step = || -> Result<(), postgres::Error> {
        let there =
            transaction.query_opt("select 1 from pg_namespace where nspname = 'plimsoll'", &[])?.is_some();
        if !there {
            transaction.batch_execute("create schema plimsoll")?;
        }
        transaction.batch_execute(
            "set local search_path to plimsoll; create table if not exists format (version integer not null)",
        )?;
        for (step, leads_to) in STEPS.iter().zip(1..) {
            if found < leads_to && leads_to <= wanted {
                step(&mut transaction)?;
            }
        }
        let reached = wanted.max(found);
        transaction.batch_execute(&format!("delete from format; insert into format values ({reached})"))
    };
    step_by_step().map_err(|error| refused(&error))?;
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
