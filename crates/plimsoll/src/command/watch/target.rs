//! The target of a watch: the machine, and of it a network namespace, a control group or a process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sched::{CloneFlags, setns};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_assess::watched::{Moment, ProcessUse, TREE_CPU, TREE_MEMORY, TREE_PROCESSES};
use plimsoll_inventory::Absence;
use plimsoll_probe::Budget;
use plimsoll_probe::counters::{Counters, Depth};
use plimsoll_probe::quiet::ProcessSnapshot;
use plimsoll_probe::tree::ProcessTree;

use crate::args::TargetArgs;
use crate::failure::Failure;
use crate::observe;

/// The largest part of the time spent on reading all processes; in a recording at first, and later on.
const SHARE_OF_PROCESSES: f64 = 0.002;
const SHARE_IN_RECORDINGS: (f64, f64) = (0.001, 0.000_5);
/// How long after the first look the second comes at the latest, and the others after one another.
const SECOND_LOOK: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(30);
/// The number of processes kept of each look.
const MOST_PROCESSES: usize = 20;

pub(in crate::command) struct Target {
    counters: Counters,
    processes: Option<(ProcessSnapshot, Instant)>,
    next_processes: Instant,
    /// The process whose CPU use is shown, with that of its children.
    only: Option<u32>,
    tree: ProcessTree,
    name: String,
    started: Instant,
    budget: Budget,
}

impl Target {
    pub(in crate::command) fn open(args: &TargetArgs) -> Result<Self, Failure> {
        let (namespace, groups, name) = match (&args.netns, &args.cgroup, args.pid) {
            (Some(netns), _, _) => {
                (Some(observe::namespace(netns)), Vec::new(), format!("network namespace {netns}"))
            }
            (_, Some(path), _) => {
                let group = observe::control_group(path).ok_or_else(|| {
                    let below = Path::new(observe::GROUPS).join(path.strip_prefix("/").unwrap_or(path));
                    Failure::Usage(format!(
                        "--cgroup {}: expected the folder of a control group, as {}",
                        path.display(),
                        below.display()
                    ))
                })?;
                let name = format!("control group {}", group.display());
                (None, observe::in_all_hierarchies(&group), name)
            }
            (_, _, Some(pid)) => {
                let folder = PathBuf::from(format!("/proc/{pid}"));
                let name = fs::read_to_string(folder.join("comm")).map_err(|error| {
                    Failure::Usage(format!("--pid {pid}: there is no such process ({error})"))
                })?;
                let other = is_other_namespace(&folder);
                (
                    other.then(|| folder.join("ns/net")),
                    groups_of(pid),
                    format!("process {pid}, {}, and its children", name.trim()),
                )
            }
            _ => (None, Vec::new(), "this machine".to_owned()),
        };
        if let Some(path) = namespace {
            // Files of counters stay those of the namespace in which they were opened.
            let enter = File::open(&path).map_err(|error| error.to_string()).and_then(|file| {
                setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| error.desc().to_owned())
            });
            enter.map_err(|error| {
                Failure::could_not(format!(
                    "cannot enter the network namespace {}: {error}; it takes root",
                    path.display()
                ))
            })?;
        }
        let root = Path::new("/");
        let counters =
            if groups.is_empty() { Counters::open(root) } else { Counters::open_with_group(root, &groups) };
        let counters = counters.map_err(|error| {
            Failure::could_not(format!("the counters of this machine cannot be read: {error}"))
        })?;
        let now = Instant::now();
        Ok(Self {
            counters,
            processes: None,
            next_processes: now,
            only: args.pid,
            tree: ProcessTree::default(),
            name,
            started: now,
            budget: Budget::new(SHARE_OF_PROCESSES),
        })
    }

    /// Reads processes less often, as a recording may: no user watches a screen.
    pub(in crate::command) fn sparing(self) -> Self {
        Self { budget: Budget::new(SHARE_IN_RECORDINGS.0).later(SHARE_IN_RECORDINGS.1), ..self }
    }

    /// What could not be read at the last look, with the reasons.
    pub(in crate::command) fn absent(&self) -> &[Absence] {
        self.counters.absent()
    }

    /// The target in words.
    pub(in crate::command) fn name(&self) -> &str {
        &self.name
    }

    /// The share of a CPU that this program itself has used since it began.
    pub(in crate::command) fn own_cost(&self) -> f64 {
        own_cpu().as_secs_f64() / self.watched_for().as_secs_f64().max(1e-3)
    }

    /// How long ago that was.
    pub(in crate::command) fn watched_for(&self) -> Duration {
        self.started.elapsed()
    }

    pub(in crate::command) fn read(&mut self, deep: bool) -> Moment {
        let at_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let mut counters = self.counters.read(if deep { Depth::Deep } else { Depth::Light });
        if let Some(pid) = self.only {
            self.tree = ProcessTree::take(Path::new("/"), pid);
            let tree = &self.tree;
            let values = [
                (TREE_CPU, tree.cpu_us),
                (TREE_MEMORY, tree.rss_bytes),
                (TREE_PROCESSES, tree.pids.len() as f64),
            ];
            counters.values.extend(values.map(|(name, value)| (name.to_owned(), value)));
        }
        Moment {
            at_unix_ms: u64::try_from(at_unix_ms).unwrap_or(u64::MAX),
            counters,
            processes: self.processes(),
        }
    }

    fn processes(&mut self) -> Option<Vec<ProcessUse>> {
        let began = Instant::now();
        if began < self.next_processes {
            return None;
        }
        let cpu = own_cpu();
        let snapshot = ProcessSnapshot::take(Path::new("/"));
        let cost = own_cpu().saturating_sub(cpu);
        // CPU users are known after the second look, which comes soon.
        let longest = if self.processes.is_none() { SECOND_LOOK } else { SELDOM };
        self.next_processes = began + self.budget.pause(cost).min(longest);
        let (before, since) = self.processes.replace((snapshot, began))?;
        let (now, _) = self.processes.as_ref()?;
        let seconds = (began - since).as_secs_f64().max(1e-3);
        let wanted = |pid: u32| self.only.is_none() || self.tree.pids.contains(&pid);
        let used = before.others(now, &[]).into_iter().filter(|it| wanted(it.pid)).take(MOST_PROCESSES);
        Some(
            used.map(|it| ProcessUse { pid: it.pid, name: it.name, cpus: it.cpu_us / 1e6 / seconds })
                .collect(),
        )
    }
}

/// CPU time of this process.
pub(in crate::command) fn own_cpu() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds());
    Duration::from_micros(used.unsigned_abs())
}

/// Whether a process stands in another network namespace. One that may not be looked at is taken to stand in this one.
fn is_other_namespace(process: &Path) -> bool {
    let link = |path: &Path| fs::read_link(path.join("ns/net")).ok();
    link(process).is_some_and(|its| Some(its) != link(Path::new("/proc/self")))
}

/// The control group of a process: that of version 2, or those of the hierarchies of version 1.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let lines = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let base = Path::new(observe::GROUPS);
    let folder = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        Some(base.join(controllers).join(path.strip_prefix('/')?))
    };
    lines.lines().filter_map(folder).filter(|group| group.join("cgroup.procs").exists()).collect()
}
