//! The claim that TCP over a lossy path keeps to the formulas for it.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::Direction;
use crate::experiment::prelude::*;

/// TCP's rate follows Mathis' or Padhye's formula over the loss of a path. The measured load is `bulk` with `direction = "send"`; every cell becomes
/// a point. A point has its rate, the mean round-trip time and the mean segment size. It also has the share of segments at which the sender noticed a
/// loss (fast recoveries and timeouts of its host, so nothing else may send from there).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossCurveClaim {
    /// The measured phase.
    pub phase: String,
    /// The factors whose levels are points of one curve, such as the loss and the delay of a link. Every combination of levels of the others,
    /// such as the congestion control, is a curve of its own.
    pub over: Vec<String>,
}

impl ClaimKind for LossCurveClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        let load = at.load(&self.phase)?;
        if load.and_then(|load| load.kind.bulk()).is_none_or(|bulk| bulk.direction != Direction::Send) {
            let message = "this phase does not send a stream";
            return Err(problem(at.key("phase"), message, "a load with `bulk` that sends"));
        }
        at.points(&self.over)
    }

    fn describe(&self) -> String {
        format!("TCP in {} follows the formulas over {}", self.phase, self.over.join(" and "))
    }

    follows_from!(phase);
}

/// TCP's rate over the loss of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossCurveDetails {
    /// The levels of the factors that set this curve apart.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// C of Mathis' formula; null where there are too few points.
    pub constant: Option<f64>,
    /// The largest factor between a point and the formula with that constant.
    pub worst_factor: Option<f64>,
    /// The power of the loss that the rate goes with; the formula says -0.5.
    pub exponent: Option<f64>,
    /// The cells, by rising loss.
    pub points: Vec<LossPointReport>,
}

/// Rate of one stream at one loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossPointReport {
    /// The share of segments at which the sender noticed a loss.
    pub loss: f64,
    /// The mean round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// The segment size, in bytes.
    pub mss: f64,
    /// The rate of one stream.
    pub bits_per_second: f64,
    /// Rate by Mathis' formula, in bit/s.
    pub mathis: Option<f64>,
    /// Rate by Padhye's formula, in bit/s.
    pub padhye: Option<f64>,
}
