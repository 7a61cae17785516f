//! Samples of the processes of a command while it runs: waits for a CPU, open files, and settings.
//!
//! A process that ends between two looks is lost, so the sum of the waits is a little too small.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;
use plimsoll_probe::tree::ProcessTree;
use plimsoll_probe::{Budget, settings, thread_cpu_time};

use super::schedstat::Scheduled;

/// The part of one CPU that looks take, and the time between two.
const COST: f64 = 0.01;
const EVERY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));
/// The most threads of a process that are looked at.
const MOST_THREADS: usize = 64;
/// The most open files of a process that are looked at.
const MOST_FILES: usize = 64;

/// Ready time and open files of the descendants of this process, and open files of those that serve them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLooks {
    /// For how long they were ready to run.
    pub(crate) ready: Duration,
    /// The number of looks.
    pub(crate) looks: u64,
    /// In how many of them each file was open, by its path.
    pub(crate) open: BTreeMap<String, u64>,
    /// The settings of processes, by their names, and those of the file systems that they use.
    pub(crate) settings: BTreeMap<String, BTreeSet<String>>,
}

/// Whose settings those of file systems and their devices are.
pub(crate) const FILES: &str = "files";

/// Runs something, and looks at descendants of this process meanwhile, and at the files of `servers` and their children. `counts` says by its name whether a process
/// counts; `each_look` gets all of them.
pub(crate) fn sample_during<T>(
    run: impl FnOnce() -> T,
    counts: impl Fn(&str) -> bool + Send,
    servers: &BTreeSet<u32>,
    mut each_look: impl FnMut(&[u32]) + Send,
) -> (T, CommandLooks) {
    let (over, is_over) = channel();
    thread::scope(|scope| {
        let looks = scope.spawn(move || look_until(&is_over, &counts, servers, &mut each_look));
        let ran = run();
        drop::<std::sync::mpsc::Sender<()>>(over);
        (ran, looks.join().unwrap_or_default())
    })
}

fn look_until(
    is_over: &Receiver<()>,
    counts: &dyn Fn(&str) -> bool,
    servers: &BTreeSet<u32>,
    each_look: &mut dyn FnMut(&[u32]),
) -> CommandLooks {
    let budget = Budget::new(COST);
    let mut ready: BTreeMap<Pid, Duration> = BTreeMap::new();
    let mut looked = CommandLooks::default();
    let mut known: BTreeMap<u32, (String, u32)> = BTreeMap::new();
    let mut pause = EVERY.0;
    while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let before = thread_cpu_time();
        let mut pids = descendants();
        each_look(&pids);
        pids.retain(|pid| counts(name(*pid).trim_end()));
        looked.looks += 1;
        for pid in &pids {
            settings_of(*pid, &mut known, &mut looked.settings);
        }
        let servers = servers.iter().flat_map(|pid| ProcessTree::take(Path::new("/"), *pid).pids);
        let of_both = pids.iter().copied().chain(servers);
        for file in of_both.flat_map(open_files).collect::<BTreeSet<_>>() {
            *looked.open.entry(file).or_default() += 1;
        }
        let threads = pids.into_iter().flat_map(threads);
        ready.extend(threads.filter_map(|thread| Some((thread, Scheduled::of(thread)?.waited()))));
        pause = budget.pause(thread_cpu_time().saturating_sub(before)).clamp(EVERY.0, EVERY.1);
    }
    CommandLooks { ready: ready.values().sum(), ..looked }
}

/// Adds the settings of a process. They are read at its first look, its second, its fourth and so on: it may load libraries and open files later.
fn settings_of(
    pid: u32,
    known: &mut BTreeMap<u32, (String, u32)>,
    found: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let name = name(pid).trim_end().to_owned();
    let (of, looks) = known.entry(pid).or_default();
    if *of != name {
        (*of, *looks) = (name.clone(), 0);
    }
    *looks += 1;
    if !looks.is_power_of_two() {
        return;
    }
    let root = Path::new("/");
    let files = open_paths(pid).collect();
    found.entry(FILES.to_owned()).or_default().extend(settings::of_files(root, pid, &files));
    found.entry(name).or_default().extend(settings::of_process(root, pid));
}

fn descendants() -> Vec<u32> {
    let own = std::process::id();
    ProcessTree::take(Path::new("/"), own).pids.into_iter().filter(|pid| *pid != own).collect()
}

fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

fn threads(pid: u32) -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().take(MOST_THREADS);
    entries.filter_map(|entry| Some(Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)))
}

/// The files that a process has open, without devices. Long numbers are left out of their names.
fn open_files(pid: u32) -> impl Iterator<Item = String> {
    open_paths(pid).filter(|path| !path.starts_with("/dev/")).map(|path| without_numbers(&path))
}

/// Paths of the files that a process has open, without the script that a shell runs.
fn open_paths(pid: u32) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().take(MOST_FILES).flatten();
    let paths = entries.filter_map(move |entry| {
        let path = fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok()?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        (!may_be_script(number) || !runs(pid, &path)).then_some(path)
    });
    paths.filter(|path| path.starts_with('/') && !path.ends_with(" (deleted)"))
}

/// Whether a shell may have its script open there: bash at 255, dash and busybox at the first free number from 10 on.
fn may_be_script(number: u32) -> bool {
    matches!(number, 10..20 | 255)
}

/// Whether this file is the first operand of a process, as a script is of its shell.
fn runs(pid: u32, file: &str) -> bool {
    let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let operand = arguments.split('\0').skip(1).find(|it| !it.starts_with('-'));
    operand.is_some_and(|it| Path::new(it).file_name() == Path::new(file).file_name())
}

/// The fewest digits that make a number which may differ from run to run, as that of a process does. A version has fewer.
const LEAST_DIGITS: usize = 3;

/// Replaces each long number in a path by `N`: temporary files differ only in their numbers.
pub(crate) fn without_numbers(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    for part in path.chars().collect::<Vec<_>>().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        if part[0].is_ascii_digit() && part.len() >= LEAST_DIGITS {
            plain.push('N');
        } else {
            plain.extend(part);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_that_take_each_others_cpus_are_ready_for_longer_than_one_that_sleeps() {
        let line = "for n in $(seq 24); do yes > /dev/null & all=\"$all $!\"; done; sleep 0.3; kill $all";
        let of = |counts: fn(&str) -> bool| {
            sample_during(
                || Command::new("sh").args(["-c", line]).status().unwrap().success(),
                counts,
                &BTreeSet::new(),
                |_| (),
            )
        };
        let (ran, ready) = of(|name| name == "yes");
        // 24 processes share some CPUs for 0.3 s, and other tests run beside them.
        assert!(ran && ready.ready > Duration::from_millis(300), "{ready:?}");
        assert!(of(|name| name == "sleep").1.ready < ready.ready / 4);
    }

    #[test]
    fn temporary_files_of_several_processes_are_one_by_their_name_without_numbers() {
        assert_eq!(without_numbers("/db/base/pgsql_tmp/pgsql_tmp41231.0"), "/db/base/pgsql_tmp/pgsql_tmpN.0");
        assert_eq!(without_numbers("/usr/lib/python3.11/x86_64"), "/usr/lib/python3.11/x86_64");
        assert_eq!(without_numbers(""), "");
    }

    #[test]
    fn a_script_is_no_open_file_of_the_shell_that_runs_it() {
        let folder = tempfile::tempdir().unwrap();
        let [script, data] = ["script", "data"].map(|name| folder.path().join(name));
        fs::write(&script, "exec 3< $1; sleep 2; :").unwrap();
        fs::write(&data, "").unwrap();
        for shell in ["bash", "dash"] {
            let mut child = Command::new(shell).args([&script, &data]).spawn().unwrap();
            let opens = |file: &Path| open_paths(child.id()).any(|it| Path::new(&it) == file);
            while !opens(&data) {
                thread::sleep(Duration::from_millis(5));
            }
            assert!(!opens(&script), "{shell}: {:?}", open_paths(child.id()).collect::<Vec<_>>());
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_variable_and_an_argument_of_a_child_are_among_its_settings() {
        let sleeps = || Command::new("sleep").arg("0.3").env("SOME_LEVEL", "7").status().unwrap();
        let (_, looked) = sample_during(sleeps, |name| name == "sleep", &BTreeSet::new(), |_| ());
        let of_sleep = &looked.settings["sleep"];
        assert!(of_sleep.contains("SOME_LEVEL=7") && of_sleep.contains("argument 0.3"), "{of_sleep:?}");
    }

    #[test]
    fn a_file_that_a_child_keeps_open_is_seen_in_most_looks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let sleeps = || Command::new("sh").args(["-c", &format!("sleep 0.5 < {path}")]).status().unwrap();
        let (_, looked) = sample_during(sleeps, |_| true, &BTreeSet::new(), |_| ());
        let found = looked.open.get(&without_numbers(path)).copied().unwrap_or_default();
        assert!(2 * found > looked.looks, "{looked:?}");
    }
}
