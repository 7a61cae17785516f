//! The experiment file: a question, and the rig that answers it.
//!
//! These are the types of the TOML text as written; [`parse`] reads them and locates errors, and [`crate::plan`]
//! resolves the names in them. The JSON Schema in the reference is generated from these types, so their comments are what users read.

#[macro_use]
mod kinds;
#[macro_use]
pub mod problem;
#[macro_use]
pub mod expect;

pub mod action;
pub mod capture;
pub mod claim;
pub mod cpus;
mod group;
pub mod hook;
pub mod host;
pub mod limit;
pub mod link;
pub mod load;
pub mod metric;
pub mod open_loop;
pub mod phase;
mod placeholder;
mod prelude;
pub mod service;
mod share;
pub mod storage;
pub mod sysctl;

mod parse;
mod validate;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use action::*;
pub use capture::Capture;
pub use claim::*;
pub use cpus::Cpus;
pub use hook::{Hook, HookMoment, PhaseHook};
pub use host::{Address, Allow, GuestClock, HostKind, Kubernetes, OwnResources, Reach, Slurm};
pub use limit::Search;
pub use link::{AskedOfNetem, GrantedByNetem, Link, LinkDirection, LinkShaper, Offloads};
pub use load::bulk::{BLOCK, Direction, SendBy};
pub use load::kinds::*;
pub use load::{Carrier, Load, LoadFacts, LoadKind, Target};
pub use metric::Metric;
pub(crate) use parse::limits;
pub use parse::limits::LARGEST_FILE;
pub use parse::{FileError, Override, parse, parse_value};
pub use phase::*;
pub use problem::nearest;
pub use service::*;

pub use load::storage::{Access, CacheState, StorageEngine, SyncBy};
pub use storage::{BackgroundLoad, DeviceLimit, Filesystem, FolderVolume, LoopVolume, Queueing, Volume};

use crate::units::{ByteSize, PortRange, Span};

/// An experiment: a question, and the hosts, links, services, loads and phases that answer it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The question that the experiment answers, in one line.
    pub question: String,
    /// Where the JSON Schema of such files is (`plimsoll check --schema` prints it), for editors that complete and check; nothing is read from
    /// there.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Stressed parts of the system and the reason, for `plimsoll describe`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The hosts, by name. Each is a network namespace of its own unless it says otherwise.
    pub hosts: BTreeMap<String, Host>,
    /// The links between hosts. Routes follow from them: every host reaches every other over the fewest links.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Services under test, or in the path, by name.
    #[serde(default)]
    pub services: BTreeMap<String, Service>,
    /// Where storage loads read and write and relays keep their queues, by name. What is made for them is gone after the trial.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, Volume>,
    /// The generators, by name.
    #[serde(default)]
    pub loads: BTreeMap<String, Load>,
    /// Loads that are there beside those that are measured, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub background: BTreeMap<String, BackgroundLoad>,
    /// Steps of a trial, in order.
    pub phases: Vec<Phase>,
    /// A second rig of the same kind that is spared some phases, so that drift of the machine is not taken for an effect.
    pub control: Option<Control>,
    /// Which packets are captured while it is measured; without it, none.
    pub capture: Option<Capture>,
    /// Factors that trials vary, by name. All combinations of the levels are run, each block of them in random order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, Factor>,
    /// The combinations of levels to run, each a level for every factor, such as `{ server = "6.1", client = "6.12" }`; by default all there
    /// are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<BTreeMap<String, serde_json::Value>>,
    /// Claims to judge.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Remedies to try when the verdict is `not_recovered`.
    pub remedies: Option<Remedies>,
    /// How often to repeat, and how often to sample.
    #[serde(default)]
    pub run: RunOptions,
    /// Settings that `--quick` applies, each a path and its value, as with `--set`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quick: BTreeMap<String, serde_json::Value>,
}

impl Experiment {
    /// Metric that users usually want of the load that a phase measures.
    pub fn usual_metric(&self, phase: &str) -> Option<Metric> {
        Some(self.load_of(phase)?.kind.usual_metric())
    }

    /// The services that serve a load: the one that it goes to, and those that requests are passed on to, in this order.
    pub fn serving<'e>(&'e self, load: &'e Load) -> Vec<(&'e String, &'e Service)> {
        let mut serving: Vec<(&String, &Service)> = Vec::new();
        let mut next = Some(load.to.as_str());
        while let Some((name, service)) = next.and_then(|name| self.services.get_key_value(name)) {
            // Connections may be passed on in a circle, which `check` does not know of.
            if serving.iter().any(|(known, _)| *known == name) {
                break;
            }
            serving.push((name, service));
            next = service.onward();
        }
        serving
    }

    /// The load that a phase measures.
    pub(crate) fn load_of(&self, phase: &str) -> Option<&Load> {
        self.loads.get(self.measured_load(phase)?)
    }

    /// The load behind the results that are recorded under a phase's name, whether the phase measures it or only drives it.
    pub fn recorded_load(&self, recorded: &str) -> Option<&Load> {
        let phase = self.phase_recorded_as(recorded)?;
        let place = phase.recorded_as().iter().position(|name| name == recorded)?;
        self.loads.get(phase.loads().get(place)?)
    }
}

/// A place where services and loads run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Kind of the host.
    #[serde(default)]
    pub kind: HostKind,
    /// Whether it forwards packets between its links.
    #[serde(default)]
    pub forward: bool,
    /// Settings under `/proc/sys`, such as `"net.ipv4.tcp_syncookies" = 0`. Those of the host's own namespaces need no privilege. Those of the
    /// whole machine (`"vm.swappiness" = 10`) need root; they hold for a trial, and are put back after it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, SysctlValue>,
    /// The CPUs that its processes may use: how many (`1`), or which (`[0, 2]`); all without it. A virtual machine has that many processors, and
    /// one without it.
    #[serde(default, skip_serializing_if = "Cpus::are_all")]
    pub cpus: Cpus,
    /// The memory that its processes may use, the page cache of what they read and write among it (from 16M); as much as there is without
    /// it. They get no swap beside it. Needs root, and the memory controller of control groups. A virtual machine has that much (from 128M, 512M
    /// without it), which needs neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// How many addresses it has beside those of its links (0 to 250). Loads from it use them in turn, as if each were a client of its own,
    /// and `nat` takes them for its pool.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub addresses: u32,
    /// Changes to the addresses of packets that it forwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nat: Option<Nat>,
    /// The kernel of a virtual machine; a host for which one is named is of this kind. `"debian:6.12"` is the newest of Debian's kernels for virtual
    /// machines whose version begins so, as the system's apt knows them. Others are the path of a `.deb` of a kernel; or the path of an image
    /// (`/boot/vmlinuz-...`, `arch/x86/boot/bzImage` of a build tree), with the modules that belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Boot parameters of a virtual machine's kernel beside Plimsoll's own, such as `"init_on_alloc=1 mitigations=off"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
    /// Clock of a virtual machine.
    #[serde(default, skip_serializing_if = "GuestClock::is_real")]
    pub clock: GuestClock,
    /// How long a virtual machine may take until its agent runs (1 s to 1 h; 2 min without it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_within: Option<Span>,
    /// How a machine is reached that is there already; a host that says so is of this kind, and then all hosts have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// The address of an existing machine, by which the other hosts reach it: `"192.0.2.7"`, or one for each of them
    /// (`{ client = "192.0.2.7", db = "198.51.100.7" }`). Without it, the address by which ssh or srun reached it, or the only one that it has. It has to be
    /// the machine's own, unless `--allow-target` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Permitted changes on a machine that is there already: `["sysctl", "service", "root"]`; none without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allow>,
    /// How long nothing may be heard from a machine that is there already (2 s to 10 min; 30 s without it). Then the trial is given up here, and the
    /// agent there ends, with all that it started, and puts back what it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<Span>,
    /// Programs that are run on it when it is there, before its services are started, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Hook>,
    /// Programs that are run on it before each phase that runs a load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before_each: Vec<Hook>,
    /// Programs that are run on it after each phase that runs a load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_each: Vec<Hook>,
    /// Programs that are run on it at the end of a trial, also where that failed or was interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<Hook>,
    /// The largest packet of its loopback interface, in bytes (68 to 65536); the kernel's default, 65536, without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback_mtu: Option<u32>,
    /// How many such hosts there are (1 to 1000): a group. Links that join it join each of them, and a load from it runs on all of them at
    /// once, on each as it is written, and counts as one. Services and volumes are on hosts that are no group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The group that it was made for.
    #[serde(skip)]
    pub member_of: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Translation of source addresses: packets of some hosts leave under the address of the host that forwards them, as behind a home
/// router. It becomes one of the forwarding host's `addresses`, or, where it has none, that of the link that the packet leaves by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nat {
    /// The hosts whose packets are translated.
    pub of: Vec<String>,
    /// The ports that all of them share; without it, each connection keeps its port where that is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortRange>,
}

/// The value of a kernel setting: a number, or text for settings of several numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SysctlValue {
    /// A number.
    Number(i64),
    /// Text, written as it is.
    Text(String),
}

impl std::fmt::Display for SysctlValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The control: the same rig, on hosts of its own, interleaved with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The phases that the control sits out.
    pub idle_in: Vec<String>,
}

/// A setting that varies between trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The setting that it varies, as a path into this file: `services.web.web.clients`; or several, which take the same value.
    pub set: Paths,
    /// The values that the setting takes.
    pub levels: Vec<serde_json::Value>,
}

/// One path into the experiment file, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// One path.
    One(String),
    /// Several, at least one.
    Several(Vec<String>),
}

impl Paths {
    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Several(paths) => paths.as_slice(),
        }
        .iter()
        .map(String::as_str)
    }
}

/// Removes the schema's default, where it depends on another setting in the file.
fn forget_default(schema: &mut schemars::Schema) {
    schema.remove("default");
}

/// The ladder to climb when the figure does not come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remedies {
    /// The service to restart; the last rung rebuilds its host.
    pub service: String,
    /// The rungs, in the order in which they are tried.
    #[serde(default = "Remedies::default_ladder")]
    pub ladder: Vec<Rung>,
    /// How long the first rung waits.
    #[serde(default = "Span::of_secs::<10>")]
    pub wait: Span,
}

impl Remedies {
    fn default_ladder() -> Vec<Rung> {
        vec![Rung::WaitLonger, Rung::RestartService, Rung::DropCaches, Rung::RebuildHost]
    }
}

/// One thing to try.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Rung {
    /// Leave it alone for longer.
    WaitLonger,
    /// Stop and start the service.
    RestartService,
    /// Drop the kernel's page, dentry and inode caches (`/proc/sys/vm/drop_caches`, needs root) and the host's cached routes.
    DropCaches,
    /// Rebuild the service's host: for a namespace that is all of its kernel state.
    RebuildHost,
}

impl Rung {
    /// The public name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How often to repeat, and how often to sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// The fewest trials of each cell (1 or more).
    pub min_trials: u32,
    /// The most trials of each cell; the run ends sooner when every claim is decided. By default 3; 12 with a `difference` or an
    /// `interaction` claim, whose scatter fewer blocks show badly.
    pub max_trials: u32,
    /// No trial begins after this time, once the fewest are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Span>,
    /// How often the kernel's counters are sampled, per second (1 to 100).
    pub sample_hz: u32,
    /// Whether there are probes at all while a load runs: the sampled counters, and `[capture]`. Counters are read once before and once
    /// after each load in any case.
    pub probes: bool,
    /// Whether functions are sampled in which the CPUs are: with probes, while loads run; on a guest whose clock counts instructions, while each
    /// measured load runs once more at the end of the first trial.
    pub profile: bool,
}

impl RunOptions {
    /// The most trials of each cell where the file does not say.
    pub(crate) const MOST_OF_A_COMPARISON: u32 = 12;
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { min_trials: 1, max_trials: 3, budget: None, sample_hz: 2, probes: true, profile: true }
    }
}
