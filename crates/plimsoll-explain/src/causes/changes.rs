//! What Plimsoll changes to see whether a cause is the cause.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::experiment::service::SERVICE_MARK;
use plimsoll_model::experiment::{
    Action, ChangeLink, Experiment, FlushRules, Link, RestartService, RunProgram, SendSignal, ServiceKind,
    SignalName,
};
use plimsoll_model::plan::intervention::Change;
use plimsoll_model::units::{Share, Span};
use serde_json::{Value, json};

/// All ports that need no privilege.
const ALL_PORTS: &str = "1024 65535";
/// How long a change of processes may take.
const PATIENCE: Span = Span(std::time::Duration::from_secs(20));
/// Factor by which a change raises the memory limit of a host.
const MORE_MEMORY: u64 = 8;
/// Factor by which a change raises the size of a volume.
const LARGER_VOLUME: u64 = 4;

/// Settings.
pub(super) fn set(what: impl Into<String>, set: impl IntoIterator<Item = (String, Value)>) -> Change {
    Change { what: what.into(), set: set.into_iter().collect(), ..Change::default() }
}

/// Something that is done.
pub(super) fn act(what: impl Into<String>, actions: impl IntoIterator<Item = Action>) -> Change {
    Change { what: what.into(), actions: actions.into_iter().collect(), ..Change::default() }
}

/// No rules that packets are compared with.
pub(super) fn without_rules(experiment: &Experiment) -> Change {
    act("without rules of routing policy and nftables", flushes(experiment))
}

fn flushes(experiment: &Experiment) -> impl Iterator<Item = Action> {
    of_namespaces(experiment).map(|host| Action::of(FlushRules { on: host.clone() }))
}

/// No rules that drop packets, and no loss on links.
pub(super) fn without_loss(experiment: &Experiment) -> Change {
    let lossy = |link: &&Link| link.ways().iter().any(|way| way.loss.is_some());
    let lossless = experiment.links.iter().filter(lossy).map(|link| {
        let between = link.between.clone();
        let (rate, delay, down) = (None, None, None);
        Action::of(ChangeLink { between, rate, delay, loss: Some(Share(0.0)), down, reset: false })
    });
    act("without rules of nftables and without loss on links", flushes(experiment).chain(lossless))
}

/// All ports that there are, for those who connect.
pub(super) fn more_ports(experiment: &Experiment) -> Change {
    let ports = |host: &String| sysctl(host, "net.ipv4.ip_local_port_range", ALL_PORTS.into());
    set(format!("with client ports {ALL_PORTS}"), of_loads(experiment).map(ports))
}

/// More memory for the hosts with a memory limit.
pub(super) fn more_memory(experiment: &Experiment) -> Change {
    let more = experiment.declared_hosts().filter_map(|(name, host)| {
        Some((format!("hosts.{name}.memory"), json!(host.memory?.0.saturating_mul(MORE_MEMORY))))
    });
    set(format!("with {MORE_MEMORY} times the memory"), more)
}

/// Larger volumes, where the run makes them.
pub(super) fn larger_volumes(experiment: &Experiment) -> Change {
    let larger = experiment.volumes.iter().filter_map(|(name, volume)| {
        let size = volume.image.as_ref()?.size.0.saturating_mul(LARGER_VOLUME);
        Some((format!("volumes.{name}.loop.size"), json!(size)))
    });
    set(format!("with {LARGER_VOLUME} times the size of volumes"), larger)
}

/// A shell command for the processes of each service that is a program of the user's own; `$pids` are their numbers.
pub(super) fn of_processes(what: &str, command: &str, experiment: &Experiment) -> Change {
    let find = format!(
        "pids=; for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ 2>/dev/null | grep -q ^{SERVICE_MARK}= && pids=\"$pids ${{p#/proc/}}\"; done; [ -z \"$pids\" ] || {command}; true"
    );
    let services = experiment.services.values();
    let own = services.filter(|service| matches!(service.kind, ServiceKind::Exec(_)));
    let hosts: BTreeSet<&String> = own.map(|service| &service.on).collect();
    run(what, &find, hosts.into_iter().filter(|host| experiment.hosts[*host].kind.own().network))
}

/// Shell commands on hosts, with the rights of the caller.
pub(super) fn run<'e>(what: &str, commands: &str, hosts: impl Iterator<Item = &'e String>) -> Change {
    let one = |on: &String| {
        let program = RunProgram {
            on: on.clone(),
            command: ["sh", "-c", commands].map(str::to_owned).to_vec(),
            env: BTreeMap::new(),
            privileged: true,
            at_most: PATIENCE,
        };
        Action { name: Some(what.to_owned()), ..Action::of(program) }
    };
    act(what, hosts.map(one))
}

/// The hosts' processes in the control group of their agent, as far as a controller goes: those are not limited by other groups any more.
pub(super) fn out_of_groups<'e>(
    what: &str,
    controller: &str,
    hosts: impl Iterator<Item = &'e String>,
) -> Change {
    // A process may end between two commands.
    let commands = format!(
        "group() {{ grep -E '^[0-9]+:([^:]*,)?{controller}(,[^:]*)?:' $1 || grep ^0:: $1; }}
         own=$(group /proc/self/cgroup)
         for at in /sys/fs/cgroup/{controller} /sys/fs/cgroup; do [ ! -e $at/cgroup.procs ] || break; done
         [ ! -e $at${{own#*:*:}}/cgroup.procs ] || at=$at${{own#*:*:}}
         for p in /proc/[0-9]*; do
             [ \"$(group $p/cgroup 2>/dev/null)\" = \"$own\" ] || echo ${{p#/proc/}} > $at/cgroup.procs || [ ! -e $p ] || exit 1
         done"
    );
    run(what, &commands, hosts)
}

/// All services started again.
pub(super) fn restarted(experiment: &Experiment) -> Change {
    let started = experiment.services.iter().filter(|(_, service)| service.kind.is_started());
    let restart = |(service, _): (&String, _)| Action::of(RestartService { service: service.clone() });
    act("with the services restarted", started.map(restart))
}

/// The services that no load reaches stand still.
pub(super) fn without_other_services(experiment: &Experiment) -> Change {
    let serving = experiment.loads.values().flat_map(|load| experiment.serving(load));
    let reached: BTreeSet<&String> = serving.map(|(name, _)| name).collect();
    let others = experiment
        .services
        .iter()
        .filter(|(name, service)| service.kind.is_started() && !reached.contains(name));
    let stop =
        |(name, _): (&String, _)| Action::of(SendSignal { to: name.clone(), signal: SignalName::Stop });
    act("with the services that no load reaches stopped", others.map(stop))
}

/// No background loads.
pub(super) fn without_background_loads(experiment: &Experiment) -> Change {
    let without_background = !experiment.background.is_empty();
    Change { what: "without the background loads".to_owned(), without_background, ..Change::default() }
}

/// The hosts whose kernel state is their own.
pub(super) fn of_namespaces(experiment: &Experiment) -> impl Iterator<Item = &String> {
    experiment.declared_hosts().filter(|(_, host)| host.kind.own().network).map(|(name, _)| name)
}

/// The hosts of services that have their own kernel state.
pub(super) fn of_services(experiment: &Experiment) -> impl Iterator<Item = &String> {
    let hosts: BTreeMap<&String, ()> =
        experiment.services.values().map(|service| (&service.on, ())).collect();
    hosts.into_keys().filter(|host| experiment.hosts[*host].kind.own().network)
}

/// The hosts of loads that have their own kernel state.
pub(super) fn of_loads(experiment: &Experiment) -> impl Iterator<Item = &String> {
    let hosts: BTreeMap<&String, ()> = experiment.loads.values().map(|load| (&load.from, ())).collect();
    hosts.into_keys().filter(|host| experiment.hosts[*host].kind.own().network)
}

/// A sysctl of a host, as a setting.
pub(super) fn sysctl(host: &str, name: &str, value: Value) -> (String, Value) {
    (format!("hosts.{host}.sysctls.\"{name}\""), value)
}

/// The settings of this name of all services, by their paths.
pub(super) fn settings_named<'e>(
    experiment: &'e Experiment,
    wanted: &'e str,
) -> impl Iterator<Item = (String, Value)> + 'e {
    let kinds = experiment.services.iter().map(|(name, service)| (name, serde_json::to_value(&service.kind)));
    kinds.filter_map(move |(name, kind)| setting("services", name, &kind.ok()?, wanted))
}

/// The path and the value of a setting of a service or a load, by the table that says what it is.
pub(super) fn setting(part: &str, name: &str, kind: &Value, wanted: &str) -> Option<(String, Value)> {
    let (kind, table) = kind.as_object()?.iter().next()?;
    Some((format!("{part}.{name}.{kind}.{wanted}"), table.get(wanted)?.clone()))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;
    use plimsoll_model::experiment::ActionKind;
    use plimsoll_model::plan::{Plan, Settings};

    use super::super::change;

    #[test]
    fn the_processes_of_the_users_own_programs_are_changed_and_those_of_no_other_service() {
        let of = |service: &str, cause: CauseId| {
            let text = format!(
                "question = \"why?\"\n[hosts.a]\n[hosts.b]\n[[links]]\nbetween = [\"a\", \"b\"]\n\
                 [services.app]\non = \"b\"\n{service}\n[loads.some]\nfrom = \"a\"\nto = \"app\"\nhttp = {{ connections = 9 }}\n\
                 [[phases]]\nname = \"all\"\nmeasure = \"some\"\n"
            );
            let plan = Plan::read("test", &text, &Settings::default()).unwrap();
            change(cause, &plan.experiment).ok()
        };
        let exec = "exec = [\"app\", \"{port}\"]";
        for (cause, command) in [
            (CauseId::CpuLowPriority, "renice"),
            (CauseId::CpuPinned, "taskset"),
            (CauseId::ServiceStopped, "kill -CONT"),
        ] {
            let actions = of(exec, cause).unwrap().actions;
            let ActionKind::Run(run) = &actions[0].kind else { panic!("{actions:?}") };
            assert!(run.on == "b" && run.privileged && run.command[2].contains(command), "{run:?}");
            assert_eq!(of("web = {}", cause), None);
        }
        assert_eq!(of("web = {}", CauseId::KernelLogFlood).unwrap().actions.len(), 2);
        assert_eq!(of("web = {}", CauseId::CpuQuotaThrottled).unwrap().actions.len(), 1);
        assert_eq!(of("web = {}", CauseId::CpuContended), None, "the load reaches the only service");
        let beside = of("web = {}\n[services.other]\non = \"b\"\nexec = [\"sleep\"]", CauseId::CpuContended);
        let ActionKind::Signal(signal) = &beside.unwrap().actions[0].kind else { panic!() };
        assert_eq!(signal.to, "other");
    }
}
