//! What a look at the threads of a process finds, and what looks of some time add up to.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use super::HostNamespaces;
use super::groups::{self, ControlGroups};
use super::io_limits::Limits;
use super::kept::KeptFile;
use super::processes::{Identity, Services, service_of};
use super::quotas::Groups;
use super::states::{self, States};
use super::threads::{Thread, WaitSite, kept_once};

/// The most threads that are read, by up to three files each.
const MOST_THREADS: usize = 2_000;

/// How often something was found, and for what time that stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waited {
    pub(super) found: u64,
    pub(super) us: u64,
}

/// Waits in some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    pub(super) sites: BTreeMap<(Identity, WaitSite), Waited>,
    /// How often all threads were looked at.
    pub(super) looks: u64,
    /// How often control groups were stopped by their quota of CPU time.
    pub(super) groups: Groups,
    /// What control groups may ask of block devices.
    pub(super) io_limits: Limits,
    /// What the kernel kept of processes.
    pub(super) states: States,
}

impl Waiting {
    pub(super) fn merge(&mut self, other: Self) {
        for (site, waited) in other.sites {
            let known = self.sites.entry(site).or_default();
            known.found += waited.found;
            known.us += waited.us;
        }
        self.looks += other.looks;
        for (group, throttled) in other.groups {
            let known = self.groups.entry(group).or_default();
            known.periods += throttled.periods;
            known.throttled += throttled.throttled;
            known.us += throttled.us;
        }
        for ((identity, kind), value) in other.states {
            states::note(&mut self.states, &identity, kind, value);
        }
        for (limit, most) in other.io_limits {
            let known = self.io_limits.entry(limit).or_insert(most);
            *known = most.min(*known);
        }
    }
}

/// A process whose threads are looked at.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) identity: Identity,
    pub(super) comm: KeptFile,
    /// What the kernel says of its control groups. Nothing until that is asked: when it is new, and when it runs another program, for which many are put into
    /// a group.
    pub(super) groups: Option<Arc<str>>,
    pub(super) threads: HashMap<u32, Thread>,
    pub(super) pace: Pace,
    /// For how long its threads had run at the last look since the one before, in nanoseconds.
    pub(super) ran_ns: u64,
}

/// How eagerly a process is looked at: what is measured comes before strangers, and those that run before those that only sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// The process is part of a service.
    Measured,
    /// No look has reached it, and it began after others were known: it may be part of a service.
    Young,
    /// Some of its threads ran since it was looked at before.
    Runs,
    /// No look has reached it.
    New,
    /// None of its threads ran.
    Sleeps,
}

impl Process {
    /// A process whose threads are not known yet; `None` if it has ended.
    pub(super) fn open(pid: u32, identity: Identity, pace: Pace, room: &mut usize) -> Option<Self> {
        let comm = KeptFile::open(format!("/proc/{pid}/comm"), room).ok()?;
        Some(Self { identity, comm, groups: None, threads: HashMap::new(), pace, ran_ns: 0 })
    }

    /// Whether its control groups hold up what is measured, as those of strangers do not.
    pub(super) fn has_groups_that_count(&self, beside_strangers: bool) -> bool {
        !beside_strangers || self.identity.service.is_some()
    }

    pub(super) fn is_of(&self, hosts: &HostNamespaces) -> bool {
        self.identity.namespace.is_some_and(|namespace| hosts.contains_key(&namespace))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &KeptFile> {
        std::iter::once(&self.comm).chain(self.threads.values().flat_map(Thread::files))
    }

    /// Has its control groups watched, which it is asked for where they are not known.
    pub(super) fn watch_groups(
        &mut self,
        pid: u32,
        watched: &mut ControlGroups,
        names: &mut HashMap<String, Arc<str>>,
    ) {
        if self.groups.is_none() {
            self.groups = groups::of_process(pid).map(|text| kept_once(&text, names));
        }
        if let (Some(host), Some(groups)) = (self.identity.namespace, &self.groups) {
            watched.watch(host, groups);
        }
    }

    /// Finds its threads, and its name, which changes with the program that it runs. False where it has ended.
    pub(super) fn renew(
        &mut self,
        pid: u32,
        look: u64,
        (threads, room): (&mut usize, &mut usize),
        services: &mut Services,
    ) -> bool {
        let mut buffer = [0; 64];
        let Ok(length) = self.comm.read(&mut buffer) else { return false };
        // Another process may have its id, and so its path, by now.
        if !self.comm.is_kept() && namespace_of(pid) != self.identity.namespace {
            return false;
        }
        let name = String::from_utf8_lossy(&buffer[..length]);
        if *self.identity.name != *name.trim_end() {
            self.identity.name = name.trim_end().into();
            if self.identity.service.is_none() {
                self.identity.service = service_of(pid, services);
            }
            self.groups = None;
        }
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
        for tid in entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok()) {
            *threads += 1;
            if *threads > MOST_THREADS {
                break;
            }
            match self.threads.get_mut(&tid) {
                Some(thread) => thread.look = look,
                None => self.threads.extend(Thread::open(pid, tid, look, room).map(|thread| (tid, thread))),
            }
        }
        self.threads.retain(|_, thread| thread.look == look);
        true
    }

    /// Where its threads are, and how long they waited for a CPU where they did, in microseconds.
    pub(super) fn look(
        &mut self,
        buffer: &mut [u8],
        names: &mut HashMap<String, Arc<str>>,
    ) -> Vec<(WaitSite, Option<u64>)> {
        let mut found = Vec::new();
        let (mut runs, mut ran_ns) = (false, 0);
        for thread in self.threads.values_mut() {
            if let Some(schedule) = thread.schedule(buffer) {
                ran_ns += schedule.ran_ns;
                found.extend(schedule.queued_us.map(|us| (WaitSite::Cpu, Some(us))));
            }
            match thread.asleep(buffer, names, &self.identity.name) {
                Some(site) => found.push((site, None)),
                None => runs = true,
            }
        }
        self.ran_ns = ran_ns;
        self.pace = match self.identity.service {
            Some(_) => Pace::Measured,
            None if runs || ran_ns > 0 => Pace::Runs,
            None => Pace::Sleeps,
        };
        found
    }
}

/// The inode of a process's network namespace; `None` if it has ended.
pub(super) fn namespace_of(pid: u32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|namespace| namespace.ino())
}

/// How many times its own length the time that was seen of a window stands for: for the rest of it, and for time that passed `unseen` before. Where nothing
/// was seen, the window is added to that.
pub(super) fn stands_for(unseen: &mut Duration, lasted: Duration, seen: Duration) -> f64 {
    *unseen += lasted;
    if seen.is_zero() { 1.0 } else { std::mem::take(unseen).div_duration_f64(seen) }
}
