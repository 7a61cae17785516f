//! How long the processes of a command were ready to run while others had the CPUs, and which files they had open. They are looked at again and again
//! while it runs: what ends between two looks is lost, so that the sum is a little too small.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;
use plimsoll_probe::tree::ProcessTree;
use plimsoll_probe::{Budget, thread_cpu_time};

use super::schedule::Scheduled;

/// The part of one CPU that looks take, and the time between two.
const COST: f64 = 0.01;
const EVERY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));
/// The most threads of a process that are looked at.
const MOST_THREADS: usize = 64;
/// The most open files of a process that are looked at.
const MOST_FILES: usize = 16;

/// Ready time and open files of the descendants of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLooks {
    /// For how long they were ready to run.
    pub(crate) ready: Duration,
    /// The number of looks.
    pub(crate) looks: u64,
    /// In how many of them each file was open, by its path.
    pub(crate) open: BTreeMap<String, u64>,
}

/// Runs something, and looks at descendants of this process meanwhile. `counts` says by its name whether a process counts.
pub(crate) fn ready_during<T>(
    run: impl FnOnce() -> T,
    counts: impl Fn(&str) -> bool + Send,
) -> (T, CommandLooks) {
    let (over, is_over) = channel();
    thread::scope(|scope| {
        let looks = scope.spawn(move || look_until(&is_over, &counts));
        let ran = run();
        drop::<std::sync::mpsc::Sender<()>>(over);
        (ran, looks.join().unwrap_or_default())
    })
}

fn look_until(is_over: &Receiver<()>, counts: &dyn Fn(&str) -> bool) -> CommandLooks {
    let budget = Budget::new(COST);
    let mut ready: BTreeMap<Pid, Duration> = BTreeMap::new();
    let mut looked = CommandLooks::default();
    let mut pause = EVERY.0;
    while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let before = thread_cpu_time();
        let pids = processes(counts);
        looked.looks += 1;
        for file in pids.iter().flat_map(|pid| open_files(*pid)).collect::<BTreeSet<_>>() {
            *looked.open.entry(file).or_default() += 1;
        }
        let threads = pids.into_iter().flat_map(threads);
        ready.extend(threads.filter_map(|thread| Some((thread, Scheduled::of(thread)?.waited()))));
        pause = budget.pause(thread_cpu_time().saturating_sub(before)).clamp(EVERY.0, EVERY.1);
    }
    CommandLooks { ready: ready.values().sum(), ..looked }
}

/// The descendants of this process that count.
fn processes(counts: &dyn Fn(&str) -> bool) -> Vec<u32> {
    let own = std::process::id();
    let mut pids = ProcessTree::take(Path::new("/"), own).pids;
    pids.remove(&own);
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    pids.into_iter().filter(|pid| counts(name(*pid).trim_end())).collect()
}

fn threads(pid: u32) -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().take(MOST_THREADS);
    entries.filter_map(|entry| Some(Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)))
}

/// The files that a process has open, without devices and what has no name.
fn open_files(pid: u32) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().take(MOST_FILES);
    let paths = entries
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()?.into_os_string().into_string().ok());
    paths.filter(|path| path.starts_with('/') && !path.starts_with("/dev/") && !path.ends_with(" (deleted)"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_that_take_each_others_cpus_are_ready_for_longer_than_one_that_sleeps() {
        let line = "for n in $(seq 24); do yes > /dev/null & all=\"$all $!\"; done; sleep 0.3; kill $all";
        let of = |counts: fn(&str) -> bool| {
            ready_during(|| Command::new("sh").args(["-c", line]).status().unwrap().success(), counts)
        };
        let (ran, ready) = of(|name| name == "yes");
        // 24 processes share some CPUs for 0.3 s, and other tests run beside them.
        assert!(ran && ready.ready > Duration::from_millis(300), "{ready:?}");
        assert!(of(|name| name == "sleep").1.ready < ready.ready / 4);
    }

    #[test]
    fn a_file_that_a_child_keeps_open_is_seen_in_most_looks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let sleeps = || Command::new("sh").args(["-c", &format!("sleep 0.5 < {path}")]).status().unwrap();
        let (_, looked) = ready_during(sleeps, |_| true);
        let found = looked.open.get(path).copied().unwrap_or_default();
        assert!(2 * found > looked.looks, "{looked:?}");
    }
}
