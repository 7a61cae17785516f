//! The phase that searches for the highest rate that holds a bound of latency.

use crate::experiment::prelude::*;

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
    #[serde(default = "crate::units::number::<30>")]
    pub most: u32,
    /// How long the system is left alone after each probe.
    #[serde(default = "Span::of_millis::<200>")]
    pub rest: Span,
}

impl Search {
    /// The fewest probes of a search: fewer show nothing.
    pub const FEWEST: u32 = 6;
}
