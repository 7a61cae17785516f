//! A run: all trials of a plan, interleaved in a seeded random order, until its claims are decided.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_model::note::{Note, NoteKind};
use plimsoll_model::observation::{PhaseKind, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::RunStatus;
use plimsoll_store::{RunEntry, Store};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::Judge;
use crate::context::Context;
use crate::course::{self, Over, TrialPosition};
use crate::error::{RunError, TrialStop};
use crate::event::{Event, Observer};

/// Number of consecutive faulty trials after which the run gives up.
const FAULTS_IN_A_ROW: u32 = 2;

/// Divisor of the elapsed time: the largest share for interim verdicts.
const SHARE_OF_JUDGING: u32 = 50;

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The fewest trials of each cell.
    pub min_trials: u32,
    /// The most trials of each cell.
    pub max_trials: u32,
    /// Elapsed time of all sessions after which no trial begins.
    pub budget: Option<Duration>,
    /// Number of trials of the first cell before all others, as block 0. Only the machine makes them differ.
    pub aa_test: u32,
}

impl Limits {
    /// Whether a run can end before this block, after these trials.
    pub(crate) fn enough(
        &self,
        judge: &dyn Judge,
        plan: &Plan,
        block: u32,
        trials: &[TrialRecord],
        elapsed: Duration,
    ) -> bool {
        block > self.max_trials
            || block == 1 && judge.unfit(plan, trials)
            || block > self.min_trials
                && (self.budget.is_some_and(|budget| elapsed >= budget) || judge.decided(plan, trials))
    }
}

/// A new or resumed run.
pub struct Run<'r> {
    /// Its collaborators.
    pub context: Context<'r>,
    /// Set when the user ends the run after the current trial.
    pub last_trial: &'r AtomicBool,
    /// Its limits.
    pub limits: Limits,
    /// The only block of a task; `None` for all blocks.
    pub only: Option<u32>,
}

/// An ended run.
#[derive(Debug)]
pub struct Ended {
    /// The run as it is stored.
    pub entry: RunEntry,
    /// All of its trials, with those of earlier sessions.
    pub trials: Vec<TrialRecord>,
    /// Reason for an early end.
    pub error: Option<RunError>,
}

impl Ended {
    /// Stores the end of a run with this reason.
    pub(crate) fn store(
        mut entry: RunEntry,
        trials: Vec<TrialRecord>,
        stop: Result<(), TrialStop>,
        store: &Store,
    ) -> Self {
        let (status, error) = match stop {
            Ok(()) => (RunStatus::Complete, None),
            Err(TrialStop::Interrupted | TrialStop::Skipped) => (RunStatus::Interrupted, None),
            Err(TrialStop::Fault(_)) => (RunStatus::Failed, None),
            Err(TrialStop::Error(error)) => (RunStatus::Failed, Some(error)),
        };
        entry.status = status;
        // A run that was resumed may have failed before.
        entry.notes.retain(|note| note.kind != NoteKind::Failed);
        entry.notes.extend(error.as_ref().map(|error| Note::failed(error.to_string())));
        let stored = store.put_run(&entry);
        Self { entry, trials, error: error.or(stored.err().map(RunError::from)) }
    }
}

/// Stores that a run goes on, and fetches its earlier trials.
pub(crate) fn begin(store: &Store, entry: &RunEntry) -> Result<Vec<TrialRecord>, TrialStop> {
    store.put_run(&RunEntry { status: RunStatus::Interrupted, ..entry.clone() })?;
    store.forget_unended(&entry.id)?;
    Ok(store.trials(&entry.id)?)
}

impl Run<'_> {
    /// Carries out the trials that are not stored yet. The result has all measurements, also after an error.
    pub fn carry_out(&self, mut entry: RunEntry, observer: &mut dyn Observer) -> Ended {
        let start = Instant::now();
        let before = entry.elapsed;
        let mut trials = Vec::new();
        let stop = begin(self.context.store, &entry).and_then(|stored| {
            trials = stored;
            self.trials(&mut entry, &mut trials, observer)
        });
        entry.elapsed = before + start.elapsed();
        Ended::store(entry, trials, stop, self.context.store)
    }

    fn trials(
        &self,
        entry: &mut RunEntry,
        trials: &mut Vec<TrialRecord>,
        observer: &mut dyn Observer,
    ) -> Result<(), TrialStop> {
        let start = Instant::now();
        let cells = u32::try_from(self.context.plan.cells.len()).unwrap_or(u32::MAX);
        let aa_test = self.aa_test(trials);
        let mut faults = 0;
        let mut judging = Duration::ZERO;
        for (index, (cell, random)) in self.order(entry.seed, aa_test).enumerate() {
            let number = u32::try_from(index).unwrap_or(u32::MAX) + 1;
            if trials.iter().any(|trial| trial.number == number) {
                continue;
            }
            let block = number.checked_sub(aa_test + 1).map_or(0, |varied| varied / cells + 1);
            match self.only {
                Some(only) if block > only => break,
                Some(only) if block < only => continue,
                _ => {}
            }
            let first_of_block = block > 0 && (number - 1 - aa_test).is_multiple_of(cells);
            let elapsed = entry.elapsed + start.elapsed();
            if first_of_block
                && self.only.is_none()
                && self.limits.enough(self.context.judge, self.context.plan, block, trials, elapsed)
            {
                break;
            }
            let of = cells.saturating_mul(self.limits.max_trials).saturating_add(aa_test);
            observer.on(&Event::TrialStarted { number, of });
            let place = TrialPosition {
                number,
                block,
                random,
                remedies: self.only.is_none_or(|block| block <= 1) && !climbed(trials),
            };
            let cell = &self.context.plan.cells[cell];
            let mut over = course::carry_out(&self.context, &entry.id, observer, cell, place);
            add_notes(&mut entry.notes, &mut over);
            faults = if matches!(over.stop, Some(TrialStop::Fault(_))) { faults + 1 } else { 0 };
            trials.push(over.record);
            let trial = trials.last().expect("it was pushed in the line before");
            self.store(&entry.id, trial, over.stop, faults)?;
            observer.on(&Event::TrialEnded { trial });
            if self.last_trial.load(Ordering::Acquire) {
                return Err(TrialStop::Interrupted);
            }
            // Judging takes longer with each trial; it may not hold the run up.
            if self.only.is_none() && judging <= (start.elapsed() / SHARE_OF_JUDGING) {
                let began = Instant::now();
                let verdicts = self.context.judge.so_far_of_run(self.context.plan, trials);
                observer.on(&Event::Judged { verdicts: &verdicts });
                judging += began.elapsed();
            }
        }
        Ok(())
    }

    /// Number of trials in block 0. A resumed run keeps the numbers of its trials.
    fn aa_test(&self, trials: &[TrialRecord]) -> u32 {
        if trials.is_empty() || self.only.is_some() {
            return self.limits.aa_test;
        }
        u32::try_from(trials.iter().filter(|trial| trial.block == 0).count()).unwrap_or(u32::MAX)
    }

    /// Stores a trial that ended for this reason, with the number of faults in a row. Fails if the run ends with it.
    fn store(
        &self,
        run: &str,
        trial: &TrialRecord,
        stop: Option<TrialStop>,
        faults: u32,
    ) -> Result<(), TrialStop> {
        let store = self.context.store;
        match stop {
            None => Ok(store.put_trial(run, trial)?),
            Some(TrialStop::Fault(fault)) => {
                store.put_trial(run, trial)?;
                if faults < FAULTS_IN_A_ROW { Ok(()) } else { Err(TrialStop::Fault(fault)) }
            }
            Some(stop) => {
                // The first reason counts: a store that fails now does not hide it.
                store.put_unended(run, trial).ok();
                Err(stop)
            }
        }
    }

    /// Cells in the order of execution, block by block, each with the random generator of its trial, after `aa_test` times the first cell.
    /// Equal seeds give equal orders, also in resumed runs.
    fn order(&self, seed: u64, aa_test: u32) -> impl Iterator<Item = (usize, StdRng)> {
        let mut random = StdRng::seed_from_u64(seed);
        let cells = self.context.plan.cells.len();
        let first =
            (0..u64::from(aa_test)).map(move |number| (0, StdRng::seed_from_u64(!seed.wrapping_add(number))));
        first.chain((0..=self.limits.max_trials).flat_map(move |_| {
            let mut block: Vec<usize> = (0..cells).collect();
            block.shuffle(&mut random);
            block.into_iter().map(|cell| (cell, StdRng::seed_from_u64(random.random()))).collect::<Vec<_>>()
        }))
    }
}

/// Adds the notes of a trial that are not there yet.
fn add_notes(notes: &mut Vec<Note>, over: &mut Over) {
    let absent = over.absent.iter().map(|reason| Note::not_seen(reason));
    for note in absent.chain(over.notes.drain(..).map(Note::from)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    for link in over.links.drain(..) {
        // The pace differs from trial to trial; one is enough.
        let kind = NoteKind::Link { link: link.what.clone() };
        if !notes.iter().any(|note| note.kind == kind) {
            let parts: Vec<String> = [Some(link.what), link.pace].into_iter().flatten().collect();
            notes.push(Note { kind, text: parts.join("; it ") });
        }
    }
}

/// Whether a ladder was climbed in one of the trials.
fn climbed(trials: &[TrialRecord]) -> bool {
    trials.iter().any(|trial| trial.phases.iter().any(|phase| phase.kind == PhaseKind::Remedy))
}
