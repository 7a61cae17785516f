//! Where the CPUs' time went, on the two sides that a verdict compares.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    GrownBlockIo, GrownCpuUse, GrownFailures, GrownThrottling, GrownWait, LowerIoLimit, RaisedState,
};
use crate::observation::{FrameKind, ProfileClock, ServiceMember, TracedCall};

/// Where the CPUs' time went, before and after, or on the better side and on the worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileReport {
    /// Source of the samples.
    pub clock: ProfileClock,
    /// Samples per second and CPU.
    pub hertz: u32,
    /// Divisor of times: `connection` or `operation`.
    pub per: String,
    /// Before, or on the better side.
    pub before: ProfileSide,
    /// After, or on the worse side.
    pub after: ProfileSide,
    /// The control, before and after; null without one. Its growth is subtracted from every increase that is reported.
    pub control: Option<[ProfileSide; 2]>,
    /// Whether the CPU time of all functions together grew beyond chance. It scatters more than that of one function, which may have grown for sure
    /// where the sum has not.
    pub grew: bool,
    /// The narrowest function that most of the growth is in, with what it calls; null where it is spread over many.
    pub narrowest: Option<GrownFunction>,
    /// The functions that took more time themselves, the most first.
    pub functions: Vec<GrownFunction>,
    /// Processes whose own code took more time, without what the kernel did for them, the most first.
    #[serde(default)]
    pub programs: Vec<GrownFunction>,
    /// The system calls, page faults and writes to files that took most of the added time, with all that they lead to, the most first.
    #[serde(default)]
    pub entered: Vec<GrownFunction>,
    /// Traced calls of which there were more in each second, and for each connection or operation, the most first.
    #[serde(default)]
    pub calls: Vec<GrownCalls>,
    /// Calls of fsync and sync in each second by processes of the run's hosts that are not in `calls`, on the side that has more of them. Without any
    /// nothing of the run waits for somebody else's.
    #[serde(default)]
    pub own_syncs_per_s: f64,
    /// Waits that became longer, the longest first.
    #[serde(default)]
    pub waits: Vec<GrownWait>,
    /// System calls that failed more often.
    #[serde(default)]
    pub failures: Vec<GrownFailures>,
    /// Block devices of which more was asked.
    #[serde(default)]
    pub block_io: Vec<GrownBlockIo>,
    /// Processes that used more of the CPUs.
    #[serde(default)]
    pub cpu_use: Vec<GrownCpuUse>,
    /// The busiest thread of each process that has one which takes half a CPU or more on the worse side; the busiest first.
    #[serde(default)]
    pub busiest_threads: Vec<GrownCpuUse>,
    /// Control groups that were stopped more often by their quota of CPU time.
    #[serde(default)]
    pub throttling: Vec<GrownThrottling>,
    /// Limits of control groups on block devices that are lower.
    #[serde(default)]
    pub io_limits: Vec<LowerIoLimit>,
    /// States of processes that rose: priority, CPUs that they may not use, locks that they hold.
    #[serde(default)]
    pub states: Vec<RaisedState>,
    /// Programs that run as part of a service.
    #[serde(default)]
    pub members: Vec<ServiceMember>,
}

/// Where the CPUs' time went that was added in one of several comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedProfile {
    /// The measured phase.
    pub phase: String,
    /// The levels of the better side that the worse one differs in.
    pub better: BTreeMap<String, String>,
    /// Levels of the worse side.
    pub worse: BTreeMap<String, String>,
    /// CPU time that was added there.
    pub profile: ProfileReport,
}

impl ProfileReport {
    /// Whether there is CPU time that was added: to all functions together, or to one of them.
    pub fn tells(&self) -> bool {
        self.grew || self.narrowest.is_some()
    }

    /// Added CPU time, less the time added on the control, in microseconds: all of it, and the kernel's.
    pub fn added_us(&self) -> (f64, f64) {
        let change = |before: &ProfileSide, after: &ProfileSide| {
            (after.cpu_us - before.cpu_us, after.kernel_us - before.kernel_us)
        };
        let (all, kernel) = change(&self.before, &self.after);
        let of_control = self.control.map_or((0.0, 0.0), |[before, after]| change(&before, &after));
        (all - of_control.0, kernel - of_control.1)
    }
}

/// Calls of a process that came more often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownCalls {
    /// The call.
    pub call: TracedCall,
    /// Owner of the process: a host of the run, the kernel, or the rest of the machine.
    pub owner_kind: FrameKind,
    /// Its name.
    pub owner: String,
    /// The process.
    pub process: String,
    /// Calls per second before.
    pub before_per_s: f64,
    /// Calls per second after.
    pub after_per_s: f64,
}

/// The samples of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileSide {
    /// Samples of busy CPUs.
    pub samples: u64,
    /// Samples that were lost.
    pub lost: u64,
    /// The share of the CPUs' time in which they were idle; null without a sample.
    pub idle: Option<f64>,
    /// How many connections or operations there were.
    pub operations: u64,
    /// CPU time of the whole machine for each of them, in microseconds.
    pub cpu_us: f64,
    /// The part of it in the kernel, softirqs included, in microseconds.
    pub kernel_us: f64,
}

/// A function that took more CPU time for each connection or operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownFunction {
    /// Its name.
    pub function: String,
    /// The name that it had before, where that was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Whether it is of the kernel or of a program, or a process.
    pub kind: FrameKind,
    /// Its time before, in microseconds.
    pub before_us: f64,
    /// Its time after, in microseconds.
    pub after_us: f64,
    /// Its share of the growth of all functions together.
    pub share: f64,
    /// Where most of its time belongs: the host and the process, or `softirq`.
    pub owner: Vec<String>,
    /// The functions that it is mostly called through there, the outermost first.
    pub called_by: Vec<String>,
}
