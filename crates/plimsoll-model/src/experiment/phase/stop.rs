//! Stopping a service until a later phase starts it again.

use std::time::Duration;

use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;

/// A service to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StopInPhase {
    /// The service.
    pub service: String,
}

impl PhaseType for StopInPhase {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        declared(&self.service, &at.experiment.services, "service", at.key("stop"))
    }

    fn describe(&self, _phase: &Phase) -> String {
        format!("stop {}", self.service)
    }

    fn takes(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        vec![PhaseKind::Act]
    }
}
