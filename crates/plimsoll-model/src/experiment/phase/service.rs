//! Stopping a service, and starting it again.

use std::time::Duration;

use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;

/// Declares a phase that does one thing to a service, for each key of the file.
macro_rules! phases_of_services {
    ($($(#[$doc:meta])* $key:literal: $phase:ident,)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(transparent)]
            pub struct $phase {
                /// The service.
                pub service: String,
            }

            impl PhaseType for $phase {
                fn check(&self, at: &PhasePlace<'_>) -> Checked {
                    declared(&self.service, &at.experiment.services, "service", at.key($key))
                }

                fn describe(&self, _phase: &Phase) -> String {
                    format!("{} {}", $key, self.service)
                }

                fn takes(&self) -> Option<Duration> {
                    Some(Duration::ZERO)
                }

                fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
                    vec![PhaseKind::Act]
                }
            }
        )+
    };
}

phases_of_services! {
    /// A service to start.
    "start": StartInPhase,
    /// A service to stop.
    "stop": StopInPhase,
}
