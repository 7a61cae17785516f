//! Messages between controller and agent, over the agent's stdin and stdout.
//!
//! A frame is a length (4 bytes, big endian, of the rest) and a JSON object. The agent ends when its stdin does.

mod failure;
mod greeting;
mod stream;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use failure::{Between, Failure};
pub use greeting::Greeting;
pub use stream::{Frame, LONGEST_FRAME, read, write};

pub use crate::certificate::{CERTIFIED_NAME, Certificate, CertificateFile};
use crate::experiment::template::{NoMeaning, fill};
use crate::experiment::{ActionKind, Ready};
pub use crate::experiment::{LoadKind, ServiceKind};
use crate::observation::{
    CapturedFile, FlushFacts, LoadResult, MailLedger, Profile, Progress, Sample, SamplingCost, Snapshot,
};

/// Rises whenever a frame changes; controller and agent must agree on it.
pub const PROTOCOL: u32 = 15;

/// Names a service or a load within one agent's life.
pub type Id = u32;

/// From the controller to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// The first frame to an agent on a machine that is there already; answered by `Here`. Neither of the two ever changes, so that agents and
    /// controllers of different versions notice the difference.
    Greet {
        /// [`PROTOCOL`] of the controller.
        protocol: u32,
        /// Milliseconds of silence after which the controller counts as gone or disconnected. The agent then ends, with
        /// all that it started, and restores its changes.
        silence_ms: u64,
    },
    /// A sign of life, and a question after the time; answered by `Pong` at once, whatever else the agent does. Only after `Greet`.
    Ping {
        /// Repeated in the answer.
        number: u64,
    },
    /// The first frame, or the first after `Here`.
    Hello {
        /// [`PROTOCOL`] of the controller.
        protocol: u32,
        /// The host's name in the experiment.
        host: String,
        /// Settings under `/proc/sys`, each a dotted name and its value, to be written before anything starts.
        sysctls: Vec<(String, String)>,
        /// The CPUs to keep to; all when empty.
        cpus: Vec<u32>,
        /// Whether to read the counters of the whole machine beside the host's own: one host of a machine is enough.
        machine: bool,
        /// Whether the kernel is the host's own, so that any of its settings may be changed.
        own_kernel: bool,
        /// Whether the host's time counts instructions, so that figures can repeat exactly: loads then begin at the
        /// same distance from the kernel's timers in each run, and send no progress.
        virtual_clock: bool,
        /// Whether `BeginProfile` comes while something is measured, so that buffers are made before.
        profile: bool,
    },
    /// Start a service; answered by `Ready` or `Failed`.
    Start {
        /// The service's id.
        id: Id,
        /// The service to start.
        service: ServiceSpec,
    },
    /// Stop a service, with all processes that it made; answered by `Stopped`.
    Stop {
        /// The service's id.
        id: Id,
        /// Whether it is killed at once, and not asked to end before.
        kill: bool,
    },
    /// Run a load; answered by `Progress` now and then, and by `Finished` or `Failed` at the end.
    Run {
        /// The load's id.
        id: Id,
        /// What to run.
        load: LoadSpec,
        /// When to begin, by CLOCK_MONOTONIC_RAW of the host, in nanoseconds; at once without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<u64>,
    },
    /// Sample what the host's CPUs do from now on; answered by `Done`.
    BeginProfile {
        /// Repeated in the answer.
        id: Id,
    },
    /// Pause that; answered by `Done`.
    EndProfile {
        /// Repeated in the answer.
        id: Id,
    },
    /// Name what was sampled since this was asked last, which takes CPU time; answered by `Profiled` or `Failed`.
    TakeProfile {
        /// Repeated in the answer.
        id: Id,
    },
    /// End a load that runs before its time: it answers `Finished` with what it has found. One that has ended already is left alone.
    End {
        /// The load's id.
        id: Id,
    },
    /// Read all counters once, those of expensive files (slabinfo, processes) as well; answered by `Counters`.
    Snapshot {
        /// Repeated in the answer.
        id: Id,
    },
    /// Read the counters, without the expensive files, and remember them for `Changes`; answered by `Done` or `Failed`.
    Mark {
        /// Repeated in the answer.
        id: Id,
    },
    /// Read the counters, without the expensive files, and report their changes since the last `Mark`; answered by `Changed` or
    /// `Failed`.
    Changes {
        /// Repeated in the answer.
        id: Id,
    },
    /// Sample the counters from now on, `hz` times per second; 0 ends it, answered by `Sampled`.
    Sample {
        /// Times a second (0 to 100).
        hz: u32,
    },
    /// Wait until no TCP connection but the listening ones is left; answered by `Drained`.
    Drain {
        /// Repeated in the answer.
        id: Id,
        /// Whether a connection in TIME_WAIT counts as left.
        time_wait: bool,
        /// Give up after this number of milliseconds.
        give_up_ms: u64,
    },
    /// Capture packets from now on, until `EndCapture` with the same id; answered by `Done` or `Failed`.
    Capture {
        /// The capture's id.
        id: Id,
        /// What to capture, and where to write it.
        capture: CaptureSpec,
    },
    /// End a capture; answered by `Captured`.
    EndCapture {
        /// The capture's id.
        id: Id,
    },
    /// Read the list of a sink for mail; answered by `Ledger` or `Failed`.
    Ledger {
        /// Repeated in the answer.
        id: Id,
        /// The service's id.
        service: Id,
    },
    /// Read what a relay for mail has flushed since this was asked last; answered by `Flushes` or `Failed`.
    Flushes {
        /// Repeated in the answer.
        id: Id,
        /// The service's id.
        service: Id,
    },
    /// Report the last lines of a service's standard error; answered by `LastWords`.
    LastWords {
        /// Repeated in the answer.
        id: Id,
        /// The service's id.
        service: Id,
    },
    /// Report what the host is; answered by `Inventory` with the same id, or by `Failed`.
    Inventory(Id),
    /// Try to reach a service as a load would; answered by `Done` once that succeeds, or by `Failed` when the time for it is over.
    Reach {
        /// Repeated in the answer.
        id: Id,
        /// The addresses at which clients reach the service.
        targets: Vec<SocketAddr>,
        /// When it counts as ready.
        ready: Ready,
    },
    /// Do something to this host or to one of its services; answered by `Acted` or `Failed`.
    Act {
        /// Repeated in the answer.
        id: Id,
        /// The action.
        action: ActionKind,
        /// The service that it is done to, where it is one.
        service: Option<Id>,
        /// The volume that it is done to, where it is one.
        volume: Option<VolumePlace>,
    },
    /// Forget the routes that the kernel has cached for this host; answered by `Done` or `Failed`.
    FlushCaches {
        /// Repeated in the answer.
        id: Id,
    },
}

impl ToAgent {
    /// Whether an answer to it comes in any case.
    pub fn is_answered(&self) -> bool {
        match self {
            Self::End { .. } => false,
            Self::Sample { hz } => *hz == 0,
            _ => true,
        }
    }
}

/// From an agent to the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// Answers `Greet`.
    #[serde(rename = "here")]
    Greeting(Box<Greeting>),
    /// Answers `Ping`.
    Pong {
        /// From the request.
        number: u64,
        /// CLOCK_MONOTONIC_RAW when the request had come, in nanoseconds.
        received_ns: u64,
        /// When the agent handed this frame on, by the same clock.
        answered_ns: u64,
    },
    /// Answers `Hello`.
    Welcome {
        /// [`PROTOCOL`] of the agent.
        protocol: u32,
        /// The agent's process id in its own process namespace.
        pid: u32,
        /// CLOCK_MONOTONIC_RAW at the answer, in nanoseconds.
        at_ns: u64,
        /// Counters that cannot be read here, each with the reason.
        absent: Vec<String>,
    },
    /// A service is ready on these addresses.
    Ready {
        /// The service's id.
        id: Id,
        /// Where it listens.
        listen: Vec<SocketAddr>,
    },
    /// A service that was ready has ended by itself.
    Died {
        /// The service's id.
        id: Id,
        /// How it ended, in words.
        how: String,
        /// The last that it wrote to its standard error.
        stderr: String,
    },
    /// A service was stopped.
    Stopped {
        /// The service's id.
        id: Id,
    },
    /// A load is under way.
    Progress {
        /// The load's id.
        id: Id,
        /// Where it stands.
        progress: Progress,
    },
    /// A load has ended.
    Finished {
        /// The load's id.
        id: Id,
        /// Its result.
        result: Box<LoadResult>,
    },
    /// What the host's CPUs did between each `BeginProfile` and `EndProfile`.
    Profiled {
        /// From the request.
        id: Id,
        /// The samples. The controller knows which rig they are of.
        profile: Box<Profile>,
    },
    /// All counters, read once.
    Counters {
        /// From the request.
        id: Id,
        /// The counters.
        snapshot: Snapshot,
    },
    /// Changes of the counters since the last `Mark`.
    Changed {
        /// From the request.
        id: Id,
        /// By name, without those that did not change, and those that were not there both times; empty when nothing was ever marked.
        changes: BTreeMap<String, f64>,
        /// CPU time that the host's services used since then, in microseconds; absent where other services run now than then, or their time cannot be
        /// read.
        services_us: Option<u64>,
    },
    /// Samples taken since the last such frame.
    Samples {
        /// In order of time.
        samples: Vec<Sample>,
    },
    /// Sampling has ended.
    Sampled {
        /// Its cost.
        cost: SamplingCost,
    },
    /// The action is done.
    Acted {
        /// From the request.
        id: Id,
        /// Note to the reader; often empty.
        note: String,
    },
    /// No connection is left, or the time is over.
    Drained {
        /// From the request.
        id: Id,
        /// How long it took, in milliseconds.
        waited_ms: u64,
        /// How many were left at the end.
        left: u64,
    },
    /// A capture has ended, and all that arrived is in its files.
    Captured {
        /// The capture's id.
        id: Id,
        /// One file for each interface.
        files: Vec<CapturedFile>,
    },
    /// Messages of a sink for mail until now.
    Ledger {
        /// From the request.
        id: Id,
        /// Messages that it has taken.
        ledger: Box<MailLedger>,
    },
    /// Flushes of a relay for mail since the last request.
    Flushes {
        /// From the request.
        id: Id,
        /// Its flushes.
        flushes: FlushFacts,
    },
    /// The last that a service wrote to its standard error, until now.
    LastWords {
        /// From the request.
        id: Id,
        /// Its output; empty where there was none.
        text: String,
    },
    /// The host's inventory, as `plimsoll inventory --format json` writes it.
    Inventory(Id, serde_json::Value),
    /// An action without a result is done.
    Done {
        /// From the request.
        id: Id,
    },
    /// A request could not be carried out.
    Failed {
        /// From the request; absent when it belongs to none.
        id: Option<Id>,
        /// Why.
        why: Failure,
    },
}

impl FromAgent {
    /// Whether the frame is the answer to a request, and not a message by itself.
    pub fn answers(&self) -> bool {
        !matches!(self, Self::Pong { .. } | Self::Died { .. } | Self::Progress { .. } | Self::Samples { .. })
    }
}

/// A service, with every name resolved.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceSpec {
    /// Its name in the experiment.
    pub name: String,
    /// Where it is to listen. A port of 0 leaves the choice to the kernel.
    pub listen: Vec<SocketAddr>,
    /// The service that it passes connections on to.
    pub to: Vec<SocketAddr>,
    /// Its kind.
    pub kind: ServiceKind,
    /// Additional environment variables of a program of the user's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables of the agent's own environment that it gets, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// The configuration file of a program, as its author wrote it.
    pub template: Option<ServiceTemplate>,
    /// The certificate that it shows, where it may speak TLS.
    pub certificate: Option<Certificate>,
    /// Whether it keeps the agent's rights, where it is a program of its own.
    pub privileged: bool,
    /// Where it may keep files that outlive a restart of it. The agent chooses the place.
    pub folder: Option<PathBuf>,
    /// When it counts as ready.
    pub ready: Ready,
    /// Who reaches it, where it is a program that chooses itself what it listens on: it is ready when it is reached there. None where nobody does, or
    /// where `listen` says enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approaches: Vec<Approach>,
}

/// A configuration file as its author wrote it, and what the names in it stand for, beside the addresses of the service itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceTemplate {
    /// The name of the file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Values of `values.NAME`.
    pub values: BTreeMap<String, String>,
    /// Where further services are reached.
    pub peers: BTreeMap<String, Vec<SocketAddr>>,
}

impl ServiceTemplate {
    /// The file for a service that listens here, and may write to a folder.
    ///
    /// # Errors
    /// When a name in it stands for nothing.
    pub fn fill(&self, listen: SocketAddr, to: &[SocketAddr], scratch: &str) -> Result<String, NoMeaning> {
        let at = |addresses: &[SocketAddr], part: Option<&str>| {
            let first = addresses.first()?;
            match part {
                None => Some(first.to_string()),
                Some("address") => Some(first.ip().to_string()),
                Some("port") => Some(first.port().to_string()),
                Some(_) => None,
            }
        };
        fill(&self.text, |name| {
            let mut parts = name.split('.');
            match parts.next()? {
                "port" => Some(listen.port().to_string()),
                "address" => Some(listen.ip().to_string()),
                "scratch" => Some(scratch.to_owned()),
                "tls" => {
                    let file = CertificateFile::named(parts.next()?)?;
                    Some(format!("{scratch}/{}", file.name()))
                }
                "to" => at(to, parts.next()),
                "values" => self.values.get(parts.next()?).cloned(),
                "peers" => at(self.peers.get(parts.next()?)?, parts.next()),
                _ => None,
            }
        })
    }
}

/// From where a service is reached, and at which address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approach {
    /// The host that it is reached from.
    pub host: String,
    /// That host's address.
    pub from: IpAddr,
    /// The service's address, as that host knows it.
    pub at: IpAddr,
}

/// The servers that a load trusts over TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Those whose certificate the run's own authority has signed. Its certificate, in PEM.
    Authority(String),
    /// Any that has the key of its certificate: a server that ran before has a certificate of its own.
    AnySigner,
}

/// A load, with every name resolved.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// Its name in the experiment.
    pub name: String,
    /// Where it aims; connections go to each in turn.
    pub targets: Vec<SocketAddr>,
    /// The addresses to connect from, in turn; none to leave the choice to the kernel.
    pub sources: Vec<IpAddr>,
    /// The servers that the load trusts over TLS; absent if it may not speak TLS.
    pub trust: Option<Trust>,
    /// The volume that a storage load aims at.
    pub volume: Option<VolumePlace>,
    /// Its kind.
    pub kind: LoadKind,
}

/// How the name of a file of captured packets ends; it is what its format is called, too.
pub const CAPTURE_ENDING: &str = "pcapng";

/// A capture, with every name resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureSpec {
    /// The folder of its files, which is made where it is not there yet.
    pub folder: String,
    /// How the names of its files begin; the interface and the ending follow.
    pub name: String,
    /// Capture only on interfaces that have one of these addresses; on all that are up where there is none.
    pub addresses: Vec<IpAddr>,
    /// Ports of which a packet must have one, on either side.
    pub ports: Vec<u16>,
    /// How many bytes of each packet are kept.
    pub snap: u32,
    /// How many bytes the ring of each interface has.
    pub ring: u64,
}

/// A volume as the agent of its host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumePlace {
    /// Its name in the experiment.
    pub name: String,
    /// Where it is: a folder, or a block device.
    pub path: PathBuf,
    /// Whether it may be written to.
    pub writable: bool,
}
