//! Runs that are copied from store to store: whole, or not at all, and read back before that is settled.
//!
//! A run is the same in two stores when what was measured is: its file, its settings, its trials, what its hosts were, what was imported, its files. What was
//! worked out from that, and what people say of it, goes along where the other store has none.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{Store, StoreError, schema};
use crate::database::{OfValue, Row, Value, values};

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// How many trials the run has.
    pub trials: usize,
    /// How many files of its own it has.
    pub files: usize,
    /// Whether the other store had all of it already.
    pub was_there: bool,
}

type Hash = [u8; 32];

/// A table, the rows of a run in it, and how to store them. The first column read is the run, or the key of the rows.
struct Part {
    read: &'static str,
    put: &'static str,
}

/// The measurements, apart from trials and files.
const MEASURED: [Part; 3] = [
    Part {
        read: "select run, host, inventory from inventories where run = ?1 order by host",
        put: schema::PUT_INVENTORY,
    },
    Part { read: "select run, versions from versions where run = ?1", put: schema::PUT_VERSIONS },
    Part {
        read: "select run, ordinal, name, bytes, packed from imported where run = ?1 order by ordinal",
        put: schema::PUT_IMPORTED,
    },
];

/// The results and remarks of a run. A baseline is a store's own name for a run, and stays behind.
const SAID: [Part; 4] = [
    Part { read: "select run, outcomes from outcomes where run = ?1", put: schema::PUT_OUTCOMES },
    Part {
        read: "select run, place, name, unit, value, low, high from figures where run = ?1 order by place",
        put: schema::PUT_FIGURE,
    },
    Part { read: "select run, remark from remarks where run = ?1", put: schema::PUT_REMARK },
    Part { read: "select run, tag from tags where run = ?1 order by tag", put: schema::PUT_TAG },
];

const ENTRY: &str = "
select id, experiment, source, settings, seed, started_unix_s, elapsed_s, status, notes from runs where id = ?1";

/// The columns of an entry that never change: what was carried out, and when it began.
const SETTLED: std::ops::Range<usize> = 0..6;
const STATUS: usize = 7;

const TRIAL: &str =
    "select run, number, block, cell, faults, around_us, record from trials where run = ?1 and number = ?2";
const PHASES_OF: &str = "
select run, trial, ordinal, name, cycle, kind, elapsed_ns, record from phases where run = ?1 and trial = ?2 order by ordinal";
const SERIES_OF: &str =
    "select run, trial, host, samples from series where run = ?1 and trial = ?2 order by host";
const NUMBERS: &str = "select number from trials where run = ?1 order by number";
const REMOVE_TRIAL: &str = "delete from trials where run = ?1 and number = ?2";

/// Content of a run, for comparison between two stores.
#[derive(PartialEq)]
struct Print {
    entry: Row,
    measured: Hash,
    /// Each trial, and whether it has ended.
    trials: BTreeMap<u32, (Hash, bool)>,
    files: BTreeMap<String, Hash>,
}

impl Print {
    fn is_complete(&self) -> bool {
        self.entry.0.get(STATUS) == Some(&Value::from("complete"))
    }
}

impl Store {
    /// Copies a run with all that belongs to it to another store. Where that has it already, nothing is done; where it has some of its trials, it gets the
    /// others. A baseline of this store is none of the other.
    ///
    /// # Errors
    /// When a store cannot be read or written to; when the other one has trials of the run that this one has not got, or that differ; when what
    /// was written cannot be read back as it was. The other store is then as it was before.
    pub fn copy_run(&self, run: &str, to: &Store) -> Result<Copied, StoreError> {
        let Some(mine) = self.print(run)? else {
            let operation = "find the run to be copied";
            return Err(StoreError::Refused {
                place: self.place.to_string(),
                operation,
                why: run.to_owned(),
            });
        };
        let copied = |was_there| Copied { trials: mine.trials.len(), files: mine.files.len(), was_there };
        let there = to.print(run)?;
        if there.as_ref() == Some(&mine) {
            to.database.whole_or(&to.doing("copy the run"), || self.copy_said(run, to, false))?;
            return Ok(copied(true));
        }
        if let Some(how) = there.as_ref().and_then(|there| differs(&mine, there)) {
            return Err(StoreError::Differs { run: run.to_owned(), place: to.place.to_string(), how });
        }
        to.database.whole_or(&to.doing("copy the run"), || {
            self.copy_entry(run, to)?;
            let old = there.map(|there| there.trials).unwrap_or_default();
            for number in old.keys().filter(|number| !mine.trials.contains_key(number)) {
                to.put(&[(REMOVE_TRIAL, values![run, *number].to_vec())])?;
            }
            for (number, trial) in &mine.trials {
                if old.get(number) != Some(trial) {
                    self.copy_rows_of_trial(run, *number, to)?;
                }
            }
            for name in mine.files.keys() {
                to.put_file(run, name, self)?;
            }
            self.copy_said(run, to, true)?;
            match to.print(run)?.as_ref() == Some(&mine) {
                true => Ok(copied(false)),
                false => Err(StoreError::Spoiled { run: run.to_owned(), place: to.place.to_string() }),
            }
        })
    }

    /// Copies what there is of a run apart from its trials, and one of these: that which has just ended, of a run that goes on.
    ///
    /// # Errors
    /// When a store cannot be read or written to. The other store is then as it was before.
    pub fn copy_trial(&self, run: &str, number: u32, to: &Store) -> Result<(), StoreError> {
        to.database.whole_or(&to.doing("copy the run"), || {
            self.copy_entry(run, to)?;
            self.copy_rows_of_trial(run, number, to)
        })
    }

    /// Copies what there is of a run apart from its trials.
    ///
    /// # Errors
    /// When a store cannot be read or written to. The other store is then as it was before.
    pub fn copy_begun(&self, run: &str, to: &Store) -> Result<(), StoreError> {
        to.database.whole_or(&to.doing("copy the run"), || {
            self.copy_entry(run, to)?;
            self.copy_said(run, to, false)
        })
    }

    fn copy_entry(&self, run: &str, to: &Store) -> Result<(), StoreError> {
        let put = |read, put| -> Result<(), StoreError> {
            let rows = self.rows_of(read, values![run])?;
            to.put(&rows.into_iter().map(|row| (put, row.0)).collect::<Vec<_>>())
        };
        put(ENTRY, schema::PUT_RUN)?;
        // Imported data never change once they are there, and may be long.
        let imported = to.rows_of(schema::IMPORTED_COUNT, values![run])?;
        if imported.first().map_or(Ok(0), |row| to.column::<u64>(row))? > 0 {
            return MEASURED[..2].iter().try_for_each(|part| put(part.read, part.put));
        }
        MEASURED.iter().try_for_each(|part| put(part.read, part.put))
    }

    /// Copies derived figures and labels: all of them, or only what the other store has nothing of.
    fn copy_said(&self, run: &str, to: &Store, replace: bool) -> Result<(), StoreError> {
        for part in SAID {
            let mine = self.rows_of(part.read, values![run])?;
            let there = to.rows_of(part.read, values![run])?;
            if mine.is_empty() || mine == there || (!there.is_empty() && !replace) {
                continue;
            }
            if part.put == schema::PUT_FIGURE {
                to.put(&[(schema::FORGET_FIGURES, values![run].to_vec())])?;
            }
            to.put(&mine.into_iter().map(|row| (part.put, row.0)).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn copy_rows_of_trial(&self, run: &str, number: u32, to: &Store) -> Result<(), StoreError> {
        let key = values![run, number];
        let mut all = vec![(REMOVE_TRIAL, key.to_vec())];
        let trial = self.rows_of(TRIAL, key)?;
        all.extend(trial.into_iter().map(|row| (schema::PUT_TRIAL, row.0)));
        all.extend(self.rows_of(PHASES_OF, key)?.into_iter().map(|row| (schema::PUT_PHASE, row.0)));
        all.extend(self.rows_of(SERIES_OF, key)?.into_iter().map(|row| (schema::PUT_SERIES, row.0)));
        to.put(&all)
    }

    /// Content of a run; `None` if there is no run.
    fn print(&self, run: &str) -> Result<Option<Print>, StoreError> {
        let Some(entry) = self.rows_of(ENTRY, values![run])?.into_iter().next() else { return Ok(None) };
        let mut measured = Sha256::new();
        for part in &MEASURED {
            hash(&mut measured, &self.rows_of(part.read, values![run])?);
        }
        let mut trials = BTreeMap::new();
        for row in self.rows_of(NUMBERS, values![run])? {
            let number: u32 = self.column(&row)?;
            let key = values![run, number];
            let trial = self.rows_of(TRIAL, key)?;
            let ended = trial.iter().any(|row| row.0.last() != Some(&Value::Null));
            let mut whole = Sha256::new();
            hash(&mut whole, &trial);
            hash(&mut whole, &self.rows_of(PHASES_OF, key)?);
            hash(&mut whole, &self.rows_of(SERIES_OF, key)?);
            trials.insert(number, (whole.finalize().into(), ended));
        }
        let mut files = BTreeMap::new();
        for (name, _) in self.files(run)? {
            let mut whole = Sha256::new();
            self.each_piece(run, &name, &mut |bytes| {
                whole.update(bytes);
                Ok(())
            })?;
            files.insert(name, whole.finalize().into());
        }
        Ok(Some(Print { entry, measured: measured.finalize().into(), trials, files }))
    }

    fn rows_of(&self, query: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.database.query(query, values).map_err(self.doing("read the run"))
    }

    fn column<T: OfValue>(&self, row: &Row) -> Result<T, StoreError> {
        row.get(0).map_err(|error| self.failed("read the run", error.into()))
    }

    fn put(&self, rows: &[(&str, Vec<Value>)]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(statement, values)| {
            let stored = self.database.execute(statement, values);
            stored.map(drop).map_err(self.doing("store the run"))
        })
    }
}

/// Why a run must not be put in place of that which is there; `None` if it may.
fn differs(mine: &Print, there: &Print) -> Option<String> {
    if mine.entry.0.get(SETTLED) != there.entry.0.get(SETTLED) {
        return Some("it is another run of that name".into());
    }
    let named = |numbers: Vec<u32>| match numbers[..] {
        [number] => format!("trial {number}"),
        _ => format!("trials {}", numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let ended = || there.trials.iter().filter(|(_, (_, ended))| *ended);
    let further: Vec<u32> =
        ended().map(|(number, _)| *number).filter(|number| !mine.trials.contains_key(number)).collect();
    if !further.is_empty() {
        return Some(format!("it has got {} there, and not here", named(further)));
    }
    let others: Vec<u32> =
        ended().filter(|(number, trial)| mine.trials.get(number) != Some(trial)).map(|(n, _)| *n).collect();
    if !others.is_empty() {
        return Some(format!("{} was measured once more there", named(others)));
    }
    (there.is_complete() && !mine.is_complete()).then(|| "it is complete there, and not here".into())
}

/// Adds rows to a hash. The kind and the length of each value separate it from its neighbours.
fn hash(whole: &mut Sha256, rows: &[Row]) {
    whole.update((rows.len() as u64).to_le_bytes());
    for value in rows.iter().flat_map(|row| &row.0) {
        let (kind, bytes): (u8, &[u8]) = match value {
            Value::Null => (0, &[]),
            Value::Integer(number) => (1, &number.to_le_bytes()),
            Value::Real(number) => (2, &number.to_bits().to_le_bytes()),
            Value::Text(text) => (3, text.as_bytes()),
            Value::Bytes(bytes) => (4, bytes),
        };
        whole.update([kind]);
        whole.update((bytes.len() as u64).to_le_bytes());
        whole.update(bytes);
    }
}
