//! Starting a service that was stopped.

use std::time::Duration;

use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;

/// A service to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StartInPhase {
    /// The service.
    pub service: String,
}

impl PhaseType for StartInPhase {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        declared(&self.service, &at.experiment.services, "service", at.key("start"))
    }

    fn describe(&self, _phase: &Phase) -> String {
        format!("start {}", self.service)
    }

    fn takes(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        vec![PhaseKind::Act]
    }
}
