//! How long the phases of an earlier run took, from which it is told how long one will take.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::observation::PhaseKind;
use rusqlite::{OptionalExtension, params};

use crate::error::failed;
use crate::{RunEntry, Store, StoreError, schema};

/// How long an earlier run took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// The run.
    pub run: String,
    /// Its phases, each with the mean of how long it took.
    pub phases: Vec<(String, PhaseKind, Duration)>,
    /// The mean of how long the set-up and the teardown of a trial took.
    pub around: Duration,
}

impl Store {
    /// How long the newest run like this took that came to its end: one of the same file and settings where there is one, else one of the
    /// same name. Nothing where there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn times(
        &self,
        experiment: &str,
        source: &str,
        settings: &serde_json::Value,
    ) -> Result<Option<Times>, StoreError> {
        let doing = |source| failed(&self.path, "read how long runs took", source);
        let mut like = self.connection.prepare(schema::LIKE).map_err(doing)?;
        let run: Option<String> = like
            .query_row(params![experiment, source, settings.to_string()], |row| row.get(0))
            .optional()
            .map_err(doing)?;
        let Some(run) = run else { return Ok(None) };
        let mut statement = self.connection.prepare(schema::PHASE_TIMES).map_err(doing)?;
        let rows = statement
            .query_map(params![run], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
            })
            .map_err(doing)?;
        let mut sums: BTreeMap<(String, String), (u64, u32)> = BTreeMap::new();
        for row in rows {
            let (name, kind, took_ns) = row.map_err(doing)?;
            let sum = sums.entry((name, kind)).or_default();
            *sum = (sum.0 + u64::try_from(took_ns).unwrap_or(0), sum.1 + 1);
        }
        let mut phases = Vec::new();
        for ((name, kind), (sum_ns, count)) in sums {
            let kind =
                self.read(&format!("\"{kind}\""), || format!("the kind of phase `{name}` of run {run}"))?;
            phases.push((name, kind, Duration::from_nanos(sum_ns) / count));
        }
        let around: Option<f64> =
            self.connection.query_row(schema::AROUND, params![run], |row| row.get(0)).map_err(doing)?;
        Ok(Some(Times { run, phases, around: Duration::from_secs_f64(around.unwrap_or(0.0) / 1e6) }))
    }

    /// The same for a run that is about to begin.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn times_like(&self, run: &RunEntry) -> Result<Option<Times>, StoreError> {
        self.times(&run.experiment, &run.source, &run.settings)
    }
}
