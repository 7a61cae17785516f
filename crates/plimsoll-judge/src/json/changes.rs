//! `changes`: where did the history change?

use super::table::Table;
use super::{Answer, Request};
use crate::changes::find_changes;
use crate::input::JudgeError;
use serde::Deserialize;
use serde_json::json;

/// `{"id", "series": [..], "metric"}`, in order of time.
#[derive(Debug, Deserialize)]
pub(super) struct ChangesRequest {
    series: Vec<f64>,
    metric: Option<String>,
}

impl Request for ChangesRequest {
    /// Column `series`, or the first.
    fn from_table(table: &Table) -> Result<Self, JudgeError> {
        Ok(Self { series: table.numbers_of("series", 0)?, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let found = find_changes(&self.series)?;
        let verdict = found.verdict(self.metric.as_deref().unwrap_or("value"));
        Ok(Answer::new(
            verdict,
            json!({"changes": found.changes, "noise": found.noise, "correlation": found.correlation}),
        ))
    }
}
