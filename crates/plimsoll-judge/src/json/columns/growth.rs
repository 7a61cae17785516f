//! `growth`: time over the number of workers.

use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use crate::models::growth::{GrowthPoint, fit_growth};
use plimsoll_model::numbers::{Curve, Numbers};
use serde::Deserialize;

/// `{"id", "rows": [{"n", "time"}], "metric"}`.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct GrowthRequest {
    rows: Vec<GrowthPoint>,
    metric: Option<String>,
}

impl Request for GrowthRequest {
    /// Columns `n` and `time`, or the only two.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let rows = table.whole_rows(["n", "time"], &[])?;
        let point = |[n, time]: [f64; 2]| GrowthPoint { n, time };
        Ok(Self { rows: rows.into_iter().map(point).collect(), metric: None })
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let found = fit_growth(&self.rows)?;
        Ok(Judgement::new(found.verdict(self.metric.as_deref().unwrap_or("time")), &found))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let found = fit_growth(&self.rows)?;
        Ok(Numbers::Curve(Curve {
            x: "workers".into(),
            y: self.metric.clone().unwrap_or_else(|| "time".into()),
            logarithmic: [true, true],
            legend: "measured",
            points: self.rows.iter().map(|point| [point.n, point.time]).collect(),
            curves: vec![(found.kind.name().to_owned(), found.drawn())],
        }))
    }
}
