//! Observations from which causes are named.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::cause::CauseEvidence;
use plimsoll_model::report::{Evidence, ProfileReport, StateLivesIn};
use plimsoll_model::trace::Class;

/// All that was observed of the two sides that are compared. What was not looked at is absent or empty.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// Everything that moved, per operation or as a level, the strongest first.
    pub evidence: &'a [Evidence],
    /// Where the CPUs' time went, who made traced calls, and where threads waited.
    pub profile: Option<&'a ProfileReport>,
    /// The processes and hosts that are measured.
    pub measured: Measured,
    /// Which part of the operations per second the worse side lacks; absent where it lacks none, or where that is not known.
    pub lost: Option<f64>,
    /// How long each operation takes on the better and on the worse side, in microseconds; absent where that is not known.
    pub took_us: Option<(f64, f64)>,
    /// The stalls of each cell, from packets.
    pub stalls: &'a [CellStalls],
    /// What the remediation steps have shown.
    pub ladder: Ladder,
    /// What claims show of background loads.
    pub shown: Vec<Shown>,
    /// What probes changed the figure by: how sure that is, and the figure with them relative to without.
    pub probes: Option<(f64, CauseEvidence)>,
    /// What other tools wrote down of the CPUs' time.
    pub saved: Vec<SavedCpu>,
    /// Whether the search is for a second cause beside a named one. Each of two explains a smaller part.
    pub is_beside: bool,
}

/// The measured processes and hosts, and which foreign activity affects them.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The names of its processes on the run's hosts. Their calls are its own.
    pub processes: Vec<String>,
    /// The processes of other services on the run's hosts that no load goes to: only what is measured can wait for them.
    pub helpers: Vec<String>,
    /// The hosts that these run on.
    pub hosts: Vec<String>,
    /// Whether the user named no service, so any program may be the service.
    pub is_everybody: bool,
    /// Programs that cannot be the service, where the user named none: they use the CPUs, and no socket.
    pub bystanders: BTreeSet<String>,
    /// Whether strangers run on these hosts as well. What those do says nothing of what is measured, unless that lacks what they take.
    pub is_beside_strangers: bool,
    /// Whether it waits for a disk. Foreign flushes do not slow a web server that writes nothing.
    pub waits_for_disk: bool,
    /// The host that the load comes from, and the process there that makes it.
    pub load: Option<(String, String)>,
    /// Programs that waited for answers of others, as far as their sockets show it.
    pub dependencies: Vec<Dependency>,
}

/// A program that waited for answers of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    /// Who waited.
    pub client: String,
    /// Who was to answer.
    pub server: String,
    /// On how many connections, on average, on the better side.
    pub before: f64,
    /// On how many on the worse side.
    pub after: f64,
}

/// The least part of the added time that a cause explains which is known by its time, alone and beside another.
pub(super) const ABOUT_HALF: f64 = 0.4;
const BESIDE: f64 = 0.15;
/// CPUs that are idle for a smaller share of the time are used up.
pub(super) const BUSY: f64 = 0.15;
/// The least part of its time for which a program runs whose CPU time sets its pace beside others.
const LEAST_RUN: f64 = 0.15;

impl Known<'_> {
    /// Whether so much more time for each operation, in microseconds, is a good part of what was added. A small part is no cause.
    pub(super) fn is_explained_by(&self, us: f64) -> bool {
        let added_us = self.took_us.map(|(before, after)| after - before).filter(|added_us| *added_us > 0.0);
        let least = if self.is_beside { BESIDE } else { ABOUT_HALF };
        added_us.is_none_or(|added_us| us >= least * added_us)
    }

    /// Whether nothing took longer, so that nothing explains why.
    pub(super) fn is_no_slower(&self) -> bool {
        self.took_us.is_some_and(|(before, after)| after <= before)
    }

    /// Counts for each operation, from those for each second; for a second where the time of an operation is unknown.
    pub(super) fn of_one(&self, per_second: [f64; 2]) -> [f64; 2] {
        let (before_us, after_us) = self.took_us.unwrap_or((1e6, 1e6));
        [per_second[0] * before_us / 1e6, per_second[1] * after_us / 1e6]
    }

    /// Whether so much more CPU time for each operation is a good part of the time that was added. Where no CPU is idle, a program
    /// waits for a CPU as often as it uses one. What it uses explains the added time there if both grew by a similar factor.
    pub(super) fn is_explained_by_cpu(&self, us: f64) -> bool {
        let grew_alike = |(before_us, after_us): (f64, f64)| {
            let Some(ProfileReport { before, after, .. }) = self.profile else { return false };
            // A side that was too short for a sample says nothing else.
            let is_full = after.idle.is_some()
                && [before, after].iter().all(|side| side.idle.is_none_or(|idle| idle < BUSY));
            // A count of few samples scatters by its root: a short command may have used that much less.
            let surely = 1.0 - 1.0 / (before.samples.max(1) as f64).sqrt();
            let [more_cpu, longer] =
                [after.cpu_us / (surely * before.cpu_us), after_us / before_us].map(|ratio| ratio - 1.0);
            is_full && after.cpu_us >= LEAST_RUN * after_us && more_cpu >= ABOUT_HALF * longer
        };
        self.is_explained_by(us) || self.took_us.is_some_and(grew_alike)
    }
}

impl Measured {
    /// Whether what a process does says something of what is measured.
    pub(super) fn concerns(&self, process: &str) -> bool {
        !self.is_beside_strangers || self.has(process)
    }

    /// Whether a process is one of those that are measured, or that these may wait for.
    pub(super) fn depends_on(&self, process: &str) -> bool {
        self.has(process) || self.helpers.iter().any(|it| it == process)
    }

    /// Whether a process is one of those that are measured.
    pub(super) fn has(&self, process: &str) -> bool {
        self.is_everybody && !self.bystanders.contains(process)
            || self.processes.iter().any(|it| it == process)
    }
}

/// The stalls of one cell, and what the kernel counted beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellStalls {
    /// The cell in words; empty where there is only one.
    pub cell: String,
    /// Whether it is the better side of the comparison. Its waits explain nothing, nor do equally long waits of the worse side.
    pub is_better: bool,
    /// Bytes per second of its load; absent where it moved none. What a faster cell waits for as long explains nothing in a slower one.
    pub rate: Option<f64>,
    /// The share of the connections' time that each class took.
    pub shares: BTreeMap<Class, f64>,
    /// The share in stalls of other classes that the packets alone cannot tell from each of these.
    pub may_be: BTreeMap<Class, f64>,
    /// How often a sender's socket had unsent bytes and nothing in flight, as a share of the samples (TCP_INFO): its
    /// kernel held them back. Absent if no stream reported it.
    pub held_back: Option<f64>,
    /// What the kernel's counters moved by, over all hosts: `netstat.TcpExt.TCPTimeouts`.
    pub counters: BTreeMap<String, f64>,
    /// The share of the senders' busy time in which the receiver's window was the limit (TCP_INFO); absent if no stream
    /// reported it.
    pub window_limited: Option<f64>,
}

/// What the remediation steps have shown.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    /// Where the state lives that holds the figure down.
    pub state_lives_in: Option<StateLivesIn>,
    /// The figure relative to its baseline before and after the step that brought it back: an intervention, which stands by itself where no counter
    /// tells more.
    pub restored: Option<CauseEvidence>,
}

/// What a claim shows of a background load.
#[derive(Clone, Debug)]
pub enum Shown {
    /// A background load that came and went with a worse mode of the figure.
    Background(BackgroundLoad),
    /// The disk flushed more often with it, and the figure is worse.
    Flushing(Box<Flushing>),
}

/// A background load that is there when the figure is in its worse mode: it was switched on and off.
#[derive(Clone, Debug)]
pub struct BackgroundLoad {
    /// Its name.
    pub name: String,
    /// How sure it is.
    pub confidence: f64,
    /// The figures without it and with it.
    pub evidence: Vec<CauseEvidence>,
}

/// What a disk and a service that waits for it did for each operation, without a background load and with it.
#[derive(Clone, Debug)]
pub struct Flushing {
    /// The background load.
    pub background: String,
    /// How sure it is that the figure is worse with it.
    pub confidence: f64,
    /// The figure that became worse.
    pub figure: CauseEvidence,
    /// Flushes of the device.
    pub flushes: CauseEvidence,
    /// Transactions that its journal committed; where it has none, both are 0.
    pub commits: CauseEvidence,
    /// Flushes that the service itself asked for, where it tells.
    pub own: Option<CauseEvidence>,
    /// Times that were spent waiting.
    pub waiting: Vec<CauseEvidence>,
}

/// Where the time of all CPUs together went, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTime {
    /// Programs.
    pub user: f64,
    /// The kernel.
    pub system: f64,
    /// Nowhere, or waiting for a disk.
    pub idle: f64,
}

/// What another tool wrote down of the CPUs' time, before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SavedCpu {
    /// Before.
    pub before: CpuTime,
    /// After.
    pub after: CpuTime,
    /// Operations per second before and after, where these are known.
    pub rates: Option<(f64, f64)>,
}
