//! `growth`: time over the number of workers.

use super::table::Table;
use super::{Answer, Request};
use crate::input::{JudgeError, same_length};
use crate::models::growth::{GrowthPoint, fit_growth};
use serde::Deserialize;

/// `{"id", "rows": [{"n", "time"}], "metric"}`.
#[derive(Debug, Deserialize)]
pub(super) struct GrowthRequest {
    rows: Vec<GrowthPoint>,
    metric: Option<String>,
}

impl Request for GrowthRequest {
    /// Columns `n` and `time`, or the first two.
    fn from_table(table: &Table) -> Result<Self, JudgeError> {
        let (n, time) = (table.numbers_of("n", 0)?, table.numbers_of("time", 1)?);
        same_length(("n", &n), ("time", &time))?;
        let rows = n.into_iter().zip(time).map(|(n, time)| GrowthPoint { n, time }).collect();
        Ok(Self { rows, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let found = fit_growth(&self.rows)?;
        Ok(Answer::new(found.verdict(self.metric.as_deref().unwrap_or("time")), &found))
    }
}
