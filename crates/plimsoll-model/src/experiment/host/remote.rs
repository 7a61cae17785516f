//! Hosts that are machines which are there already, and stay when the run is over.

use super::vm::refuse_guest_settings;
use super::{Allow, HostKind, HostType, OwnResources, Reach, programs};
use crate::effect::Consent;
use crate::experiment::prelude::*;
use crate::experiment::{Cpus, Experiment, Host};

/// How long nothing may be heard from the other side until it is given up, where nothing is said of it.
const LOST_AFTER_S: u64 = 30;

pub(super) struct Remote;

impl HostType for Remote {
    fn own(&self) -> OwnResources {
        // Its network is there, and is nothing that could be made for a run.
        OwnResources { network: false, kernel: true, files: true }
    }

    fn describe(&self) -> &'static str {
        "an existing machine"
    }

    fn title(&self) -> &'static str {
        "remote machine"
    }

    fn check(&self, experiment: &Experiment, name: &str, host: &Host) -> Checked {
        let here = |key: &str| path!["hosts", name, key];
        let Some(reach) = &host.reach else {
            let expected = "`reach = { ssh = \"user@machine\" }`, `reach = { slurm = {} }` or `reach = { kubernetes = { image = \"...\" } }` beside it, or `reach = { command = [...] }`";
            return Err(problem(here("kind"), "nothing says how the machine is reached", expected));
        };
        if let Some((message, expected)) = reach.objection() {
            return Err(problem(here("reach"), message, expected));
        }
        check_machines(name, host, reach)?;
        refuse_guest_settings(name, host)?;
        refuse_what_is_made(name, host)?;
        check_addresses(experiment, name, host)?;
        if let Some(after) = host.lost_after {
            in_range(
                u64::try_from(after.0.as_millis()).unwrap_or(u64::MAX),
                2_000,
                600_000,
                here("lost_after"),
            )?;
        }
        check_experiment(experiment, name)?;
        check_allowed(experiment, name, host)
    }

    fn effects(&self, _: &Experiment, name: &str, host: &Host) -> Vec<Effect> {
        let by = |key: &str| format!("hosts.{name}.{key}");
        let reach = host.reach.as_ref().map(Reach::describe).unwrap_or_default();
        let mut found = Vec::new();
        let agent = match &host.reach {
            Some(reach) if reach.brings_agent() => {
                "an agent on a machine of the network, with all rights of the user there. Where this very program is not installed, it is \
                 brought along, in a private folder that is removed when it has started"
            }
            _ => "an agent, with all rights that the command gives it",
        };
        let start = Effect::new(EffectKind::Program, by("reach"), format!("{agent} ({reach})")).on(name);
        found.push(start.run_as(RunAs::Caller));
        let network = "its services listen on the machine's own addresses, and loads come from there, over the network that is there";
        found.push(Effect::new(EffectKind::Network, by("reach"), network).on(name));
        found.extend(host.sysctls.iter().map(|(setting, value)| {
            let what = format!("{setting} = {value} on that machine, put back at the end of each trial");
            Effect::new(EffectKind::Setting, by("sysctls"), what).on(name).needs_consent(Consent::Machine)
        }));
        if host.allow.contains(&Allow::Root) {
            let what = "the agent may be root there";
            found.push(Effect::new(EffectKind::Machine, by("allow"), what).on(name));
        }
        found
    }
}

/// Several machines are a group.
fn check_machines(name: &str, host: &Host, reach: &Reach) -> Checked {
    let machines = reach.machines();
    match host.count {
        Some(count) if machines > 1 && count as usize != machines => {
            let message = format!("`reach` leads to {machines} machines, but `count` asks for {count} hosts");
            Err(problem(
                path!["hosts", name, "count"],
                message,
                "no `count`: there are as many hosts as machines",
            ))
        }
        _ => Ok(()),
    }
}

/// Nothing of a machine is made that is there already.
fn refuse_what_is_made(name: &str, host: &Host) -> Checked {
    let given = [
        ("forward", host.forward),
        ("addresses", host.addresses > 0),
        ("nat", host.nat.is_some()),
        ("memory", host.memory.is_some()),
        ("loopback_mtu", host.loopback_mtu.is_some()),
    ];
    if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
        let message = format!("`{name}` is an existing machine, and is not made for the run");
        return Err(problem(
            path!["hosts", name, *key],
            message,
            "this only on a host of kind \"namespace\"",
        ));
    }
    match host.cpus {
        Cpus::Number(_) => {
            let message = "how many processors are free on another machine is not known here";
            Err(problem(path!["hosts", name, "cpus"], message, "which, such as [0, 2]"))
        }
        Cpus::These(_) => Ok(()),
    }
}

fn check_addresses(experiment: &Experiment, name: &str, host: &Host) -> Checked {
    let Some(address) = &host.address else { return Ok(()) };
    if let super::Address::By(addresses) = address {
        for from in addresses.keys() {
            declared(from, &experiment.hosts, "host", path!["hosts", name, "address", from])?;
        }
    }
    if address.all().iter().any(|one| one.is_unspecified() || one.is_multicast()) {
        let message = "this is the address of no machine";
        return Err(problem(path!["hosts", name, "address"], message, "such as \"192.0.2.7\""));
    }
    Ok(())
}

/// Settings that are impossible on machines that stay.
fn check_experiment(experiment: &Experiment, name: &str) -> Checked {
    let made = experiment.hosts.iter().find(|(_, host)| host.kind != HostKind::Remote);
    if let Some((other, host)) = made {
        let message = format!(
            "`{name}` is reached by a command, and `{other}` is made here ({}), from where no way leads there",
            host.kind.describe()
        );
        let expected = "`reach` on all hosts; `reach = { command = [\"plimsoll\", \"agent\"] }` makes this machine one of them";
        return Err(problem(path!["hosts", other], message, expected));
    }
    if experiment.control.is_some() {
        let message = format!(
            "the control is the same rig on hosts of its own, but there is only one `{name}`: actions on one rig would affect both"
        );
        return Err(problem(path!["control"], message, "no `control`"));
    }
    if let Some((volume, _)) = experiment.volumes.iter().find(|(_, volume)| volume.on == name) {
        let message = format!("no volume is made on `{name}`, an existing machine");
        return Err(problem(path!["volumes", volume, "on"], message, "a host of kind \"namespace\""));
    }
    let captured = experiment.capture.as_ref().map(|capture| capture.hosts(&experiment.loads));
    if captured.is_some_and(|hosts| hosts.iter().any(|host| host == name)) {
        let message = format!("packets are not captured on `{name}`, an existing machine");
        return Err(problem(path!["capture"], message, "no `capture`, or a host of kind \"namespace\""));
    }
    Ok(())
}

/// Whatever is changed there has to be allowed.
fn check_allowed(experiment: &Experiment, name: &str, host: &Host) -> Checked {
    if !host.sysctls.is_empty() && !host.allow.contains(&Allow::Sysctl) {
        let message = format!(
            "`{name}` is an existing machine, and its settings are not changed unless that is allowed"
        );
        return Err(problem(
            path!["hosts", name, "sysctls"],
            message,
            "`allow = [\"sysctl\"]` on the same host",
        ));
    }
    if host.allow.contains(&Allow::Service) {
        return Ok(());
    }
    match programs(experiment, name).first() {
        Some(effect) => {
            let message = format!(
                "{} ({}) is started on `{name}`, an existing machine, where no program is started unless that is allowed",
                effect.what, effect.by
            );
            Err(problem(path!["hosts", name], message, "`allow = [\"service\"]` on the same host"))
        }
        None => Ok(()),
    }
}

/// Settings of machines that are there already, on a host that is none.
pub(super) fn refuse_settings_of_remote(name: &str, host: &Host) -> Checked {
    let given = [
        ("reach", host.reach.is_some()),
        ("address", host.address.is_some()),
        ("allow", !host.allow.is_empty()),
        ("lost_after", host.lost_after.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) if host.kind != HostKind::Remote => Err(problem(
            path!["hosts", name, *key],
            format!("`{name}` is made for the run: it is a {} host", host.kind.name()),
            "`reach` with the way to a machine, and no other `kind`",
        )),
        _ => Ok(()),
    }
}

impl Experiment {
    /// Whether its hosts are machines that are there already; then all are.
    pub fn is_remote(&self) -> bool {
        self.hosts.values().any(|host| host.kind == HostKind::Remote)
    }
}

impl Host {
    /// A host that says how it is reached is an existing machine, and one for each of several machines.
    pub(in crate::experiment) fn take_reach(&mut self) {
        let Some(reach) = &self.reach else { return };
        if self.kind == HostKind::default() {
            self.kind = HostKind::Remote;
        }
        let machines = reach.machines();
        if machines > 1 && self.count.is_none() {
            self.count = u32::try_from(machines).ok();
        }
    }

    /// How long nothing may be heard from it until it is given up.
    pub fn lost_after(&self) -> Span {
        self.lost_after.unwrap_or(Span::secs(LOST_AFTER_S))
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Address, HostKind, Reach, parse};

    const TEXT: &str = r#"
question = "?"
[hosts.bots]
reach = { ssh = ["a@c1", "a@c2", "a@c3"] }
[hosts.web]
reach = { command = ["plimsoll", "agent"] }
address = "192.0.2.7"
[services.site]
on = "web"
web = {}
[loads.flood]
from = "bots"
to = "site"
http = { connections = 10 }
[[phases]]
name = "all"
measure = "flood"
"#;

    fn refused(from: &str, to: &str) -> String {
        parse(&TEXT.replace(from, to), &[]).map_or_else(|error| error.message, |_| "nothing".into())
    }

    #[test]
    fn several_machines_are_a_group_with_one_on_each() {
        let experiment = parse(TEXT, &[]).unwrap();
        assert!(experiment.is_remote());
        assert_eq!(experiment.members("bots"), ["bots", "bots2", "bots3"]);
        let reach: Vec<_> =
            experiment.hosts.values().map(|host| host.reach.as_ref().map(Reach::describe).unwrap()).collect();
        let expected = [
            "reached by ssh a@c1",
            "reached by ssh a@c2",
            "reached by ssh a@c3",
            "reached by plimsoll agent",
        ];
        assert_eq!(reach, expected);
        assert_eq!(experiment.hosts["web"].kind, HostKind::Remote);
    }

    #[test]
    fn an_address_is_for_all_or_for_each_host_that_it_is_reached_from() {
        let by = TEXT.replace("\"192.0.2.7\"", "{ bots = \"192.0.2.8\" }");
        let experiment = parse(&by, &[]).unwrap();
        let address = experiment.hosts["web"].address.as_ref().unwrap();
        assert_eq!(address.towards("bots"), Some("192.0.2.8".parse().unwrap()));
        assert_eq!(address.towards("web"), None);
        assert_eq!(
            Address::One("192.0.2.7".parse().unwrap()).towards("x"),
            Some("192.0.2.7".parse().unwrap())
        );
        assert!(refused("\"192.0.2.7\"", "{ nobody = \"192.0.2.8\" }").contains("there is no host `nobody`"));
        assert!(refused("192.0.2.7", "0.0.0.0").contains("the address of no machine"));
    }

    #[test]
    fn what_cannot_be_done_on_a_machine_that_stays_is_refused() {
        let web = "address = \"192.0.2.7\"";
        let cases = [
            ("forward = true", "is not made for the run"),
            ("memory = \"1G\"", "is not made for the run"),
            ("cpus = 2", "not known here"),
            ("kernel = \"debian:6.12\"", "is made here (a virtual machine)"),
            ("sysctls = { \"net.ipv4.tcp_syncookies\" = 0 }", "unless that is allowed"),
            ("prepare = [{ command = [\"true\"] }]", "no program is started unless that is allowed"),
            ("lost_after = \"1s\"", "out of range"),
            ("[hosts.here]", "from where no way leads there"),
            ("kind = \"local\"", "is made here (this machine)"),
        ];
        for (more, expected) in cases {
            let message = refused(web, &format!("{web}\n{more}"));
            assert!(message.contains(expected), "{more}: {message}");
        }
        let cases = [
            ("[control]\nidle_in = []", "there is only one"),
            ("[capture]", "not captured"),
            ("[[links]]\nbetween = [\"bots\", \"web\"]", "has no links"),
            ("[volumes.v]\non = \"web\"\nfolder = { }", "no volume is made"),
        ];
        for (more, expected) in cases {
            let message = refused("[[phases]]", &format!("{more}\n[[phases]]"));
            assert!(message.contains(expected), "{more}: {message}");
        }
        assert!(
            refused("reach = { command = [\"plimsoll\", \"agent\"] }", "kind = \"remote\"")
                .contains("how the machine is reached")
        );
        assert!(refused("\"plimsoll\", \"agent\"", "").contains("starts no program"));
        assert!(refused("[hosts.bots]", "[hosts.bots]\ncount = 2").contains("leads to 3 machines"));
    }

    #[test]
    fn what_is_allowed_is_not_refused() {
        let web = "address = \"192.0.2.7\"";
        let more = "sysctls = { \"net.ipv4.tcp_syncookies\" = 0 }\nprepare = [{ command = [\"true\"] }]\nallow = [\"sysctl\", \"service\"]";
        assert_eq!(refused(web, &format!("{web}\n{more}")), "nothing");
    }
}
