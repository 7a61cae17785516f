//! Effects of an experiment on the machine that runs it, for readers who did not write the file.
//!
//! The effects follow from the cells, so they include a program that only one level of a factor starts. Events inside
//! hosts that go with the run (their links, addresses and settings, the loads between them) do nothing to the machine,
//! and are left out.

use std::collections::BTreeSet;

use super::Plan;
use crate::effect::{Effect, EffectKind, RunAs, word};
use crate::experiment::{
    Experiment, Filesystem, FolderVolume, Host, LoopVolume, Phase, Queueing, Rung, Volume, hook, sysctl,
};

impl Plan {
    /// Effects on the machine, in all cells; each one once.
    pub fn effects(&self) -> Vec<Effect> {
        let all: BTreeSet<Effect> = self.cells.iter().flat_map(|cell| of(&cell.experiment)).collect();
        all.into_iter().collect()
    }

    /// The effects of this plan, and those that only the plan with its quick settings has.
    pub fn effects_with_quick(&self, quick: &Self) -> Vec<Effect> {
        let mut all = self.effects();
        let more = quick.effects().into_iter().filter(|effect| !all.contains(effect));
        let more: Vec<Effect> = more.map(|effect| Effect { quick: true, ..effect }).collect();
        all.extend(more);
        all.sort();
        all
    }
}

/// Effects of one cell. The patterns here and in the functions below name every field, so that a new one cannot be forgotten.
fn of(experiment: &Experiment) -> Vec<Effect> {
    let Experiment {
        hosts,
        services,
        volumes,
        loads,
        capture,
        remedies,
        // Their programs and steps are in `all_phases`.
        phases: _,
        // A level becomes a part of its cell, and [quick] of the plan.
        factors: _,
        cells: _,
        quick: _,
        // Names of hosts and loads of the file alone.
        links: _,
        background: _,
        control: _,
        // Words, amounts and judgements.
        question: _,
        schema: _,
        description: _,
        claims: _,
        run: _,
    } = experiment;
    let mut found = vec![Effect::new(
        EffectKind::Writes,
        "run".into(),
        "the measurements, into the file of runs, and a page with charts beside it",
    )];
    for (name, host) in hosts {
        found.extend(of_host(experiment, name, host));
    }
    for (name, value) in sysctl::of_machine(experiment) {
        let by = hosts.iter().find(|(_, host)| host.sysctls.contains_key(&name));
        let by = by.map_or_else(String::new, |(host, _)| format!("hosts.{host}.sysctls"));
        found.push(Effect::new(EffectKind::Setting, by, format!("{name} = {}", word(&value))).needs_root());
    }
    for (name, service) in services {
        found.extend(service.effects(experiment, name));
    }
    for (name, volume) in volumes {
        found.extend(of_volume(name, volume));
    }
    for (name, load) in loads {
        found.extend(load.effects(experiment, name));
    }
    found.extend(experiment.all_phases().flat_map(Phase::effects));
    found.extend(hook::effects(experiment));
    if let Some(capture) = capture {
        let hosts = capture.hosts(loads).join(", ");
        let what = format!("the packets that are captured on {hosts}, beside the file of runs");
        found.push(Effect::new(EffectKind::Writes, "capture".into(), what));
    }
    let ladder = remedies.iter().flat_map(|remedies| &remedies.ladder);
    found.extend(ladder.filter_map(|rung| of_rung(*rung)));
    found
}

fn of_host(experiment: &Experiment, name: &str, host: &Host) -> Vec<Effect> {
    let Host {
        // The kind lists its own effects on these.
        kind,
        kernel: _,
        memory: _,
        reach: _,
        allow: _,
        // Settings of the whole machine are collected over all hosts, hooks over all moments.
        sysctls: _,
        prepare: _,
        before_each: _,
        after_each: _,
        cleanup: _,
        // Settings inside of the host.
        forward: _,
        cpus: _,
        addresses: _,
        nat: _,
        append: _,
        clock: _,
        boot_within: _,
        address: _,
        lost_after: _,
        loopback_mtu: _,
        count: _,
        member_of: _,
    } = host;
    kind.effects(experiment, name, host)
}

fn of_volume(name: &str, volume: &Volume) -> Vec<Effect> {
    let Volume { on: _, folder, image, device, queue, limit } = volume;
    let effect = |kind: EffectKind, key: &str, what: String| {
        Effect::new(kind, format!("volumes.{name}.{key}"), what).on(&volume.on)
    };
    let parent = |named: &Option<String>| {
        named.as_ref().map_or_else(|| "the folder for temporary files".to_owned(), |path| word(path))
    };
    let within = |effect: Effect, parent: Option<&String>| match parent {
        Some(parent) => effect.at_path(parent),
        None => effect,
    };
    let mut found = Vec::new();
    if let Some(FolderVolume { parent: folder }) = folder {
        let what = format!("a folder of its own in {}, removed afterwards", parent(folder));
        found.push(within(effect(EffectKind::Writes, "folder", what), folder.as_ref()));
    }
    if let Some(image) = image {
        let LoopVolume { size: _, parent: folder, filesystem: _, options: _, at: _, direct: _ } = image;
        let file = format!("a file without a name in {}, of up to {}", parent(folder), image.size);
        found.push(within(effect(EffectKind::Writes, "loop.in", file), folder.as_ref()));
        let device = format!("a loop device of {} on it, removed afterwards", image.size);
        found.push(effect(EffectKind::Device, "loop", device).needs_root());
        if let Some(filesystem) = image.filesystem {
            let program = match filesystem {
                Filesystem::Ext4 => "mkfs.ext4",
                Filesystem::Xfs => "mkfs.xfs",
            };
            let made = effect(EffectKind::Program, "loop.filesystem", format!("{program} on it"));
            found.push(made.run_as(RunAs::Root).needs_root());
            let options = if image.options.is_empty() {
                String::new()
            } else {
                format!(" with the options {}", word(&image.options))
            };
            let at = image.at.as_ref().map_or_else(|| "a folder made for it".to_owned(), |at| word(at));
            let mounted = format!("it is mounted at {at}{options}, where only its host sees it");
            found.push(effect(EffectKind::Device, "loop.at", mounted).needs_root());
        }
    }
    if let Some(device) = device {
        found.push(effect(EffectKind::Device, "device", format!("{} is read", word(device))).needs_root());
    }
    let Queueing { scheduler, depth, ncq, read_ahead } = queue;
    let which = device.as_ref().map_or_else(|| "its loop device".to_owned(), |device| word(device));
    let settings = [
        ("scheduler", scheduler.as_ref().map(|scheduler| word(scheduler))),
        ("nr_requests", depth.map(|depth| depth.to_string())),
        ("device/queue_depth", ncq.map(|depth| depth.to_string())),
        ("read_ahead_kb", read_ahead.map(|ahead| (ahead.0 >> 10).to_string())),
    ];
    for (setting, value) in settings {
        let Some(value) = value else { continue };
        let what = format!("{setting} = {value} of {which}");
        found.push(effect(EffectKind::Setting, "queue", what).needs_root());
    }
    if !limit.is_none() {
        let what = format!("how much {which} may do, in a control group");
        found.push(effect(EffectKind::Setting, "limit", what).needs_root());
    }
    found
}

fn of_rung(rung: Rung) -> Option<Effect> {
    match rung {
        Rung::WaitLonger | Rung::RestartService | Rung::RebuildHost => None,
        Rung::DropCaches => {
            let what = "the page, dentry and inode caches are dropped, if the figure does not come back";
            Some(Effect::new(EffectKind::Machine, "remedies.ladder".into(), what).needs_root())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::effect::{Consent, Need};

    const TEXT: &str = r#"
question = "what does it do?"
[hosts.a]
sysctls = { "vm.swappiness" = 10, "net.ipv4.tcp_rmem" = "1 2 3" }
[services.own]
on = "a"
exec = ["./server", "a b", "\u001b[31m\rls"]
env = { MODE = "x" }
pass_env = ["TOKEN"]
[loads.some]
from = "a"
to = "own"
http = { connections = 10 }
[[phases]]
name = "all"
measure = "some"
"#;

    fn effects(text: &str) -> Vec<Effect> {
        Plan::read("test", text, &Settings::default()).unwrap().effects()
    }

    fn of_kind(text: &str, kind: EffectKind) -> Vec<String> {
        effects(text).into_iter().filter(|effect| effect.kind == kind).map(|effect| effect.what).collect()
    }

    #[test]
    fn programs_settings_and_variables_are_listed_and_nothing_reaches_the_terminal_raw() {
        assert_eq!(of_kind(TEXT, EffectKind::Program), ["MODE=x ./server \"a b\" \"\\u{1b}[31m\\rls\""]);
        assert_eq!(of_kind(TEXT, EffectKind::Setting), ["vm.swappiness = 10"]);
        assert_eq!(of_kind(TEXT, EffectKind::Secret), ["TOKEN"]);
        let asked = effects(TEXT).into_iter().filter_map(|effect| effect.allow);
        assert_eq!(asked.collect::<Vec<_>>(), [Consent::Secrets, Consent::Machine]);
    }

    #[test]
    fn a_program_of_any_level_is_listed() {
        let factor = "[factors.which]\nset = \"services.own.exec\"\nlevels = [[\"./one\"], [\"./two\", \"-x\"]]\n\
                      [factors.rights]\nset = \"services.own.privileged\"\nlevels = [false, true]\n";
        let found = effects(&format!("{TEXT}{factor}"));
        let programs: Vec<_> = found.iter().filter(|effect| effect.kind == EffectKind::Program).collect();
        let listed: Vec<_> = programs.iter().map(|effect| (effect.what.as_str(), effect.allow)).collect();
        let all_rights = Some(Consent::Privileged);
        let expected = [
            ("MODE=x ./one", None),
            ("MODE=x ./one", all_rights),
            ("MODE=x ./two -x", None),
            ("MODE=x ./two -x", all_rights),
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn words_are_separated_and_what_cannot_be_seen_is_shown() {
        for (text, shown) in [
            ("plain-word.sh", "plain-word.sh"),
            ("", "\"\""),
            ("two words", "\"two words\""),
            ("a\rb", "\"a\\rb\""),
            ("a\u{202e}b", "\"a\\u{202e}b\""),
            ("it's", "\"it's\""),
            ("größe", "größe"),
        ] {
            assert_eq!(word(text), shown);
        }
    }

    #[test]
    fn devices_and_what_is_done_to_all_of_the_machine_are_listed() {
        let text = r#"
question = "what does it do?"
[hosts.a]
memory = "64M"
[volumes.disk]
on = "a"
loop = { size = "16M", filesystem = "ext4", at = "/mnt" }
queue = { scheduler = "none" }
[volumes.whole]
on = "a"
device = "/dev/sdz"
[loads.all]
from = "a"
to = "whole"
storage = { operations = 5, reads = 0, sync_by = "sync", sync_at_end = true }
[loads.file]
from = "a"
to = "disk"
storage = { operations = 5 }
[[phases]]
name = "all"
measure = "all"
[[phases]]
name = "file"
measure = "file"
"#;
        let devices = of_kind(text, EffectKind::Device);
        assert_eq!(devices.len(), 4, "{devices:?}");
        assert!(devices.iter().any(|what| what.contains("/dev/sdz is overwritten")), "{devices:?}");
        assert_eq!(of_kind(text, EffectKind::Program), ["mkfs.ext4 on it"]);
        assert_eq!(of_kind(text, EffectKind::Setting), ["scheduler = none of its loop device"]);
        assert_eq!(of_kind(text, EffectKind::Machine).len(), 2);
        let all = effects(text);
        let needless: Vec<_> = all.iter().filter(|effect| effect.needs.is_none()).collect();
        assert_eq!(needless.len(), 3, "the runs, the file of the loop device, and the sync: {needless:?}");
    }

    /// One of each thing that reaches the machine.
    const EVERYTHING: &str = r#"
question = "what does it do?"
[hosts.a]
memory = "64M"
sysctls = { "vm.swappiness" = 10 }
prepare = [{ command = ["./hook"] }]
[hosts.shared]
kind = "local"
[services.own]
on = "shared"
exec = ["./server", "{config}"]
pass_env = ["TOKEN"]
config = "own.conf"
[services.front]
on = "a"
nginx = { root = "/srv/front" }
config = "front.conf"
values = { more = "/etc/more.conf", status = 200 }
[services.site]
on = "a"
web = { root = "/srv/site" }
[services.httpd]
on = "a"
apache = { root = "/srv/httpd" }
[services.proxy]
on = "a"
haproxy = { to = "site" }
[services.mail]
on = "a"
postfix = { to = "sink", queue = "/srv/postfix" }
[services.relay]
on = "a"
mail_relay = { to = "sink", queue = "/srv/relay" }
[services.sink]
on = "a"
smtp_sink = {}
[services.root]
on = "a"
exec = ["./root"]
privileged = true
[volumes.folder]
on = "a"
folder = { in = "/srv/folder" }
[volumes.disk]
on = "a"
loop = { size = "16M", filesystem = "ext4", in = "/srv/loop" }
queue = { scheduler = "none" }
limit = { iops = 100 }
[volumes.whole]
on = "a"
device = "/dev/sdz"
[loads.all]
from = "a"
to = "whole"
storage = { operations = 5, reads = 0 }
[loads.program]
from = "a"
exec = { command = ["./load"] }
[[phases]]
name = "all"
measure = "all"
before_each = [{ on = "a", command = ["./around"] }]
during = [{ at = "1s", run = { on = "a", command = ["./during"] } }]
[[phases]]
name = "program"
measure = "program"
[[phases]]
name = "steps"
do = [{ run = { on = "a", command = ["./step"] } }]
[remedies]
service = "site"
"#;

    #[test]
    fn every_kind_of_item_is_listed_with_the_consent_that_it_needs() {
        let all = effects(EVERYTHING);
        for (by, what, allow) in [
            ("hosts.a.memory", "control group", Some(Consent::Machine)),
            ("hosts.a.sysctls", "vm.swappiness = 10", Some(Consent::Machine)),
            ("hosts.a.prepare", "./hook", None),
            ("hosts.shared.kind", "processes of the machine itself", Some(Consent::Local)),
            ("services.own.exec", "./server {config}", None),
            ("services.own.pass_env", "TOKEN", Some(Consent::Secrets)),
            ("services.own.config", "own.conf", None),
            ("services.front.nginx", "nginx", None),
            ("services.front.nginx.root", "/srv/front", Some(Consent::Files)),
            ("services.front.config", "front.conf", None),
            ("services.front.values.more", "/etc/more.conf", None),
            ("services.site.web.root", "/srv/site", Some(Consent::Files)),
            ("services.httpd.apache", "Apache httpd", None),
            ("services.httpd.apache.root", "/srv/httpd", Some(Consent::Files)),
            ("services.proxy.haproxy", "haproxy", None),
            ("services.mail.postfix", "Postfix", Some(Consent::Users)),
            ("services.mail.postfix.queue", "/srv/postfix", Some(Consent::Files)),
            ("services.relay.mail_relay.queue", "/srv/relay", Some(Consent::Files)),
            ("services.root.exec", "./root", Some(Consent::Privileged)),
            ("volumes.folder.folder", "/srv/folder", Some(Consent::Files)),
            ("volumes.disk.loop.in", "/srv/loop", Some(Consent::Files)),
            ("volumes.disk.loop", "loop device", Some(Consent::Machine)),
            ("volumes.disk.loop.filesystem", "mkfs.ext4", Some(Consent::Machine)),
            ("volumes.disk.queue", "scheduler = none", Some(Consent::Machine)),
            ("volumes.disk.limit", "its loop device", Some(Consent::Machine)),
            ("volumes.whole.device", "/dev/sdz is read", Some(Consent::Machine)),
            ("loads.all.storage.reads", "/dev/sdz is overwritten", Some(Consent::Machine)),
            ("loads.program.exec", "./load", None),
            ("phases.all.before_each", "./around", None),
            ("phases.all.during", "./during", None),
            ("phases.steps.do", "./step", None),
            ("remedies.ladder", "caches are dropped", Some(Consent::Machine)),
        ] {
            let found = all.iter().find(|effect| effect.by == by && effect.what.contains(what));
            let found = found.unwrap_or_else(|| panic!("{by}: {what} is not in {all:#?}"));
            assert_eq!(found.allow, allow, "{found:?}");
        }
        let without = all.iter().filter(|effect| effect.needs == Some(Need::Root) && effect.allow.is_none());
        assert_eq!(without.count(), 0, "what needs root needs consent");
    }

    #[test]
    fn every_item_that_only_the_quick_settings_name_is_listed_as_such() {
        let quick = r#"
[quick]
"hosts.a.sysctls" = { "vm.dirty_ratio" = 10 }
"hosts.a.prepare" = [{ command = ["./quick-hook"] }]
"services.own.exec" = ["./quick", "{config}"]
"services.own.config" = "quick.conf"
"services.own.pass_env" = ["QUICK_TOKEN"]
"services.site.web.root" = "/srv/quick"
"services.relay.mail_relay.queue" = "/srv/quick-queue"
"volumes.folder.folder" = { in = "/srv/quick-folder" }
"volumes.whole.device" = "/dev/sdy"
"loads.program.exec.command" = ["./quick-load"]
"#;
        let text = format!("{EVERYTHING}{quick}");
        let plan = |quick| Plan::read("test", &text, &Settings { quick, ..Settings::default() }).unwrap();
        let all = plan(false).effects_with_quick(&plan(true));
        let only_quick = |effect: &&Effect| effect.quick;
        let listed: Vec<&str> = all.iter().filter(only_quick).map(|effect| effect.what.as_str()).collect();
        for what in [
            "vm.dirty_ratio",
            "./quick-hook",
            "./quick {config}",
            "quick.conf",
            "QUICK_TOKEN",
            "/srv/quick",
            "/srv/quick-queue",
            "/srv/quick-folder",
            "/dev/sdy is read",
            "./quick-load",
        ] {
            assert!(listed.iter().any(|one| one.contains(what)), "{what} is not in {listed:?}");
        }
        let usual = all.iter().filter(|effect| !effect.quick).cloned().collect::<Vec<_>>();
        assert_eq!(usual, effects(EVERYTHING));
    }
}
