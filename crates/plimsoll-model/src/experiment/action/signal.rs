//! Sending a signal to a service.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A signal to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// The service.
    pub to: String,
    /// The signal.
    pub signal: SignalName,
}

/// A signal that a service outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SignalName {
    /// The service stands still until `SIGCONT`.
    #[serde(rename = "SIGSTOP")]
    Stop,
    /// The service continues (SIGCONT).
    #[serde(rename = "SIGCONT")]
    Continue,
    /// By custom: read the configuration again.
    #[serde(rename = "SIGHUP")]
    HangUp,
    /// Of the program's own meaning.
    #[serde(rename = "SIGUSR1")]
    User1,
    /// Of the program's own meaning.
    #[serde(rename = "SIGUSR2")]
    User2,
}

impl SignalName {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "SIGSTOP",
            Self::Continue => "SIGCONT",
            Self::HangUp => "SIGHUP",
            Self::User1 => "SIGUSR1",
            Self::User2 => "SIGUSR2",
        }
    }
}

impl ActionType for SendSignal {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.started_service(&self.to, at.key("signal", "to"))
    }

    fn describe(&self) -> String {
        format!("send {} to {}", self.signal.name(), self.to)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
        Some(&experiment.services.get(&self.to)?.on)
    }
}
