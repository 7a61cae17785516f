//! Figures without noise, counted by a program around the command: its instructions, its system calls and its allocations.
//!
//! Instructions are counted by the CPU where it has counters (`perf stat`), and otherwise one by one by Valgrind, under which a command takes some
//! tenfold. System calls are counted by the kernel's trace point, and otherwise by `strace`.

use std::path::Path;
use std::process::Command;

use super::{Invocation, MeasureError};
use crate::failure::Failure;

/// A program that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// `perf stat`, with this event.
    Perf(&'static str),
    /// Valgrind's Cachegrind without its caches.
    Valgrind,
    /// Valgrind's Memcheck without its checks.
    Heap,
    /// `strace -c`.
    Strace,
}

/// Instructions outside of the kernel.
const INSTRUCTIONS: Counter = Counter::Perf("instructions:u");
/// System calls.
const CALLS: Counter = Counter::Perf("raw_syscalls:sys_enter");

impl Counter {
    /// Counter of instructions on this machine.
    pub(crate) fn of_instructions() -> Result<Self, Failure> {
        Self::first(&[INSTRUCTIONS, Self::Valgrind], "instructions", "valgrind")
    }

    /// Counter of system calls on this machine.
    pub(crate) fn of_calls() -> Result<Self, Failure> {
        Self::first(&[CALLS, Self::Strace], "system calls", "strace")
    }

    /// Counter of allocations.
    pub(crate) fn of_allocations() -> Result<Self, Failure> {
        if Self::Heap.works() {
            return Ok(Self::Heap);
        }
        Err(Failure::CouldNot {
            what: "allocations are counted by valgrind, which does not run here".into(),
            advice: Some("apt-get install valgrind libc6-dbg, or another --metric".into()),
        })
    }

    /// Whether the CPU counts instructions, which costs a command nothing.
    pub(crate) fn of_cpu() -> Option<Self> {
        INSTRUCTIONS.works().then_some(INSTRUCTIONS)
    }

    fn first(all: &[Self], what: &str, package: &str) -> Result<Self, Failure> {
        all.iter().copied().find(|counter| counter.works()).ok_or_else(|| Failure::CouldNot {
            what: format!("nothing on this machine counts {what}: `perf stat` has no such counter here, and there is no {package}"),
            advice: Some(format!("apt-get install {package}, or another --metric")),
        })
    }

    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Perf(_) => "perf stat",
            Self::Valgrind | Self::Heap => "valgrind",
            Self::Strace => "strace",
        }
    }

    /// The public name of the counted event.
    pub(super) fn metric(self) -> &'static str {
        match self {
            Self::Heap => "allocations",
            Self::Valgrind | INSTRUCTIONS => "instructions",
            _ => "system_calls",
        }
    }

    /// Counts a program that does nothing.
    fn works(self) -> bool {
        let count = || {
            let folder = tempfile::tempdir().ok()?;
            let Invocation::Words { program, words } =
                self.around(&super::of_words(vec!["true".into()]), folder.path())
            else {
                return None;
            };
            let ended = Command::new(program).args(&words[1..]).output().ok()?;
            ended.status.success().then(|| self.read(folder.path()))?
        };
        count().is_some()
    }

    /// The command with the counting around it, whose result goes into a folder.
    pub(super) fn around(self, command: &Invocation, folder: &Path) -> Invocation {
        let file = folder.join("count").display().to_string();
        let of_each = format!("--log-file={file}.%p");
        let counting: Vec<&str> = match self {
            Self::Perf(event) => vec!["perf", "stat", "-x,", "-e", event, "-o", &file, "--"],
            Self::Valgrind => vec![
                "valgrind",
                "--tool=cachegrind",
                "--cache-sim=no",
                "--cachegrind-out-file=/dev/null",
                "--trace-children=yes",
                &of_each,
            ],
            Self::Heap => vec![
                "valgrind",
                "--tool=memcheck",
                "--leak-check=no",
                "--undef-value-errors=no",
                "--trace-children=yes",
                &of_each,
            ],
            Self::Strace => vec!["strace", "-f", "-c", "-o", &file, "--"],
        };
        let (program, rest) = match command {
            Invocation::Words { program, words } => (program.display().to_string(), words[1..].to_vec()),
            Invocation::Shell(line) => ("/bin/sh".to_owned(), vec!["-c".to_owned(), line.clone()]),
        };
        super::of_words(counting.into_iter().map(ToOwned::to_owned).chain([program]).chain(rest).collect())
    }

    /// The count over all processes of the command.
    fn read(self, folder: &Path) -> Option<f64> {
        let files = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
        files.filter_map(|text| self.parse(&text)).reduce(|sum, count| sum + count)
    }

    fn parse(self, text: &str) -> Option<f64> {
        text.lines().rev().find_map(|line| match self {
            Self::Perf(event) => line.contains(event).then(|| line.split(',').next()?.parse().ok())?,
            Self::Valgrind => {
                let (_, count) =
                    line.split_once("refs:").filter(|(before, _)| before.trim_end().ends_with('I'))?;
                count.trim().replace(',', "").parse().ok()
            }
            Self::Heap => {
                let (_, usage) = line.split_once("total heap usage: ")?;
                usage.split_once(" allocs")?.0.replace(',', "").parse().ok()
            }
            Self::Strace => {
                let words: Vec<&str> = line.split_whitespace().collect();
                (words.last() == Some(&"total")).then(|| words.get(3)?.parse().ok())?
            }
        })
    }

    /// The count that a folder holds.
    pub(super) fn counted(self, folder: &Path, command: &Invocation) -> Result<f64, MeasureError> {
        let found = self.read(folder).filter(|count| *count > 0.0);
        found.ok_or_else(|| MeasureError::Uncounted { command: command.to_string(), counter: self.name() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_each_program_writes() {
        let perf = "# started on Sat Nov 28\n\n29,,raw_syscalls:sys_enter,1857000,100.00,,\n";
        assert_eq!(CALLS.parse(perf), Some(29.0));
        assert_eq!(INSTRUCTIONS.parse("<not supported>,,instructions:u,0,100.00,,\n"), None);
        let valgrind =
            "==7== Cachegrind, a high-precision tracing profiler\n==7== \n==7== I   refs:      1,234,567\n";
        assert_eq!(Counter::Valgrind.parse(valgrind), Some(1_234_567.0));
        let heap = "==7== HEAP SUMMARY:\n==7==     in use at exit: 0 bytes in 0 blocks\n==7==   total heap usage: 1,035 allocs, 1,035 frees, 67,680 bytes allocated\n==7== \n";
        assert_eq!(Counter::Heap.parse(heap), Some(1035.0));
        let strace = "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n 50.00    0.000010           1        20           read\n------ ----------- ----------- --------- --------- ----------------\n100.00    0.000020           0        29         2 total\n";
        assert_eq!(Counter::Strace.parse(strace), Some(29.0));
    }
}
