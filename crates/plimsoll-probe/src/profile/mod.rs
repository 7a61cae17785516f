//! Where the CPUs spend their time: samples of the stacks that all CPUs are in, by perf_event_open(2).
//!
//! Every CPU is interrupted so many times a second by its own count of cycles, or by a timer where the machine counts none, and the kernel
//! writes down which functions it was in. What is sampled is the whole machine, since a network's work is done in softirqs, in whatever
//! process they happen to interrupt; each stack begins with the host and the process that it belongs to.
//!
//! Softirqs that follow an interrupt belong to nobody whom they interrupt, and their stacks begin with `softirq`. Those that a process runs
//! itself, as it does when it sends over loopback or a veth pair, stay with it.

mod calls;
mod processes;
mod rings;
mod symbols;
mod tracefs;

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_model::observation::{Arm, Profile, ProfileBuilder, ProfileClock};

use self::rings::Rings;
use self::symbols::Symbols;

/// Samples per second and CPU. Not a round number, so that they do not fall in step with what happens 100 or 250 times a second.
pub const HERTZ: u32 = 99;
/// How often the kernel's buffers are emptied. At this rate and with the deepest stacks (127 frames) they take 4.9 s to fill.
const EMPTIED_EVERY: Duration = Duration::from_millis(100);

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
    Take { profiles: Sender<Vec<Profile>> },
}

/// What would make the samples here. Nothing is started for that, not even a thread.
///
/// # Errors
/// The kernel does not allow it, or cannot do it.
pub fn usable_clock() -> Result<ProfileClock, ProfilerError> {
    Rings::open(HERTZ).map(|rings| rings.clock())
}

/// Samples in a thread of its own, from [`Profiler::start`] to [`Profiler::stop`], until it is dropped.
pub struct Profiler {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    clock: ProfileClock,
    untraced: Vec<&'static str>,
}

impl Profiler {
    /// Prepares to sample all CPUs; nothing is sampled yet.
    ///
    /// # Errors
    /// The kernel does not allow it, or cannot do it.
    pub fn open() -> Result<Self, ProfilerError> {
        let rings = Rings::open(HERTZ)?;
        let (clock, untraced) = (rings.clock(), rings.untraced().to_vec());
        let (commands, inbox) = channel();
        let thread = thread::Builder::new()
            .name("profiler".into())
            .spawn(move || {
                Worker { rings, hosts: HostNamespaces::new(), sampled: BTreeMap::new() }.work(&inbox);
            })
            .map_err(|source| ProfilerError::Absent { source })?;
        Ok(Self { commands: Some(commands), thread: Some(thread), clock, untraced })
    }

    /// What makes the samples.
    #[must_use]
    pub fn clock(&self) -> ProfileClock {
        self.clock
    }

    /// Tracepoints that this kernel has and that are not traced, because the descriptors for them would be too many.
    #[must_use]
    pub fn untraced(&self) -> &[&'static str] {
        &self.untraced
    }

    /// Begins to sample. Processes in these namespaces are told by their host.
    pub fn start(&self, hosts: HostNamespaces) {
        self.ask(|started| Command::Start { hosts, started });
    }

    /// Ends it. What was sampled since it began belongs to this rig.
    pub fn stop(&self, arm: Arm) {
        self.ask(|stopped| Command::Stop { arm, stopped });
    }

    /// What was sampled since this was last asked, a profile for each rig.
    #[must_use]
    pub fn take(&self) -> Vec<Profile> {
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
    rings: Rings,
    hosts: HostNamespaces,
    sampled: BTreeMap<Arm, rings::Sampled>,
}

impl Worker {
    fn work(mut self, inbox: &Receiver<Command>) {
        let mut symbols = Symbols::new();
        let mut now = rings::Sampled::default();
        loop {
            let command = match self.rings.are_enabled() {
                true => inbox.recv_timeout(EMPTIED_EVERY),
                false => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            // Nobody who has gone away again before the answer misses it.
            match command {
                Err(RecvTimeoutError::Timeout) => self.rings.empty_into(&mut now),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(Command::Start { hosts, started }) => {
                    self.hosts.extend(hosts);
                    self.rings.enable();
                    let _ = started.send(());
                }
                Ok(Command::Stop { arm, stopped }) => {
                    self.rings.disable();
                    self.rings.empty_into(&mut now);
                    self.sampled.entry(arm).or_default().merge(std::mem::take(&mut now));
                    let _ = stopped.send(());
                }
                Ok(Command::Take { profiles }) => {
                    let clock = self.rings.clock();
                    let sampled = std::mem::take(&mut self.sampled).into_iter();
                    let named = sampled.map(|(arm, sampled)| {
                        symbols.name(&sampled, &self.hosts, ProfileBuilder::new(arm, clock, HERTZ))
                    });
                    let _ = profiles.send(named.collect());
                    self.hosts.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
