//! What to change to see whether a cause is the cause.

use std::collections::BTreeMap;

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::{Action, Experiment, FlushRules, RestartService};
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::plan::intervention::{Compared, Intervention};
use serde_json::{Value, json};

use crate::sides::{self, Difference};
use crate::{claims, contrast};

/// A listen queue that is long enough for any load (net.core.somaxconn has this default since Linux 5.4).
const LONG_BACKLOG: u32 = 4096;
/// All ports that need no privilege.
const ALL_PORTS: &str = "1024 65535";
/// A receive buffer for long, fast paths: minimum, default and largest size, in bytes.
const LARGE_BUFFERS: &str = "4096 1048576 33554432";
/// So many times the memory that a host was held to.
const MORE_MEMORY: u64 = 8;

/// The intervention that belongs to a cause of a run, or why there is none.
///
/// # Errors
/// A sentence: nothing that Plimsoll can change by itself mends this cause, or nothing was compared.
pub fn intervention(
    plan: &Plan,
    trials: &[TrialRecord],
    run: &str,
    cause: &Cause,
) -> Result<Intervention, String> {
    let compared = compared(plan, trials).ok_or(
        "the run has no recovery or difference that was lost, so that there is nothing to bring back",
    )?;
    let cell = match &compared {
        Compared::Recovery { .. } => plan.cells.first(),
        Compared::Sides { worse, .. } => plan.cells.iter().find(|cell| contrast::is_of(worse, &cell.levels)),
    };
    let experiment = cell.map_or(&plan.experiment, |cell| &cell.experiment);
    let change = change(cause.id, experiment).ok_or_else(|| {
        let page = plimsoll_explain::causes::page(cause.id);
        format!("Plimsoll cannot change by itself what {} comes from; by hand: {}", cause.id.id(), page.test)
    })?;
    let Change { what, set, actions, without_background } = change;
    Ok(Intervention {
        cause: cause.id,
        run: run.to_owned(),
        what,
        set,
        actions,
        without_background,
        compared,
    })
}

/// What the run's verdict compared.
fn compared(plan: &Plan, trials: &[TrialRecord]) -> Option<Compared> {
    if let Some(claim) = plan.experiment.claims.iter().find_map(|claim| claim.recovery()) {
        return Some(Compared::Recovery { after: claim.after.clone() });
    }
    let findings = claims::findings(plan, trials);
    let Difference { phase, metric, sides: [better, worse] } = sides::better_and_worse(&findings)?;
    let (better, worse) = (better.clone(), worse.clone());
    Some(Compared::Sides { phase: phase.to_owned(), metric, better, worse })
}

/// What is changed.
#[derive(Default)]
struct Change {
    what: String,
    set: Vec<(String, Value)>,
    actions: Vec<Action>,
    without_background: bool,
}

fn change(cause: CauseId, experiment: &Experiment) -> Option<Change> {
    let found = match cause {
        CauseId::NetRuleChain | CauseId::KernelStateGrows => Change {
            what: "with all rules of routing policy and nftables taken away".to_owned(),
            actions: of_namespaces(experiment)
                .map(|host| Action::FlushRules(FlushRules { on: host.clone() }))
                .collect(),
            ..Change::default()
        },
        CauseId::ServiceStateGrows => Change {
            what: "with the services restarted".to_owned(),
            actions: experiment
                .services
                .keys()
                .map(|service| Action::Restart(RestartService { service: service.clone() }))
                .collect(),
            ..Change::default()
        },
        CauseId::NetListenOverflow => Change {
            what: format!("with a listen queue for {LONG_BACKLOG} connections"),
            set: backlogs(experiment),
            ..Change::default()
        },
        CauseId::NetPortExhaustion | CauseId::NetTimeWaitReuse => Change {
            what: format!("with the ports {ALL_PORTS} at the clients"),
            set: experiment
                .loads
                .values()
                .filter(|load| experiment.hosts[&load.from].kind.own().network)
                .map(|load| sysctl(&load.from, "net.ipv4.ip_local_port_range", ALL_PORTS.into()))
                .collect(),
            ..Change::default()
        },
        CauseId::NetSmallBuffer => Change {
            what: "with receive buffers of up to 32 MiB".to_owned(),
            set: settings_named(experiment, "receive_buffer")
                .map(|(path, _)| (path, json!("32M")))
                .chain(
                    of_namespaces(experiment)
                        .map(|host| sysctl(host, "net.ipv4.tcp_rmem", LARGE_BUFFERS.into())),
                )
                .collect(),
            ..Change::default()
        },
        CauseId::NetSenderCorked => Change {
            what: "with SPLICE_F_MORE left out where nothing follows".to_owned(),
            set: settings_named(experiment, "by")
                .filter(|(_, value)| value == "splice_more")
                .map(|(path, _)| (path, json!("splice")))
                .chain(experiment.loads.iter().filter_map(|(name, load)| {
                    let kind = serde_json::to_value(&load.kind).ok()?;
                    let (path, value) = setting("loads", name, &kind, "release")?;
                    (value == false).then(|| (path, json!(true)))
                }))
                .collect(),
            ..Change::default()
        },
        CauseId::MemoryOom | CauseId::MemoryReclaim => Change {
            what: format!("with {MORE_MEMORY} times the memory"),
            set: experiment
                .hosts
                .iter()
                .filter_map(|(name, host)| {
                    Some((format!("hosts.{name}.memory"), json!(host.memory?.0.saturating_mul(MORE_MEMORY))))
                })
                .collect(),
            ..Change::default()
        },
        CauseId::DiskCompetingIo | CauseId::DiskForeignSync => Change {
            what: "without the background loads".to_owned(),
            without_background: !experiment.background.is_empty(),
            ..Change::default()
        },
        _ => return None,
    };
    let does_something = !found.set.is_empty() || !found.actions.is_empty() || found.without_background;
    does_something.then_some(found)
}

/// The hosts whose kernel state is their own.
fn of_namespaces(experiment: &Experiment) -> impl Iterator<Item = &String> {
    experiment.hosts.iter().filter(|(_, host)| host.kind.own().network).map(|(name, _)| name)
}

fn sysctl(host: &str, name: &str, value: Value) -> (String, Value) {
    (format!("hosts.{host}.sysctls.\"{name}\""), value)
}

/// Longer listen queues of all services that let theirs be set, and of the hosts that bound them.
fn backlogs(experiment: &Experiment) -> Vec<(String, Value)> {
    let of_services = settings_named(experiment, "backlog").map(|(path, _)| (path, json!(LONG_BACKLOG)));
    let hosts: BTreeMap<&String, ()> =
        experiment.services.values().map(|service| (&service.on, ())).collect();
    let of_hosts = hosts
        .into_keys()
        .filter(|host| experiment.hosts[*host].kind.own().network)
        .map(|host| sysctl(host, "net.core.somaxconn", json!(LONG_BACKLOG)));
    of_services.chain(of_hosts).collect()
}

/// The settings of this name of all services, by their paths.
fn settings_named<'e>(
    experiment: &'e Experiment,
    wanted: &'e str,
) -> impl Iterator<Item = (String, Value)> + 'e {
    let kinds = experiment.services.iter().map(|(name, service)| (name, serde_json::to_value(&service.kind)));
    kinds.filter_map(move |(name, kind)| setting("services", name, &kind.ok()?, wanted))
}

/// The path and the value of a setting of a service or a load, by the table that says what it is.
fn setting(part: &str, name: &str, kind: &Value, wanted: &str) -> Option<(String, Value)> {
    let (kind, table) = kind.as_object()?.iter().next()?;
    Some((format!("{part}.{name}.{kind}.{wanted}"), table.get(wanted)?.clone()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use plimsoll_model::plan::Settings;

    use super::*;

    /// The plan in which a change is applied before the first phase that measures; nothing where the change cannot be made there.
    fn applied(name: &str, text: &str, cause: CauseId) -> Option<Plan> {
        let plan = Plan::read(name, text, &Settings::default()).unwrap();
        let experiment = &plan.cells.first()?.experiment;
        let after = experiment.all_phases().find(|phase| phase.measure.is_some())?.name.clone();
        let mut cells = plan.cells.iter();
        let found = cells.find_map(|cell| change(cause, &cell.experiment))?;
        let Change { what, set, actions, without_background } = found;
        let compared = Compared::Recovery { after };
        let run = "r".to_owned();
        let intervention = Intervention { cause, run, what, set, actions, without_background, compared };
        let settings = Settings { intervention: Some(intervention), ..Settings::default() };
        Some(
            Plan::read(name, text, &settings)
                .unwrap_or_else(|error| panic!("{name}, {}: {error}", cause.id())),
        )
    }

    fn experiments(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                experiments(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }

    #[test]
    fn every_change_can_be_made_in_every_shipped_experiment_that_it_suits() {
        let mut all = Vec::new();
        experiments(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut all);
        let mut made: BTreeMap<CauseId, usize> = BTreeMap::new();
        for (name, text) in &all {
            // Rules of an inventory are no experiment.
            if !text.contains("[[phases]]") {
                continue;
            }
            for &cause in CauseId::ALL {
                if let Some(plan) = applied(name, text, cause) {
                    assert_eq!(plan.cells.len(), 2, "{name}");
                    *made.entry(cause).or_default() += 1;
                }
            }
        }
        for cause in [
            CauseId::NetRuleChain,
            CauseId::NetListenOverflow,
            CauseId::NetSmallBuffer,
            CauseId::NetSenderCorked,
        ] {
            assert!(made.contains_key(&cause), "{cause:?} {made:?}");
        }
    }

    const HELD: &str = r#"
question = "which?"
[hosts.a]
memory = "64M"
[services.web]
on = "a"
web = { backlog = 1 }
[loads.some]
from = "a"
to = "web"
http = { connections = 1000 }
[[phases]]
name = "all"
measure = "some"
"#;

    #[test]
    fn what_held_the_system_down_is_as_large_as_it_should_be() {
        let of = |cause| applied("held", HELD, cause).unwrap().cells.pop().unwrap().experiment;
        let backlog = of(CauseId::NetListenOverflow);
        assert_eq!(backlog.services["web"].kind.web().unwrap().backlog, LONG_BACKLOG);
        assert_eq!(backlog.hosts["a"].sysctls["net.core.somaxconn"].to_string(), "4096");
        assert_eq!(of(CauseId::MemoryOom).hosts["a"].memory.unwrap().0, 8 * (64 << 20));
        assert_eq!(of(CauseId::NetRuleChain).phases[0].actions.len(), 1);
        assert!(applied("held", HELD, CauseId::DiskForeignSync).is_none(), "it has no background load");
    }
}
