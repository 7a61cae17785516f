//! Search for runs, a page at a time, without their long parts: for lists of stores that hold very many.

use plimsoll_model::report::RunStatus;

use super::{Labels, Store, StoreError, schema};
use crate::database::{DatabaseError, Row, Value, values};

/// Which runs are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Words that must all be found, each in the experiment's name, a tag, the remark, an outcome or at the start of the id.
    pub words: Vec<String>,
    /// Only runs of this experiment.
    pub experiment: Option<String>,
    /// Only runs with this tag.
    pub tag: Option<String>,
}

/// A run in a list: what is known of it without its trials and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The run's id.
    pub id: String,
    /// The experiment's name.
    pub experiment: String,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// How far it came.
    pub status: RunStatus,
    /// The labels of the run.
    pub labels: Labels,
}

/// An experiment of which there are runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// How many runs there are.
    pub runs: u64,
    /// When the newest started, in seconds since 1970 (UTC).
    pub newest_unix_s: u64,
}

impl Store {
    /// The runs that are meant, the newest first: as many as `most`, after the first `skipped`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn search(&self, search: &Search, skipped: usize, most: usize) -> Result<Vec<Listed>, StoreError> {
        let (condition, mut values) = self.condition(search);
        values.extend([Value::from(most), Value::from(skipped)]);
        let query = format!(
            "select id, experiment, started_unix_s, elapsed_s, status from runs where {condition} \
             order by started_unix_s desc, rowid desc limit ? offset ?"
        );
        let rows = self.database.query(&query, &values).map_err(self.doing("search the runs"))?;
        let mut found: Vec<Listed> = rows.iter().map(|row| self.listed(row)).collect::<Result<_, _>>()?;
        let ids: Vec<String> = found.iter().map(|run| run.id.clone()).collect();
        let mut labels = self.labels_among(&ids)?;
        for run in &mut found {
            run.labels = labels.remove(&run.id).unwrap_or_default();
        }
        Ok(found)
    }

    /// How many runs are meant.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn count(&self, search: &Search) -> Result<u64, StoreError> {
        let (condition, values) = self.condition(search);
        let query = format!("select count(*) from runs where {condition}");
        let count = || -> Result<u64, DatabaseError> {
            let row = self.database.first(&query, &values)?;
            Ok(row.map(|row| row.get(0)).transpose()?.unwrap_or_default())
        };
        count().map_err(self.doing("count the runs"))
    }

    /// All experiments of which there are runs, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn experiments(&self) -> Result<Vec<Experiment>, StoreError> {
        let experiments = self.rows(schema::EXPERIMENTS, &[], |row| -> Result<_, DatabaseError> {
            Ok(Experiment { name: row.get(0)?, runs: row.get(1)?, newest_unix_s: row.get(2)? })
        });
        experiments.map_err(self.doing("list the experiments"))
    }

    /// All tags, with how many runs have each, the most frequent first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn tags(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let tags = self.rows(schema::TAG_COUNTS, &[], |row| -> Result<_, DatabaseError> {
            Ok((row.get(0)?, row.get(1)?))
        });
        tags.map_err(self.doing("list the tags"))
    }

    /// The runs that carry an intervention out for a cause of this run (`explain --confirm`): their ids.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn interventions_for(&self, run: &str) -> Result<Vec<String>, StoreError> {
        let query = self.database.words(schema::INTERVENTIONS_FOR);
        let found = self.rows(query, values![run], |row| -> Result<_, DatabaseError> { Ok(row.get(0)?) });
        found.map_err(self.doing("look for interventions"))
    }

    /// A run of which is not known yet what is said.
    fn listed(&self, row: &Row) -> Result<Listed, StoreError> {
        type Columns = (String, String, u64, f64, String);
        let read = || -> Result<Columns, DatabaseError> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        };
        let (id, experiment, started_unix_s, elapsed_s, status) =
            read().map_err(self.doing("read the run"))?;
        Ok(Listed {
            experiment,
            started_unix_s,
            elapsed_s,
            status: self.read(&format!("\"{status}\""), || format!("run {id}"))?,
            labels: Labels::default(),
            id,
        })
    }

    /// The search as an SQL condition, and the values in it. Text from outside is in the values alone.
    fn condition(&self, search: &Search) -> (String, Vec<Value>) {
        let (mut parts, mut values) = (vec!["true".to_owned()], Vec::new());
        if let Some(experiment) = &search.experiment {
            parts.push("experiment = ?".to_owned());
            values.push(Value::Text(experiment.clone()));
        }
        if let Some(tag) = &search.tag {
            parts.push(schema::HAS_TAG.to_owned());
            values.push(Value::Text(tag.clone()));
        }
        let has_word = self.database.words(schema::HAS_WORD);
        for word in &search.words {
            let literal = word.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
            let (starts, within) = (format!("{literal}%"), format!("%{literal}%"));
            parts.push(has_word.to_owned());
            values.extend([starts, within.clone(), within.clone(), within.clone(), within].map(Value::Text));
        }
        (parts.join(" and "), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShortOutcome;
    use crate::tests::{entry, on_both};

    fn words(text: &str) -> Search {
        Search { words: text.split(' ').map(ToOwned::to_owned).collect(), ..Search::default() }
    }

    fn ids(store: &Store, search: &Search) -> Vec<String> {
        store.search(search, 0, 10).unwrap().into_iter().map(|run| run.id).collect()
    }

    on_both! { fn runs_are_found_by_what_is_said_of_them(store) {
        for (n, id) in ["aaaa", "bbbb", "cccc"].into_iter().enumerate() {
            store.put_run(&entry(id, 10 + n as u64)).unwrap();
        }
        store.add_tags("bbbb", &["night_ly".to_owned()]).unwrap();
        store.put_remark("cccc", "50% of the cache").unwrap();
        let found = ShortOutcome { claim: "recovery".into(), outcome: "not_recovered".into(), holds: false };
        store.put_outcomes("aaaa", &[found]).unwrap();
        assert_eq!(ids(store, &Search::default()), ["cccc", "bbbb", "aaaa"], "the newest first");
        assert_eq!(ids(store, &words("night_ly")), ["bbbb"]);
        assert_eq!(ids(store, &words("nightly")), [""; 0], "an underline stands for itself");
        assert_eq!(ids(store, &words("50%")), ["cccc"]);
        assert_eq!(ids(store, &words("5%e")), [""; 0], "a per cent sign stands for itself");
        assert_eq!(ids(store, &words("not_recovered")), ["aaaa"]);
        assert_eq!(ids(store, &words("recovery")), [""; 0], "which claim it was is no outcome");
        assert_eq!(ids(store, &words("bb")), ["bbbb"], "the start of an id");
        assert_eq!(ids(store, &words("cache night_ly")), [""; 0], "all words must be found");
        let tagged = Search { tag: Some("night_ly".into()), ..Search::default() };
        assert_eq!(ids(store, &tagged), ["bbbb"]);
        assert_eq!(store.count(&tagged).unwrap(), 1);
        let listed = store.search(&Search::default(), 0, 10).unwrap();
        assert_eq!(listed[1].labels.tags, ["night_ly"]);
        assert_eq!((listed[0].labels.tags.len(), listed[2].labels.outcomes.len()), (0, 1), "each has its own");
        assert_eq!(store.tags().unwrap(), [("night_ly".to_owned(), 1)]);
        assert_eq!(store.search(&Search::default(), 1, 1).unwrap()[0].id, "bbbb");
        assert_eq!(store.experiments().unwrap()[0].runs, 3);
    }}

    on_both! { fn a_claim_is_no_outcome_wherever_it_stands(store) {
        store.put_run(&entry("aaaa", 10)).unwrap();
        let found = ["same", "slower"].map(|outcome| ShortOutcome {
            claim: "difference".into(),
            outcome: outcome.into(),
            holds: true,
        });
        store.put_outcomes("aaaa", &found).unwrap();
        assert_eq!(ids(store, &words("slower same")), ["aaaa"]);
        assert_eq!(ids(store, &words("difference")), [""; 0]);
    }}

    on_both! { fn an_intervention_is_found_by_the_run_that_it_is_for(store) {
        store.put_run(&entry("aaaa", 10)).unwrap();
        let mut other = entry("bbbb", 11);
        other.settings = serde_json::json!({ "intervention": { "run": "aaaa" } });
        store.put_run(&other).unwrap();
        assert_eq!(store.interventions_for("aaaa").unwrap(), ["bbbb"]);
        assert_eq!(store.interventions_for("bbbb").unwrap(), [""; 0]);
    }}
}
