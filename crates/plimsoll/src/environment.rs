//! The environment of a run: noted when it starts, and put together again for its report.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_inventory::Inventory;
use plimsoll_model::experiment::{Experiment, Link};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{Environment, LinkReport, Machine, ProgramVersion};
use plimsoll_store::{RunEntry, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The recorded environment of a run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Noted {
    /// Inventory of each host. Namespaces and local hosts are all this machine; guests report their own during the run.
    inventories: BTreeMap<String, serde_json::Value>,
    versions: serde_json::Value,
}

/// Stands for a host where a machine has guests alone.
const NO_HOST: &str = "";

/// Versions of Plimsoll and of the measured programs, as they are stored.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Versions {
    plimsoll: Option<String>,
    programs: BTreeMap<String, ProgramVersion>,
}

impl Noted {
    /// Looks at this machine and at the programs that the experiment starts.
    pub(crate) fn now(plan: &Plan) -> Result<Self, Failure> {
        let cannot =
            |error| Failure::could_not(format!("the description of the machine cannot be stored: {error}"));
        let machine = serde_json::to_value(Inventory::read(Path::new("/"))).map_err(cannot)?;
        let services = plan.cells.iter().flat_map(|cell| &cell.experiment.services);
        let mut programs = BTreeMap::new();
        // Hosts on other machines are not this one's.
        for (name, service) in services.filter(|_| !plan.experiment.is_remote()) {
            if !programs.contains_key(name)
                && let Some(program) = plimsoll_agent::program_version(service)
            {
                programs.insert(name.clone(), program);
            }
        }
        let versions = Versions { plimsoll: Some(env!("CARGO_PKG_VERSION").to_owned()), programs };
        let here = plan.experiment.hosts.keys().filter(|name| {
            let mut cells = plan.cells.iter().filter_map(|cell| cell.experiment.hosts.get(*name));
            cells.any(|host| !host.kind.own().kernel)
        });
        let mut inventories: BTreeMap<String, serde_json::Value> =
            here.map(|host| (host.clone(), machine.clone())).collect();
        if inventories.is_empty() {
            inventories.insert(NO_HOST.to_owned(), machine);
        }
        Ok(Self { inventories, versions: serde_json::to_value(versions).map_err(cannot)? })
    }

    /// The machine as JSON, for [`Noted::keep_of_machine`].
    pub(crate) fn to_json(&self) -> Result<serde_json::Value, Failure> {
        serde_json::to_value(self).map_err(|error| {
            Failure::could_not(format!("the machine of the run cannot be described: {error}"))
        })
    }

    /// Keeps the record of another machine, by that machine's name. A record that cannot be read is left out, as of a task that failed.
    pub(crate) fn keep_of_machine(
        store: &Store,
        run: &str,
        machine: &str,
        noted: &serde_json::Value,
    ) -> Result<(), StoreError> {
        let Ok(noted) = Self::deserialize(noted) else { return Ok(()) };
        let named = noted.inventories.into_iter().map(|(host, inventory)| match host.as_str() {
            NO_HOST => (host, inventory),
            host => (format!("{host} ({machine})"), inventory),
        });
        Self { inventories: named.collect(), ..noted }.keep(store, run)
    }

    /// Keeps it with the run.
    pub(crate) fn keep(&self, store: &Store, run: &str) -> Result<(), StoreError> {
        store.put_inventories(run, &self.inventories)?;
        store.put_versions(run, &self.versions)
    }
}

/// Versions of Plimsoll and of the measured programs of a stored run, each with its name.
pub(crate) fn versions(store: &Store, entry: &RunEntry) -> Result<Vec<(String, String)>, Failure> {
    let stored = store.versions(&entry.id)?.unwrap_or_default();
    let Versions { plimsoll, programs } = serde_json::from_value(stored).unwrap_or_default();
    let of_plimsoll = plimsoll.map(|version| ("Plimsoll".to_owned(), version));
    let programs = programs.into_iter().map(|(service, program)| {
        (format!("The program of `{service}`"), program.version.unwrap_or(program.path))
    });
    Ok(of_plimsoll.into_iter().chain(programs).collect())
}

/// The environment of a stored run, with the settings that changed its file.
pub(crate) fn of(
    store: &Store,
    plan: &Plan,
    entry: &RunEntry,
    settings: Vec<String>,
) -> Result<Environment, Failure> {
    let stored = store.versions(&entry.id)?.unwrap_or_default();
    let versions: Versions = serde_json::from_value(stored).unwrap_or_default();
    let Experiment { hosts, links, .. } = &plan.experiment;
    // The other members of a group are alike.
    let is_declared = |link: &&Link| {
        link.between.iter().all(|end| hosts.get(end).is_none_or(|host| host.member_of.is_none()))
    };
    let sysctls = hosts.iter().filter(|(_, host)| !host.sysctls.is_empty()).map(|(name, host)| {
        (name.clone(), host.sysctls.iter().map(|(key, value)| (key.clone(), value.to_string())).collect())
    });
    Ok(Environment {
        plimsoll: versions.plimsoll,
        machines: machines(
            store.inventories(&entry.id)?,
            &hosts.keys().map(String::as_str).collect::<Vec<_>>(),
        ),
        programs: versions.programs,
        links: links.iter().filter(is_declared).map(link).collect(),
        sysctls: sysctls.collect(),
        experiment: entry.source.clone(),
        settings,
    })
}

/// The machines, each once, with the hosts that were on it. What a guest was is stored for each cell, as `HOST (LEVELS)`: it has its own name where
/// it was the same in all.
fn machines(inventories: BTreeMap<String, serde_json::Value>, hosts: &[&str]) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    for (host, inventory) in inventories {
        let Ok(found) = serde_json::from_value::<Inventory>(inventory.clone()) else { continue };
        let found = machine(host, &found, inventory);
        match machines.iter_mut().find(|known| is_alike(known, &found)) {
            Some(known) => known.hosts.extend(found.hosts),
            None => machines.push(found),
        }
    }
    for host in hosts {
        let is_cell = |name: &String| name.strip_prefix(host).is_some_and(|rest| rest.starts_with(" ("));
        let mut with = machines.iter_mut().filter(|machine| machine.hosts.iter().any(is_cell));
        if let (Some(only), None) = (with.next(), with.next()) {
            only.hosts.retain(|name| !is_cell(name));
            only.hosts.push((*host).to_owned());
        }
    }
    for machine in &mut machines {
        machine.hosts.retain(|host| host != NO_HOST);
        machine.hosts.sort();
    }
    machines
}

/// Whether the reported facts of two machines are the same. Guests differ from boot to boot in facts that no report
/// has, such as lines of their logs.
fn is_alike(one: &Machine, other: &Machine) -> bool {
    let reported = |machine: &Machine| Machine {
        hosts: Vec::new(),
        inventory: serde_json::Value::Null,
        ..machine.clone()
    };
    reported(one) == reported(other)
}

fn machine(host: String, found: &Inventory, inventory: serde_json::Value) -> Machine {
    let virtualization = &found.virtualization;
    let system = || {
        let words: Vec<&str> = [&virtualization.vendor, &virtualization.product]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        (virtualization.hypervisor == Some(true) && !words.is_empty()).then(|| words.join(" "))
    };
    Machine {
        hosts: vec![host],
        kernel: found.kernel.release.clone(),
        compiler: found.kernel.compiler.clone(),
        command_line: found.kernel.command_line.clone(),
        kernel_config: found.kernel.config.clone(),
        os: found.os.clone(),
        cpu: found.cpus.model.clone(),
        cpus: found.cpus.count,
        memory_bytes: found.memory.size,
        swap_bytes: found.memory.swap,
        virtualization: virtualization.signature.clone().or_else(system),
        changed_sysctls: found
            .sysctls
            .iter()
            .map(|(name, setting)| (name.clone(), setting.value.clone()))
            .collect(),
        inventory,
    }
}

/// A link in the words of the experiment file.
fn link(link: &Link) -> LinkReport {
    let mtu = link.mtu.map(|mtu| format!("mtu {mtu}"));
    let [there, back] = link.ways().map(|way| {
        let said = [
            mtu.clone(),
            way.rate.map(|rate| format!("rate {rate}")),
            way.delay.map(|delay| format!("delay {delay}")),
            way.jitter.map(|jitter| format!("jitter {jitter}")),
            way.loss.map(|loss| format!("loss {loss}")),
            way.loss_burst.map(|burst| format!("loss_burst {burst}")),
            way.reorder.map(|reorder| format!("reorder {reorder}")),
            way.queue.map(|queue| format!("queue {queue}")),
        ];
        said.into_iter().flatten().collect::<Vec<_>>().join(", ")
    });
    LinkReport { between: link.between.clone(), there, back }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::plan::Settings;

    #[test]
    fn hosts_on_one_machine_have_it_together() {
        let here = serde_json::to_value(Inventory::read(Path::new("/"))).unwrap();
        let mut other = here.clone();
        other["kernel"]["release"] = "2.6.39".into();
        let all =
            BTreeMap::from([("a".to_owned(), here.clone()), ("b".to_owned(), other), ("c".to_owned(), here)]);
        let machines = machines(all, &["a", "b", "c"]);
        assert_eq!(machines.iter().map(|machine| machine.hosts.join(" ")).collect::<Vec<_>>(), ["a c", "b"]);
        assert_eq!(machines[1].kernel.as_deref(), Some("2.6.39"));
        assert!(machines[0].cpus > 0 && machines[0].memory_bytes > 0);
    }

    #[test]
    fn a_guest_is_listed_once_where_it_is_the_same_in_all_cells_and_by_its_levels_where_not() {
        let here = serde_json::to_value(Inventory::read(Path::new("/"))).unwrap();
        let with = |release: &str, log: &str| {
            let mut other = here.clone();
            other["kernel"]["release"] = release.into();
            other["absent"] = serde_json::json!([{ "file": log, "why": "a test" }]);
            other
        };
        let all = [
            (NO_HOST, here.clone()),
            ("box (kernel = a)", with("6.1", "one")),
            ("box (kernel = b)", with("6.12", "one")),
            ("wall (kernel = a)", with("5.10", "one")),
            ("wall (kernel = b)", with("5.10", "another")),
        ];
        let all = all.map(|(host, inventory)| (host.to_owned(), inventory)).into();
        let machines = machines(all, &["box", "wall"]);
        let listed: Vec<_> =
            machines.iter().map(|machine| (machine.hosts.join(" "), machine.kernel.as_deref())).collect();
        let release = here["kernel"]["release"].as_str();
        let expected = [
            ("", release),
            ("box (kernel = a)", Some("6.1")),
            ("box (kernel = b)", Some("6.12")),
            ("wall", Some("5.10")),
        ];
        assert_eq!(listed, expected.map(|(hosts, release)| (hosts.to_owned(), release)));
    }

    #[test]
    fn a_link_is_described_in_the_words_of_the_file() {
        let text = "question = \"?\"\n[hosts.a]\n[hosts.b]\n[services.web]\non = \"b\"\nweb = {}\n[loads.l]\nfrom = \"a\"\nto = \"web\"\n\
            http = { connections = 1 }\n[[phases]]\nname = \"p\"\nmeasure = \"l\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbit\"\n\
            delay = \"20ms\"\nloss = \"1 %\"\nback = { rate = \"1Mbit\" }\n";
        let plan = Plan::read("test", text, &Settings::default()).unwrap();
        let described = link(&plan.experiment.links[0]);
        assert_eq!(described.there, "rate 10Mbit, delay 20ms, loss 1 %");
        assert!(described.back.starts_with("rate 1Mbit"), "{}", described.back);
    }
}
