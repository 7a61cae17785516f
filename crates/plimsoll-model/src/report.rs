//! Results of a run, for people and programs: the JSON of `run`, `show` and `import`.

mod environment;
mod events;
mod finding;
mod profile;
mod seen;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::experiment::{HostKind, LoadFacts, Metric, Rung};
use crate::note::Note;
use crate::observation::{
    Arm, ClockFacts, ErrorKind, Fault, MailBalance, Percentiles, PhaseKind, SamplingCost,
};
use crate::trace::Class;
use crate::verdict::{Interval, Outcome};

pub use environment::{Environment, KernelConfig, LinkReport, Machine, ProgramVersion, VmstatReport};
pub use events::{EventRecovery, EventReport, RecoveryOutcome};
pub use finding::Finding;
pub use profile::{ComparedProfile, GrownCalls, GrownFunction, ProfileReport, ProfileSide};
pub use seen::{
    GrownBlockIo, GrownCpuUse, GrownFailures, GrownThrottling, GrownWait, LowerIoLimit, RaisedState, WaitFor,
    Who,
};

/// The name and version of the JSON form of a run. The number rises when a field changes its meaning or goes away.
pub const RUN_SCHEMA: &str = "plimsoll.run/2";

/// Results of a run. A public contract: see [`RUN_SCHEMA`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The experiment's name.
    pub experiment: String,
    /// The question that it answers.
    pub question: String,
    /// How far it came.
    pub status: RunStatus,
    /// The seed of everything that was random in it.
    pub seed: u64,
    /// The command line that carries it out again, word by word.
    pub rerun_command: Vec<String>,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it took, in seconds; for a run that was resumed, the sum.
    pub elapsed_s: f64,
    /// The environment of the measurement.
    #[serde(default)]
    pub environment: Environment,
    /// Results of the A/A test on the machine, before anything was varied; null where none was carried out.
    #[serde(default)]
    pub aa_test: Option<AaTest>,
    /// The answer to each claim, in the order of the experiment.
    pub verdicts: Vec<Finding>,
    /// Failures during the measurement, and the next step.
    #[serde(default)]
    pub troubles: Vec<MeasurementFailure>,
    /// Remedies that were tried when the figure did not come back, in order.
    pub remedies: Vec<RemedyResult>,
    /// Where the state lives that holds the figure down; null when nothing does, or it was not found out.
    pub state_lives_in: Option<StateLivesIn>,
    /// Explanations, the likeliest first.
    pub causes: Vec<Cause>,
    /// Strongest changes between the two sides that the first verdict compares, the strongest first.
    pub evidence: Vec<Evidence>,
    /// Where the CPUs' time went on those two sides; null where it was not sampled on both.
    #[serde(default)]
    pub profile: Option<ProfileReport>,
    /// Profiles of each comparison that found a difference, where there are several; `profile` is of the one whose sides lie furthest apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ComparedProfile>,
    /// Where the connections' time went, from the packets that were captured.
    #[serde(default)]
    pub packets: Vec<PacketReport>,
    /// The hosts.
    pub hosts: Vec<HostReport>,
    /// The trials, in the order of carrying out.
    pub trials: Vec<TrialReport>,
    /// Cost of sampling, over all hosts and trials.
    pub sampling: SamplingCost,
    /// Notes to the reader of the figures: blind spots, and losses without privileges.
    pub notes: Vec<Note>,
}

impl RunReport {
    /// Why the run could not go on, where an error ended it.
    pub fn failure(&self) -> Option<&str> {
        Note::failure(&self.notes).filter(|_| self.status == RunStatus::Failed)
    }
}

/// A failure during the measurement: a load that met mostly errors, a trial that did not end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Trouble")]
pub struct MeasurementFailure {
    /// Where, in words: the phase, and the cell where there are several.
    pub place: String,
    /// Description, in a sentence.
    pub what: String,
    /// Whether it makes the measurement invalid.
    pub spoils: bool,
    /// The first error in words, where the load met one.
    pub first_error: Option<String>,
    /// The last that services had written to their standard error, by name.
    pub last_words: BTreeMap<String, String>,
    /// Next step.
    pub next: String,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RunStatus {
    /// To its end.
    Complete,
    /// A process is carrying it out.
    Running,
    /// The run was interrupted; `--resume` continues it.
    Interrupted,
    /// The run could not continue.
    Failed,
}

/// Differences between trials of the same cell, at the start of a long run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AaTest {
    /// The phase that was measured.
    pub phase: String,
    /// The figure that was measured in it, such as `connections_per_second`.
    pub metric: String,
    /// The figure of each trial, in order.
    pub figures: Vec<f64>,
    /// The standard deviation of their logarithms, or, of shares, of the figures as they are; null where a trial brought no figure.
    pub scatter: Option<f64>,
    /// The smallest ratio above 1 that the run can show at that scatter, with 95 % power; of shares, the smallest difference. Null where
    /// there is no scatter.
    pub smallest_difference: Option<f64>,
    /// Whether the machine can carry an answer. Where it cannot, the run ends there, and its claims are `invalid`.
    pub fit: bool,
    /// A sentence on it.
    pub reason: String,
}

/// Effect of a rung of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemedyResult {
    /// The rung.
    pub rung: Rung,
    /// `recovered` where the figure came nearer to the baseline than to its lowest. `not_recovered` where it did not, `undecided` where the interval
    /// decides neither; `invalid` where the rung could not be tried.
    pub outcome: Outcome,
    /// after/baseline at this rung.
    pub estimate: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// A sentence on it.
    pub reason: String,
}

/// Where the state lives that holds the figure down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateLivesIn {
    /// In the service: restarting it restores the figure.
    Service,
    /// In a cache of the kernel: dropping caches restores it.
    Cache,
    /// In the host's kernel: only a rebuilt host restores it.
    HostKernel,
    /// In none of these: no rung restores it.
    Elsewhere,
}

/// A figure per connection that changed from before to after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The host.
    pub host: String,
    /// The counter, and `per_connection` or `level`.
    pub metric: String,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// The unit of both.
    pub unit: String,
    /// How far the two sets of values lie apart: 2·AUC − 1, from -1 (all smaller after) to 1 (all greater).
    pub shift: f64,
    /// after/before on the control, where there is one.
    pub control_ratio: Option<f64>,
}

/// Connections of one phase in one cell, from the packets of one host over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketReport {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The phase.
    pub phase: String,
    /// The rig.
    pub arm: Arm,
    /// The host on which they were captured.
    pub host: String,
    /// Trials with a capture that could be read.
    pub trials: u32,
    /// TCP connections.
    pub connections: u64,
    /// The sum of their lifetimes, in seconds.
    pub lifetime_s: f64,
    /// Packets in the files.
    pub packets: u64,
    /// Packets that the capture lost.
    pub dropped: u64,
    /// The class of stalls that took most of the time in which a side was held up; null where that was less than 1 %.
    pub main_class: Option<Class>,
    /// Stalls by class, the greatest first.
    pub stalls: Vec<StallReport>,
    /// The kernel's own account of the senders of bulk loads; null for other loads.
    #[serde(default)]
    pub kernel: Option<LimitedTimes>,
    /// The files, relative to the folder of the file of runs. They may be removed at any time.
    pub files: Vec<String>,
    /// Errors of captures, one sentence each.
    pub errors: Vec<String>,
}

/// The kernel's own account of the senders' waits (`tcpi_busy_time` and its parts, linux/tcp.h), summed over streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedTimes {
    /// Seconds with something to send.
    pub busy_s: f64,
    /// Busy time in which the receiver's window was the limit. While a sender paces (BBR, or `SO_MAX_PACING_RATE`), the kernel
    /// counts the wait for the next packet's turn as none, though the window is full (`tcp_write_xmit` in `net/ipv4/tcp_output.c`).
    pub window_limited_s: f64,
    /// Busy time in which the send buffer was the limit.
    pub buffer_limited_s: f64,
}

/// The stalls of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallReport {
    /// The class.
    pub class: Class,
    /// The share of the connections' time that they took, 0 to 1.
    pub share: f64,
    /// How many there were, as far as they are listed.
    pub count: u64,
    /// The median of their lengths, in milliseconds (of trials: the median of the trials' medians).
    pub median_ms: f64,
    /// Evidence in the packets for the longest of them.
    pub evidence: String,
}

/// A host of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: HostKind,
    /// The services on it.
    pub services: Vec<String>,
    /// The loads on it.
    pub loads: Vec<String>,
}

/// A trial of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialReport {
    /// Its number, from 1.
    pub number: u32,
    /// Its block, from 1.
    pub block: u32,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// Figures by phase, cycle and rig.
    pub phases: Vec<PhaseReport>,
    /// Steps in the middle of it, in order of time.
    #[serde(default)]
    pub events: Vec<EventReport>,
    /// Fate of the mail, for each sink and rig.
    #[serde(default)]
    pub mail: Vec<MailBalance>,
    /// The mail of loads that were measured or driven on the treatment, minute by minute.
    #[serde(default)]
    pub mail_minutes: Vec<MailMinute>,
    /// State of the machine in each phase, as vmstat(8) shows it.
    #[serde(default)]
    pub vmstat: Vec<VmstatReport>,
    /// How the clocks of machines stood to the controller's that are not this one, by host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clocks: BTreeMap<String, ClockFacts>,
    /// Faults that make it worthless.
    pub faults: Vec<Fault>,
    /// How long set-up took, in milliseconds.
    pub setup_ms: f64,
    /// How long teardown took, in milliseconds.
    pub teardown_ms: f64,
}

/// Work of a device while mail was taken, for each message that was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskPerMessage {
    /// Flushes of the device's cache.
    pub flushes: f64,
    /// The time that they took, in microseconds.
    #[serde(default)]
    pub flush_us: f64,
    /// Transactions that the journal of the file system on it committed; 0 where it has none.
    pub commits: f64,
    /// Writes that the device was given.
    pub writes: f64,
    /// Bytes written.
    pub written_bytes: f64,
    /// Time in which it was busy, in microseconds.
    pub busy_us: f64,
}

/// Flushes of a built-in relay for mail itself (fsync(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlushReport {
    /// Calls for each message that was acknowledged.
    pub per_message: f64,
    /// The time of these calls for each message, in microseconds; calls may be under way side by side.
    pub us_per_message: f64,
    /// How long a call took, in microseconds, over all slices.
    pub latency_us: Percentiles,
}

/// The mail of a minute, as postal reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MailMinute {
    /// Which minute since the trial's start, from 0.
    pub minute: u64,
    /// Messages that were acknowledged.
    pub messages: u64,
    /// Their length in bytes, without headers.
    pub bytes: u64,
    /// Failures.
    pub errors: u64,
    /// Sessions that ended without an error.
    pub connections: u64,
}

/// Figures of one phase on one rig.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReport {
    /// Its name.
    pub name: String,
    /// Purpose of the phase.
    pub kind: PhaseKind,
    /// The cycle, from 1; 0 outside of any.
    pub cycle: u32,
    /// The rig.
    pub arm: Arm,
    /// The rung that was tried before it.
    pub rung: Option<Rung>,
    /// Connections completed without error.
    pub connections: u64,
    /// How long servers of mail took to answer each command, in microseconds: the greatest of each percentile over slices.
    #[serde(default)]
    pub commands_us: BTreeMap<String, Percentiles>,
    /// Work of each written device for a message, by the device's name; of loads of mail.
    #[serde(default)]
    pub disks: BTreeMap<String, DiskPerMessage>,
    /// Time in which some task of the machine waited for a disk (`/proc/pressure/io`), in microseconds for each message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_pressure_us: Option<f64>,
    /// Bytes that the kernel wrote back from the page cache of the machine for each message (`nr_written` of `/proc/vmstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_back_bytes: Option<f64>,
    /// Flushes of each built-in relay for mail, by the service's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flushes: BTreeMap<String, FlushReport>,
    /// Every figure that the load has, by the metric's name, over all slices (pauses between slices not counted). A figure that the load does not
    /// have, or that has no value, is absent.
    pub figures: BTreeMap<String, f64>,
    /// The rate that the load is about; null where it is that of connections or requests.
    #[serde(default)]
    pub rate: Option<Metric>,
    /// Other results of the load, over all slices, under the name of its kind; written only where it is a few numbers that say something by
    /// themselves.
    #[serde(flatten, skip_serializing_if = "are_not_in_report")]
    pub facts: Option<LoadFacts>,
    /// Failures, by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Requests of open loops; null in closed loop.
    #[serde(default)]
    pub offer: Option<OfferReport>,
    /// Figures of each of several machines that drove the load together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorReport>,
    /// Where the machine's CPU time went while the load ran; null where it was too short to measure.
    pub cpu: Option<CpuShares>,
    /// From the trial's start to the phase's, in seconds.
    pub start_s: f64,
    /// From the trial's start to the phase's end, in seconds.
    pub end_s: f64,
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
fn are_not_in_report(facts: &Option<LoadFacts>) -> bool {
    facts.as_ref().is_none_or(|facts| !facts.is_in_report())
}

impl PhaseReport {
    /// A figure of the phase; absent where its load does not have it.
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        self.figures.get(metric.name()).copied()
    }
}

/// Figures of one of several machines that drove a load together, over all slices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Its host.
    pub host: String,
    /// Every figure that its load has, by the metric's name.
    pub figures: BTreeMap<String, f64>,
    /// Failures.
    pub errors: u64,
    /// Which share of the time its threads were busy; null where that is not known.
    pub busy_share: Option<f64>,
    /// How long after the first of all it started, at most, in milliseconds.
    pub after_ms: f64,
    /// How well that is known, in milliseconds.
    pub within_ms: f64,
}

/// Requested and sent rates of open loops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfferReport {
    /// Requested rate, in requests per second.
    pub offered_per_second: f64,
    /// Requests per second that were sent.
    pub sent_per_second: f64,
    /// Requests that had to wait for a connection, because as many as allowed were busy.
    pub queued: u64,
    /// How late the generator sent the others, in microseconds: the greatest of each percentile over slices. Null where it sent no others.
    pub send_lag_us: Option<Percentiles>,
    /// Each step of a load that has steps.
    pub steps: Vec<StepReport>,
}

/// Figures of one step of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Requested rate, in requests per second.
    pub offered_per_second: f64,
    /// Requests per second that were answered without error.
    pub answered_per_second: f64,
    /// Failures.
    pub errors: u64,
    /// Time of a request from when it was due, in microseconds; null where no request was answered.
    pub latency_us: Option<Percentiles>,
}

/// Where the machine's CPU time went, as shares of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShares {
    /// In programs, with niced ones.
    pub user: f64,
    /// In the kernel on behalf of programs.
    pub system: f64,
    /// In interrupts and softirqs.
    pub softirq: f64,
    /// In nothing, waiting for I/O.
    pub iowait: f64,
    /// In nothing.
    pub idle: f64,
    /// Taken by the hypervisor for others.
    pub steal: f64,
}
