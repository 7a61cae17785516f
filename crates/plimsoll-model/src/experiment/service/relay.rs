//! The built-in forking relay.

use super::{ServicePlace, ServiceType};
use crate::experiment::prelude::*;

/// The built-in relay: for each connection it forks a process that connects onward, copies both ways, and exits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelayService {
    /// The service that it relays to.
    pub to: String,
    /// How many relays there are, each a process with a port of its own (1 to 64).
    #[serde(default = "crate::units::number::<1>")]
    pub listeners: u32,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "crate::units::number::<511>")]
    pub backlog: u32,
    /// A fault to build in on purpose, so that the judge has something to find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leak: Option<Leak>,
    /// How many rules or records each connection leaves behind (1 to 1000): with more, a smaller flood shows the same fault.
    #[serde(default = "crate::units::number::<1>")]
    pub leak_count: u32,
}

/// Object that a leaking relay leaves behind for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Leak {
    /// A routing-policy rule in the host's kernel, that no packet matches but every route look-up walks past
    /// (`fib_rules_lookup` in net/core/fib_rules.c). It outlives the relay, not the host.
    RoutingRule,
    /// A record in the relay's own memory, that it walks at every accept. It does not outlive the relay.
    Record {
        /// Forget a record after this time; without it, never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forget_after: Option<Span>,
    },
}

impl ServiceType for RelayService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        declared(&self.to, &at.experiment.services, "service", at.key("to"))?;
        in_range(u64::from(self.listeners), 1, 64, at.key("listeners"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))?;
        in_range(u64::from(self.leak_count), 1, 1000, at.key("leak_count"))?;
        let on = &at.service.on;
        if self.leak == Some(Leak::RoutingRule) && !at.experiment.hosts[on].kind.own().network {
            return Err(problem(
                at.key("leak"),
                format!("`{on}` is a local host: rules of routing would stay on the machine"),
                "a relay on a host of kind \"namespace\"",
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let leak = if self.leak.is_some() { ", with a leak built in" } else { "" };
        format!("{} forking relays to {}{leak}", self.listeners, self.to)
    }

    fn effects(&self, _: &ServicePlace<'_>) -> Vec<Effect> {
        Vec::new()
    }

    fn onward(&self) -> Option<&str> {
        Some(&self.to)
    }

    fn listeners(&self) -> u32 {
        self.listeners
    }

    fn passes_bytes(&self) -> bool {
        true
    }
}
