//! The claim about the highest rate that holds a bound of latency, and the phase that searches for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Share, Span};

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

/// The highest rate at which so many requests are answered in time. A request that fails is not. Outcomes: `reached` or `not_reached`
/// where `at_least` is given, else `estimated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitClaim {
    /// The phase that searches.
    pub phase: String,
    /// The longest that a request may take, from when it was due.
    pub at_most: Span,
    /// The share of requests of which that holds (more than 0, less than 1).
    #[serde(default = "LimitClaim::default_share")]
    pub share: Share,
    /// The rate that is wanted, in requests per second; without it the limit is only found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// How far the interval may reach from the limit, as a share of it (more than 0, less than 1).
    #[serde(default = "LimitClaim::default_precision")]
    pub precision: Share,
    /// Predict the limit from light load as well, and show both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predict: Option<Predict>,
}

/// How to predict a limit from load that is far below it. The service is taken as a queue; how long it works for a request follows from the mean
/// response times at the steps, and the limit from a simulation of that queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predict {
    /// The measured phase whose load has at least three different `open.steps` and `arrivals = "poisson"`, and aims where the search aims.
    pub from: String,
    /// How many requests are worked on at a time: the CPUs, or fewer where the service has fewer processes (1 to 1024).
    #[serde(default = "Predict::default_servers")]
    pub servers: u32,
    /// Who is served while more requests than that are there.
    #[serde(default)]
    pub discipline: Serving,
}

impl Predict {
    /// The fewest different steps that tell how far the prediction can be trusted.
    pub const LEAST_STEPS: usize = 3;

    fn default_servers() -> u32 {
        1
    }
}

/// Who is served while more requests are there than servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Serving {
    /// Who came first: one process that takes request after request.
    #[default]
    Queue,
    /// All in short turns: a process for each request, under the scheduler.
    Shared,
}

impl LimitClaim {
    fn default_share() -> Share {
        Share(0.95)
    }
    fn default_precision() -> Share {
        Share(0.1)
    }
}
