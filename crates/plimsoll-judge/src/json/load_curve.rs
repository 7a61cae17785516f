//! `load-curve`: load against utilisation.

use super::table::Table;
use super::{Answer, Request};
use crate::input::{JudgeError, same_length};
use crate::models::load_curve::{LoadPoint, fit_load_curve};
use serde::Deserialize;

/// `{"id", "rows": [{"utilisation", "load"}], "cpus", "metric"}`; one processor unless `cpus` says more.
#[derive(Debug, Deserialize)]
pub(super) struct LoadCurveRequest {
    rows: Vec<LoadPoint>,
    cpus: Option<usize>,
    metric: Option<String>,
}

impl Request for LoadCurveRequest {
    /// Columns `utilisation` and `load` (or the first two), and `cpus` where there is more than one processor.
    fn from_table(table: &Table) -> Result<Self, JudgeError> {
        let (utilisation, load) = (table.numbers_of("utilisation", 0)?, table.numbers_of("load", 1)?);
        same_length(("utilisation", &utilisation), ("load", &load))?;
        let rows = utilisation
            .into_iter()
            .zip(load)
            .map(|(utilisation, load)| LoadPoint { utilisation, load })
            .collect();
        let cpus = table.place("cpus").map(|column| one_count(&table.numbers(column)?)).transpose()?;
        Ok(Self { rows, cpus, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let curve = fit_load_curve(&self.rows, self.cpus.unwrap_or(1))?;
        Ok(Answer::new(curve.verdict(self.metric.as_deref().unwrap_or("load")), &curve))
    }
}

/// The number of processors, the same in every row.
fn one_count(cpus: &[f64]) -> Result<usize, JudgeError> {
    match cpus {
        [first, rest @ ..]
            if rest.iter().all(|c| c == first) && first.fract() == 0.0 && (1.0..1e6).contains(first) =>
        {
            Ok(*first as usize)
        }
        _ => Err(JudgeError::Table("`cpus` must be the same whole number, 1 or more, in every row".into())),
    }
}
