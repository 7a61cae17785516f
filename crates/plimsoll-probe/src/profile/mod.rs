//! Where the CPUs spend their time: samples of the stacks that all CPUs are in, by perf_event_open(2).
//!
//! Every CPU is interrupted at a fixed rate by its own count of cycles, or by a timer where the machine counts none,
//! and the kernel writes down which functions it was in. What is sampled is the whole machine, since a network's work
//! is done in softirqs, in whatever process they happen to interrupt; each stack begins with the host and the process
//! that it belongs to.
//!
//! Softirqs that follow an interrupt belong to nobody whom they interrupt, and their stacks begin with `softirq`. Those that a process runs
//! itself, as it does when it sends over loopback or a veth pair, stay with it.

mod blocks;
mod c_library;
mod calls;
mod commands;
mod failures;
mod files;
mod groups;
mod io_limits;
mod jit;
mod kept;
mod looks;
mod processes;
mod quotas;
mod rings;
mod states;
mod symbols;
mod threads;
mod tracefs;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plimsoll_model::observation::{Arm, Profile, ProfileBuilder, ProfileClock};

use self::failures::{FailureWindows, Failures, Rhythm};
pub(crate) use self::failures::{sampler, set_filter};
pub use self::processes::ServiceGroup;
use self::processes::Services;
use self::rings::Rings;
pub(crate) use self::rings::cpus;
use self::symbols::Symbols;
pub(crate) use self::tracefs::TraceFs;
use self::waits::Looker;
use crate::budget::Budget;
use crate::cpu_time;
use crate::small_file;

/// Samples per second and CPU. Not a round number, so that they do not fall in step with what happens 100 or 250 times a second.
pub const HERTZ: u32 = 99;
/// How often the CPUs are sampled, the kernel's buffers emptied, and failing calls watched.
#[derive(Clone, Copy, Debug)]
struct Cadence {
    hertz: u32,
    /// A sample has 5 KB at most, so at 99 Hz a buffer takes 1 s to fill.
    emptied_every: Duration,
    /// Bytes of each user stack that the kernel copies into a sample, from the stack pointer on.
    stack_bytes: u32,
    failures: Rhythm,
    /// Whether processes are asked which service of a run they are.
    asks_for_services: bool,
}

/// Where idle time and time of waiting for disks stand in `/proc/stat` (proc_stat(5)), after the name `cpu` and user, nice and system time.
const IDLE_AT: usize = 4;

/// How long the kernel goes on sampling after a slice. Turning samples on or off interrupts each CPU, and slices may be short.
const DISABLED_AFTER: Duration = Duration::from_millis(100);

/// What a run may cost that measures.
const OF_A_RUN: Cadence = Cadence {
    hertz: HERTZ,
    emptied_every: Duration::from_millis(100),
    stack_bytes: 4096,
    failures: Rhythm { window: Duration::from_millis(10), every: Duration::from_millis(500) },
    asks_for_services: true,
};
/// What a benchmark may cost whose children alone are of interest.
const OF_COMMANDS: Cadence = Cadence { asks_for_services: false, ..OF_A_RUN };
/// What sampling inside a guest may cost, up to 10,000 times per second. Without user stacks a sample has 1 KB at most, so even then a buffer takes
/// 50 ms to fill. With them it took 12 ms, and all later samples of a measured path were lost.
const OF_FUNCTIONS: Cadence =
    Cadence { emptied_every: Duration::from_millis(50), stack_bytes: 0, ..OF_A_RUN };
/// What a recording may cost. Calls are watched as much of the time, in fewer windows.
const OF_A_MACHINE_IN_USE: Cadence = Cadence {
    hertz: HERTZ / 2,
    emptied_every: Duration::from_millis(500),
    stack_bytes: OF_A_RUN.stack_bytes,
    failures: Rhythm { window: Duration::from_millis(40), every: Duration::from_secs(2) },
    asks_for_services: false,
};

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfilerError {
    /// The kernel does not allow it.
    #[error(
        "profiling all CPUs is not allowed: it needs CAP_PERFMON in the machine's first user namespace, or kernel.perf_event_paranoid at 0 or \
         below{}", paranoid.map_or_else(String::new, |level| format!(" (it is {level})"))
    )]
    Denied {
        /// `kernel.perf_event_paranoid`, where it can be read.
        paranoid: Option<i32>,
    },
    /// The kernel cannot do it.
    #[error("profiling does not work here: {source}")]
    Absent {
        /// What the system said.
        source: io::Error,
    },
}

/// The network namespaces of hosts: the inode of each, and the name of the host.
pub type HostNamespaces = BTreeMap<u64, String>;

enum Command {
    Start { hosts: HostNamespaces, started: Sender<()> },
    Stop { arm: Arm, stopped: Sender<()> },
    Name { parts: BTreeMap<u32, Arc<str>> },
    Take { profiles: Sender<Vec<(Profile, Vec<LineSamples>)>> },
}

/// Samples of a line of source: of its function itself, without what that calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSamples {
    /// The function that the line was compiled into.
    pub function: String,
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u32,
    /// How many.
    pub samples: u64,
}

/// What would make the samples here. Nothing is started for that, not even a thread.
///
/// # Errors
/// The kernel does not allow it, or cannot do it.
pub fn usable_clock() -> Result<ProfileClock, ProfilerError> {
    Rings::open(&cpus()?, HERTZ, OF_A_RUN.stack_bytes, None).map(|rings| rings.clock())
}

/// Samples in a thread of its own, from [`Profiler::start`] to [`Profiler::stop`], until it is dropped.
pub struct Profiler {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    denied: Option<ProfilerError>,
    untraced: Vec<&'static str>,
}

impl Profiler {
    /// Prepares to sample all CPUs; nothing is sampled yet. Where that is not allowed only the waits of threads are looked at. Parts of services are
    /// known by the mark of this `run` in their environment.
    ///
    /// # Errors
    /// There can be no thread for it.
    pub fn open(run: &str) -> Result<Self, ProfilerError> {
        let services = Services { run: Some(run.into()), ..Services::default() };
        let looker = Looker::new(Budget::new(waits::MOST_COST));
        Self::open_with(OF_A_RUN, Some(looker), || Symbols::new(true), None, services)
    }

    /// As [`Self::open`], where this process's children are this service too, however short they are. All processes of a `group`, and of those
    /// below it, are parts of its service. Beside strangers control groups count only where a part of a service is in them.
    ///
    /// # Errors
    /// There can be no thread for it.
    pub fn with_commands(
        run: &str,
        group: Option<ServiceGroup>,
        service: &str,
        is_beside_strangers: bool,
    ) -> Result<Self, ProfilerError> {
        let services = Services { run: Some(run.into()), group, ..Services::default() };
        let looker = Looker::new(Budget::new(waits::MOST_COST)).with_commands(service);
        let looker = if is_beside_strangers { looker.beside_strangers() } else { looker };
        Self::open_with(OF_A_RUN, Some(looker), || Symbols::new(true), Some(service), services)
    }

    /// Prepares to sample a machine in use, which may be disturbed less than one that measures: half as often, and threads are looked at for a quarter
    /// of the time, later for a tenth. Files that any of its users could change while they are read give no names.
    ///
    /// # Errors
    /// There can be no thread for it.
    pub fn of_a_machine_in_use() -> Result<Self, ProfilerError> {
        let looker = Looker::new(Budget::new(waits::MOST_COST / 4.0).later(waits::MOST_COST / 10.0));
        let services = Services::default();
        Self::open_with(OF_A_MACHINE_IN_USE, Some(looker), || Symbols::new(false), None, services)
    }

    /// Prepares to sample all CPUs `hertz` times per second, and nothing else that would show in the samples.
    ///
    /// # Errors
    /// There can be no thread for it.
    pub fn of_functions(hertz: u32) -> Result<Self, ProfilerError> {
        let cadence = Cadence { hertz, ..OF_FUNCTIONS };
        Self::open_with(cadence, None, || Symbols::new(true), None, Services::default())
    }

    /// Prepares to sample this process's children, which are this service, and the lines of source that they are in. They may be short.
    ///
    /// # Errors
    /// There can be no thread for it.
    pub fn of_commands(hertz: u32, service: &str) -> Result<Self, ProfilerError> {
        let (cadence, services) = (Cadence { hertz, ..OF_COMMANDS }, Services::default());
        Self::open_with(cadence, None, || Symbols::new(true).with_lines(), Some(service), services)
    }

    fn open_with(
        cadence: Cadence,
        mut looker: Option<Looker>,
        symbols: fn() -> Symbols,
        commands: Option<&str>,
        mut services: Services,
    ) -> Result<Self, ProfilerError> {
        services.is_off = !cadence.asks_for_services;
        let mut opened = cpus().and_then(|cpus| {
            let rings = Rings::open(&cpus, cadence.hertz, cadence.stack_bytes, commands)?;
            Ok((rings, FailureWindows::new(&cpus, cadence.failures)))
        });
        if let Ok((rings, _)) = &mut opened {
            rings.processes.services.clone_from(&services);
        }
        if let Some(looker) = &mut looker {
            looker.services = services;
        }
        let (sampling, denied) = match opened {
            Ok(sampling) => (Some(sampling), None),
            Err(error) => (None, Some(error)),
        };
        let untraced = sampling.as_ref().map_or_else(Vec::new, |(rings, _)| rings.untraced().to_vec());
        let (commands, inbox) = channel();
        let thread = thread::Builder::new()
            .name("profiler".into())
            .spawn(move || Worker::new(sampling, cadence, looker).work(&inbox, symbols()))
            .map_err(|source| ProfilerError::Absent { source })?;
        Ok(Self { commands: Some(commands), thread: Some(thread), denied, untraced })
    }

    /// Why stacks are not sampled; `None` if they are.
    pub fn denied(&self) -> Option<&ProfilerError> {
        self.denied.as_ref()
    }

    /// Tracepoints that this kernel has and that are not traced, because the descriptors for them would be too many.
    pub fn untraced(&self) -> &[&'static str] {
        &self.untraced
    }

    /// Begins to sample. Processes in these namespaces are named by their host.
    pub fn start(&self, hosts: HostNamespaces) {
        self.ask(|started| Command::Start { hosts, started });
    }

    /// Ends it. What was sampled since it began belongs to this rig.
    pub fn stop(&self, arm: Arm) {
        self.ask(|stopped| Command::Stop { arm, stopped });
    }

    /// From now on these processes, and all that they start, are parts of this service.
    pub fn name(&self, pids: &BTreeSet<u32>, service: &str) {
        let service: Arc<str> = service.into();
        let parts = pids.iter().map(|pid| (*pid, Arc::clone(&service))).collect();
        if let Some(commands) = &self.commands {
            // A thread that has ended counts nothing.
            let _ = commands.send(Command::Name { parts });
        }
    }

    /// Samples since the last call, a profile for each rig.
    pub fn take(&self) -> Vec<Profile> {
        self.take_with_lines().into_iter().map(|(profile, _)| profile).collect()
    }

    /// Profiles since the last call with their lines of source, where the programs have debug information.
    pub fn take_with_lines(&self) -> Vec<(Profile, Vec<LineSamples>)> {
        self.ask(|profiles| Command::Take { profiles }).unwrap_or_default()
    }

    /// Sends a command and waits until it is carried out; nothing comes back from a thread that has ended.
    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Option<T> {
        let (answer, answered) = channel();
        self.commands.as_ref()?.send(command(answer)).ok()?;
        answered.recv().ok()
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has told so already.
            let _ = thread.join();
        }
    }
}

struct Worker {
    /// Absent where it is not allowed.
    sampling: Option<(Rings, FailureWindows)>,
    cadence: Cadence,
    /// Looks where threads wait; absent where only functions are asked for.
    looker: Option<Looker>,
    /// All hosts that there were since profiles were taken last.
    hosts: HostNamespaces,
    /// Those that are sampled now.
    of_now: HostNamespaces,
    is_on: bool,
    /// Whether the kernel samples, which it goes on with for a moment after each slice.
    is_enabled: bool,
    /// When it was started last.
    began: Instant,
    /// For how long CPUs had been idle then.
    idle_before: Duration,
    emptied: Instant,
    now: rings::Sampled,
    sampled: BTreeMap<Arm, rings::Sampled>,
}

impl Worker {
    fn new(sampling: Option<(Rings, FailureWindows)>, cadence: Cadence, looker: Option<Looker>) -> Self {
        Self {
            sampling,
            cadence,
            looker,
            hosts: HostNamespaces::new(),
            of_now: HostNamespaces::new(),
            is_on: false,
            is_enabled: false,
            began: Instant::now(),
            idle_before: Duration::ZERO,
            emptied: Instant::now(),
            now: rings::Sampled::default(),
            sampled: BTreeMap::new(),
        }
    }

    fn work(mut self, inbox: &Receiver<Command>, mut symbols: Symbols) {
        loop {
            let command = if self.is_on {
                inbox.recv_timeout(self.due_in())
            } else if self.is_enabled {
                inbox.recv_timeout(DISABLED_AFTER)
            } else {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            // Nobody who has gone away again before the answer misses it.
            match command {
                Err(RecvTimeoutError::Timeout) if self.is_on => self.look(),
                Err(RecvTimeoutError::Timeout) => self.disable(),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(Command::Start { hosts, started }) => {
                    self.start(hosts);
                    let _ = started.send(());
                }
                Ok(Command::Stop { arm, stopped }) => {
                    self.stop(arm);
                    let _ = stopped.send(());
                }
                Ok(Command::Name { parts }) => {
                    if let Some((rings, _)) = &mut self.sampling {
                        rings.processes.name(&parts);
                    }
                    if let Some(looker) = &mut self.looker {
                        looker.name(&parts);
                    }
                }
                Ok(Command::Take { profiles }) => {
                    let _ = profiles.send(self.take(&mut symbols));
                }
            }
        }
    }

    /// The time until the next task is due.
    fn due_in(&self) -> Duration {
        let of_sampling = self.sampling.as_ref().map(|(_, windows)| {
            let emptied = self.cadence.emptied_every.saturating_sub(self.emptied.elapsed());
            windows.due_in().map_or(emptied, |turned| turned.min(emptied))
        });
        let looked = self.looker.as_ref().map(Looker::due_in);
        of_sampling.into_iter().chain(looked).min().unwrap_or(self.cadence.emptied_every)
    }

    /// Does the tasks that are due.
    fn look(&mut self) {
        if let Some((rings, windows)) = &mut self.sampling {
            if self.emptied.elapsed() >= self.cadence.emptied_every {
                rings.empty_into(&mut self.now);
                self.emptied = Instant::now();
            }
            let mut failures = Failures::default();
            windows.turn_if_due(&mut failures);
            rings.count(failures, &mut self.now);
        }
        if let Some(looker) = &mut self.looker {
            looker.look_if_due(&self.of_now, &mut self.now.waiting);
        }
    }

    fn start(&mut self, hosts: HostNamespaces) {
        self.hosts.extend(hosts.clone());
        self.of_now = hosts;
        self.began = Instant::now();
        self.idle_before = idle_time();
        if let Some((rings, windows)) = &mut self.sampling {
            rings.begin(self.is_enabled);
            self.is_enabled = true;
            windows.begin();
        }
        if let Some(looker) = &mut self.looker {
            looker.begin(&self.of_now);
        }
        self.is_on = true;
        self.emptied = Instant::now();
    }

    fn disable(&mut self) {
        if let Some((rings, _)) = &mut self.sampling {
            rings.disable();
        }
        self.is_enabled = false;
    }

    fn stop(&mut self, arm: Arm) {
        if let Some((rings, windows)) = &mut self.sampling {
            self.now.lasted = self.began.elapsed();
            self.now.idle = idle_time().saturating_sub(self.idle_before);
            rings.empty_into(&mut self.now);
            let mut failures = Failures::default();
            windows.end(&mut failures);
            rings.count(failures, &mut self.now);
        }
        if let Some(looker) = &mut self.looker {
            looker.end(&self.of_now, &mut self.now.waiting);
        }
        self.is_on = false;
        self.sampled.entry(arm).or_default().merge(std::mem::take(&mut self.now));
    }

    fn take(&mut self, symbols: &mut Symbols) -> Vec<(Profile, Vec<LineSamples>)> {
        let clock = self.sampling.as_ref().map(|(rings, _)| rings.clock());
        let named = std::mem::take(&mut self.sampled).into_iter().map(|(arm, sampled)| {
            // Without samples no time stands for one.
            let hertz = if clock.is_some() { self.cadence.hertz } else { 0 };
            let profile = ProfileBuilder::new(arm, clock.unwrap_or(ProfileClock::CpuClock), hertz);
            (symbols.name(&sampled, &self.hosts, profile), symbols.lines(&sampled))
        });
        let named = named.collect();
        self.hosts.clear();
        if let Some(looker) = &mut self.looker {
            looker.taken();
        }
        named
    }
}

/// For how long all CPUs have been idle since the machine started, together. Samples do not show it: cycles do not count on an idle CPU, and timers
/// need not fire there.
fn idle_time() -> Duration {
    let text = small_file::text(Path::new("/proc/stat")).unwrap_or_default();
    let ticks = text.split_whitespace().skip(IDLE_AT).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    Duration::from_micros(cpu_time::ticks(ticks.sum()) as u64)
}

#[cfg(test)]
mod tests;
