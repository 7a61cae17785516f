//! `loss`: TCP throughput over a lossy path, or what a path must keep to.

use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use crate::models::loss::{Formula, LossPoint, TYPICAL_C, budget, fit_loss};
use plimsoll_model::numbers::{Curve, Numbers};
use serde::Deserialize;

/// `{"id", "rows": [{"rtt", "loss", "mss", "rate"}], "metric"}`, or `{"id", "target": {"rate", "rtt", "mss", "c"}}`. Seconds, shares of packets, bytes
/// and bit/s.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct LossRequest {
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

    fn judge(self) -> Result<Judgement, JudgeError> {
        let named = |what: &'static str| self.metric.clone().unwrap_or_else(|| what.into());
        match (self.rows, self.target) {
            (Some(rows), None) => {
                let curve = fit_loss(&rows)?;
                Ok(Judgement::new(curve.verdict(&named("mathis_constant")), &curve))
            }
            (None, Some(target)) => {
                let (mss, c) = (target.mss.unwrap_or(USUAL_MSS), target.c.unwrap_or(TYPICAL_C));
                let budget = budget(target.rate, target.rtt, mss, c)?;
                let units = serde_json::json!({"rate": "bit/s", "rtt": "s", "mss": "bytes", "queue_bytes": "bytes", "loss": "share of packets"});
                let own = serde_json::json!({"budget": budget, "units": units});
                Ok(Judgement::new(budget.verdict(&named("allowed_loss_share")), own))
            }
            _ => Err(JudgeError::Table("expected either `rows` or `target`".into())),
        }
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let (points, constants, end) = match (&self.rows, &self.target) {
            (Some(rows), None) => {
                let found = fit_loss(rows)?;
                let of = |row: &LossPoint| [row.loss, row.rate * row.rtt / (8.0 * row.mss)];
                let fitted = found.of(Formula::Mathis).map(|fit| ("Mathis, fitted", fit.constant));
                (rows.iter().map(of).collect::<Vec<_>>(), fitted, None)
            }
            (None, Some(target)) => {
                let (mss, c) = (target.mss.unwrap_or(USUAL_MSS), target.c.unwrap_or(TYPICAL_C));
                let allowed = budget(target.rate, target.rtt, mss, c)?.loss;
                let window = target.rate * target.rtt / (8.0 * mss);
                (vec![[allowed, window]], Some(("Mathis", c)), Some(allowed))
            }
            _ => return Err(JudgeError::Table("expected either `rows` or `target`".into())),
        };
        let losses = || points.iter().map(|[loss, _]| *loss).filter(|loss| *loss > 0.0);
        // Around a single point, a decade on both sides.
        let around = if end.is_some() { 10.0 } else { 1.0 };
        let least = losses().fold(f64::INFINITY, f64::min) / around;
        let most = losses().fold(0.0, f64::max) * around;
        let at = |i: u32| least * (most / least).powf(f64::from(i) / 60.0);
        let curve = |c: f64| (0..=60).map(at).map(|loss| [loss, c / loss.sqrt()]).collect();
        let curves = constants.map(|(name, c)| (format!("{name}, C = {c:.2}"), curve(c)));
        Ok(Numbers::Curve(Curve {
            x: "share of packets lost".into(),
            y: "window, segments (rate x round trip / segment)".into(),
            logarithmic: [true, true],
            legend: if end.is_some() { "what the path must keep to" } else { "measured" },
            curves: curves.into_iter().collect(),
            points,
        }))
    }
}
