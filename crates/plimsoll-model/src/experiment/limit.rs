//! The phase that searches for the highest rate that holds a bound of latency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// How to search for the highest rate. Its load offers a constant rate (`open.rate`) for a time (`duration`): the least that is tried, and
/// how long each probe takes. A `limit` claim says which bound a probe has to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The load.
    pub load: String,
    /// The most that is tried, in requests per second.
    pub to: f64,
    /// The most probes in a trial (6 to 1000).
    #[serde(default = "Search::default_most")]
    pub most: u32,
    /// How long the system is left alone after each probe.
    #[serde(default = "Search::default_rest")]
    pub rest: Span,
}

impl Search {
    /// The fewest probes that a search is given: with less it tells nothing.
    pub const FEWEST: u32 = 6;

    fn default_most() -> u32 {
        30
    }
    fn default_rest() -> Span {
        Span::millis(200)
    }
}
