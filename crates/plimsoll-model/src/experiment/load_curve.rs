//! The claim that the processors of a host behave as a queue that theory knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load of a host, over the share of its CPU time that is used, follows a queueing model: M/M/1, M/M/c, or c separate M/M/1. The
/// measured load has at least five different `open.steps` and `arrivals = "poisson"`; each step becomes a point. The load is the number of
/// tasks that run or wait for a CPU, sampled `run.sample_hz` times a second over the whole machine, less the one that samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadCurveClaim {
    /// The measured phase.
    pub phase: String,
    /// The host whose CPUs are looked at: those that it may use.
    pub host: String,
}

impl LoadCurveClaim {
    /// The fewest different steps that tell models apart.
    pub const LEAST_STEPS: usize = 5;
}
