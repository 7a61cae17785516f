//! Coming to rest.

use std::time::Duration;

use super::{Phase, PhasePlace, PhaseType, PhaseWork};
use crate::experiment::prelude::*;

/// Condition to wait for.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Wait at least this long.
    #[serde(default)]
    pub at_least: Span,
    /// Then until no TCP connection is left on this host.
    pub drained: Option<String>,
    /// Then until all mail that was acknowledged to a load of the trial has arrived at this sink.
    pub delivered: Option<String>,
    /// Whether a connection in TIME_WAIT counts as left.
    #[serde(default)]
    pub time_wait: bool,
}

impl PhaseType for Settle {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        let here = |key: &str| [at.key("settle"), path![key].to_vec()].concat();
        if let Some(host) = &self.drained {
            declared(host, &at.experiment.hosts, "host", here("drained"))?;
            if at.experiment.is_remote() {
                let message = format!(
                    "`{host}` is an existing machine: the phase would wait for all of its connections, including the agent's own"
                );
                return Err(problem(here("drained"), message, "`at_least` alone"));
            }
        }
        self.delivered.as_ref().map_or(Ok(()), |sink| at.mail_sink(sink, here("delivered")))
    }

    fn describe(&self, _phase: &Phase) -> String {
        let until = |what: Option<String>| what.unwrap_or_default();
        let arrived =
            until(self.delivered.as_ref().map(|sink| format!(", until all mail has arrived at {sink}")));
        let drained =
            until(self.drained.as_ref().map(|host| format!(", until no connection is left on {host}")));
        format!("wait {}{arrived}{drained}", self.at_least)
    }

    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        vec![PhaseKind::Settle]
    }

    fn takes(&self) -> Option<Duration> {
        Some(self.at_least.0)
    }

    /// The connections of the whole machine would be counted.
    fn without_namespaces(&self) -> Option<PhaseWork> {
        Some(Self { drained: None, ..self.clone() }.into())
    }
}
