//! Where threads wait: the kernel functions that they sleep in, and how long they wait for a CPU.
//!
//! All threads of the run's hosts are looked at again and again; each look stands for the time since the one before. What is found so is weighed by
//! time and not by how often it happens, and costs the same however often threads go to sleep, which tracing every switch of a CPU
//! (`sched:sched_switch`) does not: on two CPUs a web server switches some 100,000 times a second.
//!
//! Where the kernel allows it (`/proc/PID/task/TID/stack`, CAP_SYS_ADMIN in the machine's first user namespace) the
//! stack of the sleep is known, and with it the system call; otherwise the function alone (`wchan`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_model::observation::StateKind;

use super::HostNamespaces;
use super::commands::Commands;
use super::groups::ControlGroups;
use super::kept;
use super::looks::{Pace, Process, Waiting, namespace_of, stands_for};
use super::processes::{Identity, Services};
use super::states::{self, States};
use super::threads::WaitSite;
use crate::budget::{Budget, thread_cpu_time};

/// How often threads are looked at, at most and at least.
const EVERY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// The part of the time that looking may take while a run measures, of one CPU.
pub(super) const MOST_COST: f64 = 0.01;
/// The CPU time that one look may take. Threads left over come first the next time, so that thousands of processes cost no more than a few.
const MOST_OF_A_LOOK: Duration = Duration::from_millis(2);
/// New processes identified at each look: what they are is known long before all of them are looked at.
const MOST_IDENTIFIED: usize = 512;
/// Strangers asked once more at each look.
const STRANGERS_ASKED: usize = 4;
/// How often the processes of a rig are asked for what seldom changes: control groups, limits, priorities and file locks.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// The processes whose control groups are read again at a time; the others follow in turn the next times. A
/// process that moves from group to group while it runs is rare, and forks wait while the kernel answers.
const MOST_ASKED_FOR_GROUPS: usize = 32;

/// Looks at the threads of some hosts.
#[derive(Debug)]
pub(super) struct Looker {
    processes: HashMap<u32, Seen>,
    names: HashMap<String, Arc<str>>,
    groups: ControlGroups,
    /// The process that was asked last for its groups, of those that are asked in turn.
    last_asked: u32,
    /// The stranger that was asked last whether it still is one.
    last_stranger: u32,
    /// Namespaces of all hosts that were looked at.
    namespaces: BTreeSet<u64>,
    /// When groups were found last.
    groups_found: Option<Instant>,
    /// When each rig, known by a namespace of it, was last asked for what seldom changes.
    asked: HashMap<u64, Instant>,
    /// The time of each rig's windows that no look stands for yet.
    unseen: HashMap<u64, Unseen>,
    /// When this window began.
    began: Instant,
    /// The looks in this window.
    looks_of_window: u64,
    /// The time from its first look to its last, in which queues for CPUs were measured.
    queued_for: Duration,
    /// The process that was looked at last, of each [`Pace`].
    last_looked_at: BTreeMap<Pace, u32>,
    /// How many files are kept open at the most.
    most_kept: usize,
    /// How long a look may take.
    most_of_a_look: Duration,
    budget: Budget,
    last: Instant,
    due: Instant,
    looks: u64,
    /// CPUs that are on line.
    cpus: usize,
    pub(super) services: Services,
    /// Looks at the children of this process, where these are measured.
    commands: Option<Commands>,
    /// Whether strangers run on the hosts as well, whose control groups are no business of the run.
    beside_strangers: bool,
    /// Whether all processes that there were have been identified.
    is_complete: bool,
}

/// A process that was seen.
#[derive(Debug)]
enum Seen {
    /// The thread belongs to no host.
    Other,
    Host(Process),
}

impl Looker {
    /// Looks within this budget.
    pub(super) fn new(budget: Budget) -> Self {
        let now = Instant::now();
        Self {
            processes: HashMap::new(),
            names: HashMap::new(),
            groups: ControlGroups::default(),
            last_asked: 0,
            last_stranger: 0,
            namespaces: BTreeSet::new(),
            groups_found: None,
            asked: HashMap::new(),
            unseen: HashMap::new(),
            began: now,
            looks_of_window: 0,
            queued_for: Duration::ZERO,
            last_looked_at: BTreeMap::new(),
            most_kept: kept::room(),
            most_of_a_look: MOST_OF_A_LOOK,
            budget,
            last: now,
            due: now,
            looks: 0,
            cpus: states::online_cpus(),
            services: Services::default(),
            commands: None,
            beside_strangers: false,
            is_complete: false,
        }
    }

    /// Looks more often at the children of this process, which are this service.
    pub(super) fn with_commands(self, service: &str) -> Self {
        Self { commands: Some(Commands::new(service)), ..self }
    }

    /// Watches control groups only where a part of a service is in them.
    pub(super) fn beside_strangers(self) -> Self {
        Self { beside_strangers: true, ..self }
    }

    /// These processes, and all that they start, are parts of services.
    pub(super) fn name(&mut self, parts: &BTreeMap<u32, Arc<str>>) {
        self.services.name(parts);
        self.processes.clear();
        self.is_complete = false;
    }

    /// Begins a new window. What was learned of processes stays: each is checked when it is looked at. Where looking has cost its
    /// part of the time already, the window passes unseen, and the next ones stand for it.
    pub(super) fn begin(&mut self, hosts: &HostNamespaces) {
        let known = self.namespaces.len();
        self.namespaces.extend(hosts.keys());
        if self.namespaces.len() > known {
            self.processes.retain(|_, seen| matches!(seen, Seen::Host(_)));
        }
        if self.groups_found.is_none_or(|at| at.elapsed() >= ASKED_EVERY) {
            self.services.forget();
            self.find_groups();
            self.groups_found = Some(Instant::now());
        } else {
            self.groups.begin();
        }
        // What happened meanwhile is of no slice.
        let processes = self.processes.values_mut().filter_map(|seen| match seen {
            Seen::Host(process) => Some(process),
            Seen::Other => None,
        });
        processes.flat_map(|process| process.threads.values_mut()).for_each(|thread| thread.delay_ns = None);
        self.began = Instant::now();
        self.last = self.began;
        self.looks_of_window = 0;
        self.queued_for = Duration::ZERO;
        self.due = self.due.max(self.began + EVERY.0 / 2);
        if let Some(commands) = &mut self.commands {
            commands.begin();
        }
    }

    /// Ends it, with a last look where the one before is some time ago.
    pub(super) fn end(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        if self.looks_of_window > 0 && self.last.elapsed() >= EVERY.0 || self.due <= Instant::now() {
            self.look(hosts, waiting);
        } else {
            self.groups.look(|host| hosts.contains_key(&host), &mut waiting.groups);
        }
        self.stand_for_unseen(hosts, waiting);
        if let Some(commands) = &mut self.commands {
            commands.end(waiting);
        }
        let rig = rig_of(hosts);
        if self.asked.get(&rig).is_none_or(|at| at.elapsed() >= ASKED_EVERY) {
            self.groups.look_at_limits(|host| hosts.contains_key(&host), &mut waiting.io_limits);
            self.look_at_states(hosts, &mut waiting.states);
            self.asked.insert(rig, Instant::now());
        }
    }

    /// Profiles were taken: the next windows are of another phase.
    pub(super) fn taken(&mut self) {
        self.asked.clear();
        self.unseen.clear();
    }

    /// Waits of this window stand for all of it, and for the windows before it that passed unseen.
    fn stand_for_unseen(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        let lasted = self.began.elapsed();
        let unseen = self.unseen.entry(rig_of(hosts)).or_default();
        let asleep = stands_for(&mut unseen.asleep, lasted, self.last.duration_since(self.began));
        let queued = stands_for(&mut unseen.queued, lasted, self.queued_for);
        for ((_, site), waited) in &mut waiting.sites {
            let times = if *site == WaitSite::Cpu { queued } else { asleep };
            waited.us = (waited.us as f64 * times) as u64;
        }
    }

    /// Adds what the kernel keeps of processes now: of those that run first, and of those that hold file locks.
    fn look_at_states(&self, hosts: &HostNamespaces, states: &mut States) {
        let identity = |pid: &u32| match self.processes.get(pid) {
            Some(Seen::Host(process)) => Some(&process.identity),
            _ => None,
        };
        let in_turn = self.in_turn(hosts).into_values().flatten();
        let asked = in_turn.filter_map(|pid| Some((pid, states::of_process(pid, self.cpus)?)));
        for (pid, found) in asked.take(states::MOST_ASKED) {
            let Some(identity) = identity(&pid) else { continue };
            found.for_each(|(kind, value)| states::note(states, identity, kind, value));
        }
        for (pid, locks) in states::file_locks() {
            if let Some(identity) = identity(&pid) {
                states::note(states, identity, StateKind::FileLocks, locks);
            }
        }
    }

    /// Finds the groups of all processes again.
    fn find_groups(&mut self) {
        self.groups = ControlGroups::default();
        let hosts = self.processes.iter_mut().filter_map(|(pid, seen)| match seen {
            Seen::Host(process) => Some((*pid, process)),
            Seen::Other => None,
        });
        let mut hosts: Vec<(u32, &mut Process)> = hosts.collect();
        let last = self.last_asked;
        hosts.sort_unstable_by_key(|(pid, _)| (*pid <= last, *pid));
        for (at, (pid, process)) in hosts.into_iter().enumerate() {
            if at < MOST_ASKED_FOR_GROUPS {
                self.last_asked = pid;
                process.groups = None;
            }
            if process.has_groups_that_count(self.beside_strangers) {
                process.watch_groups(pid, &mut self.groups, &mut self.names);
            }
        }
    }

    /// How long until it wants to look again.
    pub(super) fn due_in(&self) -> Duration {
        let due = self.commands.iter().map(|commands| commands.due).fold(self.due, Instant::min);
        due.saturating_duration_since(Instant::now())
    }

    /// Looks at all threads, if it is time to.
    pub(super) fn look_if_due(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        let now = Instant::now();
        if let Some(commands) = self.commands.as_mut().filter(|commands| commands.due <= now) {
            commands.look(rig_of(hosts), self.cpus, (&mut self.groups, &mut self.names), waiting);
        }
        if self.due <= now {
            self.look(hosts, waiting);
        }
    }

    /// Looks at all threads now.
    pub(super) fn look(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        let cpu_before = thread_cpu_time();
        let now = Instant::now();
        let us = u64::try_from(now.duration_since(self.last).as_micros()).unwrap_or(u64::MAX);
        if self.looks_of_window > 0 {
            self.queued_for += now.duration_since(self.last);
        }
        self.last = now;
        self.looks += 1;
        self.looks_of_window += 1;
        waiting.looks += 1;
        let mut room = self.most_kept.saturating_sub(self.kept());
        self.find_processes(&mut room);
        // The list of thousands of processes takes some of the time itself, and is not to take all of it.
        let (most, found) = (self.most_of_a_look, thread_cpu_time());
        let is_in_time = || thread_cpu_time().saturating_sub(found) < most;
        let look = self.looks;
        let mut buffer = vec![0; 4096];
        let mut threads = 0;
        for (pace, pids) in self.in_turn(hosts) {
            let mut looked_at = Vec::new();
            for &pid in &pids {
                // Each look makes some progress, however little time there is.
                if !looked_at.is_empty() && !is_in_time() {
                    break;
                }
                let Some(Seen::Host(process)) = self.processes.get_mut(&pid) else { continue };
                if !process.renew(pid, look, (&mut threads, &mut room), &mut self.services) {
                    self.processes.remove(&pid);
                    continue;
                }
                if process.groups.is_none() && process.has_groups_that_count(self.beside_strangers) {
                    process.watch_groups(pid, &mut self.groups, &mut self.names);
                }
                looked_at.push((process.identity.clone(), process.look(&mut buffer, &mut self.names)));
                self.last_looked_at.insert(pace, pid);
            }
            // Those that were reached stand for the others of their pace. Of new ones nobody knows yet what they are like.
            let stand_for = match pace {
                Pace::New | Pace::Young => 1.0,
                Pace::Measured | Pace::Runs | Pace::Sleeps => {
                    pids.len() as f64 / looked_at.len().max(1) as f64
                }
            };
            for (identity, found) in looked_at {
                for (site, queued_us) in found {
                    let us = queued_us.unwrap_or((us as f64 * stand_for) as u64);
                    let waited = waiting.sites.entry((identity.clone(), site)).or_default();
                    waited.found += 1;
                    waited.us += us;
                }
            }
        }
        self.groups.look(|host| hosts.contains_key(&host), &mut waiting.groups);
        let cost = thread_cpu_time().saturating_sub(cpu_before);
        self.due = self.due.max(now) + self.budget.pause(cost).clamp(EVERY.0, EVERY.1);
    }

    /// How many files are kept open.
    fn kept(&self) -> usize {
        let hosts = self.processes.values().filter_map(|seen| match seen {
            Seen::Host(process) => Some(process),
            Seen::Other => None,
        });
        hosts.flat_map(Process::files).filter(|file| file.is_kept()).count()
    }

    /// The processes of these hosts by their pace; of each pace those first that were not reached the last time, after those that ran for longer. Of
    /// new ones the youngest come first: the oldest are threads of the kernel, which wait for work.
    fn in_turn(&self, hosts: &HostNamespaces) -> BTreeMap<Pace, Vec<u32>> {
        let mut in_turn: BTreeMap<Pace, Vec<u32>> = BTreeMap::new();
        for (pid, seen) in &self.processes {
            // Those of hosts that are not looked at now, as of the other arm, are only kept.
            if let Seen::Host(process) = seen
                && process.is_of(hosts)
                && !self.commands.as_ref().is_some_and(|commands| commands.has(*pid))
            {
                in_turn.entry(process.pace).or_default().push(*pid);
            }
        }
        for (pace, pids) in &mut in_turn {
            let last = self.last_looked_at.get(pace).copied().unwrap_or(0);
            match pace {
                Pace::New | Pace::Young => pids.sort_unstable_by(|a, b| b.cmp(a)),
                Pace::Runs => pids.sort_unstable_by_key(|pid| {
                    let ran_ns = self.processes.get(pid).map_or(0, Seen::ran_ns);
                    (std::cmp::Reverse(ran_ns.checked_ilog2()), *pid <= last, *pid)
                }),
                Pace::Measured | Pace::Sleeps => pids.sort_unstable_by_key(|pid| (*pid <= last, *pid)),
            }
        }
        in_turn
    }

    /// Finds processes that are new, the youngest first, and forgets those that have ended.
    fn find_processes(&mut self, room: &mut usize) {
        let Ok(entries) = fs::read_dir("/proc") else { return };
        let mut pids: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        pids.sort_unstable_by(|a, b| b.cmp(a));
        let mut known = std::mem::take(&mut self.processes);
        let (mut identified, new) = (0, if self.is_complete { Pace::Young } else { Pace::New });
        for pid in pids {
            if let Some(seen) = known.remove(&pid) {
                self.processes.insert(pid, seen);
            } else if identified < MOST_IDENTIFIED {
                identified += 1;
                self.processes.insert(pid, self.identify(pid, new, room));
            }
        }
        self.is_complete = identified < MOST_IDENTIFIED;
        self.ask_strangers_again(room);
    }

    /// Asks some strangers in turn whether they still are: one may have moved to a host, or have given its id to a process there.
    fn ask_strangers_again(&mut self, room: &mut usize) {
        let others = self.processes.iter().filter(|(_, seen)| matches!(seen, Seen::Other));
        let mut others: Vec<u32> = others.map(|(pid, _)| *pid).collect();
        let last = self.last_stranger;
        others.sort_unstable_by_key(|pid| (*pid <= last, *pid));
        for pid in others.into_iter().take(STRANGERS_ASKED) {
            self.last_stranger = pid;
            self.processes.insert(pid, self.identify(pid, Pace::New, room));
        }
    }

    /// What a process is that was not seen before.
    fn identify(&self, pid: u32, pace: Pace, room: &mut usize) -> Seen {
        let namespace = namespace_of(pid).filter(|namespace| self.namespaces.contains(namespace));
        let identity = Identity { name: "unknown".into(), namespace, ..Identity::default() };
        let process = namespace.and_then(|_| Process::open(pid, identity, pace, room));
        process.map_or(Seen::Other, Seen::Host)
    }
}

/// Time of windows of which nothing was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Unseen {
    asleep: Duration,
    queued: Duration,
}

/// By what the hosts of one rig are known: the first of their namespaces.
fn rig_of(hosts: &HostNamespaces) -> u64 {
    hosts.keys().next().copied().unwrap_or_default()
}

impl Seen {
    fn ran_ns(&self) -> u64 {
        match self {
            Self::Host(process) => process.ran_ns,
            Self::Other => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread;

    use plimsoll_model::experiment::service::SERVICE_MARK;

    use super::super::groups;
    use super::super::kept::KeptFile;
    use super::super::looks::Waited;
    use super::*;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn sleeper() -> Ended {
        Ended(Command::new("/bin/sleep").arg("60").stdout(Stdio::null()).spawn().unwrap())
    }

    fn here() -> HostNamespaces {
        HostNamespaces::from([(namespace_of(std::process::id()).unwrap(), "here".to_owned())])
    }

    fn looked(program: &str, args: &[&str]) -> Waiting {
        let _child = Ended(Command::new(program).args(args).stdout(Stdio::null()).spawn().unwrap());
        let hosts = here();
        // Other tests have hundreds of sleepers.
        let mut looker = Looker { most_of_a_look: Duration::MAX, ..Looker::new(Budget::new(MOST_COST)) };
        let mut waiting = Waiting::default();
        looker.begin(&hosts);
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(20));
            looker.look(&hosts, &mut waiting);
        }
        waiting
    }

    fn of(waiting: &Waiting, name: &str) -> Vec<(WaitSite, Waited)> {
        let its = waiting.sites.iter().filter(|((process, _), _)| &*process.name == name);
        its.map(|((_, site), waited)| (site.clone(), *waited)).collect()
    }

    #[test]
    fn a_process_that_sleeps_is_found_in_its_sleep_for_the_time_that_it_was_looked_at() {
        let sites = of(&looked("/bin/sleep", &["30"]), "sleep");
        let asleep = sites.iter().filter(|(site, _)| match site {
            WaitSite::Sleep { frames, .. } => frames[0].contains("nanosleep"),
            WaitSite::Cpu => false,
        });
        let us: u64 = asleep.map(|(_, waited)| waited.us).sum();
        // 20 looks, 20 ms apart: 400 ms, and more where this machine is busy. The first may have come before the program.
        assert!(us >= 300_000, "{sites:?}");
    }

    #[test]
    fn no_more_files_are_kept_open_than_there_is_room_for_and_the_others_are_read_all_the_same() {
        let children: Vec<Ended> = (0..4).map(|_| sleeper()).collect();
        let hosts = here();
        let (mut looker, mut waiting) = (
            Looker { most_kept: 6, most_of_a_look: Duration::MAX, ..Looker::new(Budget::new(MOST_COST)) },
            Waiting::default(),
        );
        looker.begin(&hosts);
        let kept = [(); 3].map(|()| {
            thread::sleep(Duration::from_millis(50));
            looker.look(&hosts, &mut waiting);
            looker.kept()
        });
        // The room of a process that ends during a look is used from the next look on.
        assert!(kept.contains(&6) && kept.iter().all(|kept| *kept <= 6), "{kept:?}");
        let asleep = |(site, _): &(WaitSite, Waited)| matches!(site, WaitSite::Sleep { .. });
        let found: u64 =
            of(&waiting, "sleep").iter().filter(|site| asleep(site)).map(|(_, of)| of.found).sum();
        assert!(found >= 2 * children.len() as u64, "{:?}", waiting.sites);
    }

    #[test]
    fn hundreds_of_sleepers_cost_no_more_than_a_few_and_are_found_for_all_their_time() {
        let number = 400;
        let children: Vec<Ended> = (0..number).map(|_| sleeper()).collect();
        let hosts = here();
        let (mut looker, mut waiting) = (Looker::new(Budget::new(MOST_COST)), Waiting::default());
        looker.begin(&hosts);
        let (mut looked, mut cost) = (Duration::ZERO, Duration::ZERO);
        let is_asleep = |looker: &Looker, pid: u32| matches!(looker.processes.get(&pid), Some(Seen::Host(process)) if process.pace == Pace::Sleeps);
        let mut known = false;
        while !known {
            looker.look(&hosts, &mut waiting);
            known = children.iter().all(|child| is_asleep(&looker, child.0.id()));
        }
        // Whole rounds count, since each look reaches some of them.
        let (mut rounds, mut looks, mut at) = (0, 0_u32, 0);
        while rounds < 4 {
            thread::sleep(Duration::from_millis(10));
            let (before, last) = (thread_cpu_time(), looker.last);
            looker.look(&hosts, &mut waiting);
            looked += looker.last.duration_since(last);
            cost += thread_cpu_time().saturating_sub(before);
            looks += 1;
            if looker.last_looked_at[&Pace::Sleeps] <= at {
                rounds += 1;
                if rounds == 1 {
                    (waiting, looked) = (Waiting::default(), Duration::ZERO);
                }
            }
            at = looker.last_looked_at[&Pace::Sleeps];
        }
        let slept: u64 = of(&waiting, "sleep").iter().map(|(_, waited)| waited.us).sum();
        let true_us = f64::from(number) * looked.as_micros() as f64;
        assert!((slept as f64 / true_us - 1.0).abs() < 0.2, "{slept} of {true_us}");
        // What is to be found out of each process at all, such as that it is there, comes on top.
        assert!(cost < looks * 4 * MOST_OF_A_LOOK, "{cost:?}");
    }

    #[test]
    fn what_is_measured_is_looked_at_before_strangers_and_of_these_those_first_that_ran_for_longer() {
        let marked =
            Ended(Command::new("/bin/sleep").arg("60").env(SERVICE_MARK, "command").spawn().unwrap());
        let strangers = [sleeper(), sleeper()];
        let hosts = here();
        let mut looker = Looker { most_of_a_look: Duration::MAX, ..Looker::new(Budget::new(MOST_COST)) };
        looker.begin(&hosts);
        looker.look(&hosts, &mut Waiting::default());
        // Other tests have hundreds of sleepers, more than one look identifies.
        while !looker.is_complete {
            looker.find_processes(&mut 0);
        }
        let young = sleeper();
        looker.find_processes(&mut 0);
        for (child, ran_ns) in strangers.iter().zip([1_000, 1_000_000_000]) {
            let Some(Seen::Host(process)) = looker.processes.get_mut(&child.0.id()) else {
                panic!("it is here")
            };
            (process.pace, process.ran_ns) = (Pace::Runs, ran_ns);
        }
        let in_turn = looker.in_turn(&hosts);
        let of = |pace: Pace| in_turn[&pace].clone();
        assert!(of(Pace::Measured).contains(&marked.0.id()) && of(Pace::Young).contains(&young.0.id()));
        assert_eq!(in_turn.keys().next(), Some(&Pace::Measured));
        let place = |child: &Ended| of(Pace::Runs).iter().position(|pid| *pid == child.0.id()).unwrap();
        assert!(place(&strangers[1]) < place(&strangers[0]));
    }

    #[test]
    fn groups_of_strangers_are_no_business_of_the_run_and_those_of_who_serves_it_are() {
        let child = sleeper();
        let hosts = here();
        let new = Looker { most_of_a_look: Duration::MAX, ..Looker::new(Budget::new(MOST_COST)) };
        let mut looker = new.beside_strangers();
        let look = |looker: &mut Looker| {
            looker.begin(&hosts);
            looker.look(&hosts, &mut Waiting::default());
            let Some(Seen::Host(process)) = looker.processes.get(&child.0.id()) else { panic!("it is here") };
            (process.groups.is_some(), process.pace == Pace::Measured)
        };
        assert_eq!(look(&mut looker), (false, false));
        looker.name(&[(child.0.id(), "served".into())].into());
        assert_eq!(look(&mut looker), (true, true));
    }

    #[test]
    fn a_process_that_has_ended_is_not_taken_for_the_one_that_has_its_id() {
        for most_kept in [usize::MAX, 0] {
            let (ended, successor) = (sleeper(), sleeper());
            let (old, pid) = (ended.0.id(), successor.0.id());
            let hosts = here();
            let mut looker =
                Looker { most_kept, most_of_a_look: Duration::MAX, ..Looker::new(Budget::new(MOST_COST)) };
            looker.begin(&hosts);
            looker.look(&hosts, &mut Waiting::default());
            let Some(Seen::Host(mut entry)) = looker.processes.remove(&old) else { panic!("it is here") };
            drop(ended);
            entry.identity.service = Some("of the old".into());
            if most_kept == 0 {
                entry.comm = KeptFile::open(format!("/proc/{pid}/comm"), &mut 0).unwrap();
                entry.identity.namespace = Some(1);
                looker.namespaces.insert(1);
            }
            looker.processes.insert(pid, Seen::Host(entry));
            let hosts = hosts.into_iter().chain([(1, "gone".to_owned())]).collect();
            for _ in 0..2 {
                looker.look(&hosts, &mut Waiting::default());
            }
            let Some(Seen::Host(its)) = looker.processes.get(&pid) else { panic!("it is here") };
            assert_eq!(its.identity.service, None, "{most_kept}");
        }
    }

    #[test]
    fn strangers_are_asked_again_in_turn_and_when_hosts_are_new() {
        let child = sleeper();
        let pid = child.0.id();
        let mut looker = Looker::new(Budget::new(MOST_COST));
        let elsewhere = HostNamespaces::from([(1, "elsewhere".to_owned())]);
        looker.begin(&elsewhere);
        looker.most_of_a_look = Duration::MAX;
        looker.look(&elsewhere, &mut Waiting::default());
        assert!(matches!(looker.processes.get(&pid), Some(Seen::Other)));
        looker.begin(&elsewhere);
        assert!(matches!(looker.processes.get(&pid), Some(Seen::Other)));
        // The process counts as a host's from here on, as if it had moved there.
        looker.namespaces.extend(here().into_keys());
        let rounds = looker.processes.len().div_ceil(STRANGERS_ASKED) + 4;
        for _ in 0..rounds {
            looker.look(&elsewhere, &mut Waiting::default());
        }
        assert!(matches!(looker.processes.get(&pid), Some(Seen::Host(_))));
        looker.processes.insert(pid, Seen::Other);
        looker.begin(&HostNamespaces::from([(2, "new".to_owned())]));
        assert!(!looker.processes.contains_key(&pid));
    }

    #[test]
    fn short_windows_are_seen_in_part_and_those_stand_for_all() {
        let child = sleeper();
        let hosts = here();
        let mut looker =
            Looker { most_of_a_look: Duration::MAX, ..Looker::new(Budget::new(MOST_COST / 10.0)) };
        let (mut waiting, mut lasted, mut windows) = (Waiting::default(), Duration::ZERO, 0);
        while lasted < Duration::from_secs(4) {
            looker.begin(&hosts);
            let (began, mut window) = (Instant::now(), Waiting::default());
            while began.elapsed() < Duration::from_millis(60) {
                thread::sleep(Duration::from_millis(10));
                looker.look_if_due(&hosts, &mut window);
            }
            looker.end(&hosts, &mut window);
            // Only windows count in which the process was known before.
            if matches!(looker.processes.get(&child.0.id()), Some(Seen::Host(it)) if it.pace == Pace::Sleeps)
            {
                waiting.merge(window);
                lasted += began.elapsed();
                windows += 1;
            }
        }
        assert!(waiting.looks < windows, "{} looks in {windows} windows", waiting.looks);
        let its = of(&waiting, "sleep");
        let slept: u64 = its.iter().filter(|(site, _)| *site != WaitSite::Cpu).map(|(_, it)| it.us).sum();
        // Other tests have sleepers of the same name, and up to a second at the end passes unseen.
        assert!(slept as f64 >= 0.6 * lasted.as_micros() as f64, "{slept} us in {lasted:?}");
        let (mut unseen, second) = (Duration::ZERO, Duration::from_secs(1));
        assert_eq!(stands_for(&mut unseen, second, Duration::ZERO), 1.0);
        assert_eq!(stands_for(&mut unseen, second, second / 2), 4.0);
        assert_eq!(unseen, Duration::ZERO);
    }

    #[test]
    fn processes_that_may_have_moved_are_asked_for_their_groups_in_turn() {
        let number = MOST_ASKED_FOR_GROUPS + 8;
        let children: Vec<Ended> = (0..number).map(|_| sleeper()).collect();
        let hosts = here();
        let mut looker = Looker {
            most_kept: usize::MAX,
            most_of_a_look: Duration::MAX,
            ..Looker::new(Budget::new(MOST_COST))
        };
        looker.begin(&hosts);
        looker.look(&hosts, &mut Waiting::default());
        // Other tests run beside this one.
        looker.processes.retain(|pid, _| children.iter().any(|child| child.0.id() == *pid));
        let elsewhere: Arc<str> = "0::/elsewhere".into();
        for seen in looker.processes.values_mut() {
            let Seen::Host(process) = seen else { panic!("its network is that of this test") };
            assert_eq!(process.groups.as_deref(), groups::of_process(std::process::id()).as_deref());
            process.groups = Some(Arc::clone(&elsewhere));
        }
        let stale = |looker: &Looker| {
            let is_stale = |seen: &&Seen| matches!(seen, Seen::Host(process) if process.groups.as_ref() == Some(&elsewhere));
            looker.processes.values().filter(is_stale).count()
        };
        for left in [number, 8, 0] {
            assert_eq!(stale(&looker), left);
            looker.groups_found = None;
            looker.begin(&hosts);
        }
    }

    #[test]
    fn looking_takes_no_more_than_its_part_of_the_time() {
        let mut looker = Looker::new(Budget::new(MOST_COST));
        looker.look(&here(), &mut Waiting::default());
        assert!(looker.due.duration_since(looker.last) >= EVERY.0);
    }
}
