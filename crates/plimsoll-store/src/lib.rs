//! Runs that are kept: in one SQLite file, or on a server of PostgreSQL's that many machines share.
//!
//! A phase is written when it ends and a trial when it ends, each in a transaction of its own, so that a crash loses at most the
//! phase that it happened in. The file is in WAL mode with `synchronous = FULL`: SQLite's guarantee is then that a committed
//! transaction survives a crash of the program and of the machine (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
//! A server has the same tables, and is asked by the same statements (`database`). What is measured goes into a file first, and from there to the server
//! ([`Store::copy_trial`]), so that a server that is away neither holds a run up nor loses any of it.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

mod beside;
mod columns;
mod copy;
mod database;
mod error;
mod figures;
mod files;
mod imported;
mod labels;
mod opening;
mod packed;
mod place;
mod remove;
mod run_lock;
mod schema;
mod search;
mod times;
mod under_way;
pub mod weeks;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use plimsoll_model::note::Note;
use plimsoll_model::observation::{PhaseRecord, TrialRecord};
use plimsoll_model::report::RunStatus;
use serde::{Deserialize, Serialize};

pub use copy::Copied;
pub use error::StoreError;
pub use figures::{Dated, Figure};
pub use files::CAPTURES;
pub use imported::{ImportedText, Packing};
pub use labels::{Baseline, Labels, ShortOutcome};
pub use place::Location;
pub use run_lock::RunLock;
pub use search::{Experiment, Listed, Search};
pub use times::Times;
pub use under_way::UnderWayFile;

use database::{Database, DatabaseError, Row, values};
use error::failed;

/// A run, apart from its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The run's id.
    pub id: String,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment file, as it was read.
    pub source: String,
    /// The settings from outside, as JSON that the command line understands.
    pub settings: serde_json::Value,
    /// The seed of everything that is random in it.
    pub seed: u64,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it has taken so far.
    pub elapsed: Duration,
    /// How far it came.
    pub status: RunStatus,
    /// Notes to the reader of the figures.
    pub notes: Vec<Note>,
}

/// Where runs are kept, opened.
#[derive(Debug)]
pub struct Store {
    place: Location,
    database: Database,
}

impl Store {
    /// Where it is.
    pub fn place(&self) -> &Location {
        &self.place
    }

    /// Stores a new run, or what has become of one.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn put_run(&self, run: &RunEntry) -> Result<(), StoreError> {
        let values = values![
            &run.id,
            &run.experiment,
            &run.source,
            run.settings.to_string(),
            run.seed.to_string(),
            run.started_unix_s,
            run.elapsed.as_secs_f64(),
            <&str>::from(run.status),
            self.json(&run.notes, || "notes".into())?,
        ];
        let stored = self.database.execute(schema::PUT_RUN, values);
        stored.map_err(self.doing("store the run"))?;
        self.is_there()
    }

    /// Whether the file still has its name: the system lets a process write to an open file that cannot be opened again.
    fn is_there(&self) -> Result<(), StoreError> {
        match &self.place {
            Location::File(path) if matches!(path.try_exists(), Ok(false)) => {
                Err(StoreError::Gone { path: path.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Stores what the hosts of a run are: an inventory for each.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn put_inventories(
        &self,
        run: &str,
        inventories: &BTreeMap<String, serde_json::Value>,
    ) -> Result<(), StoreError> {
        inventories.iter().try_for_each(|(host, inventory)| {
            let inventory = self.packed(inventory, || format!("the inventory of `{host}`"))?;
            let values = values![run, host, inventory];
            let stored = self.database.execute(schema::PUT_INVENTORY, values);
            stored.map(drop).map_err(self.doing("store an inventory"))
        })
    }

    /// Inventories of a run's hosts; nothing for a run that is older than them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn inventories(&self, run: &str) -> Result<BTreeMap<String, serde_json::Value>, StoreError> {
        let of = |host: &str| format!("the inventory of `{host}` in run {run}");
        let stored = self.records(schema::INVENTORIES_OF, values![run], of);
        Ok(stored?.into_iter().collect())
    }

    /// Stores which versions measured and were measured, as JSON.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn put_versions(&self, run: &str, versions: &serde_json::Value) -> Result<(), StoreError> {
        let stored = self.database.execute(schema::PUT_VERSIONS, values![run, versions.to_string()]);
        stored.map(drop).map_err(self.doing("store the versions"))
    }

    /// Which versions measured and were measured; nothing for a run that is older than that.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn versions(&self, run: &str) -> Result<Option<serde_json::Value>, StoreError> {
        let text = self.one(schema::VERSIONS_OF, run).map_err(self.doing("read the versions"))?;
        text.map(|text| self.read(&text, || format!("the versions of run {run}"))).transpose()
    }

    /// Stores a phase that has ended, of a trial that has not.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn put_phase(
        &self,
        run: &str,
        trial: &TrialRecord,
        ordinal: usize,
        phase: &PhaseRecord,
    ) -> Result<(), StoreError> {
        let record = self.packed(phase, || format!("phase {ordinal}"))?;
        let kind = self.json(&phase.kind, || format!("phase {ordinal}"))?;
        let elapsed_ns = phase.end_ns.saturating_sub(phase.start_ns);
        let cell = self.json(&trial.cell, || "cell".into())?;
        let store = || -> Result<(), DatabaseError> {
            let database = &self.database;
            database.execute(schema::BEGIN_TRIAL, values![run, trial.number, trial.block, cell])?;
            let name = &phase.name;
            let values = values![run, trial.number, ordinal, name, phase.cycle, kind, elapsed_ns, record];
            database.execute(schema::PUT_PHASE, values).map(drop)
        };
        self.database.whole(store).map_err(self.doing("store the phase"))
    }

    /// Stores what there is of a trial that was cut short: its phases where they are not stored yet, and its series.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn put_unended(&self, run: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        for (ordinal, phase) in trial.phases.iter().enumerate() {
            self.put_phase(run, trial, ordinal, phase)?;
        }
        let cell = self.json(&trial.cell, || "cell".into())?;
        let mut series = Vec::new();
        for (host, samples) in &trial.series {
            series.push((host, self.packed(samples, || format!("series of {host}"))?));
        }
        let store = || -> Result<(), DatabaseError> {
            let database = &self.database;
            database.execute(schema::BEGIN_TRIAL, values![run, trial.number, trial.block, cell])?;
            for (host, samples) in series {
                database.execute(schema::PUT_SERIES, values![run, trial.number, host, samples])?;
            }
            Ok(())
        };
        self.database.whole(store).map_err(self.doing("store the trial"))
    }

    /// Stores a trial that has ended.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn put_trial(&self, run: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        self.put_unended(run, trial)?;
        let rest = TrialRecord { phases: Vec::new(), series: Default::default(), ..trial.clone() };
        let record = self.packed(&rest, || format!("trial {}", trial.number))?;
        let around_us = trial.setup_us.saturating_add(trial.teardown_us);
        let values = values![run, trial.number, trial.faults.len(), around_us, record];
        let stored = self.database.execute(schema::END_TRIAL, values);
        stored.map_err(self.doing("store the trial"))?;
        self.is_there()
    }

    /// Forgets a trial that never ended, so that it can be carried out again.
    ///
    /// # Errors
    /// When the store cannot be written to.
    pub fn forget_unended(&self, run: &str) -> Result<usize, StoreError> {
        let forgotten = self.database.execute(schema::FORGET_UNENDED, values![run]);
        forgotten.map_err(self.doing("forget an unfinished trial"))
    }

    /// The run of this id, or of the only id that starts like it; or the newest, where the id is `latest`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn run(&self, id: &str) -> Result<Option<RunEntry>, StoreError> {
        let (query, pattern) = match id {
            "latest" => (schema::NEWEST_RUN, "%".to_owned()),
            id => (schema::RUN_LIKE, format!("{}%", id.replace(['%', '_'], ""))),
        };
        let found = self.database.first(query, values![pattern]).map_err(self.doing("find the run"))?;
        found.map(|row| self.run_of(&row)).transpose()
    }

    /// All runs, the newest first; of one experiment, where it is named.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, experiment: Option<&str>) -> Result<Vec<RunEntry>, StoreError> {
        let rows = self.database.query(schema::RUNS, values![experiment]);
        rows.map_err(self.doing("list the runs"))?.iter().map(|row| self.run_of(row)).collect()
    }

    /// The trials of a run in their order, with those that never ended.
    ///
    /// # Errors
    /// When the store cannot be read, or a record in it.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        type Stored = (u32, u32, String, Option<Vec<u8>>);
        let rows = self.rows(schema::TRIALS, values![run], |row| -> Result<Stored, DatabaseError> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        let mut trials = Vec::new();
        for (number, block, cell, record) in rows.map_err(self.doing("read the trials"))? {
            let what = || format!("trial {number} of run {run}");
            let mut trial = match record {
                Some(record) => self.unpacked(&record, what)?,
                None => {
                    TrialRecord { number, block, cell: self.read(&cell, what)?, ..TrialRecord::default() }
                }
            };
            let part = |name: &str| format!("`{name}` in trial {number} of run {run}");
            let phases = self.records(schema::PHASES, values![run, number], part)?;
            trial.phases = phases.into_iter().map(|(_, phase)| phase).collect();
            trial.series = self.records(schema::SERIES, values![run, number], part)?.into_iter().collect();
            trials.push(trial);
        }
        Ok(trials)
    }

    /// The numbers of the trials that ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ended(&self, run: &str) -> Result<Vec<u32>, StoreError> {
        let numbers = self.rows(schema::ENDED, values![run], |row| Ok(row.get(0)?));
        numbers.map_err(self.doing("read the trials"))
    }

    /// Named records, and what each is for an error.
    fn records<T: serde::de::DeserializeOwned>(
        &self,
        query: &str,
        values: &[database::Value],
        what: impl Fn(&str) -> String,
    ) -> Result<Vec<(String, T)>, StoreError> {
        let mut records = Vec::new();
        let rows = self.rows(query, values, |row| -> Result<(String, Vec<u8>), DatabaseError> {
            Ok((row.get(0)?, row.get(1)?))
        });
        for (name, record) in rows.map_err(self.doing("read the records"))? {
            let record = self.unpacked(&record, || what(&name))?;
            records.push((name, record));
        }
        Ok(records)
    }

    /// All rows of a query, each read by `of`.
    fn rows<T>(
        &self,
        query: &str,
        values: &[database::Value],
        of: impl Fn(&Row) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, DatabaseError> {
        self.database.query(query, values)?.iter().map(of).collect()
    }

    /// All rows of two texts.
    fn pairs(&self, query: &str, values: &[database::Value]) -> Result<Vec<(String, String)>, DatabaseError> {
        self.rows(query, values, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The only text that a query gives about a run.
    fn one(&self, query: &str, run: &str) -> Result<Option<String>, DatabaseError> {
        self.database.first(query, values![run])?.map(|row| Ok(row.get(0)?)).transpose()
    }

    fn run_of(&self, row: &Row) -> Result<RunEntry, StoreError> {
        let doing = self.doing("read the run");
        let text = |column| row.get::<String>(column).map_err(|error| doing(error.into()));
        let id = text(0)?;
        if !files::is_name(&id) {
            // Files here are named after it, and removed, so no writer is trusted.
            let why = "an id of letters and digits was expected".to_owned();
            return Err(StoreError::Refused {
                place: self.place.to_string(),
                operation: "read the run",
                why,
            });
        }
        let what = || format!("run {id}");
        Ok(RunEntry {
            experiment: text(1)?,
            source: text(2)?,
            settings: self.read(&text(3)?, what)?,
            seed: self.read(&text(4)?, what)?,
            started_unix_s: row.get(5).map_err(|error| doing(error.into()))?,
            elapsed: Duration::try_from_secs_f64(row.get(6).map_err(|error| doing(error.into()))?)
                .unwrap_or_default(),
            status: self.read(&format!("\"{}\"", text(7)?), what)?,
            notes: self.read(&text(8)?, what)?,
            id,
        })
    }

    /// The error of an operation.
    fn doing(&self, operation: &'static str) -> impl Fn(DatabaseError) -> StoreError + use<'_> {
        move |source| self.failed(operation, source)
    }

    fn failed(&self, operation: &'static str, source: DatabaseError) -> StoreError {
        let place = || self.place.to_string();
        match source {
            DatabaseError::File(source) => {
                let path = if let Location::File(path) = &self.place { path } else { Path::new("") };
                failed(path, operation, source)
            }
            DatabaseError::Column(why) => {
                StoreError::Refused { place: place(), operation, why: why.to_string() }
            }
            DatabaseError::Server(error) => opening::of_server(&self.place, operation, error),
        }
    }

    fn json<T: Serialize>(&self, value: &T, what: impl Fn() -> String) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|error| self.unreadable(what(), error))
    }

    fn read<T: serde::de::DeserializeOwned>(
        &self,
        text: &str,
        what: impl Fn() -> String,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.unreadable(what(), error))
    }

    fn packed<T: Serialize>(&self, record: &T, what: impl Fn() -> String) -> Result<Vec<u8>, StoreError> {
        packed::pack(record).map_err(|error| self.unreadable(what(), error))
    }

    fn unpacked<T: serde::de::DeserializeOwned>(
        &self,
        record: &[u8],
        what: impl Fn() -> String,
    ) -> Result<T, StoreError> {
        packed::unpack(record).map_err(|error| self.unreadable(what(), error))
    }

    fn unreadable(&self, what: String, source: serde_json::Error) -> StoreError {
        StoreError::Record { place: self.place.to_string(), what, source }
    }
}

#[cfg(test)]
mod tests;
