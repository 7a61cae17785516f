//! The claim on how a time grows with the number of workers.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;
use crate::verdict::Interval;

/// Growth of the time of a messaging load with the number of its workers: none, in proportion, by a power of it, or in proportion up to a knee and
/// faster from there on. The estimate is by what the time is multiplied when the workers are doubled, at the most that were measured: 1 is constant,
/// 2 linear.
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
    /// The fewest levels, over all of its factors, that distinguish kinds of growth.
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
                format!("{levels} points do not show how something grows"),
                format!("factors with at least {} combinations of levels", Self::LEAST_LEVELS),
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let over = self.over.join(" and ");
        format!("how the time of {} grows with the number of workers, over {over}", self.phase)
    }

    follows_from!(phase);
}

/// The time of messaging over the number of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthDetails {
    /// The levels of the factors that set this curve apart.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// How the time grows: `constant`, `linear`, `logarithmic`, `linearithmic`, `power`, `quadratic` or `knee`; null where there are too few points.
    pub kind: Option<String>,
    /// The number of workers from which on it grows faster; null where there is no such knee.
    pub knee: Option<f64>,
    /// The interval of the knee.
    pub knee_interval: Option<Interval>,
    /// Memory that each further worker needs before it sends anything, in bytes: the median of the slopes between points. Null where the kernel
    /// does not report it.
    pub bytes_per_worker: Option<f64>,
    /// The cells, by rising number of workers.
    pub points: Vec<GrowthPointReport>,
    /// Pairs of workers and milliseconds of the fitted curve, to draw it.
    pub curve: Vec<[f64; 2]>,
}

/// Times of one number of workers, over all trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthPointReport {
    /// How many workers there were.
    pub workers: u64,
    /// In how many trials they were measured.
    pub trials: usize,
    /// The time of a round in milliseconds, the median over trials.
    pub ms: f64,
    /// The least of any trial.
    pub least_ms: f64,
    /// The most.
    pub most_ms: f64,
    /// The memory of all workers before they sent anything, their own and the kernel's, in bytes; the median over trials.
    pub memory_bytes: Option<f64>,
}
