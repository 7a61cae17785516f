//! Hosts that are virtual machines, each with a kernel of its own.

use std::collections::BTreeSet;

use super::{HostType, OwnResources, effects_on};
use crate::effect::{Consent, word};
use crate::experiment::prelude::*;
use crate::experiment::{Cpus, Experiment, Filesystem, Host, Volume};

/// The memory of a guest that says nothing of it.
const MEMORY: u64 = 512 << 20;
/// Less does not hold a kernel, its modules and an agent.
const LEAST_MEMORY: u64 = 128 << 20;
/// The largest volume: it is in the guest's memory twice while the guest starts.
const LARGEST_VOLUME: u64 = 256 << 20;
/// The kernel takes no more than 2048 bytes (COMMAND_LINE_SIZE of x86), some of which are Plimsoll's own.
const LONGEST_APPEND: usize = 1500;
/// Modules of the kernel that modprobe(8) would load elsewhere: rules of nftables.
const OF_PROGRAMS: [&str; 1] = ["nf_tables"];
/// How long a guest may take to boot that says nothing of it: a few seconds on a quiet machine, and several guests may boot at once.
const BOOT_WITHIN_S: u64 = 120;

/// Clock of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuestClock {
    /// The machine's time.
    #[default]
    Real,
    /// The number of instructions that it has executed, 2 ns each, on one processor: other work of the machine has no influence, and
    /// figures repeat. They show the length of the path through program and kernel, without caches, memory or contention; they are no speed.
    Virtual,
}

impl GuestClock {
    pub(in crate::experiment) fn is_real(&self) -> bool {
        *self == Self::Real
    }
}

pub(super) struct Vm;

impl HostType for Vm {
    fn own(&self) -> OwnResources {
        OwnResources { network: true, kernel: true, files: true }
    }

    fn describe(&self) -> &'static str {
        "a virtual machine"
    }

    fn title(&self) -> &'static str {
        "virtual machine"
    }

    fn check(&self, experiment: &Experiment, name: &str, host: &Host) -> Checked {
        let here = |key: &str| path!["hosts", name, key];
        match host.kernel.as_deref().map(str::trim) {
            None => {
                return Err(problem(here("kind"), "a virtual machine needs a kernel", "`kernel` beside it"));
            }
            Some("" | "debian:") => {
                let expected = "\"debian:6.12\", or the path of a .deb of a kernel or of an image, such as \"/boot/vmlinuz-6.1.0-50-cloud-amd64\"";
                return Err(problem(here("kernel"), "this names no kernel", expected));
            }
            Some(_) => {}
        }
        if let Some(memory) = host.memory {
            in_range(memory.0, LEAST_MEMORY, 1 << 40, here("memory"))?;
        }
        match &host.cpus {
            Cpus::Number(number) => in_range(u64::from(*number), 1, 64, here("cpus"))?,
            Cpus::These(these) if these.is_empty() => {}
            Cpus::These(_) => {
                let message = "a virtual machine has processors of its own, not certain ones of the machine";
                return Err(problem(here("cpus"), message, "how many it is to have, such as 2"));
            }
        }
        check_append(host, here("append"))?;
        if let Some(within) = host.boot_within {
            in_range(within.0.as_secs(), 1, 3600, here("boot_within"))?;
        }
        check_files(experiment, name)?;
        check_clock(experiment, name, host)
    }

    fn effects(&self, experiment: &Experiment, name: &str, host: &Host) -> Vec<Effect> {
        let by = |key: &str| format!("hosts.{name}.{key}");
        let kernel = host.kernel.as_deref().unwrap_or_default();
        let memory = host.guest_memory();
        let what =
            format!("qemu-system-x86_64, with {memory} of memory, and with the kernel {}", word(kernel));
        let qemu = Effect::new(EffectKind::Program, by("kernel"), what).on(name);
        let mut found = vec![qemu.run_as(RunAs::Caller)];
        if kernel.starts_with("debian:") {
            let what = "the package of its kernel, fetched by apt-get where it is not there yet, unpacked below plimsoll/kernels in the user's cache folder; nothing is installed";
            found.push(Effect::new(EffectKind::Writes, by("kernel"), what).on(name));
        } else {
            let what = format!("{} and the modules that belong to it", word(kernel));
            found.push(Effect::new(EffectKind::Reads, by("kernel"), what).on(name));
        }
        if experiment.needs_machine_files(name) {
            let what = "all files of this machine, by the guest's kernel, since programs of the machine run in it (virtiofsd, which cannot write to them)";
            let shared = Effect::new(EffectKind::Reads, by("kernel"), what).on(name);
            found.push(shared.needs_consent(Consent::Files).needs_root());
        }
        found
    }
}

fn check_append(host: &Host, here: [Part; 3]) -> Checked {
    let append = host.append.as_deref().unwrap_or_default();
    if append.len() > LONGEST_APPEND {
        return Err(problem(here, "these are too many boot parameters for the kernel", "at most 1500 bytes"));
    }
    if append.split_whitespace().any(|word| word == "--") || append.contains(char::is_control) {
        let message = "what follows `--`, or a line's end, is no boot parameter";
        return Err(problem(here, message, "boot parameters in one line, such as \"init_on_alloc=1\""));
    }
    Ok(())
}

/// A guest shares only files with the machine, and cannot write to them.
fn check_files(experiment: &Experiment, name: &str) -> Checked {
    for (volume, of) in experiment.volumes.iter().filter(|(_, volume)| volume.on == name) {
        check_volume(path!["volumes", volume, "on"], name, of)?;
    }
    let captured = experiment.capture.as_ref().map(|capture| capture.hosts(&experiment.loads));
    if captured.is_some_and(|hosts| hosts.iter().any(|host| host == name)) {
        return Err(problem(
            path!["capture"],
            format!("packets are not captured on a virtual machine, and `{name}` is one"),
            "`on` with the host across its link",
        ));
    }
    Ok(())
}

/// A guest has no disk of the machine's, but may have a file system in its memory.
fn check_volume(here: [Part; 3], name: &str, volume: &Volume) -> Checked {
    let image = volume.image.as_ref().filter(|image| {
        image.filesystem == Some(Filesystem::Ext4) && image.parent.is_none() && image.size.0 <= LARGEST_VOLUME
    });
    if image.is_some() && volume.queue.is_default() && volume.limit.is_none() {
        return Ok(());
    }
    let message = format!(
        "`{name}` is a virtual machine, which has none of this machine's disks and folders: its files are in its memory"
    );
    let expected = "`loop = { size = \"64M\", filesystem = \"ext4\" }`, of at most 256M and with no folder, queue or limit, or a host of kind \"namespace\"";
    Err(problem(here, message, expected))
}

/// Where its clock is no clock of the machine, nothing from outside can be timed in it.
fn check_clock(experiment: &Experiment, name: &str, host: &Host) -> Checked {
    if host.clock.is_real() {
        return Ok(());
    }
    let here = |key: &str| path!["hosts", name, key];
    if matches!(host.cpus, Cpus::Number(2..)) {
        return Err(problem(here("cpus"), "with a virtual clock there is one processor", "1, or no `cpus`"));
    }
    if experiment.hosts.len() > 1 {
        return Err(problem(
            here("clock"),
            "a virtual clock is of use only inside of one guest: no other host has the same time",
            "an experiment with this host alone, or `clock = \"real\"`",
        ));
    }
    if let Some(effect) = machine_files(experiment, name).first() {
        let message = format!(
            "{} ({}) needs files of this machine, and time would leap while `{name}` waits for them: its clock counts instructions",
            effect.what, effect.by
        );
        let expected = "built-in services and loads alone, or `clock = \"real\"`";
        return Err(problem(here("clock"), message, expected));
    }
    Ok(())
}

/// Parts of a host that need files of the machine: programs, and built-in parts that read some.
fn machine_files(experiment: &Experiment, name: &str) -> Vec<Effect> {
    let mut own = effects_on(experiment, name);
    own.retain(|effect| matches!(effect.kind, EffectKind::Program | EffectKind::Reads));
    own
}

/// Settings of guests, on a host that is none.
pub(super) fn refuse_guest_settings(name: &str, host: &Host) -> Checked {
    let given = [
        ("kernel", host.kernel.is_some()),
        ("append", host.append.is_some()),
        ("clock", !host.clock.is_real()),
        ("boot_within", host.boot_within.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(problem(
            path!["hosts", name, *key],
            format!("`{name}` has no kernel of its own: it is a {} host", host.kind.name()),
            "`kind = \"vm\"` and a `kernel`",
        )),
        None => Ok(()),
    }
}

impl Experiment {
    /// Whether something on a host needs files of the machine, be it a program. Any host but a guest has them anyhow.
    pub fn needs_machine_files(&self, host: &str) -> bool {
        !machine_files(self, host).is_empty()
    }

    /// The modules of the kernel that what runs on a host needs, where they are not built in.
    pub fn kernel_modules(&self, host: &str) -> BTreeSet<&'static str> {
        let loads = self.loads.values().filter(|load| load.from == host);
        let mut modules: BTreeSet<&'static str> =
            loads.flat_map(|load| load.kind.kernel_modules()).copied().collect();
        if self.needs_machine_files(host) {
            modules.extend(OF_PROGRAMS);
        }
        modules
    }
}

impl Host {
    /// The memory of a guest.
    pub fn guest_memory(&self) -> ByteSize {
        self.memory.unwrap_or(ByteSize(MEMORY))
    }

    /// How many processors a guest has.
    pub fn guest_cpus(&self) -> u32 {
        match self.cpus {
            Cpus::Number(number) => number,
            Cpus::These(_) => 1,
        }
    }

    /// How long a guest may take until its agent runs.
    pub fn guest_boot_within(&self) -> Span {
        self.boot_within.unwrap_or(Span(std::time::Duration::from_secs(BOOT_WITHIN_S)))
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{HostKind, parse};

    fn refusal(host: &str) -> Option<String> {
        let text = format!(
            "question = \"q\"\n[hosts.a]\n{host}\n[services.sink]\non = \"a\"\nbulk = {{}}\n[loads.l]\nfrom = \"a\"\nto = \"sink\"\n\
             bulk = {{ duration = \"1s\" }}\n[[phases]]\nname = \"p\"\nmeasure = \"l\"\n"
        );
        parse(&text, &[]).err().map(|error| error.message)
    }

    #[test]
    fn a_kernel_makes_a_virtual_machine_of_a_host() {
        let text = "question = \"q\"\n[hosts.a]\nkernel = \"debian:6.12\"\n[services.sink]\non = \"a\"\nbulk = {}\n[loads.l]\n\
                    from = \"a\"\nto = \"sink\"\nbulk = { duration = \"1s\" }\n[[phases]]\nname = \"p\"\nmeasure = \"l\"\n";
        let experiment = parse(text, &[]).unwrap();
        assert_eq!(experiment.hosts["a"].kind, HostKind::Vm);
    }

    #[test]
    fn settings_of_a_guest_that_make_no_sense_are_refused() {
        let kernel = "kernel = \"debian:6.12\"\n";
        assert_eq!(refusal(kernel), None);
        let cases = [
            ("kind = \"vm\"".to_owned(), "a virtual machine needs a kernel"),
            ("kernel = \"debian:\"".to_owned(), "this names no kernel"),
            ("append = \"quiet\"".to_owned(), "`a` has no kernel of its own: it is a namespace host"),
            (
                "kind = \"local\"\nkernel = \"/boot/vmlinuz\"".to_owned(),
                "`a` has no kernel of its own: it is a local host",
            ),
            (format!("{kernel}memory = \"32M\""), "33554432 is out of range"),
            (format!("{kernel}cpus = [0, 1]"), "has processors of its own"),
            (format!("{kernel}append = \"a -- b\""), "is no boot parameter"),
            (format!("{kernel}clock = \"virtual\"\ncpus = 2"), "there is one processor"),
        ];
        for (host, expected) in cases {
            let message = refusal(&host).unwrap_or_default();
            assert!(message.contains(expected), "{host}: {message}");
        }
    }
}
