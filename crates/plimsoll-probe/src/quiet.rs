//! Is the machine quiet? A foreign process on the CPUs spoils a measurement silently.
//!
//! Two answers: from the counters, how much of the machine was stolen or used by others; from a snapshot of the processes, who it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plimsoll_model::observation::Snapshot;

use crate::cpu_time;
use crate::small_file;

/// CPU time of an interval, as shares (0 to 1) of the time of all CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShares {
    /// Taken by the hypervisor for other machines.
    pub steal: f64,
    /// Used, for whatever it be.
    pub busy: f64,
    /// Used, but not by us.
    pub others: f64,
}

impl CpuShares {
    /// From two snapshots of the machine's counters and the CPU time in microseconds that our own processes used between them.
    /// `None` where a snapshot lacks the counters, or no time passed.
    ///
    /// Interrupts that our traffic causes are counted by the kernel as nobody's, and so as others': `others` is what is left of user
    /// and nice time, and of system time, but not of irq and softirq.
    pub fn between(before: &Snapshot, after: &Snapshot, own_us: f64) -> Option<Self> {
        let grown = |field: &str| {
            let name = format!("machine.stat.cpu.{field}");
            // The kernel lets idle and iowait step back at times (proc_stat(5)).
            Some((after.values.get(&name)? - before.values.get(&name)?).max(0.0))
        };
        let programs = grown("user")? + grown("nice")? + grown("system")?;
        let interrupts = grown("irq")? + grown("softirq")?;
        // Kernels before 2.6.11 and machines of metal have no steal.
        let steal = grown("steal").unwrap_or(0.0);
        let all = programs + interrupts + steal + grown("idle")? + grown("iowait")?;
        (all > 0.0).then(|| Self {
            steal: steal / all,
            busy: (programs + interrupts) / all,
            others: (programs - own_us).max(0.0) / all,
        })
    }
}

/// CPU time of every process that can be seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSnapshot {
    processes: BTreeMap<u32, Process>,
}

#[derive(Clone, Debug, PartialEq)]
struct Process {
    name: String,
    parent: u32,
    /// Start time, in ticks: it distinguishes a process from a later one of the same number.
    started: u64,
    cpu_us: f64,
}

/// A process that used the CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel has it: 15 bytes at most.
    pub name: String,
    /// CPU time that it used, user and system, in microseconds.
    pub cpu_us: f64,
}

impl ProcessSnapshot {
    /// Takes a snapshot of the processes below `root`, the directory that holds `proc`. Kernel threads are in it.
    #[must_use]
    pub fn take(root: &Path) -> Self {
        let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, Process::read(&entry.path())?))
        });
        Self { processes: processes.collect() }
    }

    /// Users of the CPU from this snapshot to a later one, except the processes `own` and all that descend from them;
    /// most first.
    pub fn others(&self, later: &Self, own: &[u32]) -> Vec<OtherProcess> {
        let strangers = later.processes.iter().filter(|(pid, _)| !later.descends(**pid, own));
        let used = strangers.map(|(&pid, process)| {
            let before = self.processes.get(&pid).filter(|before| before.started == process.started);
            let cpu_us = process.cpu_us - before.map_or(0.0, |before| before.cpu_us);
            OtherProcess { pid, name: process.name.clone(), cpu_us }
        });
        let mut used: Vec<_> = used.filter(|process| process.cpu_us > 0.0).collect();
        used.sort_by(|a, b| b.cpu_us.total_cmp(&a.cpu_us));
        used
    }

    fn descends(&self, pid: u32, ancestors: &[u32]) -> bool {
        let parent =
            |pid: &u32| self.processes.get(pid).map(|process| process.parent).filter(|&parent| parent != 0);
        // A loop of parents can't be, but a snapshot takes time: parents change while it is taken.
        std::iter::successors(Some(pid), parent)
            .take(self.processes.len() + 1)
            .any(|pid| ancestors.contains(&pid))
    }
}

impl Process {
    fn read(directory: &Path) -> Option<Self> {
        let text = small_file::read(&directory.join("stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        let name = text.get(text.find('(')? + 1..text.rfind(')')?)?.to_owned();
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        // Field numbers are those of proc_pid_stat(5); the state, number 3, comes first here.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            name,
            parent: u32::try_from(field(4)?).ok()?,
            started: field(22)?,
            cpu_us: cpu_time::ticks(field(14)? as f64 + field(15)? as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(fields: &[(&str, f64)]) -> Snapshot {
        let values = fields.iter().map(|(name, value)| (format!("machine.stat.cpu.{name}"), *value));
        Snapshot { at_ns: 0, values: values.collect() }
    }

    #[test]
    fn time_is_shared_out_between_us_others_interrupts_and_the_hypervisor() {
        let zero =
            ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"].map(|name| (name, 0.0));
        let mut after = zero;
        for (index, value) in [30.0, 0.0, 20.0, 25.0, 5.0, 0.0, 10.0, 10.0].into_iter().enumerate() {
            after[index].1 = value;
        }
        let shares = CpuShares::between(&snapshot(&zero), &snapshot(&after), 40.0).expect("all fields");
        assert_eq!(shares, CpuShares { steal: 0.1, busy: 0.6, others: 0.1 });
    }

    #[test]
    fn no_time_or_no_counters_give_no_answer() {
        let empty = Snapshot::default();
        assert_eq!(CpuShares::between(&empty, &empty, 0.0), None);
        let zero =
            snapshot(&["user", "nice", "system", "idle", "iowait", "irq", "softirq"].map(|name| (name, 0.0)));
        assert_eq!(CpuShares::between(&zero, &zero, 0.0), None);
    }

    fn processes(processes: &[(u32, u32, u64, f64)]) -> ProcessSnapshot {
        let process = |&(pid, parent, started, cpu_us)| {
            (pid, Process { name: format!("p{pid}"), parent, started, cpu_us })
        };
        ProcessSnapshot { processes: processes.iter().map(process).collect() }
    }

    #[test]
    fn our_own_and_their_children_are_no_others() {
        let before = processes(&[(1, 0, 1, 5.0), (10, 1, 2, 100.0), (11, 10, 3, 0.0), (20, 1, 4, 50.0)]);
        let after = processes(&[(1, 0, 1, 5.0), (10, 1, 2, 900.0), (11, 10, 3, 700.0), (20, 1, 4, 80.0)]);
        let others = before.others(&after, &[10]);
        assert_eq!(others, [OtherProcess { pid: 20, name: "p20".to_owned(), cpu_us: 30.0 }]);
    }

    #[test]
    fn a_process_that_took_over_a_number_is_counted_from_its_start() {
        let before = processes(&[(20, 1, 4, 50.0)]);
        let after = processes(&[(20, 1, 99, 30.0)]);
        assert_eq!(before.others(&after, &[])[0].cpu_us, 30.0);
    }
}
