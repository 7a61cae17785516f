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

/// How often the queue is asked at first ..
const SOON: Duration = Duration::from_millis(500);
/// .. for so long ..
const AT_FIRST: Duration = Duration::from_secs(120);
/// .. and how often then: others want to know something of it, too.
const LATER: Duration = Duration::from_secs(5);
/// How long another machine's file may take to appear here (nfs(5), `acdirmax`, is longer, except for folders that are
/// opened).
const SETTLES: Duration = Duration::from_secs(3);
/// A block is not submitted again after its task ended this often without a result.
const TIMES: u32 = 3;
/// How long a queue may not answer that has answered before.
const DEAF: Duration = Duration::from_secs(300);
/// How long tasks may take to end that are cancelled.
const ENDING: Duration = Duration::from_secs(20);
/// How often it is looked whether the run is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// A run on a queue, to be carried out or to be gone on with.
pub struct Queued<'r> {
    /// What to carry out.
    pub plan: &'r Plan,
    /// Who hands machines out.
    pub queue: &'r dyn Queue,
    /// Where tasks leave what they measured.
    pub results: &'r Results,
    /// Who knows whether a figure is good enough.
    pub judge: &'r dyn Judge,
    /// Where everything is stored.
    pub store: &'r Store,
    /// Set when the user wants it to end.
    pub interrupt: &'r AtomicBool,
    /// When to end.
    pub limits: Limits,
    /// How long nothing may happen while all tasks wait.
    pub start_within: Option<Duration>,
}

/// What a run on a queue knows while it goes on.
struct UnderWay<'u> {
    entry: &'u mut RunEntry,
    trials: &'u mut Vec<TrialRecord>,
    observer: &'u mut dyn Observer,
    /// Called with each block that is taken in.
    taken: &'u mut dyn FnMut(&Block) -> Result<(), StoreError>,
    /// How often each block was submitted.
    submitted: BTreeMap<u32, u32>,
    /// Since when tasks are gone of which nothing is known.
    gone: BTreeMap<u32, Instant>,
    /// The blocks that were taken in, by the machine that carried them out.
    machines: BTreeMap<String, BTreeSet<u32>>,
    /// The blocks that were looked at when they were over.
    closed: BTreeSet<u32>,
    /// The last reported progress.
    told: String,
    /// When something has moved last.
    moved: Instant,
    answered: Option<Instant>,
    began: Instant,
    judged: usize,
}

impl Queued<'_> {
    /// Carries out the blocks that are not stored yet. What was measured is in the answer, also when the run could not go on.
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
            let mut under_way = UnderWay {
                entry: &mut entry,
                trials: &mut trials,
                observer,
                taken,
                submitted: BTreeMap::new(),
                gone: BTreeMap::new(),
                machines: BTreeMap::new(),
                closed: BTreeSet::new(),
                told: String::new(),
                moved: began,
                answered: None,
                began,
                judged: 0,
            };
            let stop = self.blocks(&mut under_way);
            let ended = self.end(&mut under_way);
            under_way.tell_machines();
            stop.and(ended)
        });
        entry.elapsed = before + began.elapsed();
        Ended::store(entry, trials, stop, self.store)
    }

    /// Stores that the run goes on, and fetches the trials that it has already. Blocks that an error ended in an
    /// earlier session are tried again.
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

    fn blocks(&self, under_way: &mut UnderWay<'_>) -> Result<(), TrialStop> {
        loop {
            if self.interrupt.load(Ordering::Acquire) {
                return Err(TrialStop::Interrupted);
            }
            // Whatever ended before the queue was asked has left its result by then.
            let tasks = self.tasks(under_way)?;
            self.take_in(under_way)?;
            let next = self.all().find(|block| !self.is_whole(*block, under_way.trials));
            let Some(next) = next else { return Ok(()) };
            if self.is_enough(next, under_way) {
                return Ok(());
            }
            self.submit_missing(next, &tasks, under_way)?;
            self.tell(&tasks, under_way);
            self.wait_for_start(&tasks, under_way)?;
            let pause = if under_way.began.elapsed() < AT_FIRST { SOON } else { LATER };
            let until = Instant::now() + pause;
            while Instant::now() < until && !self.interrupt.load(Ordering::Acquire) {
                thread::sleep(LOOK);
            }
        }
    }

    fn tasks(&self, under_way: &mut UnderWay<'_>) -> Result<BTreeMap<u32, TaskState>, TrialStop> {
        loop {
            match self.queue.tasks() {
                Ok(tasks) => {
                    under_way.answered = Some(Instant::now());
                    return Ok(tasks.into_iter().map(|task| (task.number, task.state)).collect());
                }
                Err(_) if under_way.answered.is_some_and(|at| at.elapsed() < DEAF) => {
                    if self.interrupt.load(Ordering::Acquire) {
                        return Err(TrialStop::Interrupted);
                    }
                    thread::sleep(SOON);
                }
                Err(error) => return Err(RunError::from(error).into()),
            }
        }
    }

    /// Stores the blocks that are over.
    fn take_in(&self, under_way: &mut UnderWay<'_>) -> Result<(), TrialStop> {
        let open =
            |block: &u32| !under_way.closed.contains(block) && !self.is_whole(*block, under_way.trials);
        for number in self.all().filter(open).collect::<Vec<_>>() {
            let Some(block) = self.results.ended(number).map_err(unread)? else { continue };
            under_way.closed.insert(number);
            (under_way.taken)(&block)?;
            under_way.moved = Instant::now();
            for note in &block.end.notes {
                if !under_way.entry.notes.contains(note) {
                    under_way.entry.notes.push(note.clone());
                }
            }
            if let Some((what, advice)) = block.end.error {
                let (machine, block) = (block.machine, number);
                return Err(RunError::Task { block, machine, what, advice }.into());
            }
            // What an earlier session gave up is carried out anew.
            under_way.trials.retain(|trial| trial.block != number);
            for trial in block.trials {
                self.store.put_trial(&under_way.entry.id, &trial)?;
                under_way
                    .observer
                    .on(&Event::TrialStarted { number: trial.number, of: self.trials_at_most() });
                under_way.observer.on(&Event::TrialEnded { trial: &trial });
                under_way.trials.push(trial);
            }
            under_way.trials.sort_by_key(|trial| trial.number);
            under_way.machines.entry(block.machine).or_default().insert(number);
            if let Some(fault) = block.end.fault {
                return Err(TrialStop::Fault(fault));
            }
        }
        Ok(())
    }

    /// Whether the run can end before this block, the first that is not there.
    fn is_enough(&self, next: u32, under_way: &mut UnderWay<'_>) -> bool {
        let before = under_way.trials.partition_point(|trial| trial.block < next);
        if before == under_way.judged {
            return false;
        }
        under_way.judged = before;
        let elapsed = under_way.entry.elapsed + under_way.began.elapsed();
        let trials = &under_way.trials[..before];
        let verdicts = self.judge.so_far_of_run(self.plan, trials);
        under_way.observer.on(&Event::Judged { verdicts: &verdicts });
        self.limits.enough(self.judge, self.plan, next, trials, elapsed)
    }

    fn submit_missing(
        &self,
        next: u32,
        tasks: &BTreeMap<u32, TaskState>,
        under_way: &mut UnderWay<'_>,
    ) -> Result<(), TrialStop> {
        let wanted = self.all().take_while(|block| *block <= self.last_wanted(next));
        let missing =
            wanted.filter(|block| !self.is_whole(*block, under_way.trials) && !tasks.contains_key(block));
        let mut numbers = Vec::new();
        for block in missing.collect::<Vec<_>>() {
            let times = under_way.submitted.get(&block).copied().unwrap_or(0);
            if times > 0 {
                let since = *under_way.gone.entry(block).or_insert_with(Instant::now);
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
        under_way.gone.retain(|block, _| !tasks.contains_key(block) && !numbers.contains(block));
        if numbers.is_empty() {
            return Ok(());
        }
        self.queue.submit(&numbers).map_err(RunError::from)?;
        for block in numbers {
            let times = under_way.submitted.entry(block).or_default();
            *times += 1;
            if *times > 1 {
                let note = format!(
                    "block {block} was submitted again: its task was gone and had left no result, as when a machine is lost"
                );
                under_way.entry.notes.push(Note::from(note));
            }
        }
        under_way.moved = Instant::now();
        Ok(())
    }

    /// The last block that is wanted as long as nothing more is known.
    fn last_wanted(&self, next: u32) -> u32 {
        let wave = self.limits.min_trials.max(1);
        match next {
            // Whether the machine can carry an answer comes first.
            0 => 0,
            next => next.div_ceil(wave).saturating_mul(wave).min(self.limits.max_trials),
        }
    }

    fn tell(&self, tasks: &BTreeMap<u32, TaskState>, under_way: &mut UnderWay<'_>) {
        let running: Vec<&str> = tasks.values().filter_map(|state| state.machine()).collect();
        let waiting = tasks.values().find_map(|state| match state {
            TaskState::Waiting(why) if !why.is_empty() => Some(why.as_str()),
            TaskState::Waiting(_) | TaskState::Running(_) => None,
        });
        let begun: usize = tasks.keys().map(|block| self.results.begun(*block)).sum();
        let mut told = format!("{} of {} blocks under way", running.len(), tasks.len());
        if !running.is_empty() {
            told += &format!(" on {}", running.join(", "));
        }
        if begun > 0 {
            told += &format!(", {begun} of their trials measured");
        }
        if let Some(why) = waiting {
            told += &format!("; the others wait ({why})");
        }
        if told != under_way.told {
            under_way.observer.on(&Event::SoFar { what: &told });
            under_way.told = told;
        }
    }

    fn wait_for_start(
        &self,
        tasks: &BTreeMap<u32, TaskState>,
        under_way: &mut UnderWay<'_>,
    ) -> Result<(), TrialStop> {
        if tasks.is_empty() || tasks.values().any(|state| state.machine().is_some()) {
            under_way.moved = Instant::now();
        }
        match self.start_within.filter(|within| under_way.moved.elapsed() >= *within) {
            Some(within) => {
                let why = tasks.values().next().map(ToString::to_string).unwrap_or_default();
                Err(RunError::NotStarted { within, why }.into())
            }
            None => Ok(()),
        }
    }

    /// Cancels what is still there, has the queue forget the rest, and takes in what ended meanwhile.
    fn end(&self, under_way: &mut UnderWay<'_>) -> Result<(), TrialStop> {
        let is_there = || self.queue.tasks().is_ok_and(|tasks| !tasks.is_empty());
        if is_there() {
            self.queue.cancel().map_err(RunError::from)?;
            let until = Instant::now() + ENDING;
            while is_there() && Instant::now() < until {
                thread::sleep(SOON);
            }
        }
        if let Err(error) = self.queue.forget_ended() {
            // All that was measured is there.
            tracing::warn!("the queue still knows the tasks that have ended: {error}");
        }
        self.take_in(under_way)
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

impl UnderWay<'_> {
    /// Has the run tell which machines its blocks were carried out on.
    fn tell_machines(&mut self) {
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
