//! Runs that go, and the room that runs take.

use std::collections::BTreeMap;

use super::{Store, StoreError, schema};
use crate::database::{Database, DatabaseError, values};

impl Store {
    /// Removes a run with all that is stored of it. A baseline goes with its run. The file keeps its size until [`Store::give_back`].
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn remove_run(&self, run: &str) -> Result<(), StoreError> {
        let of_server = match self.database {
            Database::Server(_) => Some(schema::REMOVE_FILES),
            Database::File(_) => None,
        };
        let remove = || -> Result<(), DatabaseError> {
            for query in of_server.into_iter().chain(schema::REMOVE_RUN) {
                self.database.execute(query, values![run])?;
            }
            Ok(())
        };
        self.database.whole(remove).map_err(self.doing("remove the run"))
    }

    /// Gives the room of what was removed back to the disk, by rewriting the file, which needs as much room again for a
    /// moment. A server sees to its room itself.
    ///
    /// # Errors
    /// When there is not enough room, or another process uses the file.
    pub fn give_back(&self) -> Result<(), StoreError> {
        let Database::File(file) = &self.database else { return Ok(()) };
        let shrunk = file.execute_batch("vacuum; pragma wal_checkpoint(truncate)");
        shrunk.map_err(|source| self.failed("give room back to the disk", source.into()))
    }

    /// How many bytes the trials of each run, or its imported texts, take in the file, by the run's id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn bytes(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let measure = || -> Result<BTreeMap<String, u64>, DatabaseError> {
            let mut queries = vec![schema::BYTES, schema::BYTES_IMPORTED];
            queries.extend(matches!(self.database, Database::Server(_)).then_some(schema::BYTES_OF_FILES));
            let mut all = BTreeMap::new();
            for query in queries {
                let bytes = |row: &crate::database::Row| Ok((row.get(0)?, row.get::<u64>(1)?));
                for (run, bytes) in self.rows(query, &[], bytes)? {
                    *all.entry(run).or_default() += bytes;
                }
            }
            Ok(all)
        };
        measure().map_err(self.doing("measure the runs"))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::TrialRecord;

    use super::*;
    use crate::Packing;
    use crate::database::Differing;
    use crate::tests::{entry, on_both, phase, trial};

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
        let tables = store.database.words(Differing {
            file: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
            server: "select cast(tablename as text) from pg_tables
                where schemaname = 'plimsoll' and tablename <> 'format'",
        });
        let names = store.rows(tables, &[], |row| Ok(row.get::<String>(0)?)).unwrap();
        let count = |name: &String| {
            let row = store.database.first(&format!("select count(*) from {name}"), &[]).unwrap();
            row.unwrap().get::<i64>(0).unwrap()
        };
        names.iter().map(count).sum()
    }

    on_both! { fn nothing_of_a_run_stays_and_nothing_of_another_goes(store) {
        assert_eq!(rows(store), 0);
        full(store, "aaaa");
        let of_one = rows(store);
        full(store, "bbbb");
        assert_eq!(rows(store), 2 * of_one);
        store.remove_run("aaaa").unwrap();
        assert_eq!(rows(store), of_one);
        assert_eq!(store.trials("bbbb").unwrap()[0].phases.len(), 2);
        store.remove_run("bbbb").unwrap();
        assert_eq!(rows(store), 0);
    }}

    #[test]
    fn the_room_of_a_run_is_reported_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        let store = Store::open(&path).unwrap();
        full(&store, "aaaa");
        full(&store, "bbbb");
        // Knuth's generator (MMIX): six random bits a letter do not shrink much.
        let mut state = 1_u64;
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'0' + (state >> 58) as u8)
        };
        let noise: String = (0..100_000).map(|_| letter()).collect();
        let large = TrialRecord {
            number: 2,
            phases: (0..50).map(|n| phase(&noise, n)).collect(),
            ..TrialRecord::default()
        };
        store.put_trial("aaaa", &large).unwrap();
        let bytes = store.bytes().unwrap();
        assert!(bytes["aaaa"] > 3_000_000 && bytes["bbbb"] < 10_000, "{bytes:?}");
        store.give_back().unwrap();
        let before = std::fs::metadata(&path).unwrap().len();
        store.remove_run("aaaa").unwrap();
        store.give_back().unwrap();
        let after = std::fs::metadata(&path).unwrap().len();
        assert!(before > 3_000_000 && after < before / 10, "{before} to {after}");
        assert_eq!(store.trials("bbbb").unwrap().len(), 1);
    }
}
