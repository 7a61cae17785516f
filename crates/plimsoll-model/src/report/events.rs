//! Moments of a trial: what was done in the middle of it, and how the load fared afterwards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Arm;
pub use crate::recovery::{EventRecovery, RecoveryOutcome};

/// An action in the middle of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventReport {
    /// Name of the event.
    pub name: String,
    /// The step in words.
    pub what: String,
    /// In this phase; where that measures several loads at once, as `PHASE/LOAD`.
    pub phase: String,
    /// In this repetition of the steps, from 1; 0 outside of any.
    pub cycle: u32,
    /// On this rig.
    pub arm: Arm,
    /// When it began, in seconds after the trial's start.
    pub at_s: f64,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// How the load fared that was measured meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<EventRecovery>,
}
