//! `loss`: TCP throughput over a lossy path, or what a path must keep to.

use super::table::Table;
use super::{Answer, Request};
use crate::input::JudgeError;
use crate::models::loss::{LossPoint, TYPICAL_C, budget, fit_loss};
use serde::Deserialize;

/// `{"id", "rows": [{"rtt", "loss", "mss", "rate"}], "metric"}`, or `{"id", "target": {"rate", "rtt", "mss", "c"}}`. Seconds, shares of packets, bytes
/// and bit/s.
#[derive(Debug, Deserialize)]
pub(super) struct LossRequest {
    rows: Option<Vec<LossPoint>>,
    target: Option<Target>,
    metric: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    rate: f64,
    rtt: f64,
    mss: Option<f64>,
    c: Option<f64>,
}

/// The segment size of Ethernet with time stamps, in bytes.
const USUAL_MSS: f64 = 1448.0;

impl Request for LossRequest {
    /// Columns `rtt`, `loss`, `mss` and `rate`, or the only four.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let rows = table.whole_rows(["rtt", "loss", "mss", "rate"], &[])?;
        let point = |[rtt, loss, mss, rate]: [f64; 4]| LossPoint { rtt, loss, mss, rate };
        Ok(Self { rows: Some(rows.into_iter().map(point).collect()), target: None, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let named = |what: &'static str| self.metric.clone().unwrap_or_else(|| what.into());
        match (self.rows, self.target) {
            (Some(rows), None) => {
                let curve = fit_loss(&rows)?;
                Ok(Answer::new(curve.verdict(&named("mathis_constant")), &curve))
            }
            (None, Some(target)) => {
                let (mss, c) = (target.mss.unwrap_or(USUAL_MSS), target.c.unwrap_or(TYPICAL_C));
                let budget = budget(target.rate, target.rtt, mss, c)?;
                let units = serde_json::json!({"rate": "bit/s", "rtt": "s", "mss": "bytes", "queue_bytes": "bytes", "loss": "share of packets"});
                let own = serde_json::json!({"budget": budget, "units": units});
                Ok(Answer::new(budget.verdict(&named("allowed_loss_share")), own))
            }
            _ => Err(JudgeError::Table("expected either `rows` or `target`".into())),
        }
    }
}
