//! The tables, and what is asked of them. They are written as SQLite has them; [`server`] says them in PostgreSQL's words.

pub(crate) mod server;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::database::Differing;

/// Format of the file. It rises when a table changes.
pub(crate) const FORMAT: u32 = 4;

const TABLES: &str = include_str!("schema/tables.sql");

/// An index of what is inside a text of JSON, which SQLite alone can make.
const INDEX_OF_INTERVENTIONS: &str = "
create index runs_by_intervention on runs (json_extract(settings, '$.intervention.run'))
where json_extract(settings, '$.intervention.run') is not null;
";

/// Statements that delete a run: its rows in other tables, and the run itself last. Phases and series go with their
/// trials.
pub(crate) const REMOVE_RUN: [&str; 10] = [
    "delete from figures where run = ?1",
    "delete from trials where run = ?1",
    "delete from inventories where run = ?1",
    "delete from versions where run = ?1",
    "delete from tags where run = ?1",
    "delete from remarks where run = ?1",
    "delete from baselines where run = ?1",
    "delete from outcomes where run = ?1",
    "delete from imported where run = ?1",
    "delete from runs where id = ?1",
];

/// Before that on a server, which has files that stand beside a file of runs.
pub(crate) const REMOVE_FILES: &str = "delete from files where run = ?1";

pub(crate) const BYTES_OF_FILES: &str = "select run, sum(octet_length(bytes)) from files group by run";

pub(crate) const FILES_OF: &str =
    "select name, sum(octet_length(bytes)) from files where run = ?1 group by name order by name";

pub(crate) const REMOVE_FILE: &str = "delete from files where run = ?1 and name = ?2";

pub(crate) const PUT_FILE: &str = "insert into files values (?1, ?2, ?3, ?4)";

pub(crate) const PIECE_OF: &str = "select bytes from files where run = ?1 and name = ?2 and ordinal = ?3";

pub(crate) const PUT_HOLDER: &str = "
insert into under_way values (?1, ?2, null) on conflict (run) do update set holder = ?2, state = null";

pub(crate) const HOLDER_OF: &str = "select holder from under_way where run = ?1";

pub(crate) const PUT_STATE: &str = "update under_way set state = ?2 where run = ?1";

pub(crate) const STATE_OF: &str = "select state from under_way where run = ?1";

pub(crate) const SAID_TO_BE_UNDER_WAY: &str = "select run from under_way";

pub(crate) const FORGET_HOLDER: &str = "delete from under_way where run = ?1";

pub(crate) const BYTES: &str = "
select run, sum(bytes) from (
    select run, octet_length(record) as bytes from phases
    union all select run, octet_length(samples) from series
    union all select run, coalesce(octet_length(record), 0) from trials
    union all select id, octet_length(source) from runs
) as parts group by run";

pub(crate) const BYTES_IMPORTED: &str = "select run, sum(octet_length(packed)) from imported group by run";

pub(crate) const PUT_IMPORTED: &str = "insert into imported values (?1, ?2, ?3, ?4, ?5)";

pub(crate) const IMPORTED_COUNT: &str = "select count(*) from imported where run = ?1";

pub(crate) const IMPORTED_OF: &str =
    "select name, bytes, packed from imported where run = ?1 order by ordinal";

pub(crate) const PUT_TAG: &str = "insert into tags values (?1, ?2) on conflict do nothing";

pub(crate) const REMOVE_TAG: &str = "delete from tags where run = ?1 and tag = ?2";

pub(crate) const TAG_COUNTS: &str = "select tag, count(*) from tags group by tag order by 2 desc, 1";

pub(crate) const HAS_TAG: &str = "exists (select 1 from tags where run = runs.id and tag = ?)";

/// Letters of either case are found alike.
pub(crate) const HAS_WORD: Differing = Differing {
    file: r"(id like ? escape '\' or experiment like ? escape '\'
or exists (select 1 from tags where run = runs.id and tag like ? escape '\')
or exists (select 1 from remarks where run = runs.id and remark like ? escape '\')
or exists (select 1 from outcomes, json_each(outcomes.outcomes) as found
    where run = runs.id and json_extract(found.value, '$.outcome') like ? escape '\'))",
    server: r"(id ilike ? escape '\' or experiment ilike ? escape '\'
or exists (select 1 from tags where run = runs.id and tag ilike ? escape '\')
or exists (select 1 from remarks where run = runs.id and remark ilike ? escape '\')
or exists (select 1 from outcomes, json_array_elements(outcomes.outcomes::json) as found (value)
    where run = runs.id and found.value ->> 'outcome' ilike ? escape '\'))",
};

pub(crate) const EXPERIMENTS: &str =
    "select experiment, count(*), max(started_unix_s) from runs group by experiment order by experiment";

pub(crate) const FORGET_FIGURES: &str = "delete from figures where run = ?1";

pub(crate) const PUT_FIGURE: &str = "insert into figures values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(crate) const FIGURES: &str = "
select id, started_unix_s, name, unit, value, low, high from runs join figures on figures.run = runs.id
where experiment = ?1 and status = 'complete' order by started_unix_s, runs.rowid, place";

pub(crate) const INTERVENTIONS_FOR: Differing = Differing {
    file: "select id from runs where json_extract(settings, '$.intervention.run') = ?1",
    // Text that SQLite reads as JSON may have NUL in a string, which PostgreSQL's does not take.
    server: r#"select id from runs where settings like '%"intervention":%'
and cast(replace(settings, '\u0000', '\u0020') as json) #>> '{intervention,run}' = ?1"#,
};

pub(crate) const PUT_REMARK: &str =
    "insert into remarks values (?1, ?2) on conflict (run) do update set remark = ?2";

pub(crate) const PUT_OUTCOMES: &str =
    "insert into outcomes values (?1, ?2) on conflict (run) do update set outcomes = ?2";

pub(crate) const PUT_BASELINE: &str =
    "insert into baselines values (?1, ?2) on conflict (name) do update set run = ?2";

pub(crate) const FORGET_BASELINE: &str = "delete from baselines where name = ?1";

pub(crate) const BASELINE: &str = "select run from baselines where name = ?1";

pub(crate) const BASELINES: &str = "
select name, run, experiment from baselines join runs on runs.id = baselines.run order by name";

pub(crate) const PUT_VERSIONS: &str =
    "insert into versions values (?1, ?2) on conflict (run) do update set versions = ?2";

pub(crate) const VERSIONS_OF: &str = "select versions from versions where run = ?1";

pub(crate) const PUT_INVENTORY: &str =
    "insert into inventories values (?1, ?2, ?3) on conflict (run, host) do update set inventory = ?3";

pub(crate) const INVENTORIES_OF: &str =
    "select host, inventory from inventories where run = ?1 order by host";

pub(crate) const PUT_RUN: &str = "
insert into runs values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict (id) do update set elapsed_s = ?7, status = ?8, notes = ?9";

pub(crate) const BEGIN_TRIAL: &str =
    "insert into trials (run, number, block, cell) values (?1, ?2, ?3, ?4) on conflict do nothing";

pub(crate) const PUT_TRIAL: &str = "insert into trials values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(crate) const END_TRIAL: &str =
    "update trials set faults = ?3, around_us = ?4, record = ?5 where run = ?1 and number = ?2";

pub(crate) const PUT_PHASE: &str = "
insert into phases values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (run, trial, ordinal) do update set name = ?4, cycle = ?5, kind = ?6, elapsed_ns = ?7, record = ?8";

pub(crate) const PUT_SERIES: &str =
    "insert into series values (?1, ?2, ?3, ?4) on conflict (run, trial, host) do update set samples = ?4";

pub(crate) const FORGET_UNENDED: &str = "delete from trials where run = ?1 and record is null";

/// A run by the start of its id; no row if two start like it.
pub(crate) const RUN_LIKE: &str = "
select id, experiment, source, settings, seed, started_unix_s, elapsed_s, status, notes from runs where id like ?1 and length(?1) > 1
and (select count(*) from runs where id like ?1) = 1";

pub(crate) const NEWEST_RUN: &str = "
select id, experiment, source, settings, seed, started_unix_s, elapsed_s, status, notes from runs where id like ?1
order by started_unix_s desc, rowid desc limit 1";

pub(crate) const RUNS: &str = "
select id, experiment, source, settings, seed, started_unix_s, elapsed_s, status, notes from runs
where cast(?1 as text) is null or experiment = ?1 order by started_unix_s desc, rowid desc";

pub(crate) const TRIALS: &str =
    "select number, block, cell, record from trials where run = ?1 order by number";

pub(crate) const PHASES: &str =
    "select name, record from phases where run = ?1 and trial = ?2 order by ordinal";

pub(crate) const SERIES: &str =
    "select host, samples from series where run = ?1 and trial = ?2 order by host";

/// The newest run of an experiment that came to its end, one of the same file and settings before others.
pub(crate) const LIKE: &str = "
select id from runs where experiment = ?1 and status = 'complete'
order by source = ?2 and settings = ?3 desc, started_unix_s desc, rowid desc limit 1";

/// How long the phases of a run took, in nanoseconds: those of all trials that went as they should, in order.
pub(crate) const PHASE_TIMES: &str = "
select name, kind, elapsed_ns from phases join trials on trials.run = phases.run and number = trial
where phases.run = ?1 and coalesce(faults, 0) = 0 order by trial, ordinal";

/// How long the set-up and the teardown of a trial took in a run, in microseconds.
pub(crate) const AROUND: &str =
    "select cast(avg(around_us) as double precision) from trials where run = ?1 and record is not null";

pub(crate) const ENDED: &str =
    "select number from trials where run = ?1 and record is not null order by number";

/// Kind and name of the first object that no store has: views and triggers run code, virtual tables call modules.
pub(crate) const FOREIGN: &str = "select case when type = 'table' then 'virtual table' else type end, name from sqlite_schema \
    where type in ('view', 'trigger') or (type = 'table' and sql like 'create virtual%') limit 1";

/// The format of a file.
pub(crate) fn format(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the tables in a blank file; the format of the file.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_update(None, "foreign_keys", true)?;
    if !is_blank(connection)? {
        return format(connection);
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    // All at once: of a process that is killed meanwhile, there is either no table or every one.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have made them since.
    if is_blank(&transaction)? {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(INDEX_OF_INTERVENTIONS)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()?;
    format(connection)
}

/// Whether there is nothing at all in the file, as in one that a process was about to make.
pub(crate) fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("select not exists (select 1 from sqlite_schema)", [], |row| row.get(0))
}
