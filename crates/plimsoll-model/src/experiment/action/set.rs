//! Changing kernel settings of a host.

use super::{ActionPlace, ActionType};
use crate::effect::word;
use crate::experiment::prelude::*;
use crate::experiment::{Experiment, SysctlValue, sysctl};

/// Kernel settings to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSysctls {
    /// The host, which has namespaces of its own.
    pub on: String,
    /// The settings under `/proc/sys` that a host has to itself, such as `"net.ipv4.tcp_fin_timeout" = 5`.
    pub sysctls: BTreeMap<String, SysctlValue>,
}

impl ActionType for SetSysctls {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        at.own_namespaces(&self.on, at.key("set", "on"))?;
        let foreign = self.sysctls.keys().find(|name| {
            !sysctl::is_of_a_host(name) || sysctl::path(name).is_none() || sysctl::refusal(name).is_some()
        });
        match foreign {
            Some(name) => Err(problem(
                at.key("set", "sysctls"),
                format!("`{name}` is not a setting that a host has to itself"),
                "settings of its network or IPC namespace, such as net.ipv4.tcp_fin_timeout",
            )),
            None => Ok(()),
        }
    }

    fn describe(&self) -> String {
        let settings: Vec<String> = self
            .sysctls
            .iter()
            .map(|(name, value)| format!("{name} = {}", word(&value.to_string())))
            .collect();
        format!("set {}", settings.join(", "))
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
