//! A run on a queue: each block of trials is a task on one machine, and is taken into the store when it is whole.
//!
//! The order within a block is the seed's, as in [`crate::Run`]. The experiment's fewest blocks are submitted first,
//! and the same number again as long as its claims are undecided. A task that is gone and left no result is submitted
//! again: its machine was lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_host::queue::{Queue, TaskState};
use plimsoll_model::note::Note;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_store::{RunEntry, Store, StoreError};

use crate::error::{RunError, TrialStop};
use crate::event::{Event, Observer};
use crate::results::{Block, Results};
use crate::{Ended, Judge, Limits, run};

/// Time between two questions to the queue during [`AT_FIRST`].
const SOON: Duration = Duration::from_millis(500);
/// Initial part of a run, with frequent questions to the queue.
const AT_FIRST: Duration = Duration::from_secs(120);
/// Time between two later questions, as others ask the queue, too.
const LATER: Duration = Duration::from_secs(5);
/// Time for another machine's file to appear here (nfs(5), `acdirmax`, is longer, except for opened folders).
const SETTLES: Duration = Duration::from_secs(3);
/// Largest number of submissions of a block whose tasks leave no result.
const TIMES: u32 = 3;
/// Longest silence of a queue that has answered before.
const DEAF: Duration = Duration::from_secs(300);
/// Deadline for cancelled tasks to end.
const ENDING: Duration = Duration::from_secs(20);
/// Time between two checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// A new or resumed run on a queue.
pub struct Queued<'r> {
    /// The experiment with its cells.
    pub plan: &'r Plan,
    /// The queue with the machines.
    pub queue: &'r dyn Queue,
    /// Results of the tasks.
    pub results: &'r Results,
    /// Judge of the figures.
    pub judge: &'r dyn Judge,
    /// Store of the run.
    pub store: &'r Store,
    /// Set when the user interrupts the run.
    pub interrupt: &'r AtomicBool,
    /// Limits of the run.
    pub limits: Limits,
    /// Longest time in which all tasks wait.
    pub start_within: Option<Duration>,
}

/// State of a run on a queue.
struct Session<'u> {
    entry: &'u mut RunEntry,
    trials: &'u mut Vec<TrialRecord>,
    observer: &'u mut dyn Observer,
    /// Called with each stored block.
    taken: &'u mut dyn FnMut(&Block) -> Result<(), StoreError>,
    /// Number of submissions of each block.
    submitted: BTreeMap<u32, u32>,
    /// Time at which a task disappeared without a result.
    gone: BTreeMap<u32, Instant>,
    /// Stored blocks, by machine.
    machines: BTreeMap<String, BTreeSet<u32>>,
    /// Finished blocks that were handled.
    closed: BTreeSet<u32>,
    /// The last reported progress.
    reported: String,
    /// Time of the last change.
    moved: Instant,
    answered: Option<Instant>,
    began: Instant,
    judged: usize,
}

impl Queued<'_> {
    /// Carries out the blocks that are not stored yet. The result has all measurements, also after an error.
    pub fn carry_out(
        &self,
        mut entry: RunEntry,
        observer: &mut dyn Observer,
        taken: &mut dyn FnMut(&Block) -> Result<(), StoreError>,
    ) -> Ended {
        let began = Instant::now();
        let before = entry.elapsed;
        let mut trials = Vec::new();
        let stop = self.begin(&entry).and_then(|stored| {
            trials = stored;
            let mut session = Session {
                entry: &mut entry,
                trials: &mut trials,
                observer,
                taken,
                submitted: BTreeMap::new(),
                gone: BTreeMap::new(),
                machines: BTreeMap::new(),
                closed: BTreeSet::new(),
                reported: String::new(),
                moved: began,
                answered: None,
                began,
                judged: 0,
            };
            let stop = self.blocks(&mut session);
            let ended = self.end(&mut session);
            session.note_machines();
            stop.and(ended)
        });
        entry.elapsed = before + began.elapsed();
        Ended::store(entry, trials, stop, self.store)
    }

    /// Stores that the run goes on, and fetches its earlier trials. Blocks that ended with an error in an earlier session are tried again.
    fn begin(&self, entry: &RunEntry) -> Result<Vec<TrialRecord>, TrialStop> {
        let stored = run::begin(self.store, entry)?;
        for number in self.all() {
            let Some(block) = self.results.ended(number).map_err(unread)? else { continue };
            if block.end.error.is_some() || block.end.fault.is_some() {
                self.results.forget_end(number, &block.machine).map_err(unread)?;
            }
        }
        Ok(stored)
    }

    fn blocks(&self, session: &mut Session<'_>) -> Result<(), TrialStop> {
        loop {
            if self.interrupt.load(Ordering::Acquire) {
                return Err(TrialStop::Interrupted);
            }
            // Tasks that ended before this question have left their results.
            let tasks = self.tasks(session)?;
            self.take_in(session)?;
            let next = self.all().find(|block| !self.is_whole(*block, session.trials));
            let Some(next) = next else { return Ok(()) };
            if self.is_enough(next, session) {
                return Ok(());
            }
            self.submit_missing(next, &tasks, session)?;
            self.report(&tasks, session);
            self.wait_for_start(&tasks, session)?;
            let pause = if session.began.elapsed() < AT_FIRST { SOON } else { LATER };
            let until = Instant::now() + pause;
            while Instant::now() < until && !self.interrupt.load(Ordering::Acquire) {
                thread::sleep(LOOK);
            }
        }
    }

    fn tasks(&self, session: &mut Session<'_>) -> Result<BTreeMap<u32, TaskState>, TrialStop> {
        loop {
            match self.queue.tasks() {
                Ok(tasks) => {
                    session.answered = Some(Instant::now());
                    return Ok(tasks.into_iter().map(|task| (task.number, task.state)).collect());
                }
                Err(_) if session.answered.is_some_and(|at| at.elapsed() < DEAF) => {
                    if self.interrupt.load(Ordering::Acquire) {
                        return Err(TrialStop::Interrupted);
                    }
                    thread::sleep(SOON);
                }
                Err(error) => return Err(RunError::from(error).into()),
            }
        }
    }

    /// Stores finished blocks.
    fn take_in(&self, session: &mut Session<'_>) -> Result<(), TrialStop> {
        let open = |block: &u32| !session.closed.contains(block) && !self.is_whole(*block, session.trials);
        for number in self.all().filter(open).collect::<Vec<_>>() {
            let Some(block) = self.results.ended(number).map_err(unread)? else { continue };
            session.closed.insert(number);
            (session.taken)(&block)?;
            session.moved = Instant::now();
            for note in &block.end.notes {
                if !session.entry.notes.contains(note) {
                    session.entry.notes.push(note.clone());
                }
            }
            if let Some((what, advice)) = block.end.error {
                let (machine, block) = (block.machine, number);
                return Err(RunError::Task { block, machine, what, advice }.into());
            }
            // Trials that an earlier session gave up are repeated.
            session.trials.retain(|trial| trial.block != number);
            for trial in block.trials {
                self.store.put_trial(&session.entry.id, &trial)?;
                session.observer.on(&Event::TrialStarted { number: trial.number, of: self.trials_at_most() });
                session.observer.on(&Event::TrialEnded { trial: &trial });
                session.trials.push(trial);
            }
            session.trials.sort_by_key(|trial| trial.number);
            session.machines.entry(block.machine).or_default().insert(number);
            if let Some(fault) = block.end.fault {
                return Err(TrialStop::Fault(fault));
            }
        }
        Ok(())
    }

    /// Whether the run can end before `next`, the first missing block.
    fn is_enough(&self, next: u32, session: &mut Session<'_>) -> bool {
        let before = session.trials.partition_point(|trial| trial.block < next);
        if before == session.judged {
            return false;
        }
        session.judged = before;
        let elapsed = session.entry.elapsed + session.began.elapsed();
        let trials = &session.trials[..before];
        let verdicts = self.judge.so_far_of_run(self.plan, trials);
        session.observer.on(&Event::Judged { verdicts: &verdicts });
        self.limits.enough(self.judge, self.plan, next, trials, elapsed)
    }

    fn submit_missing(
        &self,
        next: u32,
        tasks: &BTreeMap<u32, TaskState>,
        session: &mut Session<'_>,
    ) -> Result<(), TrialStop> {
        let wanted = self.all().take_while(|block| *block <= self.last_wanted(next));
        let missing =
            wanted.filter(|block| !self.is_whole(*block, session.trials) && !tasks.contains_key(block));
        let mut numbers = Vec::new();
        for block in missing.collect::<Vec<_>>() {
            let times = session.submitted.get(&block).copied().unwrap_or(0);
            if times > 0 {
                let since = *session.gone.entry(block).or_insert_with(Instant::now);
                if since.elapsed() < SETTLES {
                    continue;
                }
            }
            if times >= TIMES {
                let folder = self.results.folder().to_owned();
                return Err(RunError::NoResult { block, times, folder }.into());
            }
            numbers.push(block);
        }
        let room = self.queue.at_once().map_or(usize::MAX, |most| most as usize);
        numbers.truncate(room.saturating_sub(tasks.len()));
        session.gone.retain(|block, _| !tasks.contains_key(block) && !numbers.contains(block));
        if numbers.is_empty() {
            return Ok(());
        }
        self.queue.submit(&numbers).map_err(RunError::from)?;
        for block in numbers {
            let times = session.submitted.entry(block).or_default();
            *times += 1;
            if *times > 1 {
                let note = format!(
                    "block {block} was submitted again: its task was gone and had left no result, as when a machine is lost"
                );
                session.entry.notes.push(Note::from(note));
            }
        }
        session.moved = Instant::now();
        Ok(())
    }

    /// The last block needed for the present state.
    fn last_wanted(&self, next: u32) -> u32 {
        let wave = self.limits.min_trials.max(1);
        match next {
            // The comparison of the machine with itself comes first.
            0 => 0,
            next => next.div_ceil(wave).saturating_mul(wave).min(self.limits.max_trials),
        }
    }

    fn report(&self, tasks: &BTreeMap<u32, TaskState>, session: &mut Session<'_>) {
        let running: Vec<&str> = tasks.values().filter_map(|state| state.machine()).collect();
        let waiting = tasks.values().find_map(|state| match state {
            TaskState::Waiting(why) if !why.is_empty() => Some(why.as_str()),
            TaskState::Waiting(_) | TaskState::Running(_) => None,
        });
        let begun: usize = tasks.keys().map(|block| self.results.begun(*block)).sum();
        let mut report = format!("{} of {} blocks under way", running.len(), tasks.len());
        if !running.is_empty() {
            report += &format!(" on {}", running.join(", "));
        }
        if begun > 0 {
            report += &format!(", {begun} of their trials measured");
        }
        if let Some(why) = waiting {
            report += &format!("; the others wait ({why})");
        }
        if report != session.reported {
            session.observer.on(&Event::SoFar { what: &report });
            session.reported = report;
        }
    }

    fn wait_for_start(
        &self,
        tasks: &BTreeMap<u32, TaskState>,
        session: &mut Session<'_>,
    ) -> Result<(), TrialStop> {
        if tasks.is_empty() || tasks.values().any(|state| state.machine().is_some()) {
            session.moved = Instant::now();
        }
        match self.start_within.filter(|within| session.moved.elapsed() >= *within) {
            Some(within) => {
                let why = tasks.values().next().map(ToString::to_string).unwrap_or_default();
                Err(RunError::NotStarted { within, why }.into())
            }
            None => Ok(()),
        }
    }

    /// Cancels remaining tasks, removes ended ones from the queue, and stores the last finished blocks.
    fn end(&self, session: &mut Session<'_>) -> Result<(), TrialStop> {
        let is_there = || self.queue.tasks().is_ok_and(|tasks| !tasks.is_empty());
        if is_there() {
            self.queue.cancel().map_err(RunError::from)?;
            let until = Instant::now() + ENDING;
            while is_there() && Instant::now() < until {
                thread::sleep(SOON);
            }
        }
        if let Err(error) = self.queue.forget_ended() {
            // All measurements are stored.
            tracing::warn!("the queue still knows the tasks that have ended: {error}");
        }
        self.take_in(session)
    }

    /// The blocks of the run, in order.
    fn all(&self) -> impl Iterator<Item = u32> + use<> {
        let first = if self.limits.aa_test > 0 { 0 } else { 1 };
        first..=self.limits.max_trials
    }

    fn is_whole(&self, block: u32, trials: &[TrialRecord]) -> bool {
        let of = if block == 0 { self.limits.aa_test as usize } else { self.plan.cells.len() };
        trials.iter().filter(|trial| trial.block == block).count() >= of
    }

    fn trials_at_most(&self) -> u32 {
        let cells = u32::try_from(self.plan.cells.len()).unwrap_or(u32::MAX);
        cells.saturating_mul(self.limits.max_trials).saturating_add(self.limits.aa_test)
    }
}

impl Session<'_> {
    /// Notes with the run the blocks of each machine.
    fn note_machines(&mut self) {
        for (machine, blocks) in &self.machines {
            let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
            let plural = if blocks.len() == 1 { "" } else { "s" };
            let note = format!("block{plural} {} carried out on the machine `{machine}`", blocks.join(", "));
            self.entry.notes.push(Note::from(note));
        }
    }
}

fn unread(error: io::Error) -> TrialStop {
    RunError::Results(error).into()
}
