//! Details of a verdict on a limit.

use super::Side;
use crate::experiment::prelude::*;
use crate::verdict::Interval;

/// Details of a verdict on a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LimitDetails {
    /// Of a phase that searches.
    Search(SearchDetails),
    /// Of a phase that is measured.
    Bound(BoundDetails),
}

/// The bound of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundDetails {
    /// The measured phase.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// Whether it is to lie `below` or `above`.
    pub side: Side,
    /// The bound, in the unit of the metric; null where it is no amount of that.
    pub bound: Option<f64>,
}

/// The probes by which a limit was searched in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchDetails {
    /// The phase that searched.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The longest that a request might take, in milliseconds.
    pub at_most_ms: f64,
    /// The share of requests of which that had to hold.
    pub share: f64,
    /// The probes of all trials, in order.
    pub probes: Vec<ProbeReport>,
    /// Prediction from light load; null where the claim does not ask, or there was too little of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PredictedLimit>,
}

/// A limit that was predicted from light load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedLimit {
    /// The measured phase that it was predicted from.
    pub from: String,
    /// How many steps of all trials.
    pub points: usize,
    /// The highest rate of them, in requests per second.
    pub highest_per_second: f64,
    /// The time that the service works for a request as they imply it, in milliseconds.
    pub service_ms: f64,
    /// Its interval.
    pub service_interval: Interval,
    /// The rate up to which the bound would be held; null where the service would break it even when idle.
    pub per_second: Option<f64>,
    /// Its interval, if the model is right.
    pub interval: Option<Interval>,
}

/// One probe of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The trial's number.
    pub trial: u32,
    /// Requests per second that were due.
    pub offered_per_second: f64,
    /// The share of them that was answered in time.
    pub in_time: f64,
    /// The time in milliseconds within which the wanted share was answered; null where fewer were answered at all.
    pub took_ms: Option<f64>,
    /// Outcome of the probe.
    pub finding: ProbeFinding,
}

/// Outcome of a probe of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFinding {
    /// The bound was held.
    Held,
    /// The bound was broken.
    Broken,
    /// The generator did not offer the rate, so the probe shows nothing.
    NotOffered,
}
