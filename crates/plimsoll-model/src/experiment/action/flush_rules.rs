//! Taking away all rules of routing policy and of nftables.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A host whose rules are taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushRules {
    /// The host, which has namespaces of its own.
    pub on: String,
}

impl ActionType for FlushRules {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.own_namespaces(&self.on, at.key("flush_rules", "on"))
    }

    fn describe(&self) -> String {
        "take the rules of routing policy and nftables away".to_owned()
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn host<'e>(&'e self, _experiment: &'e Experiment) -> Option<&'e str> {
        Some(&self.on)
    }

    fn needs_namespaces(&self) -> bool {
        true
    }
}
