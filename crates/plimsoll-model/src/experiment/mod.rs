//! The experiment file: a question, and the rig that answers it.
//!
//! These are the types of the TOML text as written; [`parse`] reads them and tells where an error stands, and [`crate::plan`]
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
pub mod host;
pub mod limit;
pub mod link;
pub mod load;
pub mod metric;
pub mod open_loop;
pub mod service;
mod share;
pub mod storage;
pub mod sysctl;

mod parse;
mod validate;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use action::{Action, FlushRules, RestartService, RunProgram, SendSignal, SetSysctls, SignalName};
pub use capture::Capture;
pub use claim::*;
pub use cpus::Cpus;
pub use expect::Expectation;
pub use host::{GuestClock, HostKind, Own};
pub use limit::Search;
pub use link::{AskedOfNetem, GrantedByNetem, Link, LinkShaper, Way};
pub use load::bulk::{BulkLoad, Direction, SendBy};
pub use load::diagnose::DiagnoseLoad;
pub use load::hops::HopsLoad;
pub use load::http::HttpLoad;
pub use load::mail::SmtpLoad;
pub use load::messaging::MessagingLoad;
pub use load::udp::UdpLoad;
pub use load::{Carrier, Load, LoadFacts, LoadKind, Target};
pub use metric::Metric;
pub use parse::{FileError, Override, parse, parse_value};
pub use problem::nearest;
pub use service::{
    ApacheService, BulkService, Durability, ExecService, HaproxyService, Leak, MailRelayService,
    NginxService, Outage, PassBy, PostfixService, ProxyMode, Ready, RelayService, Service, ServiceKind,
    SmtpSinkService, Take, TcpProxyService, WebModel, WebService,
};

pub use load::storage::{Access, CacheState, StorageEngine, StorageLoad, SyncBy};
pub use storage::{BackgroundLoad, DeviceLimit, Filesystem, FolderVolume, LoopVolume, Queueing, Volume};

use crate::units::{ByteSize, PortRange, Span};

/// An experiment: a question, and the hosts, links, services, loads and phases that answer it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The question that the experiment answers, in one line.
    pub question: String,
    /// What it stresses and why, for `plimsoll describe`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The hosts, by name. Each is a network namespace of its own unless it says otherwise.
    pub hosts: BTreeMap<String, Host>,
    /// The links between hosts. Routes follow from them: every host reaches every other over the fewest links.
    #[serde(default)]
    pub links: Vec<Link>,
    /// What is under test, or in its way, by name.
    #[serde(default)]
    pub services: BTreeMap<String, Service>,
    /// Where storage loads read and write and relays keep their queues, by name. What is made for them is gone after the trial.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, Volume>,
    /// The generators, by name.
    #[serde(default)]
    pub loads: BTreeMap<String, Load>,
    /// Loads that are there beside those that are measured, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", alias = "neighbours")]
    pub background: BTreeMap<String, BackgroundLoad>,
    /// What happens in a trial, in order.
    pub phases: Vec<Phase>,
    /// A second rig of the same kind that is spared some phases, so that drift of the machine is not taken for an effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Which packets are captured while it is measured; without it, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// What is varied between trials, by name. All combinations of the levels are run, each block of them in random order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, Factor>,
    /// The combinations of levels to run, each a level for every factor, such as `{ server = "6.1", client = "6.12" }`; by default all there
    /// are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<BTreeMap<String, serde_json::Value>>,
    /// What is to be judged.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What to try when the verdict is `not_recovered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedies: Option<Remedies>,
    /// How often to repeat, and how often to sample.
    #[serde(default)]
    pub run: RunOptions,
    /// Settings that `--quick` applies, each a path and its value, as with `--set`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quick: BTreeMap<String, serde_json::Value>,
}

impl Experiment {
    /// All phases in the order of the file, each before the steps inside it.
    pub fn all_phases(&self) -> impl Iterator<Item = &Phase> {
        let mut waiting: Vec<&Phase> = self.phases.iter().rev().collect();
        std::iter::from_fn(move || {
            let phase = waiting.pop()?;
            waiting.extend(phase.steps.iter().rev());
            Some(phase)
        })
    }

    /// What is usually asked of the load that a phase measures.
    #[must_use]
    pub fn usual_metric(&self, phase: &str) -> Option<Metric> {
        Some(self.load_of(phase)?.kind.usual_metric())
    }

    /// The load that a phase measures.
    pub(crate) fn load_of(&self, phase: &str) -> Option<&Load> {
        let mut named = self.all_phases().filter(|it| it.name == phase);
        self.loads.get(named.find_map(|phase| phase.measure.as_ref())?)
    }
}

/// A place where services and loads run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What the host is made of.
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
    /// What it makes of the addresses of packets that it forwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nat: Option<Nat>,
    /// The kernel of a virtual machine; a host for which one is named is of this kind. `"debian:6.12"`: the newest of Debian's kernels for virtual
    /// machines whose version begins so, as the system's apt knows them; the path of a `.deb` of a kernel; or the path of an image
    /// (`/boot/vmlinuz-...`, `arch/x86/boot/bzImage` of a build tree), with the modules that belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Boot parameters of a virtual machine's kernel beside Plimsoll's own, such as `"init_on_alloc=1 mitigations=off"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
    /// What a virtual machine takes for time.
    #[serde(default, skip_serializing_if = "GuestClock::is_real")]
    pub clock: GuestClock,
    /// How long a virtual machine may take until its agent runs (1 s to 1 h; 2 min without it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_within: Option<Span>,
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

/// A named stretch of a trial. Exactly one of `measure`, `drive`, `do`, `settle`, `stop`, `start`, `watch`, `search` and `steps` says what
/// happens in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its name, by which claims refer to it.
    pub name: String,
    /// Run this load and count it. With a control the load is cut into `slices` that alternate between the two rigs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// How many slices a measured load is cut into (1 to 10000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<u32>,
    /// Go on with further slices, up to so many in all, while the figure is not yet sure enough for the claim that it serves. Whether it is
    /// good or bad does not matter for that, only how much the slices scatter, so that the figure stays unbiased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_slices: Option<u32>,
    /// How long such further slices may go on; without it, as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extend_for: Option<Span>,
    /// How often to run the measured load beforehand without counting it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u32>,
    /// The measured time of a load of mail goes on until all mail that was acknowledged in the trial has arrived at this sink: what is measured
    /// is then how much a relay delivers, and not only how much it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_delivered: Option<String>,
    /// Run this load for its effect: it is recorded, but is no measurement of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Do these things, one after the other, on the rigs that do not sit this phase out: run a program on a host, change its settings, send a
    /// service a signal.
    #[serde(default, rename = "do", skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// Leave out what `do` says: as a factor (`phases.NAME.skip`), a trial with the step and one without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip: bool,
    /// Wait until the hosts have come to rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
    /// Stop this service. What is connected to it is cut off, and nobody can reach it until a later phase starts it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Start this service again, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Measure small windows until several in a row are as good as the baseline: this finds the time to recover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// Offer a load at rates that follow from what was found before, until the highest is known that holds a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Steps that are carried out in order, as often as `repeat` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Phase>,
    /// How often to carry out the steps (1 to 10000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The longest that the phase may take; past it the trial is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Span>,
}

impl Phase {
    /// A phase that does these things.
    pub(crate) fn doing(name: &str, actions: Vec<Action>) -> Self {
        Self {
            name: name.to_owned(),
            measure: None,
            slices: None,
            most_slices: None,
            extend_for: None,
            warm_up: None,
            until_delivered: None,
            drive: None,
            actions,
            skip: false,
            settle: None,
            stop: None,
            start: None,
            watch: None,
            search: None,
            steps: Vec::new(),
            repeat: None,
            at_most: None,
        }
    }
}

/// What to wait for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Wait at least this long.
    #[serde(default)]
    pub at_least: Span,
    /// Then until no TCP connection is left on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drained: Option<String>,
    /// Then until all mail that was acknowledged to a load of the trial has arrived at this sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<String>,
    /// Whether a connection in TIME_WAIT counts as left.
    #[serde(default)]
    pub time_wait: bool,
}

/// How to look for the time to recover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The load of which windows are measured.
    pub load: String,
    /// The measured phase that a window is compared with.
    pub against: String,
    /// Connections (or requests) in a window.
    #[serde(default = "Watch::default_connections")]
    pub connections: u64,
    /// From the start of one window to the start of the next.
    #[serde(default = "Watch::default_every")]
    pub every: Span,
    /// How many windows in a row must pass.
    #[serde(default = "Watch::default_windows")]
    pub windows: u32,
    /// When to give up looking; the trial then goes on.
    pub give_up: Span,
}

impl Watch {
    fn default_connections() -> u64 {
        50
    }
    fn default_every() -> Span {
        Span::millis(500)
    }
    fn default_windows() -> u32 {
        3
    }
}

/// The control: the same rig, on hosts of its own, interleaved with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The phases that the control sits out.
    pub idle_in: Vec<String>,
}

/// Something that is varied between trials.
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

/// For what has no default of its own: it depends on something else in the file.
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
    #[serde(default = "Remedies::default_wait")]
    pub wait: Span,
}

impl Remedies {
    fn default_ladder() -> Vec<Rung> {
        vec![Rung::WaitLonger, Rung::RestartService, Rung::DropCaches, Rung::RebuildHost]
    }
    fn default_wait() -> Span {
        Span::secs(10)
    }
}

/// One thing to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Leave it alone for longer.
    WaitLonger,
    /// Stop and start the service.
    RestartService,
    /// Drop the kernel's page, dentry and inode caches (`/proc/sys/vm/drop_caches`, needs root) and the host's cached routes.
    DropCaches,
    /// Make the service's host anew: for a namespace that is all of its kernel state.
    RebuildHost,
}

impl Rung {
    /// The public name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WaitLonger => "wait_longer",
            Self::RestartService => "restart_service",
            Self::DropCaches => "drop_caches",
            Self::RebuildHost => "rebuild_host",
        }
    }
}

/// How often to repeat, and how often to sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// The fewest trials of each cell (1 or more).
    pub min_trials: u32,
    /// The most trials of each cell; the run ends sooner when every claim is decided. By default 3; 12 with a `difference` or an
    /// `interaction` claim, which fewer than 6 blocks cannot decide.
    pub max_trials: u32,
    /// No trial begins after so long, once the fewest are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Span>,
    /// How often the kernel's counters are sampled, per second (1 to 100).
    pub sample_hz: u32,
    /// Whether there are probes at all while a load runs: the sampled counters, and `[capture]`. Counters are read once before and once
    /// after each load in any case.
    pub probes: bool,
}

impl RunOptions {
    /// The most trials of each cell where the file does not say.
    pub(crate) const MOST_OF_A_COMPARISON: u32 = 12;
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { min_trials: 1, max_trials: 3, budget: None, sample_hz: 2, probes: true }
    }
}
