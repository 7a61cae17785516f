//! Rows of the sandbox's table that an experiment uses.

use std::collections::BTreeMap;

use plimsoll_model::experiment::{Carrier, Experiment, ServiceKind};

use crate::sandbox::{Kind, Need};
use crate::{load, program, service};

/// What services and loads need beyond the rights of an unprivileged program: each row of the table, and the parts of the file that use it.
pub fn needs_of(experiment: &Experiment) -> Vec<(Need, Vec<String>)> {
    let started = experiment.services.iter().filter(|(_, service)| service.kind.is_started());
    let services = started.map(|(name, service)| {
        let kind = match &service.kind {
            _ if service.privileged => Kind::Privileged,
            ServiceKind::Exec(_) => Kind::Program,
            kind => program::kind_of(kind).unwrap_or_else(|| service::kind_of(kind)),
        };
        (kind, format!("services.{name}"))
    });
    let loads = experiment.loads.iter().filter_map(|(name, load)| match load.kind.carrier() {
        Carrier::Process => Some((load::kind_of(&load.kind), format!("loads.{name}"))),
        // Threads of the agent enter no sandbox; programs of the file need nothing more.
        Carrier::Threads | Carrier::Program => None,
    });
    let mut used: BTreeMap<&str, (Need, Vec<String>)> = BTreeMap::new();
    for (kind, by) in services.chain(loads) {
        let need = kind.need();
        if !need.capabilities.is_empty() {
            used.entry(need.name).or_insert((need, Vec::new())).1.push(by);
        }
    }
    used.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_more_than_an_unprivileged_program_is_listed() {
        let text = r#"
question = "who needs more?"
[hosts.a]
[services.own]
on = "a"
exec = ["./server"]
[services.root]
on = "a"
exec = ["./server"]
privileged = true
[services.mail]
on = "a"
postfix = { to = "sink" }
[services.sink]
on = "a"
smtp_sink = {}
[services.front]
on = "a"
nginx = {}
[loads.threads]
from = "a"
to = "front"
http = { connections = 10 }
[loads.forks]
from = "a"
messaging = { groups = 1, rounds = 1 }
[[phases]]
name = "all"
measure = "threads"
"#;
        let experiment = plimsoll_model::experiment::parse(text, &[]).unwrap();
        let used: Vec<_> = needs_of(&experiment).into_iter().map(|(need, by)| (need.name, by)).collect();
        let expected = [
            ("Postfix", vec!["services.mail".to_owned()]),
            ("built-in service", vec!["services.sink".to_owned()]),
            ("load in a process of its own", vec!["loads.forks".to_owned()]),
            ("privileged = true", vec!["services.root".to_owned()]),
        ];
        assert_eq!(used, expected);
    }
}
