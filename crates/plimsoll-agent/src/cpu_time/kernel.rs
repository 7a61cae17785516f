//! What the kernel tells of the processes of a host.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::DirEntryExt;

use nix::libc::clockid_t;
use nix::time::{ClockId, clock_gettime};
use plimsoll_probe::small_file;

/// The questions about processes, so that tests can let a process end between any two of them.
pub(super) trait Kernel {
    /// The number that a process or a thread was given last.
    fn newest(&self) -> Option<u32>;
    /// All processes, each with an inode that no later process of its number has.
    fn list(&self) -> HashMap<i32, u64>;
    /// `None` if the process has ended.
    fn stat(&self, pid: i32) -> Option<Stat>;
    /// Time of all threads of a process that is not reaped yet, in nanoseconds.
    fn own_ns(&self, pid: i32) -> Option<u64>;
}

/// A line of `/proc/PID/stat`, as far as it tells whose process it is and what its ended children used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Time of children that were waited for, with theirs, in ticks.
    pub(super) reaped: u64,
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

/// The running kernel, as `/proc` and the clocks of processes show it.
pub(super) struct Proc;

impl Kernel for Proc {
    /// The last field of proc_loadavg(5); each namespace of processes has its own.
    fn newest(&self) -> Option<u32> {
        let text = small_file::text("/proc/loadavg".as_ref()).ok()?;
        text.split_ascii_whitespace().nth(4)?.parse().ok()
    }

    fn list(&self) -> HashMap<i32, u64> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.ino()))).collect()
    }

    fn stat(&self, pid: i32) -> Option<Stat> {
        let text = small_file::read(format!("/proc/{pid}/stat").as_ref()).ok()?;
        Stat::parse(&String::from_utf8_lossy(&text))
    }

    fn own_ns(&self, pid: i32) -> Option<u64> {
        // As clock_getcpuclockid(3) makes it, which asks the kernel first whether the process is there (MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED
        // in include/linux/posix-timers_types.h).
        let clock: clockid_t = !pid << 3 | 2;
        let time = clock_gettime(ClockId::from_raw(clock)).ok()?;
        u64::try_from(time.tv_sec())
            .ok()?
            .checked_mul(1_000_000_000)?
            .checked_add(u64::try_from(time.tv_nsec()).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_a_name_with_parentheses_and_blanks() {
        let line = "77 (a) b (c)) S 12 34 34 0 -1 4194560 500 0 0 0 1 2 56 78 20 0 3 0 100 0 0";
        assert_eq!(Stat::parse(line), Some(Stat { parent: 12, group: 34, reaped: 134 }));
        for cut in ["", "77 (a", "77 (a) S 1 77", "77 (a) S 1 77 77 0 -1 4194560 500 0 0 0 12 34 56"] {
            assert_eq!(Stat::parse(cut), None, "{cut:?}");
        }
    }
}
