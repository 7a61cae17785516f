//! Messaging: groups of senders and receivers, round after round.
//!
//! A round is as one of hackbench 2.x (rt-tests, `hackbench.c`), so that both take the same time: the same number of workers, made in the same
//! order, one pair of descriptors for each receiver, blocking reads and writes, one pipe on which all say that they are ready and one that
//! starts them all, and the clock runs until the last of them was waited for.

mod crew;
mod gate;
mod memory;
mod watch;
mod worker;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use plimsoll_model::experiment::MessagingLoad;
use plimsoll_model::experiment::load::messaging::{MessagingFacts, Workers, WorkersMemory};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::LoadResult;

use self::crew::{Crew, Processes, Threads};
use self::gate::Gate;
use self::memory::Memory;
use self::watch::Watch;
use super::Control;
use super::histogram::record;
use super::progress::ProgressReporter;
use super::tally::Tally;
use crate::clock::{self, CpuTime};
use crate::failure::other;
use crate::process::require_single_thread;

/// Runs a messaging load to its end, from the calling thread, which must be the only one of its process.
///
/// # Errors When there are other threads, the system lacks room for the workers and descriptors, or a worker fails.
pub(super) fn run(
    _spec: &LoadSpec,
    load: &MessagingLoad,
    control: &Control<'_>,
) -> Result<LoadResult, Failure> {
    require_single_thread("send messages")?;
    let (start, began, cpu) = (clock::now(), Instant::now(), CpuTime::of_this_process_and_those_ended());
    let mut tally = Tally::new(start, None);
    let mut facts = MessagingFacts { workers: load.workers(), ..MessagingFacts::default() };
    let of = load.rounds.map(|rounds| rounds.saturating_mul(load.messages_in_a_round()));
    let (mut spent_ns, mut progress) = (0, ProgressReporter::new(control, of));
    let wanted = load.rounds.unwrap_or(u64::MAX);
    let lasts = |began: Instant| load.duration.is_none_or(|duration| began.elapsed() < duration.0);
    while facts.rounds < wanted && lasts(began) && !control.abort.load(Ordering::Relaxed) {
        let done = tally.requests;
        let mut report =
            |share: f64| progress.report(done + (share * load.messages_in_a_round() as f64) as u64, 0);
        let mut look = Look { every: control.every, report: &mut report };
        let round = Round::carry_out(load, facts.rounds == 0, &mut look)?;
        facts.rounds += 1;
        facts.memory = facts.memory.or(round.memory);
        spent_ns += round.end - round.start;
        record(&mut tally.total, round.start, round.end);
        tally.messages(load.messages_in_a_round(), load.size.0, round.end);
        progress.report(tally.requests, 0);
    }
    tally.cpu = CpuTime::of_this_process_and_those_ended().since(cpu);
    let mut result = tally.into_result(start, u32::try_from(load.workers()).unwrap_or(u32::MAX));
    result.elapsed_ns = spent_ns;
    result.facts = Some(facts.into());
    Ok(result)
}

/// Receiver of the progress of a round, as a share, and how often it hears of it.
struct Look<'a> {
    every: Duration,
    report: &'a mut dyn FnMut(f64),
}

/// When a round was begun and over, and what its workers needed.
struct Round {
    start: u64,
    end: u64,
    memory: Option<WorkersMemory>,
}

impl Round {
    fn carry_out(load: &MessagingLoad, weigh: bool, look: &mut Look<'_>) -> Result<Self, Failure> {
        let before = if weigh { Memory::now() } else { None };
        let gate = Arc::new(Gate::new()?);
        match load.workers {
            Workers::Processes => Self::of(Processes::assemble(load, &gate)?, &gate, load, before, look),
            Workers::Threads => Self::of(Threads::assemble(load, &gate)?, &gate, load, before, look),
        }
    }

    fn of(
        crew: impl Crew + Send,
        gate: &Gate,
        load: &MessagingLoad,
        before: Option<Memory>,
        look: &mut Look<'_>,
    ) -> Result<Self, Failure> {
        gate.wait_for(load.workers(), || crew.has_lost_one())?;
        let processes = crew.processes();
        let memory = before.and_then(|before| before.grown(&processes));
        let watch = Watch::begin(load, processes);
        let start = clock::now();
        gate.open()?;
        let end = wait(crew, look.every, || watch.iter().for_each(|watch| (look.report)(watch.share())))?;
        Ok(Self { start, end, memory })
    }
}

/// Waits for the workers in a thread, and looks at them meanwhile; says when the last of them ended. The thread is gone then: the next round forks.
fn wait(crew: impl Crew + Send, every: Duration, mut look: impl FnMut()) -> Result<u64, Failure> {
    let (ended, end) = channel();
    thread::scope(|scope| {
        let waits = move || {
            let waited = crew.wait();
            ended.send(waited.map(|()| clock::now())).ok();
        };
        let waiter = Builder::new().spawn_scoped(scope, waits);
        let waiter = waiter.map_err(|error| other("start a thread that waits for the workers", &error))?;
        let waited = loop {
            match end.recv_timeout(every) {
                Err(RecvTimeoutError::Timeout) => look(),
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(other("wait for the workers", &"the thread has ended"));
                }
                Ok(waited) => break waited,
            }
        };
        waiter.join().ok();
        waited
    })
}

#[cfg(test)]
mod tests;
