//! Stopping a service.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A service to stop: it is asked to end, and does not run until a later step starts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopService {
    /// The service.
    pub service: String,
}

impl ActionType for StopService {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.started_service(&self.service, at.key("stop", "service"))
    }

    fn describe(&self) -> String {
        format!("stop {}", self.service)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
        Some(&experiment.services.get(&self.service)?.on)
    }
}
