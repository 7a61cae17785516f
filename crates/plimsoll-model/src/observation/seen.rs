//! Observations of processes while stacks were sampled: waits, failed calls, requests to block devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Frame;

/// Observations of processes, beside the stacks of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Where threads of the run's hosts waited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// How often all of them were looked at.
    #[serde(default)]
    pub looks: u64,
    /// System calls that failed, of the whole machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedCalls>,
    /// For how long these were watched, in microseconds.
    #[serde(default)]
    pub watched_us: u64,
    /// Requests to block devices, on the whole machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_io: Vec<BlockIo>,
    /// The CPU time of each process of the machine: filled in where the stacks of others are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_use: Vec<CpuUse>,
    /// The CPU time of the busiest thread of each process of the run's hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest_threads: Vec<CpuUse>,
    /// For how long CPUs were sampled, in microseconds: somewhat longer than the measured time. 0 in runs of older versions.
    #[serde(default)]
    pub sampled_us: u64,
    /// How often control groups of the run's hosts were stopped by their quota of CPU time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<Throttled>,
    /// Limits of the run's control groups on block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub io_limits: Vec<IoLimit>,
    /// State of the run's processes in the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<ProcessState>,
    /// Programs that run as part of a service, by the command of its processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<ServiceMember>,
}

/// Reason of a thread's wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitSite {
    /// A CPU: it could run, and another does.
    Cpu,
    /// Sleeps for this reason in the kernel.
    Sleep {
        /// The functions of the kernel that it sleeps in, the innermost first, up to the system call. Only the innermost where no more may be seen.
        functions: Vec<String>,
        /// The system call; null where it is not known.
        call: Option<String>,
    },
}

/// How long the threads of a process waited somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Owner of the process.
    pub owner: Frame,
    /// Its name.
    pub process: String,
    /// Where.
    pub site: WaitSite,
    /// How often a thread was found there.
    pub found: u64,
    /// The time that this stands for, over all threads, in microseconds.
    pub us: u64,
}

/// System calls of a process that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCalls {
    /// Owner of the process.
    pub owner: Frame,
    /// Its name.
    pub process: String,
    /// The call, such as `accept4`.
    pub call: String,
    /// The error, such as `EMFILE`.
    pub error: String,
    /// How often.
    pub count: u64,
}

/// Requests of a process to a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockIo {
    /// Owner of the process.
    pub owner: Frame,
    /// Its name.
    pub process: String,
    /// The device, such as `vda`.
    pub device: String,
    /// Whether it was written to, and not read.
    pub writes: bool,
    /// How many requests there were, about.
    pub requests: u64,
    /// How many bytes, about.
    pub bytes: u64,
}

/// Samples of the CPUs that belong to a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Owner of the process.
    pub owner: Frame,
    /// Its name.
    pub process: String,
    /// How many.
    pub samples: u64,
}

/// How often a control group was stopped because its quota of CPU time was used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The host that its processes are of.
    pub owner: Frame,
    /// Its path.
    pub group: String,
    /// Periods in which some of it wanted to run.
    pub periods: u64,
    /// Periods in which it was stopped.
    pub throttled: u64,
    /// For how long, over all CPUs, in microseconds.
    pub us: u64,
}

/// Limit of a control group on a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLimit {
    /// The host that its processes are of.
    pub owner: Frame,
    /// Its path.
    pub group: String,
    /// The device.
    pub device: String,
    /// Name of the limit in the kernel: `wbps`, `riops` ...
    pub what: String,
    /// To how much in each second: bytes or requests.
    pub most: u64,
}

/// A program that is part of a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ServiceMember {
    /// The service.
    pub service: String,
    /// The name of the process.
    pub process: String,
}

/// Scheduling and file locks of a process, as the kernel reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateKind {
    /// Its nice value, where that is above 0.
    Nice,
    /// The scheduling policy is `SCHED_IDLE`: 1.
    IdleOnly,
    /// CPUs of the machine that it may not use.
    WithheldCpus,
    /// Locks of files that it holds.
    FileLocks,
    /// How much later than asked its timers may end, in nanoseconds.
    TimerSlack,
}

/// The largest value of a state that was seen of processes with this name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessState {
    /// Owner of the process.
    pub owner: Frame,
    /// Its name.
    pub process: String,
    /// The state.
    pub kind: StateKind,
    /// Its value.
    pub most: u64,
}

/// Lists of what was seen, with how an entry is added: to the one that has the same of these fields, where there is one.
macro_rules! lists {
    ($(
        $(#[$of_add:meta])*
        $add:ident: $kind:ident in $list:ident, the same by $($field:ident)+, |$known:ident, $more:ident| $join:expr;
    )+) => {
        impl Seen {
            $(
                $(#[$of_add])*
                pub fn $add(&mut self, more: $kind) {
                    let about = |a: &$kind, b: &$kind| ($(&a.$field,)+) == ($(&b.$field,)+);
                    join(&mut self.$list, more, about, |$known, $more| $join);
                }
            )+

            fn merge_lists(&mut self, other: &Self) {
                $(other.$list.iter().for_each(|seen| self.$add(seen.clone()));)+
            }

            /// Keeps what belongs to these owners. The parts of services have none, and stay.
            pub(super) fn retain(&mut self, keeps: impl Fn(&Frame) -> bool) {
                $(self.$list.retain(|seen| keeps(&seen.owner));)+
            }
        }
    };
}

lists! {
    /// Counts a wait.
    wait: Wait in waits, the same by owner process site, |known, more| {
        known.found += more.found;
        known.us += more.us;
    };
    /// Counts calls that failed.
    failure: FailedCalls in failures, the same by owner process call error, |known, more| known.count += more.count;
    /// Counts what was asked of a block device.
    block: BlockIo in block_io, the same by owner process device writes, |known, more| {
        known.requests += more.requests;
        known.bytes += more.bytes;
    };
    /// Counts samples of a process.
    cpu: CpuUse in cpu_use, the same by owner process, |known, more| known.samples += more.samples;
    /// Counts samples of the busiest thread of a process.
    thread: CpuUse in busiest_threads, the same by owner process, |known, more| known.samples += more.samples;
    /// Counts periods in which a control group was stopped.
    throttle: Throttled in throttled, the same by owner group, |known, more| {
        known.periods += more.periods;
        known.throttled += more.throttled;
        known.us += more.us;
    };
    /// Notes a limit of a control group; of two that it had one after the other, the smaller.
    io_limit: IoLimit in io_limits, the same by owner group device what, |known, more| known.most = known.most.min(more.most);
    /// Notes a state of a process; of two values the larger.
    state: ProcessState in states, the same by owner process kind, |known, more| known.most = known.most.max(more.most);
}

impl Seen {
    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what was seen at another time.
    pub fn merge(&mut self, other: &Self) {
        self.merge_lists(other);
        other.members.iter().for_each(|member| self.member(member.clone()));
        self.looks += other.looks;
        self.watched_us += other.watched_us;
        self.sampled_us += other.sampled_us;
    }

    /// Took the time of the longer of two that looked at once, and not of both.
    pub(super) fn last_as_long_as(&mut self, one: &Self, other: &Self) {
        self.looks = one.looks.max(other.looks);
        self.watched_us = one.watched_us.max(other.watched_us);
        self.sampled_us = one.sampled_us.max(other.sampled_us);
    }

    /// Notes a part of a service.
    pub fn member(&mut self, more: ServiceMember) {
        if !self.members.contains(&more) {
            self.members.push(more);
        }
    }
}

/// Adds `more` to the entry about the same thing, or to the list if it has none.
pub(super) fn join<T>(
    all: &mut Vec<T>,
    more: T,
    are_about_the_same: impl Fn(&T, &T) -> bool,
    add: impl FnOnce(&mut T, T),
) {
    match all.iter_mut().find(|known| are_about_the_same(known, &more)) {
        Some(known) => add(known, more),
        None => all.push(more),
    }
}

#[cfg(test)]
mod tests {
    use super::super::FrameKind;
    use super::*;

    #[test]
    fn what_is_seen_twice_is_counted_twice_in_one_place() {
        let owner = Frame::new(FrameKind::Host, "relay");
        let site =
            WaitSite::Sleep { functions: vec!["jbd2_log_wait_commit".into()], call: Some("fsync".into()) };
        let mut seen = Seen::default();
        seen.wait(Wait { owner: owner.clone(), process: "relay".into(), site, found: 2, us: 100 });
        let (call, error) = ("accept4".into(), "EMFILE".into());
        seen.failure(FailedCalls { owner: owner.clone(), process: "relay".into(), call, error, count: 3 });
        let device = "vda".into();
        seen.block(BlockIo { owner, process: "dd".into(), device, writes: true, requests: 1, bytes: 4096 });
        (seen.looks, seen.watched_us, seen.sampled_us) = (7, 20_000, 30_000);
        let once = seen.clone();
        seen.merge(&once);
        assert_eq!((seen.waits.len(), seen.waits[0].found, seen.waits[0].us), (1, 4, 200));
        assert_eq!((seen.failures.len(), seen.failures[0].count), (1, 6));
        assert_eq!((seen.block_io.len(), seen.block_io[0].bytes), (1, 8192));
        assert_eq!((seen.looks, seen.watched_us, seen.sampled_us), (14, 40_000, 60_000));
        let stored = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Seen>(&stored).unwrap(), seen);
        assert!(Seen::default().is_empty() && !seen.is_empty());
    }
}
