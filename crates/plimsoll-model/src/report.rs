//! What a run found, for people and programs: the JSON of `run`, `show` and `import`.

mod environment;
mod profile;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::experiment::{HostKind, Rung};
use crate::observation::{
    Arm, ErrorKind, Fault, MailBalance, MessagingFacts, Percentiles, PhaseKind, SamplingCost, StorageFacts,
};
use crate::trace::Class;
use crate::verdict::{Interval, Outcome, Verdict};

pub use environment::{Environment, LinkReport, Machine, ProgramVersion, VmstatReport};
pub use profile::{GrownCalls, GrownFunction, ProfileReport, ProfileSide};

/// The name and version of the JSON form of a run. The number rises when a field changes its meaning or goes away.
pub const RUN_SCHEMA: &str = "plimsoll.run/1";

/// What a run found. A public contract: see [`RUN_SCHEMA`].
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
    /// What it was measured on.
    #[serde(default)]
    pub environment: Environment,
    /// What trials of the A/A test showed of the machine, before anything was varied; null where none were carried out.
    #[serde(default)]
    pub aa_test: Option<AaTest>,
    /// The answer to each claim, in the order of the experiment.
    pub verdicts: Vec<Verdict>,
    /// What failed while it was measured, and what to try next.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// What the recovery claim found beside its verdict.
    pub recovery: Option<RecoveryFacts>,
    /// What load-curve claims rest on: the points and the fitted models of each cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_curves: Vec<LoadCurveReport>,
    /// What claims about lossy paths rest on: the points of each curve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loss_curves: Vec<LossCurveReport>,
    /// The hops of each path that was probed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathReport>,
    /// What was found of each path that is to carry TCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<DiagnosisReport>,
    /// The loss of datagrams over the rate that was offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knees: Vec<KneeReport>,
    /// What claims about growth rest on: the points of each curve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<GrowthReport>,
    /// The probes of each search for a limit: one for each of the verdicts on limits, in their order.
    #[serde(default)]
    pub searches: Vec<SearchReport>,
    /// What claims about modes found beside their verdicts.
    #[serde(default)]
    pub modes: Vec<ModesFacts>,
    /// Which level of a factor is best, row by row.
    #[serde(default)]
    pub winners: Vec<Winner>,
    /// What was tried when the figure did not come back, in order.
    pub remedies: Vec<RemedyResult>,
    /// Where the state lives that holds the figure down; null when nothing does, or it was not found out.
    pub state_lives_in: Option<StateLivesIn>,
    /// Explanations, the likeliest first.
    pub causes: Vec<Cause>,
    /// What changed most between the two sides that the first verdict compares, the strongest first.
    pub evidence: Vec<Evidence>,
    /// Where the CPUs' time went on those two sides; null where it was not sampled on both.
    #[serde(default)]
    pub profile: Option<ProfileReport>,
    /// Where the connections' time went, from the packets that were captured.
    #[serde(default)]
    pub packets: Vec<PacketReport>,
    /// The hosts.
    pub hosts: Vec<HostReport>,
    /// The trials, in the order of carrying out.
    pub trials: Vec<TrialReport>,
    /// What sampling cost, over all hosts and trials.
    pub sampling: SamplingCost,
    /// What a reader must know to read the figures: what could not be seen, what is lost without privileges.
    pub notes: Vec<String>,
}

/// Something that failed while it was measured: a load that met mostly errors, a trial that came to no end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// Where, in words: the phase, and the cell where there are several.
    pub place: String,
    /// What happened, in a sentence.
    pub what: String,
    /// Whether it makes the measurement invalid.
    pub spoils: bool,
    /// The first error in words, where the load met one.
    pub first_error: Option<String>,
    /// The last that services had written to their standard error, by name.
    pub last_words: BTreeMap<String, String>,
    /// What to try next.
    pub next: String,
}

/// The load of a host's CPUs over the share of their time that was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCurveReport {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// How many CPUs there were.
    pub cpus: usize,
    /// The steps of the load, by rising rate; over several trials their means.
    pub points: Vec<LoadPointReport>,
    /// The models, the best first.
    pub fits: Vec<LoadFit>,
}

/// One step of a load, as the CPUs saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPointReport {
    /// Requests per second that were to be offered.
    pub offered_per_second: f64,
    /// The share of the CPUs' time that was used, 0 to 1.
    pub utilisation: f64,
    /// The mean number of tasks that ran or waited for a CPU.
    pub load: f64,
}

/// A queueing model fitted to the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFit {
    /// Its usual name, such as `M/M/2`.
    pub model: String,
    /// Load that it assumes to be there without any work.
    pub background: f64,
    /// Its error at points that it was not fitted to: a root mean square on ln(1 + load).
    pub left_out_error: f64,
    /// Measured less modelled ln(1 + load), in the order of the points.
    pub residuals: Vec<f64>,
    /// Pairs of utilisation and load, to be drawn.
    pub curve: Vec<[f64; 2]>,
}

/// TCP's rate over the loss of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossCurveReport {
    /// The levels of the factors that tell this curve from others.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// C of Mathis' formula; null where there are too few points.
    pub constant: Option<f64>,
    /// The largest factor between a point and the formula with that constant.
    pub worst_factor: Option<f64>,
    /// The power of the loss that the rate goes with; the formula says -0.5.
    pub exponent: Option<f64>,
    /// The cells, by rising loss.
    pub points: Vec<LossPointReport>,
}

/// What one stream did at one loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossPointReport {
    /// The share of segments at which the sender noticed a loss.
    pub loss: f64,
    /// The mean round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// The segment size, in bytes.
    pub mss: f64,
    /// The rate of one stream.
    pub bits_per_second: f64,
    /// What Mathis' formula says, in bit/s.
    pub mathis: Option<f64>,
    /// What Padhye's formula says, in bit/s.
    pub padhye: Option<f64>,
}

/// The hops of a path, as probes found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathReport {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// Whether the probes came to the host that they were aimed at.
    pub reached: bool,
    /// How many probes were sent, to all hops.
    pub probes: u64,
    /// The hops, the nearest first.
    pub hops: Vec<HopReport>,
}

/// One hop of a path: a link, and the router or host behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopReport {
    /// Its place, from 1.
    pub hop: u32,
    /// Who answered; null where nobody did. What a silent hop takes is counted in the next that answers.
    pub address: Option<String>,
    /// The share of probes that were not answered; null where none was sent.
    pub unanswered: Option<f64>,
    /// Its rate in bit/s of Ethernet frames; null where it is not measurable.
    pub bits_per_second: Option<f64>,
    /// The interval of the rate.
    pub rate_interval: Option<Interval>,
    /// The rate that it has at the least, in bit/s; null where nothing can be said.
    pub at_least_bits_per_second: Option<f64>,
    /// Its rate on the way back, in bit/s, where that is another.
    pub back_bits_per_second: Option<f64>,
    /// How long a packet travels over it beside the time that the rate takes, one way, in milliseconds; half of there and back.
    pub latency_ms: Option<f64>,
    /// The interval of the latency.
    pub latency_interval: Option<Interval>,
    /// How much longer a probe waits here than the fastest do, in milliseconds: the median.
    pub queue_ms: Option<f64>,
}

/// What was found of a path that is to carry TCP at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosisReport {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// The rate that is wanted, in bit/s of data.
    pub target_bits_per_second: f64,
    /// The round-trip time for which it is wanted, in milliseconds.
    pub target_rtt_ms: f64,
    /// What TCP would reach over such a round trip, by the worst of the checks, in bit/s; no more than is wanted.
    pub reaches_bits_per_second: f64,
    /// What TCP carried over this path, in bit/s; null where it carried nothing.
    pub tcp_bits_per_second: Option<f64>,
    /// The shortest round-trip time of this path, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// The congestion control of the sender's host.
    pub congestion: String,
    /// The checks.
    pub checks: Vec<CheckReport>,
}

/// What one check of a path found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// `rate`, `loss`, `buffer`, `send_buffer`, `receive_buffer` or `window_scaling`.
    pub check: String,
    /// Whether it is good enough; null where that is not sure.
    pub passes: Option<bool>,
    /// What there is, in `unit`.
    pub measured: f64,
    /// What is needed, likewise.
    pub needed: f64,
    /// `bit/s`, `share` or `bytes`.
    pub unit: String,
    /// What was found, in words.
    pub told: String,
    /// What to do about it; empty where it passes.
    pub advice: String,
}

/// The loss of datagrams over the rate that was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeReport {
    /// The levels of the factors that tell this curve from others.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// The offered rate from which on more is lost, in bit/s; null where there is no knee.
    pub knee_bits_per_second: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// The points, by rising rate.
    pub points: Vec<KneePointReport>,
    /// Pairs of offered bit/s and the share that a link of that rate loses, to be drawn; empty where there is no knee.
    pub curve: Vec<[f64; 2]>,
}

/// What became of datagrams at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneePointReport {
    /// What was sent, in bit/s of datagrams.
    pub offered_bits_per_second: f64,
    /// What arrived, likewise.
    pub arrived_bits_per_second: f64,
    /// The share that did not arrive.
    pub loss: f64,
}

/// The time of messaging over the number of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthReport {
    /// The levels of the factors that tell this curve from others.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// How the time grows: `constant`, `linear`, `power` or `knee`; null where there are too few points.
    pub kind: Option<String>,
    /// The number of workers from which on it grows faster; null where there is no such knee.
    pub knee: Option<f64>,
    /// The interval of the knee.
    pub knee_interval: Option<Interval>,
    /// Memory that each further worker needs before it sends anything, in bytes: the median of the slopes between points. Null where the kernel
    /// does not tell.
    pub bytes_per_worker: Option<f64>,
    /// The cells, by rising number of workers.
    pub points: Vec<GrowthPointReport>,
    /// Pairs of workers and milliseconds of what was fitted, to be drawn.
    pub curve: Vec<[f64; 2]>,
}

/// What workers of one number took, over all trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthPointReport {
    /// How many workers there were.
    pub workers: u64,
    /// In how many trials they were measured.
    pub trials: usize,
    /// The time of a round in milliseconds, the median over trials.
    pub ms: f64,
    /// The least of any trial.
    pub least_ms: f64,
    /// The most.
    pub most_ms: f64,
    /// The memory of all workers before they sent anything, their own and the kernel's, in bytes; the median over trials.
    pub memory_bytes: Option<f64>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// To its end.
    Complete,
    /// A process is carrying it out.
    Running,
    /// It was interrupted; `--resume` goes on with it.
    Interrupted,
    /// It could not go on.
    Failed,
}

/// What trials of the same cell differed by, at the start of a long run.
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

/// What a recovery claim found beside its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryFacts {
    /// From the end of the drive to the first of the windows that pass, in seconds, the median over cycles; null when it was not
    /// watched, or none passed.
    pub time_to_recover_s: Option<f64>,
    /// The same for each trial and cycle, in order; null where no window passed.
    pub time_to_recover_each_s: Vec<Option<f64>>,
    /// The ratio after/baseline, adjusted by the control, for each trial and cycle.
    pub cycles: Vec<CycleRatio>,
    /// Whether the ratio falls from cycle to cycle: Kendall's tau, from -1 (always falls) to 1; null with fewer than three cycles.
    pub trend_tau: Option<f64>,
    /// The probability of such a trend by chance (Mann-Kendall, two-sided).
    pub trend_p: Option<f64>,
}

/// The ratio of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CycleRatio {
    /// The trial's number.
    pub trial: u32,
    /// The cycle, from 1.
    pub cycle: u32,
    /// after/baseline, adjusted by the control.
    pub ratio: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// The probes by which a limit was searched in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchReport {
    /// The phase that searched.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The longest that a request might take, in milliseconds.
    pub at_most_ms: f64,
    /// The share of requests of which that had to hold.
    pub share: f64,
    /// The probes of all trials, in order.
    pub probes: Vec<ProbeReport>,
    /// What light load says of the limit; null where the claim does not ask, or there was too little of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PredictedLimit>,
}

/// A limit that was predicted from light load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedLimit {
    /// The measured phase that it was predicted from.
    pub from: String,
    /// How many steps of all trials.
    pub points: usize,
    /// The highest rate of them, in requests per second.
    pub highest_per_second: f64,
    /// The time that the service works for a request as they imply it, in milliseconds.
    pub service_ms: f64,
    /// Its interval.
    pub service_interval: Interval,
    /// The rate up to which the bound would be held; null where the service would break it even when idle.
    pub per_second: Option<f64>,
    /// Its interval, if the model is right.
    pub interval: Option<Interval>,
}

/// One probe of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The trial's number.
    pub trial: u32,
    /// Requests per second that were due.
    pub offered_per_second: f64,
    /// The share of them that was answered in time.
    pub in_time: f64,
    /// The time in milliseconds within which the wanted share was answered; null where so many were not answered at all.
    pub took_ms: Option<f64>,
    /// What the probe found.
    pub finding: ProbeFinding,
}

/// What a probe of a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFinding {
    /// The bound was held.
    Held,
    /// It was not.
    Broken,
    /// The generator did not offer the rate, so that the probe tells nothing.
    NotOffered,
}

/// What a claim about modes found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModesFacts {
    /// The measured phase.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// What was looked at, such as `megabytes_per_second`.
    pub metric: String,
    /// The measurements in order of time.
    pub values: Vec<f64>,
    /// The modes by rising centre; empty where there were too few measurements.
    pub modes: Vec<ModePlace>,
    /// Which mode each measurement belongs to, from 0; empty where there is only one.
    pub belongs_to: Vec<u32>,
    /// How the modes follow one another: `comes_and_goes`, `alternates` or `random`; null where there are not two.
    pub order: Option<String>,
    /// The background loads that came and went, each with whether it was there in each measurement.
    pub background: BTreeMap<String, Vec<bool>>,
}

/// A place where measurements gather.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModePlace {
    /// The mean of its measurements.
    pub center: f64,
    /// Its share of all measurements.
    pub weight: f64,
}

/// Which level of a factor is best in one phase, at one combination of the other factors' levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Winner {
    /// The measured phase.
    pub phase: String,
    /// The levels of the other factors.
    pub row: BTreeMap<String, String>,
    /// The factor whose levels competed.
    pub factor: String,
    /// What was compared.
    pub metric: String,
    /// The level that came out best.
    pub winner: String,
    /// Its figure: the geometric mean over blocks.
    pub figure: f64,
    /// The level that came next.
    pub next: String,
    /// How many times better the winner is: the quotient of both figures.
    pub lead: f64,
    /// How certain it is: the share of resamples of the blocks in which it comes out best, and at most 1 - 1/2ⁿ with n blocks.
    pub certainty: f64,
    /// `faster` where the lead is real, `same` where it is smaller than the margin, else `undecided`.
    pub outcome: Outcome,
    /// The figure of every level: the geometric mean over blocks.
    pub figures: BTreeMap<String, f64>,
    /// What puts another level first, in words: the medians, or the ratios block by block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// What a rung of the ladder did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemedyResult {
    /// The rung.
    pub rung: Rung,
    /// `recovered` where the figure came nearer to the baseline than to where it was held down, `not_recovered` where it did not,
    /// `undecided` where the interval does not tell; `invalid` where the rung could not be tried.
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
    /// In the host's kernel: only making the host anew restores it.
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

/// What the packets of one host tell of the connections of one phase in one cell, over all trials.
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
    /// The class of stalls that took most of the time in which somebody was held up; null where that was less than 1 %.
    pub main_class: Option<Class>,
    /// Stalls by class, the greatest first.
    pub stalls: Vec<StallReport>,
    /// What the kernel itself says of the senders of bulk loads; null for other loads.
    #[serde(default)]
    pub kernel: Option<LimitedTimes>,
    /// The files, relative to the folder of the file of runs. They may be removed at any time.
    pub files: Vec<String>,
    /// What went wrong with captures, one sentence each.
    pub errors: Vec<String>,
}

/// The kernel's own account of what senders waited for (`tcpi_busy_time` and its parts, linux/tcp.h), summed over streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedTimes {
    /// Seconds with something to send.
    pub busy_s: f64,
    /// Those of them in which the receiver's window was the limit. While a sender paces (BBR, or `SO_MAX_PACING_RATE`), the kernel
    /// counts the wait for the next packet's turn as none, though the window is full (`tcp_write_xmit` in `net/ipv4/tcp_output.c`).
    pub window_limited_s: f64,
    /// Those of them in which the send buffer was the limit.
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
    /// What in the packets showed the longest of them.
    pub evidence: String,
}

/// A host of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// Its name.
    pub name: String,
    /// What it is made of.
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
    /// What was measured, by phase, cycle and rig.
    pub phases: Vec<PhaseReport>,
    /// What became of the mail, for each sink and rig.
    #[serde(default)]
    pub mail: Vec<MailBalance>,
    /// The mail of loads that were measured or driven on the treatment, minute by minute.
    #[serde(default)]
    pub mail_minutes: Vec<MailMinute>,
    /// What the machine did in each phase, as vmstat(8) shows it.
    #[serde(default)]
    pub vmstat: Vec<VmstatReport>,
    /// What makes it worthless.
    pub faults: Vec<Fault>,
    /// How long set-up took, in milliseconds.
    pub setup_ms: f64,
    /// How long teardown took, in milliseconds.
    pub teardown_ms: f64,
}

/// What a device did while mail was taken, for each message that was acknowledged.
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

/// What a built-in relay for mail made durable itself (fsync(2)).
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
    /// Sessions over TLS: none, the source does not speak it.
    pub tls: u64,
}

/// What one phase measured on one rig.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReport {
    /// Its name.
    pub name: String,
    /// What it was for.
    pub kind: PhaseKind,
    /// The cycle, from 1; 0 outside of any.
    pub cycle: u32,
    /// The rig.
    pub arm: Arm,
    /// The rung that was tried before it.
    pub rung: Option<Rung>,
    /// Connections completed without error.
    pub connections: u64,
    /// Connections completed without error, per second of load (pauses between slices not counted).
    pub connections_per_second: f64,
    /// Requests answered without error, per second of load.
    pub requests_per_second: f64,
    /// Bits that arrived, without headers, per second of load; 0 for loads that do not count them.
    #[serde(default)]
    pub bits_per_second: f64,
    /// Datagrams that arrived per second of load; null for loads that send none.
    #[serde(default)]
    pub packets_per_second: Option<f64>,
    /// The share of datagrams that did not arrive; null for loads that send none.
    #[serde(default)]
    pub loss_share: Option<f64>,
    /// How long servers of mail took to answer each command, in microseconds: the greatest of each percentile over slices.
    #[serde(default)]
    pub commands_us: BTreeMap<String, Percentiles>,
    /// What each device that was written to did for a message, by the device's name; of loads of mail.
    #[serde(default)]
    pub disks: BTreeMap<String, DiskPerMessage>,
    /// Time in which some task of the machine waited for a disk (`/proc/pressure/io`), in microseconds for each message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_pressure_us: Option<f64>,
    /// Bytes that the kernel wrote back from the page cache of the machine for each message (`nr_written` of `/proc/vmstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_back_bytes: Option<f64>,
    /// What each built-in relay for mail flushed, by the service's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flushes: BTreeMap<String, FlushReport>,
    /// Millions of bytes read, written or received, per second of load.
    #[serde(default)]
    pub megabytes_per_second: f64,
    /// What storage loads did, over all slices; null where there was none.
    #[serde(default)]
    pub storage: Option<StorageFacts>,
    /// What messaging loads did, over all slices; null where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messaging: Option<MessagingFacts>,
    /// Time of a request in microseconds, over all slices.
    pub latency_us: Percentiles,
    /// Failures, by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// What open loops offered; null in closed loop.
    #[serde(default)]
    pub offer: Option<OfferReport>,
    /// Where the machine's CPU time went while the load ran; null where it was too short to tell.
    pub cpu: Option<CpuShares>,
    /// From the trial's start to the phase's, in seconds.
    pub start_s: f64,
    /// From the trial's start to the phase's end, in seconds.
    pub end_s: f64,
}

/// What open loops were to offer, and what they did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfferReport {
    /// Requests per second that were to be sent.
    pub offered_per_second: f64,
    /// Requests per second that were sent.
    pub sent_per_second: f64,
    /// Requests that had to wait for a connection, because as many as allowed were busy.
    pub queued: u64,
    /// How late the generator sent the others, in microseconds: the greatest of each percentile over slices.
    pub send_lag_us: Percentiles,
    /// Each step of a load that has steps.
    pub steps: Vec<StepReport>,
}

/// What happened at one step of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Requests per second that were to be sent.
    pub offered_per_second: f64,
    /// Requests per second that were answered without error.
    pub answered_per_second: f64,
    /// Failures.
    pub errors: u64,
    /// Time of a request from when it was due, in microseconds.
    pub latency_us: Percentiles,
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
