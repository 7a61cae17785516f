//! Increases of processes on one of the two sides that a verdict compares: waits, failures, requests to block devices, CPU use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{FrameKind, StateKind, WaitSite};

/// A process, or all of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// Owner of the process: a host of the run, the kernel, or the rest of the machine.
    pub owner_kind: FrameKind,
    /// Its name.
    pub owner: String,
    /// The process.
    pub process: String,
}

/// Purpose of a wait, by its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// A CPU: it could run, and another does.
    Cpu,
    /// A disk, or the file system on it.
    Disk,
    /// A lock that another program, or another thread or process of the same, holds.
    Lock,
    /// Memory that the kernel has to find first.
    Memory,
    /// Room in the send buffer of a connection.
    SendBuffer,
    /// Room in a pipe, which another program reads.
    Pipe,
    /// A connection that is being made.
    Connection,
    /// A datagram, as the answer to a question about a name is one.
    Datagram,
    /// Whatever stopped it, by a signal, a tracer or a freezer of control groups, to let it go on.
    Stopped,
    /// A time that it has set itself (nanosleep, or select without descriptors).
    Timer,
    /// Something to do, or anything else.
    Other,
}

/// A wait that became longer for each connection or operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownWait {
    /// The waiting process.
    #[serde(flatten)]
    pub who: Who,
    /// Where.
    pub site: WaitSite,
    /// Purpose of the wait.
    pub wait_for: WaitFor,
    /// Time for each connection or operation before, in microseconds, over all threads.
    pub before_us: f64,
    /// Time after, in microseconds.
    pub after_us: f64,
    /// How many threads were there at any time, on average, before.
    pub before_threads: f64,
    /// Threads after, on average.
    pub after_threads: f64,
}

/// System calls that failed more often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownFailures {
    /// Whose.
    #[serde(flatten)]
    pub who: Who,
    /// The call.
    pub call: String,
    /// The error.
    pub error: String,
    /// How many failed in each second before.
    pub before_per_s: f64,
    /// Failures per second after.
    pub after_per_s: f64,
}

/// Block devices of which more was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownBlockIo {
    /// By whom.
    #[serde(flatten)]
    pub who: Who,
    /// The device.
    pub device: String,
    /// Whether it was written to, and not read.
    pub writes: bool,
    /// Requests in each second before.
    pub before_per_s: f64,
    /// Requests per second after.
    pub after_per_s: f64,
    /// Bytes in each second before.
    pub before_bytes_per_s: f64,
    /// Bytes per second after.
    pub after_bytes_per_s: f64,
}

/// A process that used more of the CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownCpuUse {
    /// The calling process.
    #[serde(flatten)]
    pub who: Who,
    /// How many CPUs it used before, on average.
    pub before_cpus: f64,
    /// CPUs in use after.
    pub after_cpus: f64,
}

/// A control group that was stopped more often by its quota of CPU time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrownThrottling {
    /// The host that its processes are of.
    pub host: String,
    /// Its path.
    pub group: String,
    /// The share of the periods in which it wanted to run and was stopped, before.
    pub before_share: f64,
    /// Share after.
    pub after_share: f64,
    /// For how long it was stopped for each connection or operation before, in microseconds.
    pub before_us: f64,
    /// Time after, in microseconds.
    pub after_us: f64,
}

/// A limit of a control group on a block device that is lower on the worse side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LowerIoLimit {
    /// The host that its processes are of.
    pub host: String,
    /// Its path.
    pub group: String,
    /// The device.
    pub device: String,
    /// Name of the limit in the kernel (`io.max`): `rbps`, `wbps`, `riops` or `wiops`.
    pub what: String,
    /// The limit before; null where there was none.
    pub before: Option<u64>,
    /// Limit after.
    pub after: u64,
}

/// A state of a process that rose: it may use fewer CPUs, or holds more locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RaisedState {
    /// The process.
    #[serde(flatten)]
    pub who: Who,
    /// The state.
    pub kind: StateKind,
    /// Its largest value before.
    pub before: u64,
    /// Value after.
    pub after: u64,
}

impl WaitSite {
    /// The end of the call's name where it waits for no descriptor, so that only its timeout ends it.
    pub const TIMEOUT_ALONE: &str = " without descriptors";
    /// The end of the call's name where the program says in its title that it waits for a lock.
    pub const FOR_A_LOCK: &str = " for a lock";
    /// What stands between the call's name and the file whose lock it waits for.
    pub const OF_A_FILE: &str = " of ";

    /// Where it is, in words: `jbd2_log_wait_commit in fsync`.
    pub fn title(&self) -> String {
        let Self::Sleep { functions, call } = self else { return "ready to run, without a CPU".to_owned() };
        let function = functions.first().map_or("asleep", String::as_str);
        call.as_ref().map_or_else(|| function.to_owned(), |call| format!("{function} in {call}"))
    }
}
