//! How far a round is, from what its workers have read and written.

use std::fs;

use plimsoll_model::experiment::MessagingLoad;

/// The most processes whose counters are read at a time: reading takes time from the workers.
const MOST_READ: usize = 64;

/// Counters of the workers, or of some of them where they are many.
pub(super) struct Watch {
    processes: Vec<u32>,
    /// Bytes that the processes had read and written before the round.
    before: u64,
    /// Bytes that they will read and write in the round.
    whole: u64,
}

impl Watch {
    /// Begins before the workers do. `None` if the kernel does not show the counters.
    pub(super) fn begin(load: &MessagingLoad, processes: Vec<u32>) -> Option<Self> {
        let of_a_worker = u64::from(load.pairs) * u64::from(load.messages) * load.size.0;
        let step = processes.len().div_ceil(MOST_READ);
        let all = processes.len();
        let processes: Vec<u32> = processes.into_iter().step_by(step.max(1)).collect();
        // Threads are all in one process.
        let workers = if all == 1 { load.workers() } else { processes.len() as u64 };
        let before = processes.iter().map(|pid| bytes(*pid)).sum::<Option<u64>>()?;
        Some(Self { processes, before, whole: workers * of_a_worker })
    }

    /// The share of the round that is done. A process that has ended has done its part.
    pub(super) fn share(&self) -> f64 {
        let part = self.whole / self.processes.len().max(1) as u64;
        let now: u64 = self.processes.iter().map(|pid| bytes(*pid).unwrap_or(part)).sum();
        (now.saturating_sub(self.before) as f64 / self.whole.max(1) as f64).min(1.0)
    }
}

/// The bytes that a process has read and written; `None` if it is gone, or they are not shown.
fn bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    let figure = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(figure("rchar:")? + figure("wchar:")?)
}
