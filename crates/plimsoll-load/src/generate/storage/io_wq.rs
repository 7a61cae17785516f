//! The kernel's helpers of a ring: threads that carry out what cannot be done on the spot, as reads where a file system knows no "only if
//! it is there" (tmpfs is one), and buffered writes on many (`io_uring/io-wq.c`).
//!
//! They are threads of this process, but their CPU time is not counted as that of the thread which handed the work over. A helper is called
//! `iou-wrk-N`, with the number of that thread as the first pid namespace has it. A thread inside of another cannot know it, so a
//! ring has one helper made by an operation that needs it, and looks which name is new.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use io_uring::{IoUring, opcode, squeue};

use super::fetched;
use crate::clock::CpuTime;

/// How the kernel's names for helpers begin.
const PREFIX: &str = "iou-wrk-";

/// Held while a ring gets its first helper: a name that is new then is that ring's.
static FIRST: Mutex<()> = Mutex::new(());

/// CPU time of a ring's helpers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// All of it in the kernel.
    pub(super) cpu_ns: u64,
    /// Bytes that were fetched from block devices for them.
    pub(super) fetched: u64,
}

impl Used {
    /// The CPU time, as that of a thread.
    pub(super) fn cpu(self) -> CpuTime {
        CpuTime { system_us: self.cpu_ns / 1000, ..CpuTime::default() }
    }

    /// CPU time used since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            fetched: self.fetched.saturating_sub(earlier.fetched),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { cpu_ns: self.cpu_ns + other.cpu_ns, fetched: self.fetched + other.fetched }
    }
}

/// The helpers of a ring.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    /// Name of each of them; `None` if it is unknown: before Linux 5.12 they are no threads of the process.
    name: Option<String>,
    /// CPU time of present helpers, by thread.
    there: BTreeMap<String, Used>,
    /// CPU time of former helpers: a helper that has nothing to do for five seconds ends.
    gone: Used,
}

impl Helpers {
    /// Workers of an empty ring, on the thread that will hand over.
    pub(super) fn of(ring: &mut IoUring) -> io::Result<Self> {
        let _held = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        let before = names();
        push_for_a_helper(ring)?;
        ring.submit_and_wait(1)?;
        ring.completion().for_each(drop);
        Ok(Self { name: names().into_iter().find(|name| !before.contains(name)), ..Self::default() })
    }

    /// Their use so far. A helper's use after the last query is lost when it ends, so ask at least every five
    /// seconds.
    pub(super) fn used(&mut self) -> Used {
        if let Some(name) = &self.name {
            let there = threads().filter(|(_, called)| called == name);
            let there: BTreeMap<_, _> =
                there.filter_map(|(thread, _)| Some((thread.clone(), used_by(&thread)?))).collect();
            self.take(there);
        }
        self.there.values().fold(self.gone, |sum, used| sum.plus(*used))
    }

    fn take(&mut self, there: BTreeMap<String, Used>) {
        for (thread, before) in std::mem::replace(&mut self.there, there) {
            // A number may be given to another thread.
            if self.there.get(&thread).is_none_or(|now| now.cpu_ns < before.cpu_ns) {
                self.gone = self.gone.plus(before);
            }
        }
    }
}

/// Hands over an operation that does nothing, and has a helper do it.
fn push_for_a_helper(ring: &mut IoUring) -> io::Result<()> {
    let entry = opcode::Nop::new().build().flags(squeue::Flags::ASYNC);
    #[expect(unsafe_code, reason = "an operation may name memory, and this one does not")]
    // SAFETY: it does nothing.
    let pushed = unsafe { ring.submission().push(&entry) };
    pushed.map_err(io::Error::other)
}

/// The threads of this process, each with its name.
fn threads() -> impl Iterator<Item = (String, String)> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        Some((entry.file_name().into_string().ok()?, name.trim_end().to_owned()))
    })
}

/// The names of all helpers of this process.
fn names() -> BTreeSet<String> {
    threads().map(|(_, name)| name).filter(|name| name.starts_with(PREFIX)).collect()
}

/// CPU time of a thread; nothing once it has ended.
fn used_by(thread: &str) -> Option<Used> {
    let folder = Path::new("/proc/self/task").join(thread);
    // Time on a CPU in nanoseconds, time waiting for one, and how often (`Documentation/scheduler/sched-stats.rst`).
    let times = fs::read_to_string(folder.join("schedstat")).ok()?;
    let cpu_ns = times.split_whitespace().next()?.parse().ok()?;
    let fetched = fs::read_to_string(folder.join("io")).ok();
    Some(Used { cpu_ns, fetched: fetched.and_then(|text| fetched::parse(&text)).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(cpu_ns: u64) -> Used {
        Used { cpu_ns, fetched: 10 * cpu_ns }
    }

    #[test]
    fn what_helpers_used_stays_counted_when_they_end_and_others_get_their_numbers() {
        let mut helpers = Helpers::default();
        let steps: [(&[(&str, u64)], u64); 5] = [
            (&[("7", 3)], 3),
            (&[("7", 5), ("8", 1)], 6),
            (&[("8", 2)], 7),
            (&[("7", 1), ("8", 2)], 8),
            (&[("8", 1)], 9),
        ];
        for (there, all) in steps {
            helpers.take(there.iter().map(|(thread, ns)| (thread.to_string(), used(*ns))).collect());
            assert_eq!(helpers.used(), used(all), "{there:?}");
        }
    }

    #[test]
    fn rings_of_threads_side_by_side_count_the_work_of_their_own_helpers() {
        let busy = || {
            let mut ring = IoUring::new(64).unwrap();
            let mut helpers = Helpers::of(&mut ring).unwrap();
            let begun = helpers.used();
            for _ in 0..20_000 / 64 {
                (0..64).for_each(|_| push_for_a_helper(&mut ring).unwrap());
                ring.submit_and_wait(64).unwrap();
                ring.completion().for_each(drop);
            }
            (helpers.name.clone().expect("helpers have names"), begun, helpers.used())
        };
        let found: Vec<_> = std::thread::scope(|scope| {
            let idle = scope.spawn(|| {
                let mut ring = IoUring::new(4).unwrap();
                let mut helpers = Helpers::of(&mut ring).unwrap();
                let begun = helpers.used();
                std::thread::sleep(std::time::Duration::from_millis(50));
                (helpers.name.clone().expect("helpers have names"), begun, helpers.used())
            });
            [scope.spawn(busy), scope.spawn(busy), idle].map(|thread| thread.join().unwrap()).into()
        });
        let [first, second, idle] = &found[..] else { panic!("three threads") };
        assert!(first.0 != second.0 && first.0 != idle.0 && second.0 != idle.0, "{found:?}");
        for (name, begun, ended) in [first, second] {
            // A tenth of a microsecond each would be little.
            assert!(ended.cpu_ns > begun.cpu_ns + 2_000_000, "{name}: {begun:?} to {ended:?}");
        }
        assert!(idle.2.cpu_ns < first.2.cpu_ns.min(second.2.cpu_ns), "{found:?}");
    }
}
