//! The claim on how a time grows with the number of workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimKind, ClaimPlace};
use crate::experiment::problem::{Checked, problem};

/// How the time of a messaging load grows with the number of its workers: not at all, in proportion, by a power of it, or in proportion up to a
/// knee and faster from there on. The estimate is by what the time is multiplied when the workers are doubled, at the most that were measured:
/// 1 is constant, 2 linear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthClaim {
    /// The measured phase; its load is of kind `messaging`.
    pub phase: String,
    /// The factors whose levels are points of one curve, such as the number of groups. Every combination of levels of the others, such as
    /// processes and threads, is a curve of its own.
    pub over: Vec<String>,
}

impl GrowthClaim {
    /// The fewest levels, over all of its factors, that tell kinds of growth apart.
    pub const LEAST_LEVELS: usize = 5;
}

impl ClaimKind for GrowthClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        if at.load(&self.phase)?.is_none_or(|load| load.kind.messaging().is_none()) {
            let message = "nobody sends messages in this phase";
            return Err(problem(at.key("phase"), message, "a load with `messaging`"));
        }
        at.points(&self.over)?;
        let levels = |factor: &String| at.experiment.factors[factor].levels.len();
        let levels: usize = self.over.iter().map(levels).product();
        if levels < Self::LEAST_LEVELS {
            return Err(problem(
                at.key("over"),
                format!("{levels} points do not tell how something grows"),
                format!("factors with at least {} combinations of levels", Self::LEAST_LEVELS),
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let over = self.over.join(" and ");
        format!("how the time of {} grows with the number of workers, over {over}", self.phase)
    }
}
