//! Runs that go, and the room that runs take.

use std::collections::BTreeMap;

use rusqlite::params;

use super::{Store, StoreError, failed, schema};

impl Store {
    /// Removes a run with all that is stored of it. A baseline goes with its run. The file keeps its size until [`Store::give_back`].
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn remove_run(&self, run: &str) -> Result<(), StoreError> {
        let remove = || {
            let transaction = self.connection.unchecked_transaction()?;
            for query in schema::REMOVE_RUN {
                transaction.execute(query, params![run])?;
            }
            transaction.commit()
        };
        remove().map_err(|source| failed(&self.path, "remove the run", source))
    }

    /// Gives the room of what was removed back to the disk, for which the file is written anew: that needs as much room again for a moment.
    ///
    /// # Errors
    /// When there is not enough room, or another process uses the file.
    pub fn give_back(&self) -> Result<(), StoreError> {
        let shrunk = self.connection.execute_batch("vacuum; pragma wal_checkpoint(truncate)");
        shrunk.map_err(|source| failed(&self.path, "give room back to the disk", source))
    }

    /// How many bytes the trials of each run, or its imported texts, take in the file, by the run's id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn bytes(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let doing = |source| failed(&self.path, "measure the runs", source);
        let mut queries = vec![schema::BYTES];
        // An older version may have made the file, and this one may not write to it.
        queries.extend(
            self.connection.table_exists(None, "imported").map_err(doing)?.then_some(schema::BYTES_IMPORTED),
        );
        let mut all = BTreeMap::new();
        for query in queries {
            let mut statement = self.connection.prepare(query).map_err(doing)?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, u64>(1)?))).map_err(doing)?;
            for row in rows {
                let (run, bytes) = row.map_err(doing)?;
                *all.entry(run).or_default() += bytes;
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::TrialRecord;

    use super::*;
    use crate::Packing;
    use crate::tests::{entry, phase, trial};

    fn full(store: &Store, run: &str) {
        let text = Packing::new(&b"Requests per second: 5"[..]).finish("ab.txt").unwrap();
        store.put_imported(&entry(run, 10), &[text]).unwrap();
        store.put_trial(run, &trial(1)).unwrap();
        store.put_versions(run, &serde_json::json!({ "plimsoll": "0.1.0" })).unwrap();
        store.put_inventories(run, &[("server".to_owned(), serde_json::json!({}))].into()).unwrap();
        store.add_tags(run, &["tag".to_owned()]).unwrap();
        store.put_remark(run, "remark").unwrap();
        store.put_outcomes(run, &[]).unwrap();
        let figure = crate::Figure { name: "f".into(), unit: "1/s".into(), value: 1.0, interval: None };
        store.put_figures(run, &[figure]).unwrap();
        store.put_baseline(&format!("of-{run}"), run).unwrap();
    }

    /// The rows of all tables.
    fn rows(store: &Store) -> i64 {
        let names: Vec<String> = {
            let query = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'";
            let mut statement = store.connection.prepare(query).unwrap();
            let names = statement.query_map([], |row| row.get(0)).unwrap();
            names.collect::<Result<_, _>>().unwrap()
        };
        let count = |name: &String| {
            let query = format!("select count(*) from {name}");
            store.connection.query_row(&query, [], |row| row.get::<_, i64>(0)).unwrap()
        };
        names.iter().map(count).sum()
    }

    #[test]
    fn nothing_of_a_run_stays_and_nothing_of_another_goes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
        assert_eq!(rows(&store), 0);
        full(&store, "aaaa");
        let of_one = rows(&store);
        full(&store, "bbbb");
        assert_eq!(rows(&store), 2 * of_one);
        store.remove_run("aaaa").unwrap();
        assert_eq!(rows(&store), of_one);
        assert_eq!(store.trials("bbbb").unwrap()[0].phases.len(), 2);
        store.remove_run("bbbb").unwrap();
        assert_eq!(rows(&store), 0);
    }

    #[test]
    fn the_room_of_a_run_is_told_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        let store = Store::open(&path).unwrap();
        full(&store, "aaaa");
        full(&store, "bbbb");
        let large = TrialRecord {
            number: 2,
            phases: (0..50).map(|n| phase(&"x".repeat(100_000), n)).collect(),
            ..TrialRecord::default()
        };
        store.put_trial("aaaa", &large).unwrap();
        let bytes = store.bytes().unwrap();
        assert!(bytes["aaaa"] > 5_000_000 && bytes["bbbb"] < 10_000, "{bytes:?}");
        store.give_back().unwrap();
        let before = std::fs::metadata(&path).unwrap().len();
        store.remove_run("aaaa").unwrap();
        store.give_back().unwrap();
        let after = std::fs::metadata(&path).unwrap().len();
        assert!(before > 5_000_000 && after < before / 10, "{before} to {after}");
        assert_eq!(store.trials("bbbb").unwrap().len(), 1);
    }
}
