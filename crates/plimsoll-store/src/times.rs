//! How long the phases of an earlier run took, from which the duration of a run is forecast.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{RunEntry, Store, StoreError, schema};
use crate::database::{DatabaseError, values};
use plimsoll_model::observation::PhaseKind;

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
    /// same name. `None` if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn times(
        &self,
        experiment: &str,
        source: &str,
        settings: &serde_json::Value,
    ) -> Result<Option<Times>, StoreError> {
        let doing = self.doing("read how long runs took");
        let like = || -> Result<Option<String>, DatabaseError> {
            let values = values![experiment, source, settings.to_string()];
            self.database.first(schema::LIKE, values)?.map(|row| Ok(row.get(0)?)).transpose()
        };
        let Some(run) = like().map_err(&doing)? else { return Ok(None) };
        let rows = self.rows(
            schema::PHASE_TIMES,
            values![&run],
            |row| -> Result<(String, String, i64), DatabaseError> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            },
        );
        let mut sums: BTreeMap<(String, String), (u64, u32)> = BTreeMap::new();
        for (name, kind, took_ns) in rows.map_err(&doing)? {
            let sum = sums.entry((name, kind)).or_default();
            *sum = (sum.0 + u64::try_from(took_ns).unwrap_or(0), sum.1 + 1);
        }
        let mut phases = Vec::new();
        for ((name, kind), (sum_ns, count)) in sums {
            let kind = self.read(&kind, || format!("the kind of phase `{name}` of run {run}"))?;
            phases.push((name, kind, Duration::from_nanos(sum_ns) / count));
        }
        let around = || -> Result<Option<f64>, DatabaseError> {
            let row = self.database.first(schema::AROUND, values![&run])?;
            Ok(row.map(|row| row.get::<Option<f64>>(0)).transpose()?.flatten())
        };
        let around = around().map_err(&doing)?;
        Ok(Some(Times { run, phases, around: Duration::from_secs_f64(around.unwrap_or(0.0) / 1e6) }))
    }

    /// The times for a run that is about to begin.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn times_like(&self, run: &RunEntry) -> Result<Option<Times>, StoreError> {
        self.times(&run.experiment, &run.source, &run.settings)
    }
}
