//! What carrying out an experiment does to the machine that it is carried out on, for who did not write the file.
//!
//! It follows from the cells, so that a program that only one level of a factor starts is told, too. What happens inside of hosts that go
//! with the run (their links, addresses and settings, the loads between them) does nothing to the machine, and is not in it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Plan;
use crate::experiment::messaging::Workers;
use crate::experiment::{
    Experiment, Filesystem, Host, HostKind, Load, LoadKind, Rung, Service, ServiceKind, StorageLoad, SyncBy,
    Volume, sysctl,
};

/// Something that is done to the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Effect {
    /// What kind of thing it is.
    pub kind: EffectKind,
    /// What is done, in words.
    pub what: String,
    /// Which part of the file asks for it: a path into it.
    pub by: String,
    /// The host that it is done for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// As whom a program runs.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub as_whom: Option<AsWhom>,
    /// What it takes that an ordinary user has not got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<Need>,
    /// Whether `run` asks before it begins.
    pub asks: bool,
}

/// What kind of thing an experiment does to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A program that is not Plimsoll is started.
    Program,
    /// Files of the machine are read, or variables of the environment.
    Reads,
    /// Files or folders of the machine are written.
    Writes,
    /// A device is made, read or written.
    Device,
    /// A setting of the whole machine is changed, and put back afterwards.
    Setting,
    /// Everything on the machine notices it.
    Machine,
    /// The machine's own network is used.
    Network,
}

impl EffectKind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 7] =
        [Self::Program, Self::Reads, Self::Writes, Self::Device, Self::Setting, Self::Machine, Self::Network];

    /// What stands above them in a list.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Program => "programs",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Device => "devices",
            Self::Setting => "settings of the whole machine",
            Self::Machine => "the whole machine",
            Self::Network => "network",
        }
    }
}

/// As whom a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AsWhom {
    /// As nobody (user 65534) for root; else as the user in a user namespace of its own, where the kernel allows that. Without capabilities,
    /// with the machine's files read-only.
    Nobody,
    /// As root and as the users that its distribution made for it, with few capabilities and the machine's files read-only.
    SeveralUsers,
    /// As whoever runs Plimsoll, with all of his rights on its host.
    Caller,
    /// As root, before the trial begins.
    Root,
}

impl AsWhom {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Nobody => "as nobody, the machine's files read-only",
            Self::SeveralUsers => "as root with few capabilities, the machine's files read-only",
            Self::Caller => "with all rights of whoever runs this",
            Self::Root => "as root",
        }
    }
}

/// What an ordinary user has not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// To be root of the machine.
    Root,
}

impl Effect {
    fn new(kind: EffectKind, by: String, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), by, host: None, as_whom: None, needs: None, asks: false }
    }

    fn on(self, host: &str) -> Self {
        Self { host: Some(host.to_owned()), ..self }
    }

    fn run_as(self, whom: AsWhom) -> Self {
        let asks = whom == AsWhom::Caller;
        Self { as_whom: Some(whom), asks, ..self }
    }

    fn needs_root(self) -> Self {
        Self { needs: Some(Need::Root), ..self }
    }
}

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
        found.extend(of_host(name, host));
    }
    for (name, value) in sysctl::of_machine(experiment) {
        let by = experiment.hosts.iter().find(|(_, host)| host.sysctls.contains_key(&name));
        let by = by.map_or_else(String::new, |(host, _)| format!("hosts.{host}.sysctls"));
        found.push(Effect::new(EffectKind::Setting, by, format!("{name} = {}", word(&value))).needs_root());
    }
    for (name, service) in &experiment.services {
        found.extend(of_service(name, service));
    }
    for (name, volume) in &experiment.volumes {
        found.extend(of_volume(name, volume));
    }
    for (name, load) in &experiment.loads {
        found.extend(of_load(experiment, name, load));
    }
    if let Some(capture) = &experiment.capture {
        let hosts = capture.hosts(&experiment.loads).join(", ");
        let what = format!("the packets that are captured on {hosts}, beside the file of runs");
        found.push(Effect::new(EffectKind::Writes, "capture".into(), what));
    }
    let ladder = experiment.remedies.iter().flat_map(|remedies| &remedies.ladder);
    found.extend(ladder.filter_map(|rung| of_rung(*rung)));
    found
}

fn of_host(name: &str, host: &Host) -> Vec<Effect> {
    let by = |key: &str| format!("hosts.{name}.{key}");
    let mut found = Vec::new();
    match host.kind {
        HostKind::Namespace => {}
        HostKind::Local => {
            let what = "its programs and loads are processes of the machine itself, on addresses of its loopback (127.77.0.0/16)";
            found.push(Effect::new(EffectKind::Network, by("kind"), what).on(name));
        }
    }
    if let Some(memory) = host.memory {
        let what = format!("a control group that holds the host to {memory} of memory, removed afterwards");
        found.push(Effect::new(EffectKind::Machine, by("memory"), what).on(name).needs_root());
    }
    found
}

fn of_service(name: &str, service: &Service) -> Vec<Effect> {
    let by = |key: &str| format!("services.{name}.{key}");
    let on = service.on.as_str();
    let effect = |kind: EffectKind, key: &str, what: String| Effect::new(kind, by(key), what).on(on);
    let documents = |key: &str, root: &Option<String>| {
        root.as_ref()
            .map(|root| effect(EffectKind::Reads, key, format!("serves the files below {}", word(root))))
    };
    let queue = |key: &str, queue: &Option<String>| {
        let what =
            |queue| format!("its queue in {}, which is made where it is not there and stays", word(queue));
        queue.as_ref().map(|queue| effect(EffectKind::Writes, key, what(queue)))
    };
    let program =
        |key: &str, what: &str, whom: AsWhom| effect(EffectKind::Program, key, what.to_owned()).run_as(whom);
    let Some(kind) = service.kind() else { return Vec::new() };
    match kind {
        ServiceKind::Web(web) => documents("web.root", &web.root).into_iter().collect(),
        ServiceKind::Relay(_)
        | ServiceKind::Bulk(_)
        | ServiceKind::TcpProxy(_)
        | ServiceKind::SmtpSink(_) => Vec::new(),
        ServiceKind::MailRelay(relay) => queue("mail_relay.queue", &relay.queue).into_iter().collect(),
        ServiceKind::Nginx(nginx) => {
            let started = program("nginx", "nginx", AsWhom::Nobody);
            [Some(started), documents("nginx.root", &nginx.root)].into_iter().flatten().collect()
        }
        ServiceKind::Haproxy(_) => vec![program("haproxy", "haproxy", AsWhom::Nobody)],
        ServiceKind::Apache(apache) => {
            let started = program("apache", "Apache httpd", AsWhom::Nobody);
            [Some(started), documents("apache.root", &apache.root)].into_iter().flatten().collect()
        }
        ServiceKind::Postfix(postfix) => {
            let whom = if service.privileged { AsWhom::Caller } else { AsWhom::SeveralUsers };
            let mut what = "Postfix".to_owned();
            for (setting, value) in &postfix.settings {
                what += &format!(" -o {}", word(&format!("{setting}={value}")));
            }
            let started = program("postfix", &what, whom).needs_root();
            [Some(started), queue("postfix.queue", &postfix.queue)].into_iter().flatten().collect()
        }
        ServiceKind::Exec(exec) => {
            let whom = if service.privileged { AsWhom::Caller } else { AsWhom::Nobody };
            let words: Vec<String> = exec.argv.iter().map(|argument| word(argument)).collect();
            let variables = exec.env.iter().map(|(name, value)| format!("{}={} ", word(name), word(value)));
            let what = variables.collect::<String>() + &words.join(" ");
            let mut found = vec![program("exec", &what, whom)];
            if !exec.pass_env.is_empty() {
                let names: Vec<String> = exec.pass_env.iter().map(|name| word(name)).collect();
                let what = format!("the variables {} of your environment", names.join(", "));
                found.push(effect(EffectKind::Reads, "pass_env", what));
            }
            found
        }
    }
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

fn of_load(experiment: &Experiment, name: &str, load: &Load) -> Vec<Effect> {
    let effect = |kind: EffectKind, key: &str, what: String| {
        Effect::new(kind, format!("loads.{name}.{key}"), what).on(&load.from)
    };
    let Some(kind) = load.kind() else { return Vec::new() };
    match kind {
        // They aim at services of the same experiment alone.
        LoadKind::Http(_)
        | LoadKind::Bulk(_)
        | LoadKind::Udp(_)
        | LoadKind::Hops(_)
        | LoadKind::Diagnose(_)
        | LoadKind::Smtp(_) => Vec::new(),
        LoadKind::Storage(storage) => {
            let device = experiment.volumes.get(&load.to).and_then(|volume| volume.device.as_ref());
            let written = device.filter(|_| storage.writes()).map(|device| {
                let what = format!("{} is written to: what is on it is lost", word(device));
                effect(EffectKind::Device, "storage.reads", what).needs_root()
            });
            let flushed =
                flushed(&storage).map(|what| effect(EffectKind::Machine, "storage.sync_by", what.into()));
            written.into_iter().chain(flushed).collect()
        }
        LoadKind::Messaging(messaging) => {
            let number = u64::from(messaging.groups) * u64::from(messaging.pairs) * 2;
            let workers = match messaging.workers {
                Workers::Processes => "processes",
                Workers::Threads => "threads",
            };
            vec![effect(EffectKind::Machine, "messaging", format!("{number} {workers} at a time"))]
        }
    }
}

/// Whose writes a storage load waits for beside its own.
fn flushed(storage: &StorageLoad) -> Option<&'static str> {
    let flushes = storage.sync_at_end || storage.sync_every > 0;
    match storage.sync_by {
        SyncBy::Sync if flushes => {
            Some("all that is to be written to any file system is written, whoever wrote it")
        }
        SyncBy::Syncfs if flushes => {
            Some("all that is to be written to the volume's file system is written, whoever wrote it")
        }
        SyncBy::Fdatasync | SyncBy::Fsync | SyncBy::Syncfs | SyncBy::Sync => None,
    }
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

/// A word of a command as a reader can tell it from its neighbours: in quotes where it has blanks or quotes, and with what a terminal would
/// not show as it is (control characters, changes of the direction of writing) by its number.
#[must_use]
pub fn word(text: &str) -> String {
    let quoted = format!("{text:?}");
    let plain = quoted.len() == text.len() + 2 && !text.is_empty() && !text.contains([' ', '\'', '\u{a0}']);
    if plain { text.to_owned() } else { quoted }
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
