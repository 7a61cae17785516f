//! The counters that are read while commands run: of the whole machine, of one network namespace, or of a control
//! group.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use plimsoll_assess::commands;
use plimsoll_model::observation::Snapshot;
use plimsoll_probe::Budget;
use plimsoll_probe::counters::{Counters, Depth};
use plimsoll_probe::profile::HostNamespaces;
use plimsoll_probe::serving::{ServerLooks, Servers};
use plimsoll_probe::settings;

use crate::args::Observe;
use crate::failure::Failure;
use crate::observe;

/// The source of the counters.
pub(super) struct Observed {
    /// The network namespace, by its inode, and its name for a reader.
    pub(super) namespaces: HostNamespaces,
    /// The folder of a control group, whose processes are what is measured.
    group: Option<PathBuf>,
    is_beside_strangers: bool,
    /// The counters of each of the namespaces; those of the machine come from the first.
    counters: Vec<NamespaceCounters>,
    /// The counters of namespaces that the command has entered in this run, by their inodes. They may be gone with it.
    entered: BTreeMap<u64, NamespaceCounters>,
    /// The namespaces that processes of this run live in.
    used: BTreeSet<u64>,
}

impl Observed {
    pub(super) fn open(what: &Observe) -> Result<Self, Failure> {
        let (namespace, name, group) = match what {
            Observe::Host => (PathBuf::from("/proc/self/ns/net"), "host".to_owned(), None),
            Observe::Namespace(which) => (observe::namespace(which), which.clone(), None),
            Observe::Group(which) => {
                let folder = observe::control_group(Path::new(which)).ok_or_else(|| {
                    Failure::Usage(format!(
                        "--observe: expected a control group below {}, got `{which}`",
                        observe::GROUPS
                    ))
                })?;
                let pid = processes(&folder).into_iter().next().ok_or_else(|| {
                    Failure::Usage(format!(
                        "--observe: the control group {} has no process whose network could be looked at",
                        folder.display()
                    ))
                })?;
                (PathBuf::from(format!("/proc/{pid}/ns/net")), which.clone(), Some(folder))
            }
        };
        let cannot = |error: &dyn std::fmt::Display| {
            Failure::could_not(format!("--observe: {}: {error}", namespace.display()))
        };
        let file = File::open(&namespace).map_err(|error| cannot(&error))?;
        let inode = file.metadata().map_err(|error| cannot(&error))?.ino();
        let counters = NamespaceCounters::open(file, Servers::with_wakers).map_err(|error| cannot(&error))?;
        let is_beside_strangers = !matches!(what, Observe::Namespace(_));
        Ok(Self {
            namespaces: BTreeMap::from([(inode, name)]),
            group,
            is_beside_strangers,
            counters: vec![counters],
            entered: BTreeMap::new(),
            used: BTreeSet::new(),
        })
    }

    /// Looks at the namespaces of these processes as well, as long as this run lasts.
    pub(super) fn enter(&mut self, pids: &[u32]) {
        for path in pids.iter().map(|pid| format!("/proc/{pid}/ns/net")) {
            let Ok(inode) = fs::metadata(&path).map(|namespace| namespace.ino()) else { continue };
            self.used.insert(inode);
            let is_new = !self.namespaces.contains_key(&inode) && !self.entered.contains_key(&inode);
            if is_new
                && self.entered.len() < MOST_ENTERED
                && let Ok(namespace) = File::open(path)
                && let Ok(counters) = NamespaceCounters::open(namespace, |servers| servers)
            {
                counters.ask(Question::Begin);
                self.entered.insert(inode, counters);
            }
        }
    }

    /// What the kernel has counted until now. From here on sockets are looked at again and again.
    pub(super) fn begin(&self) -> Vec<Snapshot> {
        self.counters.iter().map(|it| it.ask(Question::Begin).unwrap_or_default()).collect()
    }

    /// What the kernel has counted since `before`, in all namespaces together. Nothing looks at sockets any more.
    pub(super) fn end(&mut self, before: &[Snapshot]) -> Ended {
        let now = |of: &NamespaceCounters| of.ask(Question::End).unwrap_or_default();
        let known = before.iter().zip(&self.counters).map(|(before, of)| {
            let (after, found) = now(of);
            (before.change(&after), found)
        });
        let entered = std::mem::take(&mut self.entered).into_iter();
        let (kept, made): (Vec<_>, Vec<_>) = entered.partition(|(inode, _)| outlives_the_run(*inode));
        // A namespace that ends with the command was made by it, and counts from zero.
        let left: Vec<NamespaceCounters> = made.into_iter().map(|(_, of)| of).collect();
        let made = left.iter().map(now).map(|(after, found)| (after.values, found));
        let moved: Vec<_> = known.chain(made).collect();
        let mut used = std::mem::take(&mut self.used);
        // A command that enters a namespace begins outside of it.
        if used.len() > 1 {
            used.retain(|inode| self.counters.first().is_none_or(|it| it.inode != *inode));
        }
        let all = self.counters.iter().chain(kept.iter().map(|(_, of)| of)).chain(left.iter());
        let settings = all.filter(|it| used.contains(&it.inode)).filter_map(|it| it.ask(Question::Settings));
        let settings = settings.flatten().chain(settings::of_machine(Path::new("/"))).collect();
        let mut ended = Ended { settings, ..Ended::default() };
        for (at, (change, ServerLooks { pids, asked })) in moved.into_iter().enumerate() {
            ended.servers.extend(pids);
            let is_once = |name: &String| at == 0 || !name.starts_with(OF_MACHINE);
            let asked = asked.into_iter();
            let asked = asked.map(|((client, server), sum)| (commands::asked(&client, &server), sum as f64));
            for (name, value) in change.into_iter().filter(|(name, _)| is_once(name)).chain(asked) {
                let is_looks = name == LOOKS;
                let sum: &mut f64 = ended.counters.entry(name).or_default();
                // The namespaces are looked at side by side.
                *sum = if is_looks { sum.max(value) } else { *sum + value };
            }
        }
        for (inode, counters) in kept {
            self.namespaces.insert(inode, self.host());
            self.counters.push(counters);
        }
        ended
    }

    /// Whether strangers run there as well: a namespace that the user names is that of what is measured.
    pub(super) fn is_beside_strangers(&self) -> bool {
        self.is_beside_strangers
    }

    /// The name of the host that is looked at, with all its namespaces.
    pub(super) fn host(&self) -> String {
        self.namespaces.values().next().cloned().unwrap_or_default()
    }

    /// The path of the control group that is looked at, from the root of its hierarchy; nothing for the root itself, which has all processes.
    pub(super) fn group(&self) -> Option<String> {
        self.group.as_deref().and_then(observe::path_of_group)
    }
}

/// Whether a network namespace is mounted, as `ip netns` does it, or has a process in it.
fn outlives_the_run(inode: u64) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    mounts.contains(&format!("net:[{inode}]"))
        || processes.any(|it| fs::metadata(it.path().join("ns/net")).is_ok_and(|of| of.ino() == inode))
}

/// Counters and servers of one run.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// What the kernel counted meanwhile.
    pub(super) counters: BTreeMap<String, f64>,
    /// Processes that were found to serve the command, and were not known.
    pub(super) servers: BTreeSet<u32>,
    /// Sysctls of the machine, and settings of the namespaces that its processes live in.
    pub(super) settings: BTreeSet<String>,
}

/// The processes of a control group.
fn processes(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// How counters of the whole machine begin, which are the same in each namespace.
const OF_MACHINE: &str = "machine.";
/// How often the sockets of a namespace were looked at.
const LOOKS: &str = "listen.looks";
/// The most namespaces that are looked at beside those of before.
const MOST_ENTERED: usize = 8;
/// The part of one CPU that looks at sockets take, and the time until the first and between two.
const SOCKETS_COST: f64 = 0.01;
const SOCKETS_EVERY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// What the thread is asked for, with the way for the answer.
enum Question {
    Begin(Sender<Snapshot>),
    End(Sender<(Snapshot, ServerLooks)>),
    Settings(Sender<BTreeSet<String>>),
}

/// Counters of a network namespace, read by a thread that lives in it.
struct NamespaceCounters {
    inode: u64,
    questions: Sender<Question>,
}

impl NamespaceCounters {
    /// Wake-ups are those of the whole machine, which one of the threads sees.
    fn open(namespace: File, see: fn(Servers) -> Servers) -> Result<Self, String> {
        let (questions, asked) = channel();
        let (opened, is_open) = channel();
        let inode = namespace.metadata().map_err(|error| error.to_string())?.ino();
        thread::Builder::new()
            .name("counters".into())
            .spawn(move || {
                let own = fs::metadata("/proc/thread-self/ns/net").map(|own| own.ino()).ok();
                let is_own = own == Some(inode);
                let entered = if is_own { Ok(()) } else { setns(&namespace, CloneFlags::CLONE_NEWNET) };
                let counters = entered
                    .map_err(|error| error.to_string())
                    .and_then(|()| Counters::open(Path::new("/")).map_err(|error| error.to_string()));
                match counters {
                    Ok(counters) => {
                        let _ = opened.send(Ok(()));
                        answer(&asked, counters, see(Servers::of(std::process::id())));
                    }
                    Err(error) => drop(opened.send(Err(error))),
                }
            })
            .map_err(|error| error.to_string())?;
        is_open.recv().map_err(|_| "the thread that reads counters has ended".to_owned())??;
        Ok(Self { inode, questions })
    }

    /// Asks, and waits for the answer; nothing comes from a thread that has ended.
    fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Question) -> Option<T> {
        let (answer, answered) = channel();
        self.questions.send(question(answer)).ok()?;
        answered.recv().ok()
    }
}

/// Answers until nobody asks any more, and looks at sockets between a beginning and its end.
fn answer(asked: &Receiver<Question>, mut counters: Counters, mut servers: Servers) {
    let budget = Budget::new(SOCKETS_COST);
    let mut due: Option<Instant> = None;
    loop {
        let question = match due {
            Some(due) => asked.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => asked.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        // Who asked may be gone.
        match question {
            Ok(Question::Begin(answer)) => {
                servers.begin();
                let _ = answer.send(counters.read(Depth::Light));
                due = Some(Instant::now() + SOCKETS_EVERY.0);
            }
            Ok(Question::End(answer)) => {
                due = None;
                servers.end();
                let _ = answer.send((counters.read(Depth::Light), servers.take()));
            }
            Ok(Question::Settings(answer)) => drop(answer.send(settings::of_namespace())),
            Err(RecvTimeoutError::Timeout) => {
                let began = Instant::now();
                counters.look_at_sockets();
                // A kernel that refuses names no server.
                let _ = servers.look();
                let pause = budget.pause(began.elapsed()).clamp(SOCKETS_EVERY.0, SOCKETS_EVERY.1);
                due = Some(Instant::now() + pause);
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_the_own_namespace_are_read_without_privilege() {
        let mut observed = Observed::open(&Observe::Host).unwrap();
        let before = observed.begin();
        thread::sleep(5 * SOCKETS_EVERY.0);
        let values = observed.end(&before).counters;
        assert!(values["listen.looks"] > 1.0, "sockets are looked at meanwhile: {values:?}");
        assert!(observed.is_beside_strangers());
        assert!(values.contains_key("machine.stat.ctxt") && values.contains_key("snmp.Tcp.ActiveOpens"));
        assert_eq!(observed.group(), None);
        assert!(Observed::open(&Observe::Namespace("/no/such".into())).is_err());
    }

    #[test]
    #[ignore = "needs root, unshare and ip"]
    fn what_a_namespace_counts_that_lives_for_one_run_is_part_of_the_run() {
        let mut observed = Observed::open(&Observe::Host).unwrap();
        let mut connecting = |is_entered: bool| {
            let before = observed.begin();
            let script = "ip link set lo up; read line; for n in 1 2 3 4 5 6 7 8; do (exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null; done";
            let mut child = std::process::Command::new("unshare");
            let child = child.args(["-n", "bash", "-c", script]).stdin(std::process::Stdio::piped());
            let mut child = child.spawn().unwrap();
            let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
            let path = format!("/proc/{}/ns/net", child.id());
            while fs::metadata(&path).unwrap().ino() == own {
                thread::sleep(Duration::from_millis(1));
            }
            if is_entered {
                observed.enter(&[child.id()]);
            }
            drop(child.stdin.take());
            child.wait().unwrap();
            let opened = observed.end(&before).counters["snmp.Tcp.AttemptFails"];
            assert!(observed.entered.is_empty());
            opened
        };
        // Nobody listens on that port of the new namespace. Another test may connect in vain on this machine.
        assert!(connecting(true) - connecting(false) >= 7.0);
    }
}
