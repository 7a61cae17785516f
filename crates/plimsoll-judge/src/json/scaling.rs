//! `scaling`: throughput over the number of workers.

use super::table::Table;
use super::{Answer, Request};
use crate::input::JudgeError;
use crate::models::scaling::{ScalingPoint, fit_scaling};
use serde::Deserialize;

/// `{"id", "rows": [{"n", "throughput"}], "metric"}`.
#[derive(Debug, Deserialize)]
pub(super) struct ScalingRequest {
    rows: Vec<ScalingPoint>,
    metric: Option<String>,
}

impl Request for ScalingRequest {
    /// Columns `n` and `throughput`, or the only two.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let rows = table.whole_rows(["n", "throughput"], &[])?;
        let point = |[n, throughput]: [f64; 2]| ScalingPoint { n, throughput };
        Ok(Self { rows: rows.into_iter().map(point).collect(), metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let found = fit_scaling(&self.rows)?;
        let verdict = found.verdict(self.metric.as_deref().unwrap_or("throughput"));
        Ok(Answer::new(verdict, &found))
    }
}
