//! `scaling`: throughput over the number of workers.

use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use crate::models::scaling::{Scaling, ScalingPoint, fit_scaling};
use plimsoll_model::numbers::{Curve, Numbers};
use serde::Deserialize;

/// `{"id", "rows": [{"n", "throughput"}], "metric"}`.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct ScalingRequest {
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

    fn judge(self) -> Result<Judgement, JudgeError> {
        let found = fit_scaling(&self.rows)?;
        let verdict = found.verdict(self.metric.as_deref().unwrap_or("throughput"));
        Ok(Judgement::new(verdict, &found))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        /// Points of a drawn curve.
        const DRAWN: u32 = 60;
        let Scaling { law, largest, .. } = fit_scaling(&self.rows)?;
        let at = |i: u32| 1.0 + (largest - 1.0).max(0.0) * f64::from(i) / f64::from(DRAWN);
        let curve = |of: &dyn Fn(f64) -> f64| (0..=DRAWN).map(at).map(|n| [n, of(n)]).collect();
        Ok(Numbers::Curve(Curve {
            x: "workers".into(),
            y: self.metric.clone().unwrap_or_else(|| "throughput".into()),
            logarithmic: [false, false],
            legend: "measured",
            points: self.rows.iter().map(|point| [point.n, point.throughput]).collect(),
            curves: vec![
                ("fitted".into(), curve(&|n| law.throughput(n))),
                ("if each worker added as much as the first".into(), curve(&|n| law.gamma * n)),
            ],
        }))
    }
}
