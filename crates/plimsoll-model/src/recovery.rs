//! How a load fared after something was done to the system.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a load fared after something was done: compared with what it did before the first event of its phase.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecovery {
    /// Outcome of the recovery.
    pub outcome: RecoveryOutcome,
    /// Operations without error per second before the first event of the phase: the median window.
    pub before: f64,
    /// The lowest of the windows from this event to the next.
    pub lowest: f64,
    /// Operations per second in the best window behind it. Judged by, and not written down.
    #[serde(skip)]
    pub highest: f64,
    /// How long a request took before the first event of the phase, of a load in open loop, in milliseconds: the median window's mean.
    pub latency_before_ms: Option<f64>,
    /// The longest of the means of the windows from this event to the next.
    pub latency_highest_ms: Option<f64>,
    /// From when the event began until the load did as well as before, in seconds; absent where it did not.
    pub after_s: Option<f64>,
    /// How long it was looked for: until the next event, or the end of the load, in seconds.
    pub watched_s: f64,
    /// How long a window is, in seconds.
    pub window_s: f64,
}

/// State of a load after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// Three windows in a row right after it were as good as before.
    Unaffected,
    /// Three windows in a row were as good as before, later.
    Recovered,
    /// Never three windows in a row were until the next event.
    NotRecovered,
    /// There was too little time before it or after it to judge.
    Undecided,
}

impl RecoveryOutcome {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unaffected => "unaffected",
            Self::Recovered => "recovered",
            Self::NotRecovered => "not recovered",
            Self::Undecided => "too little time",
        }
    }
}
