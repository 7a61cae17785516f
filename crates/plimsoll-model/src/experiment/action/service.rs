//! Steps that name a service and say no more: starting, stopping, restarting and killing it.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// Declares such a step for each key of the file.
macro_rules! steps_on_services {
    ($($(#[$doc:meta])* $key:literal: $step:ident,)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $step {
                /// The service.
                pub service: String,
            }

            impl ActionType for $step {
                fn check(&self, at: &ActionPlace<'_>) -> Checked {
                    at.started_service(&self.service, at.key($key, "service"))
                }

                fn describe(&self) -> String {
                    format!("{} {}", $key, self.service)
                }

                fn effects(&self, _: &str) -> Vec<Effect> {
                    Vec::new()
                }

                fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
                    Some(&experiment.services.get(&self.service)?.on)
                }
            }
        )+
    };
}

steps_on_services! {
    /// A service to kill: all of its processes get SIGKILL, and it does not run until a later step starts it.
    "kill": KillService,
    /// A service to restart.
    "restart": RestartService,
    /// A service to start again, where it was. The step ends when the service is ready.
    "start": StartService,
    /// A service to stop: it is asked to end, and does not run until a later step starts it.
    "stop": StopService,
}
