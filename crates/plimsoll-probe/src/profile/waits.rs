//! Where threads wait: the kernel functions that they sleep in, and how long they wait for a CPU.
//!
//! All threads of the run's hosts are looked at again and again; each look stands for the time since the one before. What is found so is weighed by
//! time and not by how often it happens, and costs the same however often threads go to sleep, which tracing every switch of a CPU
//! (`sched:sched_switch`) does not: on two CPUs a web server switches some 100,000 times a second.
//!
//! Where the kernel allows it (`/proc/PID/task/TID/stack`, CAP_SYS_ADMIN in the machine's first user namespace) the
//! stack of the sleep is known, and with it the system call; otherwise the function alone (`wchan`).

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use plimsoll_model::observation::StateKind;

use super::HostNamespaces;
use super::groups::{self, ControlGroups};
use super::io_limits::Limits;
use super::kept::{self, KeptFile};
use super::processes::{Identity, Services, service_of};
use super::quotas::Groups;
use super::states::{self, States};

/// How often threads are looked at, at most and at least.
const EVERY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// The part of the time that looking may take while a run measures, of one CPU.
pub(super) const MOST_COST: f64 = 0.01;
/// The CPU time that one look may take. Threads left over come first the next time, so that thousands of processes cost no more than a few.
const MOST_OF_A_LOOK: Duration = Duration::from_millis(2);
/// New processes identified at each look, however long the list of all takes.
const LEAST_IDENTIFIED: usize = 16;
/// The frames of a stack that are kept, from the innermost on, up to the system call.
const FRAMES: usize = 6;
/// The most threads that are read, by up to three files each.
const MOST_THREADS: usize = 2_000;
/// The processes whose control groups are read again when a window begins; the others follow in turn the next times. A
/// process that moves from group to group while it runs is rare, and forks wait while the kernel answers.
const MOST_ASKED_FOR_GROUPS: usize = 32;
/// What the functions that system calls enter by begin with (include/linux/syscalls.h, arch/x86/include/asm/syscall_wrapper.h).
const CALLS: [&str; 6] =
    ["__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__riscv_sys_", "__se_sys_", "__do_sys_"];

/// Where a thread waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WaitSite {
    /// The thread could run, and another does.
    Cpu,
    /// The thread sleeps in these functions of the kernel, the innermost first.
    Sleep {
        frames: Vec<Arc<str>>,
        /// The system call that it made, where that is known.
        call: Option<Arc<str>>,
    },
}

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

/// Looks at the threads of some hosts.
#[derive(Debug)]
pub(super) struct Looker {
    processes: HashMap<u32, Seen>,
    names: HashMap<String, Arc<str>>,
    groups: ControlGroups,
    /// The process that was asked last for its groups, of those that are asked in turn.
    last_asked: u32,
    /// The process that was identified last, of those that are new.
    last_identified: u32,
    /// The process that was looked at last, of each [`Pace`].
    last_looked_at: BTreeMap<Pace, u32>,
    /// How many files are kept open at the most.
    most_kept: usize,
    /// How long a look may take.
    most_of_a_look: Duration,
    /// The part of the time that looking may take, of one CPU.
    most_cost: f64,
    last: Instant,
    due: Instant,
    looks: u64,
    /// CPUs that are on line.
    cpus: usize,
    services: Services,
}

/// A process that was seen.
#[derive(Debug)]
enum Seen {
    /// The thread belongs to no host.
    Other,
    Host(Process),
}

#[derive(Debug)]
struct Process {
    identity: Identity,
    comm: KeptFile,
    /// What the kernel says of its control groups. Nothing until that is asked: when it is new, and when it runs another program, for which many are put into
    /// a group.
    groups: Option<Arc<str>>,
    threads: HashMap<u32, Thread>,
    pace: Pace,
}

/// How eagerly a process is looked at: those that run come before those that only sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pace {
    /// Some of its threads ran since it was looked at before.
    Runs,
    /// No look has reached it.
    New,
    /// None of its threads ran.
    Sleeps,
}

#[derive(Debug)]
struct Thread {
    wchan: KeptFile,
    /// Absent where it is not allowed.
    stack: Option<KeptFile>,
    schedstat: Option<KeptFile>,
    /// The time that it had waited for a CPU when it was last looked at, in nanoseconds.
    delay_ns: Option<u64>,
    /// The time that it had run by then, in nanoseconds.
    ran_ns: Option<u64>,
    look: u64,
}

impl Looker {
    /// Looks for at most this part of the time, of one CPU.
    pub(super) fn new(most_cost: f64) -> Self {
        let now = Instant::now();
        Self {
            processes: HashMap::new(),
            names: HashMap::new(),
            groups: ControlGroups::default(),
            last_asked: 0,
            last_identified: 0,
            last_looked_at: BTreeMap::new(),
            most_kept: kept::room(),
            most_of_a_look: MOST_OF_A_LOOK,
            most_cost,
            last: now,
            due: now,
            looks: 0,
            cpus: states::online_cpus(),
            services: Services::new(),
        }
    }

    /// Begins a new window. Processes of hosts are identified by files that are kept open, which belong to nobody else
    /// when their ids do; those for which there was no room, and those of others, are read again. Groups are found
    /// again as well: a new namespace may have the number of one that is gone.
    pub(super) fn begin(&mut self) {
        self.processes.retain(|_, seen| match seen {
            Seen::Other => false,
            Seen::Host(process) => process.comm.is_kept() && process.is_alive(),
        });
        self.services.clear();
        self.find_groups();
        // What happened meanwhile is of no slice.
        let processes = self.processes.values_mut().filter_map(|seen| match seen {
            Seen::Host(process) => Some(process),
            Seen::Other => None,
        });
        processes.flat_map(|process| process.threads.values_mut()).for_each(|thread| thread.delay_ns = None);
        self.last = Instant::now();
        self.due = self.last + EVERY.0 / 2;
    }

    /// Ends it, with a last look where the one before is some time ago.
    pub(super) fn end(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        self.groups.look_at_limits(|host| hosts.contains_key(&host), &mut waiting.io_limits);
        self.look_at_states(hosts, &mut waiting.states);
        if self.last.elapsed() >= EVERY.0 {
            self.look(hosts, waiting);
        } else {
            self.groups.look(|host| hosts.contains_key(&host), &mut waiting.groups);
        }
    }

    /// Adds what the kernel keeps of processes now: of those that run first, and of those that hold file locks.
    fn look_at_states(&self, hosts: &HostNamespaces, states: &mut States) {
        let identity = |pid: &u32| match self.processes.get(pid) {
            Some(Seen::Host(process)) => Some(&process.identity),
            _ => None,
        };
        let in_turn = self.in_turn(hosts).into_values().flatten();
        for pid in in_turn.take(states::MOST_ASKED) {
            let scheduled = states::scheduling(pid, self.cpus).into_iter().flatten();
            for ((kind, value), identity) in scheduled.zip(std::iter::repeat(identity(&pid))) {
                identity.into_iter().for_each(|identity| states::note(states, identity, kind, value));
            }
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
            process.watch_groups(pid, &mut self.groups, &mut self.names);
        }
    }

    /// How long until it wants to look again.
    pub(super) fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Looks at all threads, if it is time to.
    pub(super) fn look_if_due(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        if self.due_in().is_zero() {
            self.look(hosts, waiting);
        }
    }

    /// Looks at all threads now.
    pub(super) fn look(&mut self, hosts: &HostNamespaces, waiting: &mut Waiting) {
        let cpu_before = cpu_time();
        let now = Instant::now();
        let us = u64::try_from(now.duration_since(self.last).as_micros()).unwrap_or(u64::MAX);
        self.last = now;
        self.looks += 1;
        waiting.looks += 1;
        let mut room = self.most_kept.saturating_sub(self.kept());
        let most = self.most_of_a_look;
        let is_in_time = || cpu_time().saturating_sub(cpu_before) < most;
        self.find_processes(hosts, &mut room, &is_in_time);
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
                if process.groups.is_none() {
                    process.watch_groups(pid, &mut self.groups, &mut self.names);
                }
                looked_at.push((process.identity.clone(), process.look(&mut buffer, &mut self.names)));
                self.last_looked_at.insert(pace, pid);
            }
            // Those that were reached stand for the others of their pace. Of new ones nobody knows yet what they are like.
            let stand_for = match pace {
                Pace::New => 1.0,
                Pace::Runs | Pace::Sleeps => pids.len() as f64 / looked_at.len().max(1) as f64,
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
        let cost = cpu_time().saturating_sub(cpu_before);
        self.due = now + cost.div_f64(self.most_cost).clamp(EVERY.0, EVERY.1);
    }

    /// How many files are kept open.
    fn kept(&self) -> usize {
        let hosts = self.processes.values().filter_map(|seen| match seen {
            Seen::Host(process) => Some(process),
            Seen::Other => None,
        });
        hosts.flat_map(Process::files).filter(|file| file.is_kept()).count()
    }

    /// The processes of these hosts by their pace; of each pace those first that were not reached the last time.
    fn in_turn(&self, hosts: &HostNamespaces) -> BTreeMap<Pace, Vec<u32>> {
        let mut in_turn: BTreeMap<Pace, Vec<u32>> = BTreeMap::new();
        for (pid, seen) in &self.processes {
            // Those of hosts that are not looked at now, as of the other arm, are only kept.
            if let Seen::Host(process) = seen
                && process.is_of(hosts)
            {
                in_turn.entry(process.pace).or_default().push(*pid);
            }
        }
        for (pace, pids) in &mut in_turn {
            let last = self.last_looked_at.get(pace).copied().unwrap_or(0);
            pids.sort_unstable_by_key(|pid| (*pid <= last, *pid));
        }
        in_turn
    }

    /// Finds processes that are new, as far as there is time, and forgets those that have ended.
    fn find_processes(&mut self, hosts: &HostNamespaces, room: &mut usize, is_in_time: &impl Fn() -> bool) {
        let Ok(entries) = fs::read_dir("/proc") else { return };
        let mut pids: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        let last = self.last_identified;
        pids.sort_unstable_by_key(|pid| (*pid <= last, *pid));
        let mut known = std::mem::take(&mut self.processes);
        let mut identified = 0;
        for pid in pids {
            if let Some(seen) = known.remove(&pid) {
                self.processes.insert(pid, seen);
            } else if identified < LEAST_IDENTIFIED || is_in_time() {
                identified += 1;
                self.processes.insert(pid, seen(pid, hosts, room).unwrap_or(Seen::Other));
                self.last_identified = pid;
            }
        }
    }
}

/// What a process is that was not seen before; nothing where it has ended.
fn seen(pid: u32, hosts: &HostNamespaces, room: &mut usize) -> Option<Seen> {
    let namespace = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?.ino();
    if !hosts.contains_key(&namespace) {
        return Some(Seen::Other);
    }
    let identity = Identity { name: "unknown".into(), namespace: Some(namespace), ..Identity::default() };
    let comm = KeptFile::open(format!("/proc/{pid}/comm"), room).ok()?;
    Some(Seen::Host(Process { identity, comm, groups: None, threads: HashMap::new(), pace: Pace::New }))
}

impl Process {
    fn is_of(&self, hosts: &HostNamespaces) -> bool {
        self.identity.namespace.is_some_and(|namespace| hosts.contains_key(&namespace))
    }

    fn files(&self) -> impl Iterator<Item = &KeptFile> {
        std::iter::once(&self.comm).chain(self.threads.values().flat_map(Thread::files))
    }

    /// Has its control groups watched, which it is asked for where they are not known.
    fn watch_groups(&mut self, pid: u32, watched: &mut ControlGroups, names: &mut HashMap<String, Arc<str>>) {
        if self.groups.is_none() {
            self.groups = groups::of_process(pid).map(|text| kept_once(&text, names));
        }
        if let (Some(host), Some(groups)) = (self.identity.namespace, &self.groups) {
            watched.watch(host, groups);
        }
    }

    /// Whether it still runs: the file of one that has ended can no longer be read.
    fn is_alive(&self) -> bool {
        self.comm.read(&mut [0]).is_ok_and(|length| length > 0)
    }

    /// Finds its threads, and its name, which changes with the program that it runs. False where it has ended.
    fn renew(
        &mut self,
        pid: u32,
        look: u64,
        (threads, room): (&mut usize, &mut usize),
        services: &mut Services,
    ) -> bool {
        let mut buffer = [0; 64];
        let Ok(length) = self.comm.read(&mut buffer) else { return false };
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
    fn look(
        &mut self,
        buffer: &mut [u8],
        names: &mut HashMap<String, Arc<str>>,
    ) -> Vec<(WaitSite, Option<u64>)> {
        let mut found = Vec::new();
        let mut runs = false;
        for thread in self.threads.values_mut() {
            if let Some(schedule) = thread.schedule(buffer) {
                runs |= schedule.ran;
                found.extend(schedule.queued_us.map(|us| (WaitSite::Cpu, Some(us))));
            }
            match thread.asleep(buffer, names) {
                Some(site) => found.push((site, None)),
                None => runs = true,
            }
        }
        self.pace = if runs { Pace::Runs } else { Pace::Sleeps };
        found
    }
}

/// What a thread did since it was last looked at.
struct Schedule {
    ran: bool,
    /// How long it waited for a CPU, in microseconds; nothing where it did not.
    queued_us: Option<u64>,
}

impl Thread {
    fn open(pid: u32, tid: u32, look: u64, room: &mut usize) -> Option<Self> {
        let mut open = |name: &str| KeptFile::open(format!("/proc/{pid}/task/{tid}/{name}"), room);
        let (wchan, stack) = (open("wchan").ok()?, open("stack").ok());
        Some(Self { wchan, stack, schedstat: open("schedstat").ok(), delay_ns: None, ran_ns: None, look })
    }

    fn files(&self) -> impl Iterator<Item = &KeptFile> {
        std::iter::once(&self.wchan).chain(&self.stack).chain(&self.schedstat)
    }

    /// What it did since it was last looked at; nothing where the kernel does not tell.
    fn schedule(&mut self, buffer: &mut [u8]) -> Option<Schedule> {
        let text = read(self.schedstat.as_ref()?, buffer).ok()?;
        let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (ran_ns, delay_ns) = (fields.next()?.ok()?, fields.next()?.ok()?);
        let ran = self.ran_ns.replace(ran_ns).is_some_and(|before_ns| before_ns != ran_ns);
        let queued_ns =
            self.delay_ns.replace(delay_ns).map_or(0, |before_ns| delay_ns.saturating_sub(before_ns));
        Some(Schedule { ran, queued_us: Some(queued_ns / 1000).filter(|us| *us > 0) })
    }

    /// Where it sleeps; nothing where it runs, or could.
    fn asleep(&mut self, buffer: &mut [u8], names: &mut HashMap<String, Arc<str>>) -> Option<WaitSite> {
        let mut name = |text: &str| kept_once(text, names);
        let text = read(&self.wchan, buffer).ok()?;
        if text == "0" || text.is_empty() {
            return None;
        }
        let alone = WaitSite::Sleep { frames: vec![name(as_in_the_source(text))], call: None };
        let Some(stack) = &self.stack else { return Some(alone) };
        match read(stack, buffer) {
            Ok(text) => {
                let (frames, call) = parse_stack(text);
                let frames: Vec<_> = frames.into_iter().map(&mut name).collect();
                // It was woken in between.
                (!frames.is_empty()).then(|| WaitSite::Sleep { frames, call: call.map(&mut name) })
            }
            Err(_) => {
                // It is not allowed: no need to ask again.
                self.stack = None;
                Some(alone)
            }
        }
    }
}

/// A text of which there are few, and which many have.
fn kept_once(text: &str, names: &mut HashMap<String, Arc<str>>) -> Arc<str> {
    match names.get(text) {
        Some(known) => Arc::clone(known),
        None => Arc::clone(names.entry(text.to_owned()).or_insert_with(|| text.into())),
    }
}

/// The functions of `/proc/PID/stack`, the innermost first, as far as they are known; and the system call.
fn parse_stack(text: &str) -> (Vec<&str>, Option<&str>) {
    let mut frames = Vec::new();
    for line in text.lines() {
        let Some(symbol) = line.split_ascii_whitespace().nth(1) else { continue };
        let name = as_in_the_source(symbol.split('+').next().unwrap_or(symbol));
        if let Some(call) = CALLS.iter().find_map(|start| name.strip_prefix(start)) {
            return (frames, Some(call));
        }
        if frames.len() < FRAMES {
            frames.push(name);
        }
    }
    (frames, None)
}

/// A name without what the compiler has added to it: `do_select.constprop.0`.
fn as_in_the_source(symbol: &str) -> &str {
    symbol.split('.').next().unwrap_or(symbol)
}

fn read<'b>(file: &KeptFile, buffer: &'b mut [u8]) -> io::Result<&'b str> {
    let length = file.read(buffer)?;
    let text = std::str::from_utf8(&buffer[..length]).map_err(io::Error::other)?;
    Ok(text.trim_end())
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread;

    use super::*;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn looked(program: &str, args: &[&str]) -> Waiting {
        let _child = Ended(Command::new(program).args(args).stdout(Stdio::null()).spawn().unwrap());
        let here = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let hosts = HostNamespaces::from([(here, "here".to_owned())]);
        let (mut looker, mut waiting) = (Looker::new(MOST_COST), Waiting::default());
        looker.begin();
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
        let children: Vec<Ended> = (0..4)
            .map(|_| Ended(Command::new("/bin/sleep").arg("30").stdout(Stdio::null()).spawn().unwrap()))
            .collect();
        let here = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let hosts = HostNamespaces::from([(here, "here".to_owned())]);
        let (mut looker, mut waiting) = (
            Looker { most_kept: 6, most_of_a_look: Duration::MAX, ..Looker::new(MOST_COST) },
            Waiting::default(),
        );
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(50));
            looker.look(&hosts, &mut waiting);
            assert_eq!(looker.kept(), 6);
        }
        let asleep = |(site, _): &(WaitSite, Waited)| matches!(site, WaitSite::Sleep { .. });
        let found: u64 =
            of(&waiting, "sleep").iter().filter(|site| asleep(site)).map(|(_, of)| of.found).sum();
        assert!(found >= 2 * children.len() as u64, "{:?}", waiting.sites);
        // Who has the id of a process whose file is not kept is asked again.
        looker.begin();
        assert!(looker.processes.len() <= 6 && looker.kept() <= 6);
    }

    #[test]
    fn hundreds_of_sleepers_cost_no_more_than_a_few_and_are_found_for_all_their_time() {
        let number = 400;
        let sleep = || Command::new("/bin/sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let children: Vec<Ended> = (0..number).map(|_| Ended(sleep())).collect();
        let here = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let hosts = HostNamespaces::from([(here, "here".to_owned())]);
        let (mut looker, mut waiting) = (Looker::new(MOST_COST), Waiting::default());
        let (mut looked, mut cost) = (Duration::ZERO, Duration::ZERO);
        let is_asleep = |looker: &Looker, pid: u32| matches!(looker.processes.get(&pid), Some(Seen::Host(process)) if process.pace == Pace::Sleeps);
        let mut known = false;
        while !known {
            looker.look(&hosts, &mut waiting);
            known = children.iter().all(|child| is_asleep(&looker, child.0.id()));
        }
        waiting = Waiting::default();
        for _ in 0..30 {
            thread::sleep(Duration::from_millis(10));
            let (before, last) = (cpu_time(), looker.last);
            looker.look(&hosts, &mut waiting);
            looked += looker.last.duration_since(last);
            cost += cpu_time().saturating_sub(before);
        }
        let slept: u64 = of(&waiting, "sleep").iter().map(|(_, waited)| waited.us).sum();
        let true_us = f64::from(number) * looked.as_micros() as f64;
        assert!((slept as f64 / true_us - 1.0).abs() < 0.2, "{slept} of {true_us}");
        // What is to be found out of each process at all, such as that it is there, comes on top.
        assert!(cost < 30 * 4 * MOST_OF_A_LOOK, "{cost:?}");
    }

    #[test]
    fn a_process_that_has_ended_is_forgotten_before_another_one_can_have_its_id() {
        let child = Ended(Command::new("/bin/sleep").arg("30").stdout(Stdio::null()).spawn().unwrap());
        let here = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let mut looker = Looker::new(MOST_COST);
        looker.look(&HostNamespaces::from([(here, "here".to_owned())]), &mut Waiting::default());
        let pid = child.0.id();
        looker.begin();
        assert!(looker.processes.contains_key(&pid));
        drop(child);
        looker.begin();
        assert!(!looker.processes.contains_key(&pid));
    }

    #[test]
    fn processes_that_may_have_moved_are_asked_for_their_groups_in_turn() {
        let number = MOST_ASKED_FOR_GROUPS + 8;
        let sleep = || Command::new("/bin/sleep").arg("30").stdout(Stdio::null()).spawn().unwrap();
        let children: Vec<Ended> = (0..number).map(|_| Ended(sleep())).collect();
        let here = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let mut looker =
            Looker { most_kept: usize::MAX, most_of_a_look: Duration::MAX, ..Looker::new(MOST_COST) };
        looker.look(&HostNamespaces::from([(here, "here".to_owned())]), &mut Waiting::default());
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
        assert_eq!(stale(&looker), number);
        looker.begin();
        assert_eq!(stale(&looker), 8);
        looker.begin();
        assert_eq!(stale(&looker), 0);
    }

    #[test]
    fn a_stack_is_told_up_to_the_system_call() {
        let text = "[<0>] jbd2_log_wait_commit+0xe6/0x130 [jbd2]\n[<0>] ext4_sync_file.isra.0+0x2ad/0x3d0\n\
                    [<0>] __x64_sys_fsync+0x3b/0x70\n[<0>] do_syscall_64+0x71/0x280\n";
        assert_eq!(parse_stack(text), (vec!["jbd2_log_wait_commit", "ext4_sync_file"], Some("fsync")));
        assert_eq!(parse_stack(""), (vec![], None));
        let kernel_thread = "[<0>] worker_thread+0x1a/0x30\n[<0>] kthread+0xf/0x20\n";
        assert_eq!(parse_stack(kernel_thread), (vec!["worker_thread", "kthread"], None));
    }

    #[test]
    fn looking_takes_no_more_than_its_part_of_the_time() {
        let mut looker = Looker::new(MOST_COST);
        let here = fs::metadata("/proc/self/ns/net").unwrap().ino();
        looker.look(&HostNamespaces::from([(here, "here".to_owned())]), &mut Waiting::default());
        assert!(looker.due.duration_since(looker.last) >= EVERY.0);
    }
}
