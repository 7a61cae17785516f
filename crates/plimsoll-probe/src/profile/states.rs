//! What the kernel keeps of a process: its priority, the CPUs that it may use, and the file locks that it holds.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use plimsoll_inventory::parse_cpu_list;
use plimsoll_model::observation::StateKind;

use super::processes::Identity;
use crate::small_file;

/// The largest value of each state that was seen of a program.
pub(super) type States = BTreeMap<(Identity, StateKind), u64>;

/// The processes that are asked when a window ends.
pub(super) const MOST_ASKED: usize = 48;
/// How much of `/proc/locks` is read, in bytes: some 20,000 locks. Locking waits meanwhile.
const MOST_OF_LOCKS: u64 = 1 << 20;
/// PF_KTHREAD (linux/sched.h).
const KERNEL_THREAD: u64 = 0x20_0000;
/// SCHED_IDLE (linux/sched.h).
const IDLE_POLICY: u64 = 5;

/// Notes a state of a program; of two values the larger.
pub(super) fn note(states: &mut States, identity: &Identity, kind: StateKind, value: u64) {
    if value > 0 {
        let known = states.entry((identity.clone(), kind)).or_default();
        *known = value.max(*known);
    }
}

/// How many CPUs are on line; 0 where the kernel does not tell, so that none is withheld.
pub(super) fn online_cpus() -> usize {
    fs::read_to_string("/sys/devices/system/cpu/online").map_or(0, |list| parse_cpu_list(&list).len())
}

/// What the kernel keeps of a process: how it is scheduled, and how late its timers may be. `None` if it has ended, and for a thread of the kernel.
pub(super) fn of_process(pid: u32, cpus: usize) -> Option<impl Iterator<Item = (StateKind, u64)>> {
    let slack = timer_slack(pid).map(|ns| (StateKind::TimerSlack, ns));
    Some(scheduling(pid, cpus)?.into_iter().chain(slack))
}

/// By how many nanoseconds its timers may be late; `None` if the kernel does not tell: Linux tells it to those who may change it.
fn timer_slack(pid: u32) -> Option<u64> {
    small_file::text(Path::new(&format!("/proc/{pid}/timerslack_ns"))).ok()?.trim().parse().ok()
}

/// How a process is scheduled; `None` if it has ended, and for a thread of the kernel, which has its own place.
fn scheduling(pid: u32, cpus: usize) -> Option<[(StateKind, u64); 3]> {
    let (nice, policy) = of_stat(&small_file::text(Path::new(&format!("/proc/{pid}/stat"))).ok()?)?;
    let status = small_file::text(Path::new(&format!("/proc/{pid}/status"))).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let withheld = cpus.saturating_sub(parse_cpu_list(allowed.trim()).len());
    Some([
        (StateKind::Nice, nice),
        (StateKind::IdleOnly, u64::from(policy == IDLE_POLICY)),
        (StateKind::WithheldCpus, withheld as u64),
    ])
}

/// The nice value, where it is above 0, and the scheduling policy: fields 19 and 41 of `/proc/PID/stat` (proc_pid_stat(5)), where the flags in
/// field 9 are not those of a thread of the kernel.
fn of_stat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let flags: u64 = fields.nth(9 - 3)?.parse().ok()?;
    if flags & KERNEL_THREAD != 0 {
        return None;
    }
    let nice: i64 = fields.nth(19 - 9 - 1)?.parse().ok()?;
    let policy = fields.nth(41 - 19 - 1)?.parse().ok()?;
    Some((u64::try_from(nice).unwrap_or(0), policy))
}

/// How many file locks each process holds, as far as they are read.
pub(super) fn file_locks() -> HashMap<u32, u64> {
    let mut text = String::new();
    let read = File::open("/proc/locks").and_then(|file| file.take(MOST_OF_LOCKS).read_to_string(&mut text));
    if read.is_ok() { of_locks(&text) } else { HashMap::new() }
}

/// `1: POSIX  ADVISORY  WRITE 4321 08:01:5678 0 EOF`; a waiting request has an arrow, and no process holds its lock yet.
fn of_locks(text: &str) -> HashMap<u32, u64> {
    let mut held = HashMap::new();
    for line in text.lines().filter(|line| !line.contains("->")) {
        if let Some(pid) = line.split_ascii_whitespace().nth(4).and_then(|pid| pid.parse().ok()) {
            *held.entry(pid).or_default() += 1;
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_with_a_low_priority_on_one_cpu_is_seen_as_such() {
        let sleeper =
            |words: &[&str]| Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).spawn().unwrap();
        let mut low = sleeper(&["nice", "-n", "7", "sleep", "30"]);
        let mut idle = sleeper(&["chrt", "--idle", "0", "taskset", "-c", "0", "sleep", "30"]);
        let of = |pid: u32, wanted: [(StateKind, u64); 3]| {
            let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while scheduling(pid, 4) != Some(wanted) && std::time::Instant::now() < until {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            assert_eq!(scheduling(pid, 4), Some(wanted));
        };
        let own = fs::read_to_string("/proc/self/status").unwrap();
        let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        let withheld = 4_u64.saturating_sub(parse_cpu_list(own.trim()).len() as u64);
        let kinds = [StateKind::Nice, StateKind::IdleOnly, StateKind::WithheldCpus];
        of(low.id(), [(kinds[0], 7), (kinds[1], 0), (kinds[2], withheld)]);
        of(idle.id(), [(kinds[0], 0), (kinds[1], 1), (kinds[2], 3)]);
        for child in [&mut low, &mut idle] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_process_whose_timers_may_be_late_is_seen_as_such() {
        let set = |ns: u64| fs::write("/proc/self/timerslack_ns", ns.to_string()).unwrap();
        let own = timer_slack(std::process::id()).unwrap();
        set(900_000);
        let seen: Vec<(StateKind, u64)> = of_process(std::process::id(), 4).unwrap().collect();
        set(own);
        assert!(seen.contains(&(StateKind::TimerSlack, 900_000)), "{seen:?}");
    }

    #[test]
    fn a_thread_of_the_kernel_has_no_state_of_its_own() {
        let of = |flags: u64| {
            let between = ["0"; 9].join(" ");
            let rest = ["0"; 21].join(" ");
            of_stat(&format!("2 (a b) S 0 0 0 0 -1 {flags} {between} 19 {rest} 5"))
        };
        assert_eq!((of(0), of(KERNEL_THREAD | 64)), (Some((19, 5)), None));
    }

    #[test]
    fn locks_are_counted_for_the_process_that_holds_them() {
        let text = "1: POSIX  ADVISORY  WRITE 77 08:01:131 0 0\n\
                    1: -> POSIX  ADVISORY  WRITE 88 08:01:131 0 0\n\
                    2: FLOCK  ADVISORY  WRITE 99 00:15:20 0 EOF\n\
                    3: OFDLCK ADVISORY  READ -1 00:15:20 0 EOF\n\
                    4: POSIX  ADVISORY  WRITE 77 08:01:131 2 2\n";
        let locks = of_locks(text);
        assert_eq!((locks.len(), locks[&77], locks[&99]), (2, 2, 1));
    }
}
