//! Restarting a service.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A service to restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartService {
    /// The service.
    pub service: String,
}

impl ActionType for RestartService {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.started_service(&self.service, at.key("restart", "service"))
    }

    fn describe(&self) -> String {
        format!("restart {}", self.service)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
        Some(&experiment.services.get(&self.service)?.on)
    }
}
