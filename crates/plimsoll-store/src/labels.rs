//! Labels of runs, and their results in short: tags, remarks, baselines, outcomes. A run that goes takes its own along.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Store, StoreError, schema};
use crate::database::{DatabaseError, Value, values};

/// The outcome of one verdict, as it was when the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortOutcome {
    /// The claim, such as `recovery`.
    pub claim: String,
    /// The outcome, such as `recovered`.
    pub outcome: String,
    /// Whether the claim holds.
    pub holds: bool,
}

/// Tags, remark, baselines and outcomes of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Words to find it by, in alphabetical order.
    pub tags: Vec<String>,
    /// Its remark.
    pub remark: Option<String>,
    /// The names under which it is a baseline, in alphabetical order.
    pub baselines: Vec<String>,
    /// Its outcomes; empty if none was stored.
    pub outcomes: Vec<ShortOutcome>,
}

/// A run that others are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// The run's id.
    pub run: String,
    /// The run's experiment.
    pub experiment: String,
}

impl Store {
    /// Adds tags to a run; those that it has stay.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn add_tags(&self, run: &str, tags: &[String]) -> Result<(), StoreError> {
        tags.iter().try_for_each(|tag| self.change("store a tag", schema::PUT_TAG, run, tag))
    }

    /// Takes tags from a run.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn remove_tags(&self, run: &str, tags: &[String]) -> Result<(), StoreError> {
        tags.iter().try_for_each(|tag| self.change("remove a tag", schema::REMOVE_TAG, run, tag))
    }

    /// Writes down a remark on a run, in place of the one that it had.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_remark(&self, run: &str, remark: &str) -> Result<(), StoreError> {
        self.change("store a remark", schema::PUT_REMARK, run, remark)
    }

    /// Stores what a run found, in short.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_outcomes(&self, run: &str, outcomes: &[ShortOutcome]) -> Result<(), StoreError> {
        let text = self.json(&outcomes, || "outcomes".into())?;
        self.change("store the outcomes", schema::PUT_OUTCOMES, run, &text)
    }

    /// Makes a run the baseline of this name, in place of any other.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_baseline(&self, name: &str, run: &str) -> Result<(), StoreError> {
        self.change("store a baseline", schema::PUT_BASELINE, name, run)
    }

    /// Forgets a baseline; its run stays. True where there was one of this name.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn forget_baseline(&self, name: &str) -> Result<bool, StoreError> {
        let changed = self.database.execute(schema::FORGET_BASELINE, values![name]);
        changed.map(|rows| rows > 0).map_err(self.doing("forget a baseline"))
    }

    /// The id of the run that is the baseline of this name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn baseline(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.one(schema::BASELINE, name).map_err(self.doing("find a baseline"))
    }

    /// All baselines, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn baselines(&self) -> Result<Vec<Baseline>, StoreError> {
        let baselines = self.rows(schema::BASELINES, &[], |row| -> Result<_, DatabaseError> {
            Ok(Baseline { name: row.get(0)?, run: row.get(1)?, experiment: row.get(2)? })
        });
        baselines.map_err(self.doing("list the baselines"))
    }

    /// Labels of all runs, by id. Runs without labels are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn labels(&self) -> Result<BTreeMap<String, Labels>, StoreError> {
        self.labels_where("true", &[])
    }

    /// Labels of one run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn labels_of(&self, run: &str) -> Result<Labels, StoreError> {
        Ok(self.labels_where("run = ?1", values![run])?.remove(run).unwrap_or_default())
    }

    /// Labels of some runs, in as few queries as for one: a server may be far away.
    pub(super) fn labels_among(&self, runs: &[String]) -> Result<BTreeMap<String, Labels>, StoreError> {
        if runs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let marks = vec!["?"; runs.len()].join(", ");
        let ids: Vec<Value> = runs.iter().map(Value::from).collect();
        self.labels_where(&format!("run in ({marks})"), &ids)
    }

    fn labels_where(
        &self,
        condition: &str,
        values: &[Value],
    ) -> Result<BTreeMap<String, Labels>, StoreError> {
        let mut all: BTreeMap<String, Labels> = BTreeMap::new();
        let said = |column: &str, table: &str| {
            let query = format!("select run, {column} from {table} where {condition} order by run, {column}");
            self.pairs(&query, values).map_err(self.doing("read the labels of runs"))
        };
        for (run, tag) in said("tag", "tags")? {
            all.entry(run).or_default().tags.push(tag);
        }
        for (run, remark) in said("remark", "remarks")? {
            all.entry(run).or_default().remark = Some(remark);
        }
        for (run, name) in said("name", "baselines")? {
            all.entry(run).or_default().baselines.push(name);
        }
        for (run, text) in said("outcomes", "outcomes")? {
            let outcomes = self.read(&text, || format!("the outcomes of run {run}"))?;
            all.entry(run).or_default().outcomes = outcomes;
        }
        Ok(all)
    }

    fn change(
        &self,
        operation: &'static str,
        query: &str,
        first: &str,
        second: &str,
    ) -> Result<(), StoreError> {
        let changed = self.database.execute(query, values![first, second]);
        changed.map(drop).map_err(self.doing(operation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{entry, on_both};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    on_both! { fn what_is_said_of_a_run_is_kept_and_taken_back(store) {
        store.put_run(&entry("aaaa", 10)).unwrap();
        assert!(store.labels().unwrap().is_empty());
        store.add_tags("aaaa", &words(&["slow", "6.12", "slow"])).unwrap();
        store.remove_tags("aaaa", &words(&["slow", "never"])).unwrap();
        store.put_remark("aaaa", "first").unwrap();
        store.put_remark("aaaa", "second").unwrap();
        store.put_baseline("release", "aaaa").unwrap();
        let outcomes = [ShortOutcome { claim: "recovery".into(), outcome: "recovered".into(), holds: true }];
        store.put_outcomes("aaaa", &outcomes).unwrap();
        let labels = &store.labels().unwrap()["aaaa"];
        assert_eq!(labels.tags, ["6.12"]);
        assert_eq!(labels.remark.as_deref(), Some("second"));
        assert_eq!(labels.baselines, ["release"]);
        assert_eq!(labels.outcomes, outcomes);
    }}

    on_both! { fn a_baseline_moves_to_another_run_and_is_forgotten(store) {
        for run in ["aaaa", "bbbb"] {
            store.put_run(&entry(run, 10)).unwrap();
            store.put_baseline("release", run).unwrap();
        }
        assert_eq!(store.baseline("release").unwrap().as_deref(), Some("bbbb"));
        assert_eq!(store.baselines().unwrap().len(), 1);
        assert!(store.forget_baseline("release").unwrap());
        assert!(!store.forget_baseline("release").unwrap());
        assert_eq!(store.baseline("release").unwrap(), None);
    }}

    on_both! { fn nothing_is_said_of_a_run_that_is_not_there(store) {
        assert!(store.add_tags("none", &words(&["tag"])).is_err());
        assert!(store.put_baseline("release", "none").is_err());
    }}
}
