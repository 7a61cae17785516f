//! The claim about the hops of a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimKind, ClaimPlace};
use crate::experiment::problem::{Checked, problem};
use crate::units::Share;

/// The hops of a path can be told apart: the rate, the latency and the queue of each, from a measured load `hops`. A hop is not measurable
/// where its rate is so high that what it takes for a packet drowns in what the others take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopsClaim {
    /// The measured phase. With `most_slices` it goes on until every hop is as sure as `within` says, or is found to be not measurable.
    pub phase: String,
    /// How far the interval of a hop's rate may reach to each side, as a share of it (more than 0, less than 1).
    #[serde(default = "HopsClaim::default_within")]
    pub within: Share,
}

impl HopsClaim {
    fn default_within() -> Share {
        Share(0.05)
    }
}

impl ClaimKind for HopsClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        if at.load(&self.phase)?.is_none_or(|load| load.kind.hops().is_none()) {
            let message = "this phase does not probe a path";
            return Err(problem(at.key("phase"), message, "a load with `hops`"));
        }
        at.margin("within", self.within)
    }

    fn describe(&self) -> String {
        format!("the hops that {} probes can be told apart, each rate within {}", self.phase, self.within)
    }
}
