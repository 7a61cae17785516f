//! The claim that TCP over a lossy path keeps to the formulas for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimKind, ClaimPlace};
use crate::experiment::Direction;
use crate::experiment::problem::{Checked, problem};

/// TCP's rate follows Mathis' or Padhye's formula over the loss of a path. The measured load is `bulk` with `direction = "send"`; every cell becomes
/// a point: its rate, the mean round-trip time and segment size that the kernel saw, and the share of segments at which the sender noticed a
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
}
