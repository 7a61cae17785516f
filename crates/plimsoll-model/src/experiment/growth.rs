//! The claim on how a time grows with the number of workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
