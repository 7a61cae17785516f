//! Purposes of phases, in files as in records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Purpose of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Counted.
    Measure,
    /// Ran beforehand, not counted.
    WarmUp,
    /// Ran for its effect.
    Drive,
    /// Did something to the hosts or their services.
    Act,
    /// Came to rest.
    Settle,
    /// Looked for the time to recover.
    Watch,
    /// Looked for the highest rate that holds a bound; each slice is a probe.
    Search,
    /// Measured after a remedy.
    Remedy,
}

impl PhaseKind {
    /// Whether loads ran in it, whose figures are of interest as such.
    pub fn has_figures(self) -> bool {
        matches!(self, Self::Measure | Self::WarmUp | Self::Drive | Self::Remedy)
    }

    /// Whether a load ran in it that measured something.
    pub fn measures(self) -> bool {
        matches!(self, Self::Measure | Self::Watch | Self::Search | Self::Remedy)
    }
}
