//! `scaling`: throughput over the number of workers.

use super::table::Table;
use super::{Answer, Request};
use crate::input::{JudgeError, same_length};
use crate::models::scaling::{ScalingPoint, fit_scaling};
use serde::Deserialize;

/// `{"id", "rows": [{"n", "throughput"}], "metric"}`.
#[derive(Debug, Deserialize)]
pub(super) struct ScalingRequest {
    rows: Vec<ScalingPoint>,
    metric: Option<String>,
}

impl Request for ScalingRequest {
    /// Columns `n` and `throughput`, or the first two.
    fn from_table(table: &Table) -> Result<Self, JudgeError> {
        let (n, throughput) = (table.numbers_of("n", 0)?, table.numbers_of("throughput", 1)?);
        same_length(("n", &n), ("throughput", &throughput))?;
        let rows =
            n.into_iter().zip(throughput).map(|(n, throughput)| ScalingPoint { n, throughput }).collect();
        Ok(Self { rows, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let found = fit_scaling(&self.rows)?;
        let verdict = found.verdict(self.metric.as_deref().unwrap_or("throughput"));
        Ok(Answer::new(verdict, &found))
    }
}
