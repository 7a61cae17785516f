//! `loss`: TCP throughput over a lossy path, or what a path must keep to.

use super::table::Table;
use super::{Answer, Request};
use crate::input::{JudgeError, same_length};
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
    /// Columns `rtt`, `loss`, `mss` and `rate`, or the first four.
    fn from_table(table: &Table) -> Result<Self, JudgeError> {
        let (rtt, loss) = (table.numbers_of("rtt", 0)?, table.numbers_of("loss", 1)?);
        let (mss, rate) = (table.numbers_of("mss", 2)?, table.numbers_of("rate", 3)?);
        for (name, column) in [("loss", &loss), ("mss", &mss), ("rate", &rate)] {
            same_length(("rtt", &rtt), (name, column))?;
        }
        let row = |i: usize| LossPoint { rtt: rtt[i], loss: loss[i], mss: mss[i], rate: rate[i] };
        Ok(Self { rows: Some((0..rtt.len()).map(row).collect()), target: None, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let metric = self.metric.as_deref().unwrap_or("rate");
        match (self.rows, self.target) {
            (Some(rows), None) => {
                let curve = fit_loss(&rows)?;
                Ok(Answer::new(curve.verdict(metric), &curve))
            }
            (None, Some(target)) => {
                let (mss, c) = (target.mss.unwrap_or(USUAL_MSS), target.c.unwrap_or(TYPICAL_C));
                let budget = budget(target.rate, target.rtt, mss, c)?;
                Ok(Answer::new(budget.verdict(metric), serde_json::json!({"budget": budget})))
            }
            _ => Err(JudgeError::Table("expected either `rows` or `target`".into())),
        }
    }
}
