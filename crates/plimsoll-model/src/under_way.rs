//! State of a run under way, for readers in other processes.

use serde::{Deserialize, Serialize};

use crate::observation::Arm;
use crate::verdict::Verdict;

/// A run under way, as it was at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnderWay {
    /// The run's id.
    pub run: String,
    /// The experiment's name.
    pub experiment: String,
    /// Its question.
    pub question: String,
    /// When this was written, in seconds since 1970 (UTC).
    pub written_unix_s: u64,
    /// How long the run has gone on since it was begun or resumed, in seconds.
    pub elapsed_s: f64,
    /// The number of the trial under way, and how many there are at most; 0 before the first.
    pub trial: (u32, u32),
    /// How many trials are stored since it was begun or resumed.
    pub trials_done: u32,
    /// How much longer it takes, at least and at most, in seconds; absent if that is not known.
    pub remaining_s: Option<(f64, f64)>,
    /// The phases of the trial, in order.
    pub phases: Vec<PhaseUnderWay>,
    /// Figures of the rigs.
    pub rigs: Vec<RigUnderWay>,
    /// Shares of CPU time.
    pub cpus: Vec<CpusUnderWay>,
    /// Verdict so far after the trials that are stored.
    pub verdicts: Vec<Verdict>,
    /// Figures of the measurement under way.
    pub so_far: Option<String>,
    /// Events, the newest last.
    pub lines: Vec<LineUnderWay>,
}

/// A phase of the trial under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseUnderWay {
    /// Its name, with its cycle while it is under way.
    pub name: String,
    /// How far it is.
    pub stage: Stage,
    /// How long it took, or has gone on, in seconds; nothing before it begins.
    pub took_s: Option<f64>,
    /// How long it usually takes, in seconds; absent if that is not known.
    pub usually_s: Option<f64>,
}

/// How far a phase is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The phase is over.
    Over,
    /// The phase is under way.
    Now,
    /// The phase is pending.
    #[default]
    Coming,
}

/// Figures of a rig so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RigUnderWay {
    /// Which.
    pub arm: Arm,
    /// Operations per second, the newest last.
    pub per_second: Vec<f64>,
    /// The 99th percentile of latency over the last five seconds, in milliseconds, at the end of each slice, the newest last.
    pub p99_ms: Vec<f64>,
    /// Operations that failed.
    pub errors: u64,
}

/// Shares of CPU time of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpusUnderWay {
    /// The host; `machine` for all CPUs of the machine.
    pub host: String,
    /// The share of the time that is neither idle nor waiting for a disk, the newest last.
    pub busy: Vec<f64>,
    /// The shares of the time now, by kind of `/proc/stat`.
    pub kinds: Vec<(String, f64)>,
}

/// A line of the log of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineUnderWay {
    /// When, in seconds since the run was begun or resumed.
    pub at_s: f64,
    /// What.
    pub text: String,
    /// Whether something went wrong.
    pub matters: bool,
}
