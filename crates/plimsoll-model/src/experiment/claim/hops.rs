//! The claim about the hops of a path.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;
use crate::verdict::Interval;

/// The hops of a path can be distinguished: the rate, the latency and the queue of each, from a measured load `hops`. A hop is not measurable
/// where its rate is so high that what it takes for a packet drowns in what the others take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopsClaim {
    /// The measured phase. With `most_slices` it goes on until every hop is as sure as `within` says, or is found to be not measurable.
    pub phase: String,
    /// How far the interval of a hop's rate may reach to each side, as a share of it (more than 0, less than 1).
    #[serde(default = "Share::percent::<5>")]
    pub within: Share,
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
        format!("the hops that {} probes can be distinguished, each rate within {}", self.phase, self.within)
    }

    follows_from!(phase);
}

/// The hops of a path, as probes found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopsDetails {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// Whether the probes came to the host that they were aimed at.
    pub reached: bool,
    /// How many probes were sent, to all hops.
    pub probes: u64,
    /// The hops, the nearest first.
    pub hops: Vec<HopReport>,
}

/// One hop of a path: a link, and the router or host behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopReport {
    /// Its place, from 1.
    pub hop: u32,
    /// Address that answered; null without an answer. The time of a silent hop is counted in the next that answers.
    pub address: Option<String>,
    /// The share of probes that were not answered; null where none was sent.
    pub unanswered: Option<f64>,
    /// Its rate in bit/s of Ethernet frames; null where it is not measurable.
    pub bits_per_second: Option<f64>,
    /// The interval of the rate.
    pub rate_interval: Option<Interval>,
    /// The rate that it has at the least, in bit/s; null where nothing can be said.
    pub at_least_bits_per_second: Option<f64>,
    /// Its rate on the return path, in bit/s, if that differs.
    pub back_bits_per_second: Option<f64>,
    /// The one-way time of a packet over it without the time that the rate takes, in milliseconds: half of the round
    /// trip.
    pub latency_ms: Option<f64>,
    /// The interval of the latency.
    pub latency_interval: Option<Interval>,
    /// How much longer a probe waits here than the fastest do, in milliseconds: the median.
    pub queue_ms: Option<f64>,
}
