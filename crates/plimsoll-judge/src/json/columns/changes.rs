//! `changes`: where did the history change?

use crate::changes::find_changes_with_gaps;
use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use plimsoll_model::numbers::{Level, Numbers};
use serde::Deserialize;
use serde_json::json;

/// `{"id", "series": [..], "metric"}`, in order of time; `null` where a value is missing.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct ChangesRequest {
    series: Vec<Option<f64>>,
    metric: Option<String>,
}

impl Request for ChangesRequest {
    const SERIES: bool = true;

    /// Column `series`, or the only one; an empty cell is a missing value.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        Ok(Self { series: table.series_with_gaps("series")?, metric: None })
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let found = find_changes_with_gaps(&self.series)?;
        let verdict = found.verdict(self.metric.as_deref().unwrap_or("value"));
        Ok(Judgement::new(
            verdict,
            json!({
                "changes": found.changes,
                "noise": found.noise,
                "correlation": found.correlation,
                "trend": found.trend,
                "cycles": found.cycles,
                "missing": found.missing,
            }),
        ))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let found = find_changes_with_gaps(&self.series)?.changes;
        let ends = found.iter().map(|change| change.index).chain([self.series.len()]);
        let starts = std::iter::once(0).chain(found.iter().map(|change| change.index));
        let heights = found.first().map(|first| first.before).into_iter();
        let heights = heights.chain(found.iter().map(|change| change.after));
        let levels = starts.zip(ends).zip(heights).map(|((from, to), height)| Level { from, to, height });
        Ok(Numbers::Series { values: self.series.clone(), levels: levels.collect() })
    }
}
