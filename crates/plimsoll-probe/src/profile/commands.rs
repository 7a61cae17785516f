//! Where the threads of measured commands wait. Commands may be short, so that they are looked at more often than other processes, and found by
//! who started them, whatever namespaces they enter.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::groups::ControlGroups;
use super::kept;
use super::looks::{Pace, Process, Waited, Waiting, stands_for};
use super::processes::{Identity, Services};
use super::states;
use super::threads::WaitSite;
use crate::budget::{Budget, thread_cpu_time};
use crate::children;

/// The part of one CPU that looks take, and the time between two.
const COST: f64 = 0.02;
const EVERY: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(100));
/// The most processes of a command.
const MOST: usize = 64;
/// Files of commands are kept open in this part of the room that other processes have.
const PART_OF_ROOM: usize = 2;
/// Priorities and allowed CPUs are asked for again after this number of looks.
const STATES_EVERY: u64 = 16;

/// The processes below the thread that starts commands.
#[derive(Debug)]
pub(super) struct Commands {
    service: Arc<str>,
    /// Where the kernel lists the children of that thread.
    children: String,
    /// Those that it had before, as the guard of commands.
    others: Vec<u32>,
    processes: HashMap<u32, Process>,
    /// The waits of this window.
    sites: BTreeMap<(Identity, WaitSite), Waited>,
    budget: Budget,
    began: Instant,
    last: Instant,
    pub(super) due: Instant,
    looks: u64,
    /// The time of windows that no look stands for yet.
    unseen: Duration,
}

impl Commands {
    /// Looks at what the calling thread starts from now on.
    pub(super) fn new(service: &str) -> Self {
        let now = Instant::now();
        let children = format!("/proc/self/task/{}/children", nix::unistd::gettid());
        Self {
            service: service.into(),
            others: children::listed(Path::new(&children)),
            children,
            processes: HashMap::new(),
            sites: BTreeMap::new(),
            budget: Budget::new(COST),
            began: now,
            last: now,
            due: now,
            looks: 0,
            unseen: Duration::ZERO,
        }
    }

    pub(super) fn has(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    pub(super) fn begin(&mut self) {
        self.processes.clear();
        self.began = Instant::now();
        self.last = self.began;
        self.due = self.began + EVERY.0;
    }

    /// The looks of this window stand for all of it, and for the windows before it that passed unseen.
    pub(super) fn end(&mut self, waiting: &mut Waiting) {
        let seen = self.last.duration_since(self.began);
        let times = stands_for(&mut self.unseen, self.began.elapsed(), seen);
        for (site, waited) in std::mem::take(&mut self.sites) {
            let known = waiting.sites.entry(site).or_default();
            known.found += waited.found;
            known.us += (waited.us as f64 * times) as u64;
        }
    }

    /// Looks at all threads of the commands, which are known by the namespace of `host`.
    pub(super) fn look(
        &mut self,
        host: u64,
        cpus: usize,
        (groups, names): (&mut ControlGroups, &mut HashMap<String, Arc<str>>),
        waiting: &mut Waiting,
    ) {
        let (began, cost) = (Instant::now(), thread_cpu_time());
        let us = u64::try_from(began.duration_since(self.last).as_micros()).unwrap_or(u64::MAX);
        self.last = began;
        self.looks += 1;
        waiting.looks += 1;
        let kept = self.processes.values().flat_map(Process::files).filter(|file| file.is_kept()).count();
        let mut room = (kept::room() / PART_OF_ROOM).saturating_sub(kept);
        self.find_processes(host, &mut room);
        let (mut threads, mut services) = (0, Services { is_off: true, ..Services::default() });
        let mut buffer = vec![0; 4096];
        let asks = self.looks.is_multiple_of(STATES_EVERY);
        let (looks, sites) = (self.looks, &mut self.sites);
        self.processes.retain(|pid, process| {
            let name = Arc::clone(&process.identity.name);
            if !process.renew(*pid, looks, (&mut threads, &mut room), &mut services) {
                return false;
            }
            if process.identity.name != name || asks {
                process.watch_groups(*pid, groups, names);
                for (kind, value) in states::of_process(*pid, cpus).into_iter().flatten() {
                    states::note(&mut waiting.states, &process.identity, kind, value);
                }
            }
            for (site, queued_us) in process.look(&mut buffer, names) {
                let waited = sites.entry((process.identity.clone(), site)).or_default();
                waited.found += 1;
                waited.us += queued_us.unwrap_or(us);
            }
            true
        });
        let cost = thread_cpu_time().saturating_sub(cost);
        self.due = began + self.budget.pause(cost).clamp(EVERY.0, EVERY.1);
    }

    fn find_processes(&mut self, host: u64, room: &mut usize) {
        let mut found = Vec::new();
        let mut next = children::listed(Path::new(&self.children));
        next.retain(|pid| !self.others.contains(pid));
        while let Some(pid) = next.pop().filter(|_| found.len() < MOST) {
            found.push(pid);
            next.extend(children::of(&Path::new("/proc").join(pid.to_string())));
        }
        self.processes.retain(|pid, _| found.contains(pid));
        for pid in found {
            if !self.has(pid) {
                let identity = Identity {
                    name: "unknown".into(),
                    namespace: Some(host),
                    service: Some(Arc::clone(&self.service)),
                    ..Identity::default()
                };
                let process = Process::open(pid, identity, Pace::Measured, room);
                self.processes.extend(process.map(|process| (pid, process)));
            }
        }
    }
}
