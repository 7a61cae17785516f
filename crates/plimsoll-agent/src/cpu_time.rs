//! CPU time of services: of all processes that they consist of.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::DirEntryExt;
use std::time::Instant;

use nix::libc::clockid_t;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};
use plimsoll_model::frame::Id;
use plimsoll_probe::counters::FRESH;
use plimsoll_probe::small_file;

use crate::ById;

/// Living processes that are asked again at each look for what their ended children used, of those that have had none.
const ASKED_AGAIN: usize = 8;

/// CPU time of services between two moments.
#[derive(Default)]
pub(crate) struct ServicesTime {
    processes: Processes,
    /// What each service had used when it was marked, in nanoseconds.
    marked: ById<u64>,
    /// What they had used at the last question, and when that was.
    last: Option<(ById<u64>, Instant)>,
}

impl ServicesTime {
    /// Remembers what services have used until now, each by the group of processes that it was started as.
    pub(crate) fn mark(&mut self, groups: &ById<Pid>) {
        // The end of one slice is the beginning of the next, where that follows at once.
        let last =
            self.last.take().filter(|(used, at)| at.elapsed() < FRESH && used.keys().eq(groups.keys()));
        self.marked = last.map_or_else(|| self.processes.used(groups), |(used, _)| used);
    }

    /// What all of them used since then, in microseconds; nothing where they are not the same services, or none.
    pub(crate) fn since_mark(&mut self, groups: &ById<Pid>) -> Option<u64> {
        let used = self.processes.used(groups);
        let spent = spent(&self.marked, &used);
        self.last = Some((used, Instant::now()));
        spent
    }
}

/// All processes, as they were when they were first seen. A service may have hundreds that wait, and each slice looks twice.
#[derive(Default)]
struct Processes {
    /// The services that there were when they were seen.
    of: Vec<Id>,
    known: HashMap<i32, Process>,
    /// The number that was given to a process last; nothing where it is not known.
    newest: Option<u32>,
    looks: usize,
}

struct Process {
    /// The inode of its folder in `/proc`, which another process with its number does not have.
    inode: u64,
    service: Option<Id>,
    /// Its own time at the last look, in nanoseconds.
    own_ns: u64,
    /// Time of children that were waited for, in ticks.
    reaped: u64,
}

/// A line of `/proc/PID/stat`, as far as it tells whose process it is and what its ended children used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    group: i32,
    /// Time of children that were waited for, with theirs, in ticks.
    reaped: u64,
}

impl Stat {
    /// Field numbers are those of proc_pid_stat(5). The name in parentheses may hold anything, parentheses too.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        let parent = fields.nth(4 - 3)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let reaped: u64 = fields.nth(16 - 5 - 1)?.parse().ok()?;
        let in_kernel: u64 = fields.next()?.parse().ok()?;
        Some(Self { parent, group, reaped: reaped.checked_add(in_kernel)? })
    }
}

impl Process {
    /// Reads its own time; false where it has ended.
    fn look(&mut self, pid: i32) -> bool {
        own_ns(pid).map(|ns| self.own_ns = ns).is_some()
    }
}

impl Processes {
    /// The CPU time of each service until now, in nanoseconds. What left its group belongs to it as long as its parents do, and from then on that
    /// it was seen to.
    fn used(&mut self, groups: &ById<Pid>) -> ById<u64> {
        if groups.is_empty() {
            return ById::new();
        }
        if !self.of.iter().eq(groups.keys()) {
            *self = Self { of: groups.keys().copied().collect(), ..Self::default() };
        }
        let newest = newest();
        if newest.is_none() || newest != self.newest {
            self.find(groups);
            self.newest = newest;
        }
        // The parent that reaps an ended process gets its time.
        let ended = self.known.extract_if(|pid, process| process.service.is_some() && !process.look(*pid));
        let has_lost_some = ended.count() > 0;
        let tick_ns = sysconf(SysconfVar::CLK_TCK)
            .ok()
            .flatten()
            .map_or(0, |hertz| 1_000_000_000 / hertz.unsigned_abs().max(1));
        self.looks += 1;
        let mut used: ById<u64> = groups.keys().map(|id| (*id, 0)).collect();
        let every = self.known.len().div_ceil(ASKED_AGAIN).max(1);
        let members = self.known.iter_mut().filter(|(_, process)| process.service.is_some());
        for (at, (pid, process)) in members.enumerate() {
            // Most processes never have children, and it costs ten times as much to ask for theirs as for their own time.
            if has_lost_some || process.reaped > 0 || (at + self.looks).is_multiple_of(every) {
                process.reaped = stat(*pid).map_or(process.reaped, |stat| stat.reaped);
            }
            if let Some(used) = process.service.and_then(|id| used.get_mut(&id)) {
                *used += process.own_ns + process.reaped.saturating_mul(tick_ns);
            }
        }
        used
    }

    /// Forgets strangers that have ended, and numbers that others have now, and learns to which service new processes belong.
    fn find(&mut self, groups: &ById<Pid>) {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let living: HashMap<i32, u64> = entries
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.ino())))
            .collect();
        self.known.retain(|pid, process| match living.get(pid) {
            Some(inode) => *inode == process.inode,
            None => process.service.is_some(),
        });
        let new = living.into_iter().filter(|(pid, _)| !self.known.contains_key(pid));
        let new: HashMap<i32, (u64, Stat)> =
            new.filter_map(|(pid, inode)| Some((pid, (inode, stat(pid)?)))).collect();
        let found = new.iter().map(|(pid, (inode, stat))| {
            let service = self.service_of(*pid, &new, groups);
            (*pid, Process { inode: *inode, service, own_ns: 0, reaped: stat.reaped })
        });
        let found: Vec<_> = found.collect();
        self.known.extend(found);
    }

    /// The service that a new process is part of: its group says so, or that of a process above it.
    fn service_of(&self, pid: i32, new: &HashMap<i32, (u64, Stat)>, groups: &ById<Pid>) -> Option<Id> {
        let mut above = pid;
        // There are no more generations than processes, also where the list was read while they changed.
        for _ in 0..=new.len() {
            if let Some(known) = self.known.get(&above) {
                return known.service;
            }
            let (_, stat) = new.get(&above)?;
            if let Some((id, _)) = groups.iter().find(|(_, group)| group.as_raw() == stat.group) {
                return Some(*id);
            }
            above = stat.parent;
        }
        None
    }
}

fn spent(before: &ById<u64>, after: &ById<u64>) -> Option<u64> {
    if after.is_empty() || !before.keys().eq(after.keys()) {
        return None;
    }
    let each = after.iter().map(|(id, ns)| ns.checked_sub(before[id]));
    each.sum::<Option<u64>>().map(|ns| ns / 1000)
}

/// The number that was given to a process or a thread last in this namespace of processes (proc_loadavg(5)).
fn newest() -> Option<u32> {
    let text = small_file::text("/proc/loadavg".as_ref()).ok()?;
    text.split_ascii_whitespace().nth(4)?.parse().ok()
}

fn stat(pid: i32) -> Option<Stat> {
    let text = small_file::read(format!("/proc/{pid}/stat").as_ref()).ok()?;
    Stat::parse(&String::from_utf8_lossy(&text))
}

/// The time of all threads of a process, in nanoseconds; nothing where it has ended.
fn own_ns(pid: i32) -> Option<u64> {
    // As clock_getcpuclockid(3) makes it, which asks the kernel first whether the process is there (MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED in
    // include/linux/posix-timers_types.h).
    let clock: clockid_t = !pid << 3 | 2;
    let time = clock_gettime(ClockId::from_raw(clock)).ok()?;
    u64::try_from(time.tv_sec())
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec()).ok()?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_fields_are_found_behind_a_name_with_parentheses_and_blanks() {
        let line = "77 (a) b (c)) S 12 34 34 0 -1 4194560 500 0 0 0 1 2 56 78 20 0 3 0 100 0 0";
        assert_eq!(Stat::parse(line), Some(Stat { parent: 12, group: 34, reaped: 134 }));
        for cut in ["", "77 (a", "77 (a) S 1 77", "77 (a) S 1 77 77 0 -1 4194560 500 0 0 0 12 34 56"] {
            assert_eq!(Stat::parse(cut), None, "{cut:?}");
        }
    }

    #[test]
    fn a_process_is_part_of_the_service_above_it_and_a_circle_is_of_none() {
        let stat = |parent, group| (1, Stat { parent, group, reaped: 0 });
        let new = HashMap::from([
            (10, stat(1, 10)),
            (11, stat(10, 10)),
            (12, stat(11, 12)),
            (13, stat(9, 13)),
            (20, stat(1, 20)),
            (30, stat(31, 30)),
            (31, stat(30, 31)),
        ]);
        let groups = ById::from([(7, Pid::from_raw(10))]);
        let before = Process { inode: 1, service: Some(8), own_ns: 0, reaped: 0 };
        let processes = Processes { known: HashMap::from([(9, before)]), ..Processes::default() };
        let of = |pid| processes.service_of(pid, &new, &groups);
        let expected = [Some(7), Some(7), Some(7), Some(8), None, None, None];
        assert_eq!([10, 11, 12, 13, 20, 30, 99].map(of), expected);
    }

    #[test]
    fn time_is_known_where_the_same_services_run_before_and_after() {
        let at = |ns: &[(Id, u64)]| ns.iter().copied().collect::<ById<u64>>();
        assert_eq!(spent(&at(&[(1, 5_000), (2, 0)]), &at(&[(1, 9_000), (2, 3_000)])), Some(7));
        assert_eq!(spent(&at(&[(1, 5_000)]), &at(&[(1, 9_000), (2, 3_000)])), None);
        assert_eq!(spent(&at(&[(1, 5_000)]), &at(&[(1, 4_000)])), None);
        assert_eq!(spent(&ById::new(), &ById::new()), None);
    }

    #[test]
    fn work_of_a_group_counts_that_of_living_and_of_ended_children_and_nobody_elses() {
        let spin = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let start = |script: String| {
            Command::new("sh").args(["-c", &script]).process_group(0).stdout(Stdio::piped()).spawn().unwrap()
        };
        // A child that ends, one in a group of its own that lives on, and the shell itself.
        let mut service = start(format!("({spin}); setsid sh -c '{spin}; sleep 60' & {spin}; wait"));
        let mut other = start("sleep 60".into());
        let groups = [(1, service.id()), (2, other.id())];
        let groups: ById<Pid> = groups.map(|(id, pid)| (id, Pid::from_raw(pid.cast_signed()))).into();
        let single = {
            let mut alone = Command::new("sh").args(["-c", spin]).spawn().unwrap();
            let mut ns = 0;
            while alone.try_wait().unwrap().is_none() {
                ns = own_ns(alone.id().cast_signed()).unwrap_or(ns);
                std::thread::sleep(Duration::from_millis(1));
            }
            ns
        };
        let until = Instant::now() + Duration::from_secs(30);
        let (mut used, mut processes) = (ById::new(), Processes::default());
        while used.get(&1).is_none_or(|ns| *ns < single * 5 / 2) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
            used = processes.used(&groups);
        }
        assert!(used[&1] >= single * 5 / 2, "{used:?}, one of three took {single}");
        assert!(used[&2] < single / 2, "{used:?}");
        for child in [&mut service, &mut other] {
            nix::sys::signal::killpg(
                Pid::from_raw(child.id().cast_signed()),
                nix::sys::signal::Signal::SIGKILL,
            )
            .ok();
            child.wait().unwrap();
        }
    }
}
