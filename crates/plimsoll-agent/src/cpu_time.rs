//! CPU time of services: of all processes that they consist of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};
use plimsoll_model::frame::Id;

use crate::ById;

/// CPU time of each service when it was marked, in nanoseconds.
#[derive(Default)]
pub(crate) struct ServicesTime(ById<u64>);

impl ServicesTime {
    /// Remembers what services have used until now, each by the group of processes that it was started as.
    pub(crate) fn mark(&mut self, groups: &ById<Pid>) {
        self.0 = of_groups(Path::new("/proc"), groups);
    }

    /// What all of them used since then, in microseconds; nothing where they are not the same services, or none.
    pub(crate) fn since_mark(&self, groups: &ById<Pid>) -> Option<u64> {
        spent(&self.0, &of_groups(Path::new("/proc"), groups))
    }
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

/// The CPU time of each service until now, in nanoseconds. What left its group belongs to it as long as its parents do.
fn of_groups(proc: &Path, groups: &ById<Pid>) -> ById<u64> {
    if groups.is_empty() {
        return ById::new();
    }
    let processes = processes(proc);
    let tick_ns = sysconf(SysconfVar::CLK_TCK)
        .ok()
        .flatten()
        .map_or(0, |hertz| 1_000_000_000 / hertz.unsigned_abs().max(1));
    let mut used: ById<u64> = groups.keys().map(|id| (*id, 0)).collect();
    for (pid, stat) in &processes {
        let Some(used) = service_of(*pid, &processes, groups).and_then(|id| used.get_mut(&id)) else {
            continue;
        };
        // One that has ended since is in the time of its parent, or in nobody's.
        *used += own_ns(*pid).unwrap_or(0) + stat.reaped.saturating_mul(tick_ns);
    }
    used
}

fn spent(before: &ById<u64>, after: &ById<u64>) -> Option<u64> {
    if after.is_empty() || !before.keys().eq(after.keys()) {
        return None;
    }
    let each = after.iter().map(|(id, ns)| ns.checked_sub(before[id]));
    each.sum::<Option<u64>>().map(|ns| ns / 1000)
}

fn processes(proc: &Path) -> BTreeMap<i32, Stat> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let each = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, Stat::parse(&String::from_utf8_lossy(&fs::read(entry.path().join("stat")).ok()?))?))
    });
    each.collect()
}

/// The service that a process is part of: its group says so, or that of a process above it.
fn service_of(pid: i32, processes: &BTreeMap<i32, Stat>, groups: &ById<Pid>) -> Option<Id> {
    let mut above = pid;
    // There are no more generations than processes, also where the list was read while they changed.
    for _ in 0..processes.len() {
        let stat = processes.get(&above)?;
        if let Some((id, _)) = groups.iter().find(|(_, group)| group.as_raw() == stat.group) {
            return Some(*id);
        }
        above = stat.parent;
    }
    None
}

/// The time of all threads of a process, in nanoseconds; nothing where it has ended.
fn own_ns(pid: i32) -> Option<u64> {
    let time = clock_gettime(clock_getcpuclockid(Pid::from_raw(pid)).ok()?).ok()?;
    u64::try_from(time.tv_sec())
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec()).ok()?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

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
        let stat = |parent, group| Stat { parent, group, reaped: 0 };
        let processes = BTreeMap::from([
            (10, stat(1, 10)),
            (11, stat(10, 10)),
            (12, stat(11, 12)),
            (20, stat(1, 20)),
            (30, stat(31, 30)),
            (31, stat(30, 31)),
        ]);
        let groups = ById::from([(7, Pid::from_raw(10))]);
        let of = |pid| service_of(pid, &processes, &groups);
        assert_eq!([10, 11, 12, 20, 30, 99].map(of), [Some(7), Some(7), Some(7), None, None, None]);
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
        let mut used = ById::new();
        while used.get(&1).is_none_or(|ns| *ns < single * 5 / 2) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
            used = of_groups(Path::new("/proc"), &groups);
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
