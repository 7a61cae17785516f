//! Findings in a machine's weeks: changes, drifts, and when a limit is reached.

use serde::{Deserialize, Serialize};

/// A level that goes on moving.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Since which hour (hours since 1970, UTC).
    pub since_hour: u64,
    /// By how much it moves in an hour, in the unit of the series; 0 where a drift has ended.
    pub per_hour: f64,
}

/// Recent finding in a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum News {
    /// The level changed, beside the cycles of days and weeks.
    Change {
        /// In which hour (hours since 1970, UTC).
        hour: u64,
        /// The level before, in the unit of the series.
        before: f64,
        /// The level since.
        after: f64,
        /// The lower end of the interval of the size, at 95 %.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// The level goes on moving since an earlier reported change, moves at another pace than reported, or moves no
    /// further.
    Drift(Drift),
}

impl News {
    /// Since when it is so, in seconds since 1970 (UTC).
    pub fn since_unix_s(&self) -> u64 {
        match self {
            Self::Change { hour, .. } | Self::Drift(Drift { since_hour: hour, .. }) => hour * 3600,
        }
    }
}

/// When a limit is reached, in days from the last that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// As it is expected.
    pub days: f64,
    /// At the earliest, at 90 %.
    pub earliest: f64,
    /// At the latest; absent if it may never be reached.
    pub latest: Option<f64>,
}
