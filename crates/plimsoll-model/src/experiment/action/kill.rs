//! Killing a service.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A service to kill: all of its processes get SIGKILL, and it does not run until a later step starts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KillService {
    /// The service.
    pub service: String,
}

impl ActionType for KillService {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.started_service(&self.service, at.key("kill", "service"))
    }

    fn describe(&self) -> String {
        format!("kill {}", self.service)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
        Some(&experiment.services.get(&self.service)?.on)
    }
}
