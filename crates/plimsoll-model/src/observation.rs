//! Raw facts of a trial, as they are stored. Rates are derived from them, here, and never stored.

mod capture;
mod cpu;
mod figure;
mod group;
mod profile;
mod seen;
mod steady;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use capture::{CaptureRecord, CapturedFile, ClassTime, Traffic};
pub use cpu::CpuTime;
pub use figure::pooled;
pub use profile::{
    CallCount, Frame, FrameKind, FunctionSamples, Profile, ProfileBuilder, ProfileClock, StackNode,
    TracedCall, is_helper, program_of,
};
pub use seen::{
    BlockIo, CpuUse, FailedCalls, IoLimit, ProcessState, Seen, ServiceMember, StateKind, Throttled, Wait,
    WaitSite,
};
pub use steady::SteadyStreams;

use crate::experiment::load::OfKind;
pub use crate::experiment::load::bulk::BulkFacts;
pub use crate::experiment::load::diagnose::{DiagnoseFacts, PathFacts, TcpLimits, Train};
pub use crate::experiment::load::hops::{ProbedHop, ProbedPath, ProbedSize};
pub use crate::experiment::load::smtp::{CommandLatency, MailFacts};
pub use crate::experiment::load::storage::StorageFacts;
pub use crate::experiment::load::streams::{Stream, TcpState};
pub use crate::experiment::load::udp::Datagrams;
use crate::experiment::{LoadFacts, Metric, Rung};
pub use crate::histogram::{Histogram, Percentiles};
use crate::ids::IdSet;
pub use crate::phase_kind::PhaseKind;

/// Why a connection or a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The connection was refused (RST to the SYN).
    Refused,
    /// The connection was not made in time.
    ConnectTimeout,
    /// The TLS handshake failed.
    Handshake,
    /// The answer did not come in time.
    Timeout,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the answer was complete.
    Truncated,
    /// Bytes that are not of the protocol.
    Garbage,
    /// The status was not 2xx.
    Status,
    /// The server refused for now (an SMTP reply of 4xx, SERVFAIL of DNS, a transaction of PostgreSQL that collided with another).
    Deferred,
    /// The server refused for good (an SMTP reply of 5xx, REFUSED and the like of DNS, another error of PostgreSQL).
    Rejected,
    /// No local port was free (EADDRNOTAVAIL).
    NoPort,
    /// No file descriptor was free (EMFILE, ENFILE).
    NoDescriptor,
    /// There is no route to the target.
    Unreachable,
    /// A request of an open loop was given up before it was sent: as many connections as allowed were busy for as long as it may take.
    NoConnection,
    /// A request of an open loop was given up before it was sent, though a connection was free: the generator could not offer the rate.
    GeneratorLate,
    /// A program ended with an exit status that is not 0, by a signal, or could not be started.
    ExitStatus,
    /// A program's output lacks the expected figures.
    Unreadable,
    /// The device could not read or write (EIO).
    Io,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::ConnectTimeout => "connect timed out",
            Self::Handshake => "TLS handshake failed",
            Self::Timeout => "answer timed out",
            Self::Reset => "reset",
            Self::Truncated => "closed half-way",
            Self::Garbage => "not the protocol",
            Self::Status => "status not 2xx",
            Self::Deferred => "refused for now",
            Self::Rejected => "refused for good",
            Self::NoPort => "no local port",
            Self::NoDescriptor => "no file descriptor",
            Self::Unreachable => "unreachable",
            Self::NoConnection => "no free connection",
            Self::GeneratorLate => "generator too late",
            Self::ExitStatus => "program failed",
            Self::Unreadable => "output not understood",
            Self::Io => "input/output error",
            Self::Other => "other error",
        }
    }
}

/// Result of a load.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// When it started, CLOCK_MONOTONIC_RAW of its host, in nanoseconds.
    pub started_ns: u64,
    /// From the first connection's start to the last one's end, in nanoseconds.
    pub elapsed_ns: u64,
    /// Connections that were completed without any error.
    pub connections: u64,
    /// Requests that were answered without error.
    pub requests: u64,
    /// Bytes received; of a bulk load, bytes that arrived, both directions together; of mail, those of messages that were acknowledged.
    pub bytes: u64,
    /// Failures, by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// The first failure in words, where there is more than its kind: the message of the server or the system.
    pub first_error: Option<String>,
    /// Latencies in microseconds.
    pub latency: Latencies,
    /// Counts per interval of time, in order.
    pub intervals: Vec<Interval>,
    /// User CPU time of the generator's threads, in microseconds.
    pub user_us: u64,
    /// System CPU time of the generator's threads, in microseconds. Softirq work done in their context is in it.
    pub system_us: u64,
    /// How long the generator's threads were ready to run and had no CPU, in microseconds, all of them together; absent where that is not known.
    pub waited_us: Option<u64>,
    /// CPU time that all services used while it ran, in microseconds; absent where that is not known, or several loads ran at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services_us: Option<u64>,
    /// Threads that generated.
    pub threads: u32,
    /// Requests of an open loop, due and sent; absent in closed loop.
    pub offer: Option<Offer>,
    /// Results of each of several machines that ran it together; empty where one did, or all are one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<Generator>,
    /// Results of this kind of load alone; absent if there are none (HTTP).
    pub facts: Option<LoadFacts>,
}

/// Result of one of several machines that ran a load together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Its host.
    pub host: String,
    /// How long after the first of them it started, in nanoseconds.
    pub after_ns: u64,
    /// How well that is known, in nanoseconds: what the clocks of the two may be wrong by, both together.
    pub within_ns: u64,
    /// Its own result, without the parts in the result of all: counts per interval, histograms.
    pub result: LoadResult,
}

/// Largest start offset between generators on several machines that drive one load, in nanoseconds.
pub const TOGETHER_NS: u64 = 1_000_000;

/// How the clock of a machine stood to the controller's at the end of a trial (CLOCK_MONOTONIC_RAW of both).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockFacts {
    /// How far it was ahead, in nanoseconds.
    pub ahead_ns: i64,
    /// Error of that, in nanoseconds.
    pub within_ns: u64,
    /// The shortest round trip, in nanoseconds.
    pub round_trip_ns: u64,
}

/// Common waits of two results for a CPU, where that is known of one at least.
fn waits(mine: Option<u64>, theirs: Option<u64>) -> Option<u64> {
    mine.map_or(theirs, |mine| Some(mine + theirs.unwrap_or(0)))
}

/// How often a service made something durable, and how long each call took (fsync(2)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlushFacts {
    /// Calls.
    pub count: u64,
    /// The time that they took together, in microseconds.
    pub spent_us: u64,
    /// How long they took, in microseconds.
    pub histogram: Histogram,
}

/// Messages of a sink for mail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MailLedger {
    /// The ids of messages that arrived, whole or not.
    pub arrived: IdSet,
    /// How many times a message arrived for a recipient that had it already.
    pub doubled: u64,
    /// How many times a message arrived that does not fit its checksum.
    pub corrupted: u64,
    /// How many messages arrived that carry no id.
    pub unknown: u64,
}

/// Balance of mail at the end of a trial: acknowledged to the sources of a rig, against arrived at its sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailBalance {
    /// The sink.
    pub sink: String,
    /// On the rig.
    pub arm: Arm,
    /// Messages that were acknowledged to a source.
    pub acknowledged: u64,
    /// Of those, how many arrived at the sink.
    pub arrived: u64,
    /// Of those, how many did not within the time that was waited for them.
    pub lost: u64,
    /// How many times a message arrived for a recipient that had it already.
    pub doubled: u64,
    /// How many times a message arrived that does not fit its checksum.
    pub corrupted: u64,
    /// Messages that arrived though the source got no 250: it cannot know, and a real one would have sent them again.
    pub unacknowledged: u64,
    /// How long it took from the end of the last load until all had arrived, or until it was given up, in milliseconds.
    pub waited_ms: u64,
    /// The first ids of those that were lost.
    pub lost_ids: Vec<String>,
}

/// Requests of an open loop, due and sent. All latencies are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Over how long requests were due, in nanoseconds.
    pub length_ns: u64,
    /// Requests that were due.
    pub due: u64,
    /// Requests that were begun, whatever became of them. The others were given up, and are among the errors.
    pub begun: u64,
    /// Of those that were begun, how many had to wait for a connection because as many as allowed were busy.
    pub queued: u64,
    /// When the last one was begun, in nanoseconds after the load's start.
    pub last_begun_ns: u64,
    /// How late the generator began those that had not to wait: percentiles of its scheduling error.
    pub send_lag_us: Percentiles,
    /// Histogram of send lag.
    pub send_lag: Histogram,
    /// Figures of each step, for a load that has steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// One step of an open loop. A request is due and begun in the step of its intended time, and answered or failed in the step in which that
/// happens; what happens after the last step is in none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Requested rate, in requests per second.
    pub rate: f64,
    /// When it began, in nanoseconds after the load's start.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Requests that were due.
    pub due: u64,
    /// Requests that were begun.
    pub begun: u64,
    /// Requests that were answered without error.
    pub requests: u64,
    /// Failures.
    pub errors: u64,
    /// From the intended time of a request to the last byte of its answer, in microseconds.
    pub latency_us: Percentiles,
    /// Histogram of latency.
    pub latency: Histogram,
}

/// Histograms of latency in microseconds, three significant digits; empty where nothing was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// From connect(2) to an established connection.
    pub connect: Histogram,
    /// From the request to the first byte of the answer.
    pub first_byte: Histogram,
    /// From the request (the connect, for the first on a connection) to the last byte of the answer.
    pub total: Histogram,
    /// Percentiles of `total` in microseconds, for readers without a histogram at hand.
    pub percentiles: Percentiles,
    /// The mean of `total` in microseconds; absent where nothing was recorded, and in records that were made before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
}

/// Counts of one interval of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// When it ended, in nanoseconds after the load's start.
    pub end_ns: u64,
    /// Connections completed in it.
    pub connections: u64,
    /// Requests answered in it.
    pub requests: u64,
    /// Failures in it.
    pub errors: u64,
    /// Bytes that a bulk load moved in it, as seen by the load; of mail, those of messages that were acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// How long the requests took together that were answered in it, in microseconds; 0 in records that were made before it was kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub latency_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Where a load stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Connections (or requests, when connections are kept) done, over all generators.
    pub done: u64,
    /// How many there will be, where known.
    pub of: Option<u64>,
    /// Failures so far.
    pub errors: u64,
    /// Done per second over the last interval.
    pub rate: f64,
}

impl LoadResult {
    /// A figure of this result; absent where the result cannot give it (no time, nothing recorded).
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        metric.of(self)
    }

    /// Results of loads of one kind alone.
    pub fn found<F: OfKind>(&self) -> Option<&F> {
        F::of(self.facts.as_ref()?)
    }

    /// TCP streams of the load, where it reports them.
    pub fn streams(&self) -> &[Stream] {
        self.facts.as_ref().map_or(&[], |facts| facts.streams())
    }

    /// Failures of all kinds.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Operations without error: connections, or requests where connections are kept.
    pub fn done(&self) -> u64 {
        self.connections.max(self.requests)
    }

    /// Its work, in the load's own unit: datagrams that arrived, bytes that TCP moved, else connections or requests.
    pub fn yielded(&self) -> u64 {
        self.facts.as_ref().and_then(|facts| facts.done(self.bytes)).unwrap_or_else(|| self.done())
    }
}

/// All counters of a host, read once. Names are those of the kernel's files: `stat.cpu.user`, `netstat.TcpExt.ListenDrops`.
/// Names that start with `machine.` are of the whole machine, the others of the host's own namespaces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub at_ns: u64,
    /// Value by name.
    pub values: BTreeMap<String, f64>,
}

impl Snapshot {
    /// Changes from `self` to `later`, for names that both have.
    pub fn change(&self, later: &Self) -> BTreeMap<String, f64> {
        let both =
            self.values.iter().filter_map(|(name, before)| Some((name, before, later.values.get(name)?)));
        both.map(|(name, before, after)| (name.clone(), after - before)).collect()
    }
}

/// One sample of a series: a snapshot that leaves out what did not change. A name that is missing has the value of the last sample
/// before it that has the name.
pub type Sample = Snapshot;

/// Cost of sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SamplingCost {
    /// Samples taken.
    pub samples: u64,
    /// CPU time of the sampling thread, in microseconds.
    pub cpu_us: u64,
    /// How long it sampled, in microseconds.
    pub elapsed_us: u64,
    /// CPU time of the controller meanwhile, with that of its profiler, in microseconds. 0 in runs of before it was noted.
    #[serde(default)]
    pub controller_us: u64,
    /// CPU time of the agents meanwhile, without that of loads and of sampling, in microseconds. 0 in runs of before it was noted.
    #[serde(default)]
    pub agents_us: u64,
    /// CPU time that all CPUs of the controller's machine had meanwhile, in microseconds. 0 in runs of before it was noted.
    #[serde(default)]
    pub machine_us: u64,
}

/// Which of the two rigs.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Arm {
    /// The rig that goes through every phase.
    Treatment,
    /// The rig that is spared some.
    Control,
}

impl Arm {
    /// The public name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One slice of a load on one rig, with what the counters did meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// The rig.
    pub arm: Arm,
    /// Which slice of the phase; the two rigs' slices of one number were run one right after the other.
    pub number: u32,
    /// When it started, in nanoseconds after the trial's start.
    pub at_ns: u64,
    /// The load, where the phase measures several at once.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Result of the load.
    pub result: LoadResult,
    /// Per host, what the counters changed by while it ran.
    pub counters: BTreeMap<String, BTreeMap<String, f64>>,
    /// The background loads that were there meanwhile, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
    /// Flushes of built-in relays for mail meanwhile, by the service's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flushes: BTreeMap<String, FlushFacts>,
}

/// An action in the middle of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepEvent {
    /// Name of the event.
    pub name: String,
    /// The step in words.
    pub what: String,
    /// On which rig.
    pub arm: Arm,
    /// When it began, in nanoseconds after the trial's start.
    pub at_ns: u64,
    /// How long it took, in nanoseconds: a service that is started counts until it is ready.
    pub took_ns: u64,
}

/// A phase that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Its name.
    pub name: String,
    /// Purpose of the phase.
    pub kind: PhaseKind,
    /// Which repetition of the steps that it belongs to, from 1; 0 outside of any.
    pub cycle: u32,
    /// The rung that was tried before it, where it measures a remedy.
    pub rung: Option<Rung>,
    /// When it started, in nanoseconds after the trial's start.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The loads that ran in it.
    pub slices: Vec<Slice>,
    /// Steps in it, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<StepEvent>,
    /// Remarks: connections left after settling, and the like.
    pub notes: Vec<String>,
    /// The packets that were captured in it, a record for each interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureRecord>,
    /// Where the CPUs were while its slices ran, a profile for each rig.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
}

/// A trial that was carried out, to its end or to where it failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its number in the run, from 1, in the order of carrying out.
    pub number: u32,
    /// The block that it belongs to, from 1: one trial of every cell makes a block. Block 0 are trials of the first cell alone.
    pub block: u32,
    /// The level of each factor, as text.
    pub cell: BTreeMap<String, String>,
    /// Its phases, in order.
    pub phases: Vec<PhaseRecord>,
    /// Snapshots with the expensive files at the end of named phases: (phase, cycle, host, snapshot); the control's hosts end in `'`.
    pub deep: Vec<DeepSnapshot>,
    /// Sampled counters of each host; the control's hosts end in `'`.
    pub series: BTreeMap<String, Vec<Sample>>,
    /// Cost of sampling, over all hosts.
    pub sampling: SamplingCost,
    /// Fate of the mail, for each sink and rig.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<MailBalance>,
    /// Faults that make the trial worthless, in the order in which they were noticed.
    pub faults: Vec<Fault>,
    /// Standard error of services at the end of a trial in which something failed, by name; the last of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub last_words: BTreeMap<String, String>,
    /// How the clocks of machines stood that are not this one, by host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clocks: BTreeMap<String, ClockFacts>,
    /// How long set-up took, in microseconds.
    pub setup_us: u64,
    /// How long teardown took, in microseconds.
    pub teardown_us: u64,
}

/// A snapshot with the expensive files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeepSnapshot {
    /// After this phase.
    pub phase: String,
    /// In this cycle.
    pub cycle: u32,
    /// On the rig.
    pub arm: Arm,
    /// On this host.
    pub host: String,
    /// The counters.
    pub snapshot: Snapshot,
}

/// A fault that makes a trial worthless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// In this phase.
    pub phase: String,
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Description, in a sentence.
    pub what: String,
}

/// Kind of a fault that makes a trial worthless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A service ended by itself.
    ServiceDied,
    /// A phase took longer than it may.
    Deadline,
    /// The agent of a host went away.
    AgentLost,
    /// A link could not carry what came.
    LinkSaturated,
    /// The controller was stopped, or the machine was suspended.
    StoodStill,
    /// The load of a phase ended before all was done that is done while it runs.
    StepMissed,
    /// The user ended a phase before its end.
    Skipped,
    /// The clock of a machine jumped.
    ClockJumped,
}
