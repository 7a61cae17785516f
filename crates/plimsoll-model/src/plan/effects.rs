//! What carrying out an experiment does to the machine that it is carried out on, for who did not write the file.
//!
//! It follows from the cells, so that a program that only one level of a factor starts is told, too. What happens inside of hosts that go
//! with the run (their links, addresses and settings, the loads between them) does nothing to the machine, and is not in it.

use std::collections::BTreeSet;

use super::Plan;
use crate::effect::{AsWhom, Effect, EffectKind, word};
use crate::experiment::{Experiment, Filesystem, Phase, Rung, Volume, hook, sysctl};

impl Plan {
    /// What carrying it out does to the machine, in all of its cells; each thing once.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        let all: BTreeSet<Effect> = self.cells.iter().flat_map(|cell| of(&cell.experiment)).collect();
        all.into_iter().collect()
    }
}

/// What one cell does.
fn of(experiment: &Experiment) -> Vec<Effect> {
    let mut found = vec![Effect::new(
        EffectKind::Writes,
        "run".into(),
        "what is measured, into the file of runs, and a page with charts beside it",
    )];
    for (name, host) in &experiment.hosts {
        found.extend(host.kind.effects(experiment, name, host));
    }
    for (name, value) in sysctl::of_machine(experiment) {
        let by = experiment.hosts.iter().find(|(_, host)| host.sysctls.contains_key(&name));
        let by = by.map_or_else(String::new, |(host, _)| format!("hosts.{host}.sysctls"));
        found.push(Effect::new(EffectKind::Setting, by, format!("{name} = {}", word(&value))).needs_root());
    }
    for (name, service) in &experiment.services {
        found.extend(service.effects(experiment, name));
    }
    for (name, volume) in &experiment.volumes {
        found.extend(of_volume(name, volume));
    }
    for (name, load) in &experiment.loads {
        found.extend(load.effects(experiment, name));
    }
    found.extend(experiment.all_phases().flat_map(Phase::effects));
    found.extend(hook::effects(experiment));
    if let Some(capture) = &experiment.capture {
        let hosts = capture.hosts(&experiment.loads).join(", ");
        let what = format!("the packets that are captured on {hosts}, beside the file of runs");
        found.push(Effect::new(EffectKind::Writes, "capture".into(), what));
    }
    let ladder = experiment.remedies.iter().flat_map(|remedies| &remedies.ladder);
    found.extend(ladder.filter_map(|rung| of_rung(*rung)));
    found
}

fn of_volume(name: &str, volume: &Volume) -> Vec<Effect> {
    let effect = |kind: EffectKind, key: &str, what: String| {
        Effect::new(kind, format!("volumes.{name}.{key}"), what).on(&volume.on)
    };
    let parent = |named: &Option<String>| {
        named.as_ref().map_or_else(|| "the folder for temporary files".to_owned(), |path| word(path))
    };
    let mut found = Vec::new();
    if let Some(folder) = &volume.folder {
        let what = format!("a folder of its own in {}, removed afterwards", parent(&folder.parent));
        found.push(effect(EffectKind::Writes, "folder", what));
    }
    if let Some(image) = &volume.image {
        let file = format!("a file without a name in {}, of up to {}", parent(&image.parent), image.size);
        found.push(effect(EffectKind::Writes, "loop.in", file));
        let device = format!("a loop device of {} on it, removed afterwards", image.size);
        found.push(effect(EffectKind::Device, "loop", device).needs_root());
        if let Some(filesystem) = image.filesystem {
            let program = match filesystem {
                Filesystem::Ext4 => "mkfs.ext4",
                Filesystem::Xfs => "mkfs.xfs",
            };
            let made = effect(EffectKind::Program, "loop.filesystem", format!("{program} on it"));
            found.push(made.run_as(AsWhom::Root).needs_root());
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
    if let Some(device) = &volume.device {
        found.push(effect(EffectKind::Device, "device", format!("{} is read", word(device))).needs_root());
    }
    let queue = &volume.queue;
    let which = volume.device.as_ref().map_or_else(|| "its loop device".to_owned(), |device| word(device));
    let settings = [
        ("scheduler", queue.scheduler.as_ref().map(|scheduler| word(scheduler))),
        ("nr_requests", queue.depth.map(|depth| depth.to_string())),
        ("device/queue_depth", queue.ncq.map(|depth| depth.to_string())),
        ("read_ahead_kb", queue.read_ahead.map(|ahead| (ahead.0 >> 10).to_string())),
    ];
    for (setting, value) in settings {
        let Some(value) = value else { continue };
        let what = format!("{setting} = {value} of {which}");
        found.push(effect(EffectKind::Setting, "queue", what).needs_root());
    }
    if !volume.limit.is_none() {
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

    fn told(text: &str, kind: EffectKind) -> Vec<String> {
        effects(text).into_iter().filter(|effect| effect.kind == kind).map(|effect| effect.what).collect()
    }

    #[test]
    fn programs_settings_and_variables_are_told_and_nothing_reaches_the_terminal_raw() {
        assert_eq!(told(TEXT, EffectKind::Program), ["MODE=x ./server \"a b\" \"\\u{1b}[31m\\rls\""]);
        assert_eq!(told(TEXT, EffectKind::Setting), ["vm.swappiness = 10"]);
        assert_eq!(told(TEXT, EffectKind::Reads), ["the variables TOKEN of your environment"]);
        assert!(effects(TEXT).iter().all(|effect| !effect.asks));
    }

    #[test]
    fn a_program_of_any_level_is_told() {
        let factor = "[factors.which]\nset = \"services.own.exec\"\nlevels = [[\"./one\"], [\"./two\", \"-x\"]]\n\
                      [factors.rights]\nset = \"services.own.privileged\"\nlevels = [false, true]\n";
        let found = effects(&format!("{TEXT}{factor}"));
        let programs: Vec<_> = found.iter().filter(|effect| effect.kind == EffectKind::Program).collect();
        let told: Vec<_> = programs.iter().map(|effect| (effect.what.as_str(), effect.asks)).collect();
        let expected = [
            ("MODE=x ./one", false),
            ("MODE=x ./one", true),
            ("MODE=x ./two -x", false),
            ("MODE=x ./two -x", true),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn words_are_told_apart_and_what_cannot_be_seen_is_shown() {
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
    fn devices_and_what_is_done_to_all_of_the_machine_are_told() {
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
        let devices = told(text, EffectKind::Device);
        assert_eq!(devices.len(), 4, "{devices:?}");
        assert!(devices.iter().any(|what| what.contains("/dev/sdz is written to")), "{devices:?}");
        assert_eq!(told(text, EffectKind::Program), ["mkfs.ext4 on it"]);
        assert_eq!(told(text, EffectKind::Setting), ["scheduler = none of its loop device"]);
        assert_eq!(told(text, EffectKind::Machine).len(), 2);
        let all = effects(text);
        let needless: Vec<_> = all.iter().filter(|effect| effect.needs.is_none()).collect();
        assert_eq!(needless.len(), 3, "the runs, the file of the loop device, and the sync: {needless:?}");
    }
}
