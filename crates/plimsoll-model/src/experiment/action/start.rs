//! Starting a service that was killed or stopped.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A service to start again, where it was. The step ends when the service is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartService {
    /// The service.
    pub service: String,
}

impl ActionType for StartService {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.started_service(&self.service, at.key("start", "service"))
    }

    fn describe(&self) -> String {
        format!("start {}", self.service)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
        Some(&experiment.services.get(&self.service)?.on)
    }
}
