//! Runs on disk, in one SQLite file.
//!
//! A phase is written when it ends and a trial when it ends, each in a transaction of its own, so that a crash loses at most the
//! phase that it happened in. The file is in WAL mode with `synchronous = FULL`: SQLite's guarantee is then that a committed
//! transaction survives a crash of the program and of the machine (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

mod claim;
mod error;
mod figures;
mod imported;
mod labels;
mod remove;
mod schema;
mod search;
mod times;
mod under_way;
pub mod weeks;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use plimsoll_model::note::Note;
use plimsoll_model::observation::{PhaseRecord, TrialRecord};
use plimsoll_model::report::RunStatus;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

pub use claim::Claim;
pub use error::StoreError;
pub use figures::{Dated, Figure};
pub use imported::{ImportedText, Packing};
pub use labels::{Baseline, Labels, ShortOutcome};
pub use search::{Experiment, Listed, Search};
pub use times::Times;
pub use under_way::UnderWayFile;

use error::failed;

/// What is known of a run apart from its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// The run's id.
    pub id: String,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment file, as it was read.
    pub source: String,
    /// What was set from outside, as JSON that the command line understands.
    pub settings: serde_json::Value,
    /// The seed of everything that is random in it.
    pub seed: u64,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it has taken so far.
    pub elapsed: Duration,
    /// How far it came.
    pub status: RunStatus,
    /// What a reader must know to read the figures.
    pub notes: Vec<Note>,
}

/// The file of runs.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
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
        let found = schema::prepare(&connection).map_err(doing)?;
        if found > schema::FORMAT {
            return Err(StoreError::Newer { path: path.to_owned(), found, known: schema::FORMAT });
        }
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Opens the file to read what is in it, which takes no permission to write. Where there is no file, there are no runs.
    ///
    /// # Errors
    /// When it is no file of runs, was written by a newer version, or may not be read.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let doing = |source| unread(path, source);
        let connection = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let connection = Connection::open_in_memory().map_err(doing)?;
                schema::prepare(&connection).map_err(doing)?;
                connection
            }
            Err(source) => return Err(StoreError::Open { path: path.to_owned(), source }),
            Ok(_) => {
                // SQLite itself falls back to reading where it may not write to the file. But it would make files beside it then, which
                // its owner could not use later; so it is told to make none where nobody has made them.
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
        let found = schema::format(&connection).map_err(doing)?;
        if found > schema::FORMAT {
            return Err(StoreError::Newer { path: path.to_owned(), found, known: schema::FORMAT });
        }
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Claims a run, so that no other process carries it out at the same time. The claim ends with what this returns, or with the process,
    /// however that ends.
    ///
    /// # Errors
    /// [`StoreError::Going`] when another process has claimed it.
    pub fn claim(&self, run: &str) -> Result<Claim, StoreError> {
        self.clear_under_way();
        Claim::of(&self.claims(), run)
    }

    /// Whether another process carries this run out. A process that does so itself must not ask, because that would end its own claim.
    #[must_use]
    pub fn is_going_on(&self, run: &str) -> bool {
        claim::is_held(&self.claims(), run)
    }

    fn claims(&self) -> PathBuf {
        beside(&self.path, "-claims")
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a new run, or what has become of one.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_run(&self, run: &RunEntry) -> Result<(), StoreError> {
        let values = params![
            run.id,
            run.experiment,
            run.source,
            run.settings.to_string(),
            run.seed.to_string(),
            run.started_unix_s,
            run.elapsed.as_secs_f64(),
            status_name(run.status),
            self.json(&run.notes, || "notes".into())?,
        ];
        self.connection
            .execute(schema::PUT_RUN, values)
            .map(drop)
            .map_err(|source| failed(&self.path, "store the run", source))
    }

    /// Stores what the hosts of a run are: an inventory for each, as JSON.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_inventories(
        &self,
        run: &str,
        inventories: &BTreeMap<String, serde_json::Value>,
    ) -> Result<(), StoreError> {
        inventories.iter().try_for_each(|(host, inventory)| {
            self.connection
                .execute(schema::PUT_INVENTORY, params![run, host, inventory.to_string()])
                .map(drop)
                .map_err(|source| failed(&self.path, "store an inventory", source))
        })
    }

    /// What the hosts of a run were; nothing for a run that is older than that.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn inventories(&self, run: &str) -> Result<BTreeMap<String, serde_json::Value>, StoreError> {
        let doing = |source| failed(&self.path, "read the inventories", source);
        if !self.connection.table_exists(None, "inventories").map_err(doing)? {
            // An older version made the file, and this one may not write to it.
            return Ok(BTreeMap::new());
        }
        let mut statement = self.connection.prepare(schema::INVENTORIES_OF).map_err(doing)?;
        let rows = statement
            .query_map([run], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .map_err(doing)?;
        let mut all = BTreeMap::new();
        for row in rows {
            let (host, text) = row.map_err(doing)?;
            let inventory = self.read(&text, || format!("the inventory of `{host}` in run {run}"))?;
            all.insert(host, inventory);
        }
        Ok(all)
    }

    /// Stores which versions measured and were measured, as JSON.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_versions(&self, run: &str, versions: &serde_json::Value) -> Result<(), StoreError> {
        self.connection
            .execute(schema::PUT_VERSIONS, params![run, versions.to_string()])
            .map(drop)
            .map_err(|source| failed(&self.path, "store the versions", source))
    }

    /// Which versions measured and were measured; nothing for a run that is older than that.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn versions(&self, run: &str) -> Result<Option<serde_json::Value>, StoreError> {
        let doing = |source| failed(&self.path, "read the versions", source);
        let mut statement = self.connection.prepare(schema::VERSIONS_OF).map_err(doing)?;
        let text: Option<String> = statement.query_row([run], |row| row.get(0)).optional().map_err(doing)?;
        text.map(|text| self.read(&text, || format!("the versions of run {run}"))).transpose()
    }

    /// Stores a phase that has ended, of a trial that has not.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_phase(
        &self,
        run: &str,
        trial: &TrialRecord,
        ordinal: usize,
        phase: &PhaseRecord,
    ) -> Result<(), StoreError> {
        let record = self.json(phase, || format!("phase {ordinal}"))?;
        let cell = self.json(&trial.cell, || "cell".into())?;
        let ordinal = i64::try_from(ordinal).expect("a trial has fewer phases than 2^63");
        let store = || {
            let transaction = self.connection.unchecked_transaction()?;
            transaction.execute(schema::BEGIN_TRIAL, params![run, trial.number, trial.block, cell])?;
            transaction.execute(
                schema::PUT_PHASE,
                params![run, trial.number, ordinal, phase.name, phase.cycle, record],
            )?;
            transaction.commit()
        };
        store().map_err(|source| failed(&self.path, "store the phase", source))
    }

    /// Stores what there is of a trial that was cut short: its phases where they are not stored yet, and its series.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_unended(&self, run: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        for (ordinal, phase) in trial.phases.iter().enumerate() {
            self.put_phase(run, trial, ordinal, phase)?;
        }
        let cell = self.json(&trial.cell, || "cell".into())?;
        let mut series = Vec::new();
        for (host, samples) in &trial.series {
            series.push((host, self.json(samples, || format!("series of {host}"))?));
        }
        let store = || {
            let transaction = self.connection.unchecked_transaction()?;
            transaction.execute(schema::BEGIN_TRIAL, params![run, trial.number, trial.block, cell])?;
            for (host, samples) in &series {
                transaction.execute(schema::PUT_SERIES, params![run, trial.number, host, samples])?;
            }
            transaction.commit()
        };
        store().map_err(|source| failed(&self.path, "store the trial", source))
    }

    /// Stores a trial that has ended.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_trial(&self, run: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        self.put_unended(run, trial)?;
        let rest = TrialRecord { phases: Vec::new(), series: Default::default(), ..trial.clone() };
        let record = self.json(&rest, || format!("trial {}", trial.number))?;
        self.connection
            .execute(schema::END_TRIAL, params![run, trial.number, record])
            .map(drop)
            .map_err(|source| failed(&self.path, "store the trial", source))
    }

    /// Forgets a trial that never ended, so that it can be carried out again.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn forget_unended(&self, run: &str) -> Result<usize, StoreError> {
        self.connection
            .execute(schema::FORGET_UNENDED, params![run])
            .map_err(|source| failed(&self.path, "forget an unfinished trial", source))
    }

    /// The run of this id, or of the only id that starts like it; or the newest, where the id is `latest`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn run(&self, id: &str) -> Result<Option<RunEntry>, StoreError> {
        let (query, pattern) = match id {
            "latest" => (schema::NEWEST_RUN, "%".to_owned()),
            id => (schema::RUN_LIKE, format!("{}%", id.replace(['%', '_'], ""))),
        };
        let found = self.connection.query_row(query, params![pattern], |row| Ok(self.run_of(row))).optional();
        found.map_err(|source| failed(&self.path, "find the run", source))?.transpose()
    }

    /// All runs, the newest first; of one experiment, where it is named.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn runs(&self, experiment: Option<&str>) -> Result<Vec<RunEntry>, StoreError> {
        let doing = |source| failed(&self.path, "list the runs", source);
        let mut statement = self.connection.prepare(schema::RUNS).map_err(doing)?;
        let rows = statement.query_map(params![experiment], |row| Ok(self.run_of(row))).map_err(doing)?;
        rows.map(|row| row.map_err(doing)?).collect()
    }

    /// The trials of a run in their order, with those that never ended.
    ///
    /// # Errors
    /// When the file cannot be read, or a record in it.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        let doing = |source| failed(&self.path, "read the trials", source);
        let mut statement = self.connection.prepare(schema::TRIALS).map_err(doing)?;
        let rows = statement
            .query_map(params![run], |row| {
                Ok((
                    row.get::<_, u32>(0)?,
                    row.get::<_, u32>(1)?,
                    row.get::<_, String>(2)?,
                    row.get::<_, Option<String>>(3)?,
                ))
            })
            .map_err(doing)?;
        let mut trials = Vec::new();
        for row in rows {
            let (number, block, cell, record) = row.map_err(doing)?;
            let what = || format!("trial {number} of run {run}");
            let mut trial = match record {
                Some(record) => self.read(&record, what)?,
                None => {
                    TrialRecord { number, block, cell: self.read(&cell, what)?, ..TrialRecord::default() }
                }
            };
            trial.phases =
                self.records(schema::PHASES, run, number)?.into_iter().map(|(_, phase)| phase).collect();
            trial.series = self.records(schema::SERIES, run, number)?.into_iter().collect();
            trials.push(trial);
        }
        Ok(trials)
    }

    /// The numbers of the trials that ended.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn ended(&self, run: &str) -> Result<Vec<u32>, StoreError> {
        let doing = |source| failed(&self.path, "read the trials", source);
        let mut statement = self.connection.prepare(schema::ENDED).map_err(doing)?;
        let rows = statement.query_map(params![run], |row| row.get(0)).map_err(doing)?;
        rows.collect::<Result<_, _>>().map_err(doing)
    }

    /// Named records that belong to one trial.
    fn records<T: serde::de::DeserializeOwned>(
        &self,
        query: &str,
        run: &str,
        trial: u32,
    ) -> Result<Vec<(String, T)>, StoreError> {
        let doing = |source| failed(&self.path, "read the trials", source);
        let mut statement = self.connection.prepare(query).map_err(doing)?;
        let rows = statement
            .query_map(params![run, trial], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .map_err(doing)?;
        let mut records = Vec::new();
        for row in rows {
            let (name, record) = row.map_err(doing)?;
            let record = self.read(&record, || format!("`{name}` in trial {trial} of run {run}"))?;
            records.push((name, record));
        }
        Ok(records)
    }

    fn run_of(&self, row: &Row<'_>) -> Result<RunEntry, StoreError> {
        let doing = |source| failed(&self.path, "read the run", source);
        let text = |column: &str| row.get::<_, String>(column).map_err(doing);
        let id = text("id")?;
        let what = || format!("run {id}");
        Ok(RunEntry {
            experiment: text("experiment")?,
            source: text("source")?,
            settings: self.read(&text("settings")?, what)?,
            seed: self.read(&text("seed")?, what)?,
            started_unix_s: row.get("started_unix_s").map_err(doing)?,
            elapsed: Duration::try_from_secs_f64(row.get("elapsed_s").map_err(doing)?).unwrap_or_default(),
            status: self.read(&format!("\"{}\"", text("status")?), what)?,
            notes: self.read(&text("notes")?, what)?,
            id,
        })
    }

    fn json<T: serde::Serialize>(&self, value: &T, what: impl Fn() -> String) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|source| StoreError::Record {
            path: self.path.clone(),
            what: what(),
            source,
        })
    }

    fn read<T: serde::de::DeserializeOwned>(
        &self,
        text: &str,
        what: impl Fn() -> String,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|source| StoreError::Record {
            path: self.path.clone(),
            what: what(),
            source,
        })
    }
}

fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Complete => "complete",
        RunStatus::Running => "running",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

/// A file that stands beside the file of runs.
fn beside(path: &Path, ending: &str) -> PathBuf {
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

/// Why a file could not be opened. SQLite does not pass on what the system said, so the system is asked again.
fn unopened(path: &Path, source: rusqlite::Error) -> StoreError {
    let refused = is_refusal(&source);
    let ask = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match refused.then(ask) {
        Some(Err(source)) => StoreError::Open { path: path.to_owned(), source },
        _ => failed(path, "open the runs", source),
    }
}

#[cfg(test)]
mod tests;
