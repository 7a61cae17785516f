//! Kinds of hosts: a file for each kind, and the list of all.

mod local;
mod namespace;
pub mod reach;
mod remote;
mod vm;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::{Checked, Part, declared, in_range, problem};
use super::{Cpus, Experiment, Host, Phase, hook};
use crate::effect::{Effect, EffectKind};

pub use reach::{Address, Allow, Kubernetes, Reach, Slurm};
pub use vm::GuestClock;

/// Resources that a kind of host has to itself. All others are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnResources {
    /// Interfaces, links, addresses, routes, and the settings of the network.
    pub network: bool,
    /// The whole kernel, with all of its settings and counters, and its processors.
    pub kernel: bool,
    /// Files: what is written to those of the machine stays in the host, and its disks are not there.
    pub files: bool,
}

/// Properties of each kind of host.
trait HostType {
    /// Resources that its hosts have to themselves.
    fn own(&self) -> OwnResources;

    /// Description of the kind, in words.
    fn describe(&self) -> &'static str;

    /// Its name in a table.
    fn title(&self) -> &'static str;

    /// First setting of this host that this kind does not support.
    fn check(&self, experiment: &Experiment, name: &str, host: &Host) -> Checked;

    /// Effects of such a host on the machine.
    fn effects(&self, experiment: &Experiment, name: &str, host: &Host) -> Vec<Effect>;
}

/// Makes, from one list, the enum of the kinds of hosts, and the conversion from each to its properties.
macro_rules! host_kinds {
    ($($(#[$doc:meta])* $name:literal $kind:ident: $type:expr,)+) => {
        /// Kind of a host.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum HostKind {
            $($(#[$doc])* $kind,)+
        }

        impl HostKind {
            fn of(self) -> &'static dyn HostType {
                match self {
                    $(Self::$kind => &$type,)+
                }
            }

            /// Name in a file.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

host_kinds! {
    /// Network, process and mount namespaces of its own (in a user namespace of the run's own where the user is not root).
    #[default]
    "namespace" Namespace: namespace::Namespace,
    /// A process on this machine, on a loopback address of its own. Counters are then the machine's, links and routes do not exist,
    /// and nothing can be rebuilt.
    "local" Local: local::Local,
    /// A virtual machine (QEMU) with the kernel that `kernel` names.
    "vm" Vm: vm::Vm,
    /// A machine that is there already, and that `reach` leads to. Nothing of it is rebuilt for a trial, and nothing is changed that `allow`
    /// does not name.
    "remote" Remote: remote::Remote,
}

impl HostKind {
    /// Resources that its hosts have to themselves.
    pub fn own(self) -> OwnResources {
        self.of().own()
    }

    /// The kind in words.
    pub fn describe(self) -> &'static str {
        self.of().describe()
    }

    /// Its name in a table.
    pub fn title(self) -> &'static str {
        self.of().title()
    }

    /// First setting of this host that its kind does not support.
    pub(super) fn check(self, experiment: &Experiment, name: &str, host: &Host) -> Checked {
        self.of().check(experiment, name, host)
    }

    /// Effects of such a host on the machine.
    pub(crate) fn effects(self, experiment: &Experiment, name: &str, host: &Host) -> Vec<Effect> {
        self.of().effects(experiment, name, host)
    }
}

impl Host {
    /// The first setting that makes no sense.
    pub(super) fn check(&self, experiment: &Experiment, name: &String) -> Checked {
        // The name becomes part of the names of links (15 bytes in the kernel) and of the control's hosts.
        let fits = !name.is_empty()
            && name.len() <= 11
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if !fits {
            return Err(problem(
                path!["hosts", name],
                format!("`{name}` cannot be the name of a host"),
                "1 to 11 letters, digits, `-` or `_`",
            ));
        }
        remote::refuse_settings_of_remote(name, self)?;
        self.kind.check(experiment, name, self)?;
        self.check_translation(experiment, name)?;
        hook::of_host(name, self)?;
        if let Some(mtu) = self.loopback_mtu {
            if !self.kind.own().network {
                let message = "a local host shares the machine's loopback interface";
                let expected = "this only on a host of kind \"namespace\"";
                return Err(problem(path!["hosts", name, "loopback_mtu"], message, expected));
            }
            in_range(u64::from(mtu), 68, 65_536, path!["hosts", name, "loopback_mtu"])?;
        }
        if let Some(memory) = self.memory {
            in_range(memory.0, 16 << 20, 1 << 50, path!["hosts", name, "memory"])?;
        }
        if self.cpus == Cpus::Number(0) {
            return Err(problem(
                path!["hosts", name, "cpus"],
                "a host needs a CPU",
                "a number from 1, or a list",
            ));
        }
        Ok(())
    }

    /// Addresses beside those of links, and what they are for.
    fn check_translation(&self, experiment: &Experiment, name: &String) -> Checked {
        in_range(u64::from(self.addresses), 0, 250, path!["hosts", name, "addresses"])?;
        let Some(nat) = &self.nat else { return Ok(()) };
        if !self.forward {
            return Err(problem(
                path!["hosts", name, "nat"],
                format!("`{name}` forwards no packets that it could translate"),
                "`forward = true` on the same host",
            ));
        }
        if nat.of.is_empty() {
            return Err(problem(
                path!["hosts", name, "nat", "of"],
                "nobody's packets are translated",
                "at least one host",
            ));
        }
        nat.of.iter().enumerate().try_for_each(|(index, of)| {
            declared(of, &experiment.hosts, "host", path!["hosts", name, "nat", "of", index])
        })
    }
}

/// Effects of services, loads, steps and hooks on a host.
fn effects_on(experiment: &Experiment, name: &str) -> Vec<Effect> {
    let services = experiment.services.iter().flat_map(|(of, service)| service.effects(experiment, of));
    let loads = experiment.loads.iter().flat_map(|(of, load)| load.effects(experiment, of));
    let phases = experiment.all_phases().flat_map(Phase::effects);
    let all = services.chain(loads).chain(phases).chain(hook::effects(experiment));
    // Hooks of a group are listed once, for the group.
    let group = experiment.hosts.get(name).and_then(|host| host.member_of.as_deref());
    all.filter(|effect| effect.host.as_deref().is_some_and(|on| on == name || Some(on) == group)).collect()
}

/// Programs of the machine that start on a host.
fn programs(experiment: &Experiment, name: &str) -> Vec<Effect> {
    let mut all = effects_on(experiment, name);
    all.retain(|effect| effect.kind == EffectKind::Program);
    all
}

impl Experiment {
    /// Whether any host has a kernel of its own.
    pub fn has_own_kernels(&self) -> bool {
        self.hosts.values().any(|host| host.kind.own().kernel)
    }
}

impl Host {
    /// A host for which a kernel is named is a guest, whether its kind says so or nothing.
    pub(super) fn take_kernel(&mut self) {
        if self.kernel.is_some() && self.kind == HostKind::default() {
            self.kind = HostKind::Vm;
        }
    }
}
