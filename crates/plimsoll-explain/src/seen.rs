//! What processes did more of on one side than on the other: wait, fail, ask block devices, use CPUs.
//!
//! All of it are counts, as the samples of a profile are, and their scatter is taken to be that of counts, several times over, since what is seen of
//! one thread at one time is likely to be seen of it again a little later.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::observation::{
    BlockIo, CpuUse, FailedCalls, Frame, FrameKind, IoLimit, ProcessState, ServiceMember, StateKind,
    Throttled, Wait, WaitSite,
};
use plimsoll_model::report::{
    GrownBlockIo, GrownCpuUse, GrownFailures, GrownThrottling, GrownWait, LowerIoLimit, RaisedState, WaitFor,
    Who,
};

use crate::sampled::Sampled;

/// A difference is reported from this many standard errors on.
const SURE: f64 = 3.0;
/// The service of commands that are compared. Each of their runs is one more observation of the same waits.
pub const COMMAND: &str = "command";
/// The variance of looks at threads that wait, relative to that of independent samples: a wait may last for several looks.
const WAITS_DISPERSION: f64 = 4.0;
/// The variance of calls and of samples of CPUs, which come in bursts, relative to that of independent samples.
const DISPERSION: f64 = 2.0;
/// A quantity that grew must be this many times as large.
const MORE: f64 = 1.5;
/// A wait of fewer threads than this, on average, holds nothing up.
const LEAST_THREADS: f64 = 0.02;
/// A wait in which a program was never found before counts from this number of looks on; a stop, which is no accident, from the second one.
const LEAST_NEW: (u64, u64) = (8, 3);
/// Looks that are so far apart, in microseconds, see different waits.
const LEAST_APART: f64 = 300_000.0;
/// Failed calls are reported from this number on.
const LEAST_FAILURES: u64 = 5;
/// Failed calls are reported from this number on if their error itself names the problem: calls are watched for a small
/// part of the time only.
const LEAST_RAN_OUT: u64 = 2;
/// Errors that say by themselves that something has run out; nothing that works makes them.
pub(crate) const RAN_OUT: [&str; 8] =
    ["EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL", "EPERM"];
/// The smallest increase in CPUs that is reported.
const LEAST_CPUS: f64 = 0.1;
/// The smallest part of a CPU that makes a thread a busy one.
const LEAST_BUSY: f64 = 0.5;
/// The fewest requests of a block device per second that are reported.
const LEAST_REQUESTS: f64 = 20.0;
/// A group that is stopped in fewer of its periods is hardly held up.
const LEAST_STOPPED: f64 = 0.05;
/// File locks that are added; to compare a new one with fewer takes no time that shows.
const LEAST_LOCKS: u64 = 200;
/// The most of each kind that are reported.
const MOST_REPORTED: usize = 8;

/// What the functions are that a thread sleeps in when it waits for a disk: block/, fs/jbd2, fs/xfs, mm/filemap.c, mm/page-writeback.c and fs/buffer.c.
const DISK: [&str; 24] = [
    "io_schedule",
    "folio_wait_bit",
    "folio_wait_writeback",
    "wait_on_page",
    "__wait_on_buffer",
    "jbd2_",
    "wait_transaction_locked",
    "add_transaction_credits",
    "do_get_write_access",
    "xlog_",
    "xfs_log_force",
    "btrfs_wait",
    "submit_bio_wait",
    "blkdev_issue_flush",
    "blk_io_schedule",
    "blk_mq_get_tag",
    "rq_qos_wait",
    "blk_throtl",
    "balance_dirty_pages",
    "__blkdev_direct_IO",
    "iomap_dio",
    "__iomap_dio",
    "read_events",
    "f2fs_",
];
/// When it waits for memory: mm/vmscan.c, mm/memcontrol.c and mm/page_io.c.
const MEMORY: [&str; 9] = [
    "shrink_",
    "try_to_free",
    "throttle_direct_reclaim",
    "reclaim_throttle",
    "mem_cgroup_",
    "__mem_cgroup_",
    "do_swap_page",
    "swap_read",
    "__alloc_pages_slowpath",
];
/// When it waits for a lock: kernel/futex, fs/locks.c and ipc/.
const LOCK: [&str; 9] = [
    "futex_",
    "__futex",
    "flock_lock",
    "posix_lock",
    "locks_lock",
    "fcntl_setlk",
    "do_lock_file_wait",
    "do_semtimedop",
    "__do_semtimedop",
];
const SEND_BUFFER: [&str; 3] = ["sk_stream_wait_memory", "sock_alloc_send_pskb", "sk_stream_wait_connect"];
/// When it waits for the reader of a pipe: fs/pipe.c.
const PIPE: [&str; 4] = ["pipe_write", "anon_pipe_write", "fifo_pipe_write", "pipe_wait_writable"];
const CONNECTION: [&str; 3] = ["inet_wait_for_connect", "__inet_stream_connect", "unix_wait_for_peer"];
/// Where stopped threads sleep: kernel/signal.c, kernel/freezer.c.
const STOPPED: [&str; 6] =
    ["do_signal_stop", "ptrace_stop", "ptrace_signal", "do_jobctl_trap", "do_freezer_trap", "__refrigerator"];
/// When it waits for a time: kernel/time/hrtimer.c.
const TIMER: [&str; 2] = ["hrtimer_nanosleep", "do_nanosleep"];
const DATAGRAM: [&str; 2] = ["__skb_wait_for_more_packets", "__skb_recv_udp"];

/// The function of the kernel that carries out what others have put into a queue of work (kernel/workqueue.c).
const WORK: &str = "process_one_work";

/// What a thread of the kernel works at: the function that was put into its queue, or else the thread's own name. Nothing for other stacks.
pub fn kernel_work<'f>(stack: &[&'f Frame]) -> Option<&'f str> {
    match stack {
        [Frame { kind: FrameKind::Shared, .. }, Frame { kind: FrameKind::Process, name }, functions @ ..] => {
            let queued = functions.iter().skip_while(|it| it.name != WORK).nth(1);
            Some(queued.map_or(name, |it| &it.name))
        }
        _ => None,
    }
}

/// What threads of the kernel worked at for more of each second.
pub fn grown_kernel_work(before: &Sampled, after: &Sampled) -> BTreeSet<String> {
    let of = |side: &Sampled| {
        let mut samples: BTreeMap<String, f64> = BTreeMap::new();
        for (stack, found) in side.profile.stacks() {
            if let Some(work) = kernel_work(&stack) {
                *samples.entry(work.to_owned()).or_default() += found as f64;
            }
        }
        samples
    };
    let was = of(before);
    let seconds = (before.seconds, after.seconds);
    let grew = |work: &String, after: f64| {
        let before = was.get(work).copied().unwrap_or(0.0);
        Counts { before, after }.are_more(seconds, DISPERSION)
    };
    of(after).into_iter().filter(|(work, after)| grew(work, *after)).map(|(work, _)| work).collect()
}

/// What a thread waits for. The functions nearest to the sleep tell first.
pub fn wait_for(site: &WaitSite) -> WaitFor {
    let WaitSite::Sleep { functions, call } = site else { return WaitFor::Cpu };
    let ends_with = |end| call.as_ref().is_some_and(|call| call.ends_with(end));
    if ends_with(WaitSite::TIMEOUT_ALONE) {
        return WaitFor::Timer;
    }
    if ends_with(WaitSite::FOR_A_LOCK) {
        return WaitFor::Lock;
    }
    let kinds: [(&[&str], WaitFor); 9] = [
        (&STOPPED, WaitFor::Stopped),
        (&DISK, WaitFor::Disk),
        (&MEMORY, WaitFor::Memory),
        (&LOCK, WaitFor::Lock),
        (&SEND_BUFFER, WaitFor::SendBuffer),
        (&PIPE, WaitFor::Pipe),
        (&CONNECTION, WaitFor::Connection),
        (&DATAGRAM, WaitFor::Datagram),
        (&TIMER, WaitFor::Timer),
    ];
    let of = |function: &String| {
        let is_of = |starts: &[&str]| starts.iter().any(|start| function.starts_with(start));
        kinds.iter().find(|(starts, _)| is_of(starts)).map(|(_, kind)| *kind)
    };
    functions.iter().find_map(of).unwrap_or(WaitFor::Other)
}

fn who(owner: &Frame, process: &str) -> Who {
    Who { owner_kind: owner.kind, owner: owner.name.clone(), process: process.to_owned() }
}

/// Counts in some time: before and after.
struct Counts {
    before: f64,
    after: f64,
}

impl Counts {
    /// Whether the rate on the second side is more than [`MORE`] times the first beyond chance. `of` is what each side's
    /// count is divided by.
    fn are_more(&self, of: (f64, f64), dispersion: f64) -> bool {
        let (before, after) = (self.before / of.0, self.after / of.1);
        let error = dispersion.sqrt() * (self.before.max(1.0).sqrt() / of.0).hypot(self.after.sqrt() / of.1);
        after >= MORE * before && after - before > SURE * error
    }
}

/// Waits that became longer, the longest first. A wait for something to do becomes longer for each operation where fewer are carried out, and tells
/// nothing: there, more threads must wait at any time as well.
pub(crate) fn waits(before: &Sampled, after: &Sampled) -> Vec<GrownWait> {
    let (was_seen, seen) = (&before.profile.seen, &after.profile.seen);
    // Commands may end before they are looked at, and have waited for nothing then.
    let is_command = seen.members.iter().any(|it| it.service == COMMAND);
    if was_seen.looks == 0 && !is_command || seen.looks == 0 {
        return Vec::new();
    }
    let operations = (before.operations as f64, after.operations as f64);
    let seconds = (before.seconds, after.seconds);
    let grown = seen.waits.iter().filter_map(|wait| {
        let same =
            |it: &&Wait| (&it.owner, &it.process, &it.site) == (&wait.owner, &wait.process, &wait.site);
        let was = was_seen.waits.iter().find(same).map_or((0, 0), |it| (it.found, it.us));
        // Each time that a thread is found stands for another time, which the mean of them all tells well enough.
        let us_of_one = wait.us as f64 / wait.found.max(1) as f64;
        let counts = Counts { before: was.1 as f64 / us_of_one, after: wait.found as f64 };
        let wait_for = wait_for(&wait.site);
        let is_of_command = is_of_command(after, &wait.process);
        // Threads do not stop by themselves, so that a few looks are enough.
        let dispersion = if wait_for == WaitFor::Stopped || is_of_command { 1.0 } else { WAITS_DISPERSION };
        // A run of a command waits for what it asked for, and a service for questions.
        let is_asked_for = is_of_command && wait_for != WaitFor::Cpu;
        // A writer whose reader takes longer waits for each operation as long as that takes, and no more often.
        let holds_up = is_held_up(wait_for) && wait_for != WaitFor::Pipe || wait_for == WaitFor::Timer;
        let is_each_time = holds_up || is_asked_for;
        let is_known = wait_for != WaitFor::Pipe || was_there(before, &wait.owner, &wait.process);
        let grew = is_known
            && counts.are_more(operations, dispersion)
            && (is_each_time || counts.are_more(seconds, dispersion));
        let least = if wait_for == WaitFor::Stopped { LEAST_NEW.1 } else { LEAST_NEW.0 };
        let is_new = was.0 == 0
            && wait.found >= least
            && us_of_one >= LEAST_APART
            && wait_for != WaitFor::Other
            && was_seen.waits.iter().any(|it| (&it.owner, &it.process) == (&wait.owner, &wait.process));
        let threads = |us: u64, seconds: f64| us as f64 / 1e6 / seconds;
        let found = GrownWait {
            who: who(&wait.owner, &wait.process),
            site: wait.site.clone(),
            wait_for,
            before_us: was.1 as f64 / operations.0,
            after_us: wait.us as f64 / operations.1,
            before_threads: threads(was.1, seconds.0),
            after_threads: threads(wait.us, seconds.1),
        };
        ((grew || is_new) && found.after_threads >= LEAST_THREADS).then_some(found)
    });
    let mut grown: Vec<GrownWait> = grown.collect();
    let added = |it: &GrownWait| it.after_us - it.before_us;
    grown.sort_by(|a, b| {
        is_held_up(b.wait_for).cmp(&is_held_up(a.wait_for)).then_with(|| added(b).total_cmp(&added(a)))
    });
    grown.truncate(MOST_REPORTED);
    grown
}

/// Whether a process is part of a command, whose runs are compared however long they take.
pub(crate) fn is_of_command(after: &Sampled, process: &str) -> bool {
    after.profile.seen.members.iter().any(|it| it.service == COMMAND && it.process == process)
}

/// Whether a thread in this wait has work that it cannot do.
fn is_held_up(wait_for: WaitFor) -> bool {
    matches!(
        wait_for,
        WaitFor::Disk | WaitFor::Memory | WaitFor::SendBuffer | WaitFor::Pipe | WaitFor::Stopped
    )
}

/// System calls that failed more often, both in each second and for each operation; those that say that something has run out first.
pub(crate) fn failures(before: &Sampled, after: &Sampled) -> Vec<GrownFailures> {
    let (was_seen, seen) = (&before.profile.seen, &after.profile.seen);
    let watched = (was_seen.watched_us as f64 / 1e6, seen.watched_us as f64 / 1e6);
    if watched.0 <= 0.0 || watched.1 <= 0.0 || after.operations == 0 {
        return Vec::new();
    }
    // Operations while it was watched.
    let operations = (
        before.operations as f64 / before.seconds * watched.0,
        after.operations as f64 / after.seconds * watched.1,
    );
    let grown = seen.failures.iter().filter_map(|failed| {
        let same = |it: &&FailedCalls| {
            (&it.owner, &it.process, &it.call, &it.error)
                == (&failed.owner, &failed.process, &failed.call, &failed.error)
        };
        let was = was_seen.failures.iter().find(same).map_or(0, |it| it.count);
        let counts = Counts { before: was as f64, after: failed.count as f64 };
        let is_each_time = is_of_command(after, &failed.process) && operations.0 > 0.0;
        let grew = (is_each_time || counts.are_more(watched, DISPERSION))
            && (operations.0 <= 0.0 || counts.are_more(operations, DISPERSION));
        let ran_out = RAN_OUT.contains(&failed.error.as_str());
        // What else fails elsewhere on the machine is no business of the run.
        let is_reported = ran_out || failed.owner.kind == FrameKind::Host;
        let came_up = was == 0 && ran_out && failed.count >= LEAST_RAN_OUT;
        (is_reported && (grew && failed.count >= LEAST_FAILURES || came_up)).then(|| GrownFailures {
            who: who(&failed.owner, &failed.process),
            call: failed.call.clone(),
            error: failed.error.clone(),
            before_per_s: was as f64 / watched.0,
            after_per_s: failed.count as f64 / watched.1,
        })
    });
    let mut grown: Vec<GrownFailures> = grown.collect();
    let ran_out = |it: &GrownFailures| RAN_OUT.contains(&it.error.as_str());
    grown.sort_by(|a, b| ran_out(b).cmp(&ran_out(a)).then_with(|| b.after_per_s.total_cmp(&a.after_per_s)));
    grown.truncate(MOST_REPORTED);
    grown
}

/// Block devices with more requests per operation; those of strangers, per second as well.
pub(crate) fn block_io(before: &Sampled, after: &Sampled) -> Vec<GrownBlockIo> {
    let operations = (before.operations as f64, after.operations as f64);
    let seconds = (before.seconds, after.seconds);
    // Where hosts use devices, what others ask of other devices is no business of the run.
    let of_hosts: Vec<&str> = [before, after]
        .into_iter()
        .flat_map(|side| &side.profile.seen.block_io)
        .filter(|io| io.owner.kind == FrameKind::Host)
        .map(|io| io.device.as_str())
        .collect();
    let is_reported = |io: &&BlockIo| of_hosts.is_empty() || of_hosts.contains(&io.device.as_str());
    let grown = after.profile.seen.block_io.iter().filter(is_reported).filter_map(|io| {
        let same = |it: &&BlockIo| {
            (&it.owner, &it.process, &it.device, it.writes) == (&io.owner, &io.process, &io.device, io.writes)
        };
        let was = before.profile.seen.block_io.iter().find(same);
        let was = was.map_or((0, 0), |it| (it.requests, it.bytes));
        let counts = Counts { before: was.0 as f64, after: io.requests as f64 };
        let may_be_own = io.owner.kind == FrameKind::Host;
        let grew =
            (may_be_own || counts.are_more(seconds, DISPERSION)) && counts.are_more(operations, DISPERSION);
        let found = GrownBlockIo {
            who: who(&io.owner, &io.process),
            device: io.device.clone(),
            writes: io.writes,
            before_per_s: was.0 as f64 / seconds.0,
            after_per_s: io.requests as f64 / seconds.1,
            before_bytes_per_s: was.1 as f64 / seconds.0,
            after_bytes_per_s: io.bytes as f64 / seconds.1,
        };
        (grew && found.after_per_s >= LEAST_REQUESTS).then_some(found)
    });
    let mut grown: Vec<GrownBlockIo> = grown.collect();
    grown.sort_by(|a, b| b.after_bytes_per_s.total_cmp(&a.after_bytes_per_s));
    grown.truncate(MOST_REPORTED);
    grown
}

/// Control groups that were stopped more often by their quota of CPU time.
pub(crate) fn throttling(before: &Sampled, after: &Sampled) -> Vec<GrownThrottling> {
    let grown = after.profile.seen.throttled.iter().filter_map(|group| {
        let same = |it: &&Throttled| (&it.owner, &it.group) == (&group.owner, &group.group);
        let was = before.profile.seen.throttled.iter().find(same);
        let share = |it: &Throttled| it.throttled as f64 / it.periods.max(1) as f64;
        let found = GrownThrottling {
            host: group.owner.name.clone(),
            group: group.group.clone(),
            before_share: was.map_or(0.0, share),
            after_share: share(group),
            before_us: was.map_or(0.0, |it| it.us as f64) / before.operations.max(1) as f64,
            after_us: group.us as f64 / after.operations.max(1) as f64,
        };
        let more = found.after_share >= LEAST_STOPPED
            && found.after_share >= MORE * found.before_share
            && found.after_us >= MORE * found.before_us;
        more.then_some(found)
    });
    grown.collect()
}

/// Limits of what control groups may ask of block devices, that are lower after. Groups of which no process ran on the side before had none there.
pub(crate) fn io_limits(before: &Sampled, after: &Sampled) -> Vec<LowerIoLimit> {
    let lower = after.profile.seen.io_limits.iter().filter_map(|limit| {
        let same = |it: &&IoLimit| {
            (&it.owner, &it.group, &it.device, &it.what)
                == (&limit.owner, &limit.group, &limit.device, &limit.what)
        };
        let was = before.profile.seen.io_limits.iter().find(same).map(|it| it.most);
        was.is_none_or(|was| was > limit.most).then(|| LowerIoLimit {
            host: limit.owner.name.clone(),
            group: limit.group.clone(),
            device: limit.device.clone(),
            what: limit.what.clone(),
            before: was,
            after: limit.most,
        })
    });
    lower.collect()
}

/// The parts of services on either side.
pub(crate) fn members(before: &Sampled, after: &Sampled) -> Vec<ServiceMember> {
    let both = [before, after].into_iter().flat_map(|side| side.profile.seen.members.iter().cloned());
    both.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether anything was seen of a program.
fn was_there(side: &Sampled, owner: &Frame, process: &str) -> bool {
    let seen = &side.profile.seen;
    let mut all = (seen.waits.iter().map(|it| (&it.owner, &it.process)))
        .chain(seen.cpu_use.iter().map(|it| (&it.owner, &it.process)))
        .chain(seen.states.iter().map(|it| (&it.owner, &it.process)));
    all.any(|(of, name)| (of, name.as_str()) == (owner, process))
}

/// States of processes that are higher after. Of file locks only many count.
pub(crate) fn states(before: &Sampled, after: &Sampled) -> Vec<RaisedState> {
    let raised = after.profile.seen.states.iter().filter_map(|state| {
        let same = |it: &&ProcessState| {
            (&it.owner, &it.process, it.kind) == (&state.owner, &state.process, state.kind)
        };
        let was = before.profile.seen.states.iter().find(same).map_or(0, |it| it.most);
        let least = if state.kind == StateKind::FileLocks { LEAST_LOCKS } else { 1 };
        // A program that was not there before has always been scheduled so.
        if state.kind != StateKind::FileLocks && !was_there(before, &state.owner, &state.process) {
            return None;
        }
        (state.most >= was + least).then(|| RaisedState {
            who: who(&state.owner, &state.process),
            kind: state.kind,
            before: was,
            after: state.most,
        })
    });
    raised.collect()
}

/// Processes that used more of the CPUs, both in each second and for each operation.
pub(crate) fn cpu_use(before: &Sampled, after: &Sampled) -> Vec<GrownCpuUse> {
    let hertz = f64::from(after.profile.hertz);
    if hertz <= 0.0 {
        return Vec::new();
    }
    let operations = (before.operations as f64, after.operations as f64);
    let seconds = (sampled_seconds(before), sampled_seconds(after));
    let grown = after.profile.seen.cpu_use.iter().filter_map(|used| {
        let same = |it: &&CpuUse| (&it.owner, &it.process) == (&used.owner, &used.process);
        let it_was = before.profile.seen.cpu_use.iter().find(same);
        let was = it_was.or_else(|| predecessor(used, before, after)).map_or(0, |it| it.samples);
        let counts = Counts { before: was as f64, after: used.samples as f64 };
        let grew = counts.are_more(seconds, DISPERSION) && counts.are_more(operations, DISPERSION);
        let found = GrownCpuUse {
            who: who(&used.owner, &used.process),
            before_cpus: was as f64 / hertz / seconds.0,
            after_cpus: used.samples as f64 / hertz / seconds.1,
        };
        (grew && found.after_cpus - found.before_cpus >= LEAST_CPUS).then_some(found)
    });
    let mut grown: Vec<GrownCpuUse> = grown.collect();
    grown.sort_by(|a, b| b.after_cpus.total_cmp(&a.after_cpus));
    grown.truncate(MOST_REPORTED);
    grown
}

/// Another version of a program that ran before, and is gone: `server` of `server-v2`.
fn predecessor<'b>(of: &CpuUse, before: &'b Sampled, after: &Sampled) -> Option<&'b CpuUse> {
    let still_runs = |it: &CpuUse| after.profile.seen.cpu_use.iter().any(|now| now.process == it.process);
    let is_it =
        |it: &&CpuUse| it.owner == of.owner && are_versions(&it.process, &of.process) && !still_runs(it);
    before.profile.seen.cpu_use.iter().find(is_it)
}

/// The fewest letters of a name that tell it from others.
const LEAST_NAME: usize = 4;

/// Whether two names are alike up to their versions.
pub(crate) fn are_versions(one: &str, other: &str) -> bool {
    let stem = |name: &str| name.chars().take_while(|letter| letter.is_alphabetic()).collect::<String>();
    let stem_of_one = stem(one);
    stem_of_one.chars().count() >= LEAST_NAME && stem_of_one == stem(other)
}

/// The busiest thread of each process that has a busy one after, the busiest first.
pub(crate) fn busiest_threads(before: &Sampled, after: &Sampled) -> Vec<GrownCpuUse> {
    let cpus = |side: &Sampled, samples: u64| {
        samples as f64 / f64::from(side.profile.hertz.max(1)) / sampled_seconds(side)
    };
    let each = after.profile.seen.busiest_threads.iter().map(|used| {
        let same = |it: &&CpuUse| (&it.owner, &it.process) == (&used.owner, &used.process);
        let was = before.profile.seen.busiest_threads.iter().find(same).map_or(0, |it| it.samples);
        GrownCpuUse {
            who: who(&used.owner, &used.process),
            before_cpus: cpus(before, was),
            after_cpus: cpus(after, used.samples),
        }
    });
    let mut busy: Vec<GrownCpuUse> = each.filter(|it| it.after_cpus >= LEAST_BUSY).collect();
    busy.sort_by(|a, b| b.after_cpus.total_cmp(&a.after_cpus));
    busy.truncate(MOST_REPORTED);
    busy
}

/// For how long CPUs were sampled, in seconds: what was measured meanwhile may have been shorter by much, where a trial is short.
fn sampled_seconds(side: &Sampled) -> f64 {
    match side.profile.seen.sampled_us {
        0 => side.seconds,
        us => us as f64 / 1e6,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{Arm, Profile, ProfileClock, Seen};
    use proptest::prelude::*;

    use super::*;

    fn owner() -> Frame {
        Frame::new(FrameKind::Host, "relay")
    }

    fn asleep(functions: &[&str], call: &str) -> WaitSite {
        let functions = functions.iter().map(|name| (*name).to_owned()).collect();
        WaitSite::Sleep { functions, call: Some(call.to_owned()) }
    }

    /// Ten seconds with this many operations.
    fn side(operations: u64, see: impl FnOnce(&mut Seen)) -> Sampled {
        let mut profile = Profile::new(Arm::Treatment, ProfileClock::CpuClock, 100);
        profile.seen = Seen { looks: 200, watched_us: 200_000, ..Seen::default() };
        see(&mut profile.seen);
        Sampled { profile, operations, seconds: 10.0 }
    }

    fn waiting(operations: u64, site: &WaitSite, found: u64) -> Sampled {
        side(operations, |seen| {
            seen.wait(Wait {
                owner: owner(),
                process: "relay".into(),
                site: site.clone(),
                found,
                us: found * 50_000,
            });
        })
    }

    #[test]
    fn what_is_waited_for_is_told_by_the_functions_nearest_to_the_sleep() {
        let of = |functions: &[&str]| wait_for(&asleep(functions, "fsync"));
        assert_eq!(of(&["jbd2_log_wait_commit", "ext4_sync_file"]), WaitFor::Disk);
        assert_eq!(of(&["folio_wait_bit_common", "shrink_folio_list"]), WaitFor::Disk);
        assert_eq!(of(&["shrink_lruvec", "try_to_free_mem_cgroup_pages"]), WaitFor::Memory);
        assert_eq!(of(&["futex_do_wait"]), WaitFor::Lock);
        assert_eq!(of(&["ep_poll", "do_epoll_wait"]), WaitFor::Other);
        assert_eq!(wait_for(&WaitSite::Cpu), WaitFor::Cpu);
    }

    #[test]
    fn a_longer_wait_for_a_disk_is_told_for_each_operation() {
        // Two threads of ten seconds wait 4 ms in 5,000 operations, then 30 ms in 600.
        let fsync = asleep(&["jbd2_log_wait_commit"], "fsync");
        let grown = waits(&waiting(5000, &fsync, 400), &waiting(600, &fsync, 360));
        assert_eq!((grown.len(), grown[0].wait_for), (1, WaitFor::Disk));
        assert_eq!((grown[0].before_us, grown[0].after_us), (4000.0, 30_000.0));
        assert!((grown[0].after_threads - 1.8).abs() < 1e-9);
        assert_eq!(grown[0].site.title(), "jbd2_log_wait_commit in fsync");
    }

    #[test]
    fn threads_without_work_wait_longer_for_each_operation_where_fewer_come_and_that_is_not_told() {
        let idle = asleep(&["ep_poll"], "epoll_wait");
        assert!(waits(&waiting(5000, &idle, 400), &waiting(600, &idle, 420)).is_empty());
        let more = waits(&waiting(5000, &idle, 40), &waiting(600, &idle, 400));
        assert_eq!(more.len(), 1, "ten times as many threads wait");
    }

    #[test]
    fn a_full_pipe_holds_up_a_writer_that_ran_before_and_says_nothing_of_a_new_one() {
        let (full, idle) = (asleep(&["anon_pipe_write"], "write"), asleep(&["ep_poll"], "epoll_wait"));
        let grown = waits(&waiting(1000, &idle, 100), &waiting(1000, &full, 100));
        assert_eq!((grown.len(), grown[0].wait_for), (1, WaitFor::Pipe));
        assert!(waits(&side(1000, |_| {}), &waiting(1000, &full, 100)).is_empty());
        assert!(
            waits(&waiting(9000, &full, 100), &waiting(1000, &full, 110)).is_empty(),
            "at any time as many"
        );
    }

    fn failing(count: u64, call: &str, error: &str) -> Sampled {
        side(1000, |seen| {
            if count > 0 {
                let (call, error) = (call.into(), error.into());
                seen.failure(FailedCalls { owner: owner(), process: "relay".into(), call, error, count });
            }
        })
    }

    #[test]
    fn a_call_that_found_nothing_left_is_told_from_few_and_others_only_beyond_chance() {
        let of = |before: u64, after: u64, error: &str| {
            failures(&failing(before, "accept4", error), &failing(after, "accept4", error)).len()
        };
        assert_eq!((of(0, 2, "EMFILE"), of(0, 1, "EMFILE")), (1, 0));
        assert_eq!((of(0, 6, "ENOENT"), of(0, 60, "ENOENT"), of(50, 60, "ENOENT")), (0, 1, 0));
        let grown = failures(&failing(0, "accept4", "EMFILE"), &failing(6, "accept4", "EMFILE"));
        assert!((grown[0].after_per_s - 30.0).abs() < 1e-9, "6 in 0.2 s");
    }

    #[test]
    fn what_a_run_of_a_command_does_counts_for_each_run_and_not_for_each_second() {
        // The worse run takes ten times as long, and does in each second what it did before.
        let of = |is_command: bool| {
            let poll = asleep(&["poll_schedule_timeout"], "poll");
            let mut sides = [waiting(1000, &poll, 100), waiting(100, &poll, 100)];
            for side in &mut sides {
                side.profile.seen.failures = failing(60, "openat", "ENOENT").profile.seen.failures;
                let (service, process) = (COMMAND.to_owned(), "relay".to_owned());
                side.profile.seen.members.extend(is_command.then_some(ServiceMember { service, process }));
            }
            let [before, after] = &sides;
            (waits(before, after).len(), failures(before, after).len())
        };
        assert_eq!((of(true), of(false)), ((1, 1), (0, 0)));
    }

    #[test]
    fn a_new_version_of_a_program_is_no_newcomer() {
        let of = |process: &'static str, samples| {
            side(1000, move |seen| seen.cpu(CpuUse { owner: owner(), process: process.into(), samples }))
        };
        assert!(cpu_use(&of("orderd", 900), &of("orderd-v2", 910)).is_empty());
        assert!(!cpu_use(&of("orderd", 90), &of("orderd-v2", 910)).is_empty(), "it uses more");
        assert_eq!(cpu_use(&of("rustc", 900), &of("rustfmt", 900))[0].before_cpus, 0.0);
    }

    #[test]
    fn who_reads_more_of_a_device_and_who_uses_more_of_the_cpus_is_told() {
        let busy = |requests: u64, samples: u64| {
            side(1000, |seen| {
                let (process, device) = ("dd".to_owned(), "vda".to_owned());
                let bytes = requests * 65_536;
                seen.block(BlockIo { owner: owner(), process, device, writes: false, requests, bytes });
                seen.cpu(CpuUse { owner: owner(), process: "dd".into(), samples });
            })
        };
        let (calm, loud) = (busy(10, 10), busy(4000, 900));
        let io = block_io(&calm, &loud);
        assert_eq!((io[0].who.process.as_str(), io[0].after_per_s), ("dd", 400.0));
        assert!((cpu_use(&calm, &loud)[0].after_cpus - 0.9).abs() < 1e-9);
        let mut longer = loud.clone();
        longer.profile.seen.sampled_us = 20_000_000;
        let used = cpu_use(&calm, &longer)[0].after_cpus;
        assert!((used - 0.45).abs() < 1e-9, "sampled for twice the measured time: {used}");
        assert!(block_io(&loud, &calm).is_empty() && cpu_use(&loud, &loud).is_empty());
    }

    #[test]
    fn a_group_that_its_quota_stops_is_told_with_the_share_of_its_periods() {
        let of = |throttled: u64| {
            side(1000, |seen| {
                let (owner, group) = (owner(), "/limited".to_owned());
                seen.throttle(Throttled { owner, group, periods: 100, throttled, us: throttled * 60_000 });
            })
        };
        let grown = throttling(&of(0), &of(80));
        assert_eq!((grown[0].after_share, grown[0].after_us), (0.8, 4800.0));
        assert!(throttling(&of(80), &of(80)).is_empty() && throttling(&of(0), &of(2)).is_empty());
    }

    #[test]
    fn a_limit_is_told_where_it_is_lower_than_it_was_or_there_was_none() {
        let of = |most: Option<u64>| {
            side(1000, |seen| {
                if let Some(most) = most {
                    let (device, what) = ("vda".to_owned(), "wiops".to_owned());
                    seen.io_limit(IoLimit { owner: owner(), group: "/held".into(), device, what, most });
                }
            })
        };
        assert_eq!(io_limits(&of(None), &of(Some(50)))[0].after, 50);
        assert_eq!(io_limits(&of(Some(90)), &of(Some(50)))[0].before, Some(90));
        assert!(io_limits(&of(Some(50)), &of(Some(50))).is_empty());
        assert!(io_limits(&of(Some(50)), &of(None)).is_empty());
    }

    #[test]
    fn what_others_ask_of_devices_that_no_host_uses_is_not_told() {
        let asked = |requests: u64| {
            side(1000, |seen| {
                for (owner, process, device) in [
                    (owner(), "relay", "loop0"),
                    (Frame::new(FrameKind::Others, "machine"), "dd", "loop0"),
                    (Frame::new(FrameKind::Others, "machine"), "compiler", "vda"),
                ] {
                    let (process, device) = (process.to_owned(), device.to_owned());
                    let bytes = requests * 4096;
                    seen.block(BlockIo { owner, process, device, writes: true, requests, bytes });
                }
            })
        };
        let grown = block_io(&asked(10), &asked(4000));
        let named: Vec<&str> = grown.iter().map(|it| it.who.process.as_str()).collect();
        assert_eq!(named, ["relay", "dd"]);
    }

    proptest! {
        #[test]
        fn chance_makes_no_wait_longer(found in 20..400_u64, more in 0.75..1.25_f64) {
            let fsync = asleep(&["jbd2_log_wait_commit"], "fsync");
            let after = (found as f64 * more) as u64;
            prop_assert!(waits(&waiting(1000, &fsync, found), &waiting(1000, &fsync, after)).is_empty());
        }
    }
}
