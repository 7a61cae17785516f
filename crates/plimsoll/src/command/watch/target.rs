//! What is looked at: the machine, and of it a network namespace, a control group or a process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sched::{CloneFlags, setns};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_assess::watched::{Moment, ProcessUse};
use plimsoll_probe::counters::{Counters, Depth};
use plimsoll_probe::quiet::ProcessSnapshot;

use crate::args::WatchArgs;
use crate::failure::Failure;
use crate::observe;

/// Looking at all processes may take one part in so many of the time.
const SHARE_OF_PROCESSES: u32 = 500;
/// How long after the first look the second comes at the latest, and the others after one another.
const SECOND_LOOK: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(30);
/// So many processes are kept of each look.
const MOST_PROCESSES: usize = 20;

pub(super) struct Target {
    counters: Counters,
    processes: Option<(ProcessSnapshot, Instant)>,
    next_processes: Instant,
    /// The one process whose use of the CPUs is told.
    only: Option<u32>,
    name: String,
    started: Instant,
}

impl Target {
    pub(super) fn open(args: &WatchArgs) -> Result<Self, Failure> {
        let (namespace, group, name) = match (&args.netns, &args.cgroup, args.pid) {
            (Some(netns), _, _) => {
                (Some(observe::namespace(netns)), None, format!("network namespace {netns}"))
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
                (None, Some(group), name)
            }
            (_, _, Some(pid)) => {
                let folder = PathBuf::from(format!("/proc/{pid}"));
                let name = fs::read_to_string(folder.join("comm")).map_err(|error| {
                    Failure::Usage(format!("--pid {pid}: there is no such process ({error})"))
                })?;
                let other = is_other_namespace(&folder);
                (
                    other.then(|| folder.join("ns/net")),
                    group_of(pid),
                    format!("process {pid}, {}", name.trim()),
                )
            }
            _ => (None, None, "this machine".to_owned()),
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
        let counters = match &group {
            Some(directory) => Counters::open_with_group(root, directory),
            None => Counters::open(root),
        };
        let counters = counters.map_err(|error| {
            Failure::could_not(format!("the counters of this machine cannot be read: {error}"))
        })?;
        let now = Instant::now();
        Ok(Self { counters, processes: None, next_processes: now, only: args.pid, name, started: now })
    }

    /// It in words.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The share of a CPU that this program itself has used since it began.
    pub(super) fn own_cost(&self) -> f64 {
        own_cpu().as_secs_f64() / self.started.elapsed().as_secs_f64().max(1e-3)
    }

    pub(super) fn read(&mut self, deep: bool) -> Moment {
        let at_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let counters = self.counters.read(if deep { Depth::Deep } else { Depth::Light });
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
        // Who uses the CPUs is known after the second look, which comes soon.
        let longest = if self.processes.is_none() { SECOND_LOOK } else { SELDOM };
        self.next_processes = began + (cost * SHARE_OF_PROCESSES).min(longest);
        let (before, since) = self.processes.replace((snapshot, began))?;
        let (now, _) = self.processes.as_ref()?;
        let seconds = (began - since).as_secs_f64().max(1e-3);
        let wanted = |pid: u32| self.only.is_none_or(|only| only == pid);
        let used = before.others(now, &[]).into_iter().filter(|it| wanted(it.pid)).take(MOST_PROCESSES);
        Some(
            used.map(|it| ProcessUse { pid: it.pid, name: it.name, cpus: it.cpu_us / 1e6 / seconds })
                .collect(),
        )
    }
}

/// CPU time of this process.
fn own_cpu() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds());
    Duration::from_micros(used.unsigned_abs())
}

/// Whether a process stands in another network namespace. One that may not be looked at is taken to stand in this one.
fn is_other_namespace(process: &Path) -> bool {
    let link = |path: &Path| fs::read_link(path.join("ns/net")).ok();
    link(process).is_some_and(|its| Some(its) != link(Path::new("/proc/self")))
}

/// The control group of a process: that of version 2, or of the controller `cpu` of version 1.
fn group_of(pid: u32) -> Option<PathBuf> {
    let lines = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let base = Path::new(observe::GROUPS);
    let mut groups = lines.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let path = path.strip_prefix('/')?;
        Some(match controllers {
            "" => base.join(path),
            _ if controllers.split(',').any(|it| it == "cpu") => base.join(controllers).join(path),
            _ => return None,
        })
    });
    groups.rfind(|group| group.join("cpu.stat").exists())
}
