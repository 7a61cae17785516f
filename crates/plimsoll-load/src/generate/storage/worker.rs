//! One thread of a storage load: begin due operations, take completions.

use std::collections::VecDeque;
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use nix::unistd::{sync, syncfs};
use plimsoll_model::experiment::{Access, StorageLoad, SyncBy};
use plimsoll_model::observation::{ErrorKind, StorageFacts};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::engine::{Completion, Engine, Operation};
use super::fetched;
use crate::clock::{self, CpuTime};
use crate::generate::Shared;
use crate::generate::pacing::{Pacing, Start};
use crate::generate::tally::Tally;

/// How long a thread sleeps at most, so that it hears of an early end.
const LONGEST_SLEEP: u64 = 100_000_000;
/// Interval of queries for the helpers' CPU time, in nanoseconds.
const HELPED_EVERY: u64 = 1_000_000_000;
/// How often a worker reports its progress to the others, in nanoseconds.
const REPORT_EVERY: u64 = 20_000_000;
/// After this many errors without a success between them, further results would mean nothing.
const ERRORS_IN_A_ROW: u32 = 100;
const TWO_SECONDS: u64 = 2_000_000_000;
const TEN_SECONDS: u64 = 10_000_000_000;

pub(super) struct ThreadResult {
    pub(super) tally: Tally,
    pub(super) facts: StorageFacts,
    /// The time of all operations together.
    pub(super) spent_ns: u64,
}

/// Operation under way in a slot.
#[derive(Clone, Copy, Default)]
struct UnderWay {
    intended: u64,
    write: bool,
}

/// One thread of a load.
pub(super) struct Worker<'a, E> {
    load: &'a StorageLoad,
    shared: &'a Shared<'a>,
    engine: E,
    /// File that the engine reads and writes.
    file: File,
    random: SmallRng,
    blocks: u64,
    next_block: u64,
    places: Vec<UnderWay>,
    free: Vec<usize>,
    /// When the places that think have done so, in order.
    thinking: VecDeque<u64>,
    facts: StorageFacts,
    spent_ns: u64,
    errors_in_a_row: u32,
    since_sync: u32,
    reported: (u64, u64),
    failed: u64,
}

impl<'a, E: Engine> Worker<'a, E> {
    pub(super) fn new(
        load: &'a StorageLoad,
        shared: &'a Shared<'a>,
        engine: E,
        file: File,
        seed: u64,
    ) -> Self {
        let depth = load.depth as usize;
        Self {
            load,
            shared,
            engine,
            file,
            random: SmallRng::seed_from_u64(seed),
            blocks: load.part_size() / load.block.0,
            next_block: 0,
            places: vec![UnderWay::default(); depth],
            free: (0..depth).rev().collect(),
            thinking: VecDeque::new(),
            facts: StorageFacts::default(),
            spent_ns: 0,
            errors_in_a_row: 0,
            since_sync: 0,
            reported: (0, 0),
            failed: 0,
        }
    }

    /// Works until the pacing is over and everything is done, or the load is aborted.
    ///
    /// # Errors
    /// Errors after which later results would mean nothing.
    pub(super) fn run(mut self, mut pacing: impl Pacing, mut tally: Tally) -> io::Result<ThreadResult> {
        let (cpu, fetched, helped) =
            (CpuTime::of_this_thread(), fetched::by_this_thread(), self.engine.helped());
        let mut done: Vec<Completion> = Vec::with_capacity(self.places.len());
        let mut now = clock::now();
        let (mut last_report, mut asked) = (now, now);
        loop {
            let next = self.begin(&mut pacing, &mut tally, now)?;
            let busy = self.places.len() - self.free.len();
            if (next == Start::Over && busy == 0) || self.shared.must_end() {
                break;
            }
            let longest = self.longest_wait(next, now);
            if busy > 0 {
                self.engine.finish(longest, &mut done)?;
            } else if longest > 0 {
                thread::sleep(Duration::from_nanos(longest));
            }
            now = clock::now();
            for one in done.drain(..) {
                now = self.take(one, &mut tally, now)?;
            }
            if now - last_report > REPORT_EVERY {
                last_report = now;
                self.report(&tally);
            }
            if now - asked > HELPED_EVERY {
                asked = now;
                self.engine.helped();
            }
        }
        if self.load.sync_at_end && !self.shared.must_end() {
            self.sync()?;
            tally.end = tally.end.max(clock::now());
        }
        self.report(&tally);
        let helped = self.engine.helped().since(helped);
        tally.cpu = CpuTime::of_this_thread().since(cpu).plus(helped.cpu());
        self.facts.device_read_bytes = fetched::by_this_thread()
            .zip(fetched)
            .map(|(after, before)| after.saturating_sub(before) + helped.fetched);
        Ok(ThreadResult { tally, facts: self.facts, spent_ns: self.spent_ns })
    }

    /// Begins due operations; returns the next event.
    fn begin(&mut self, pacing: &mut impl Pacing, tally: &mut Tally, now: u64) -> io::Result<Start> {
        while self.thinking.front().is_some_and(|until| *until <= now) {
            self.thinking.pop_front();
        }
        loop {
            let under_way = self.places.len() - self.free.len();
            match pacing.next(now, under_way + self.thinking.len()) {
                Start::Now { intended, held } => {
                    tally.begun(intended, held, now);
                    self.hand_over(intended)?;
                    if !self.goes_on() {
                        // The engine carried it out on the spot, and has no place for another.
                        return Ok(Start::WhenOneEnds);
                    }
                }
                Start::TooLate { intended, why } => tally.given_up(intended, why, now),
                next => return Ok(next),
            }
        }
    }

    /// Whether another place is free.
    fn goes_on(&self) -> bool {
        !self.free.is_empty()
    }

    fn hand_over(&mut self, intended: u64) -> io::Result<()> {
        let place = self.free.pop().expect("the pacing begins no more than there are places");
        let write = match self.load.reads.0 {
            1.0 => false,
            0.0 => true,
            share => self.random.random::<f64>() >= share,
        };
        let block = match self.load.access {
            Access::Sequential => self.next_block,
            Access::Random => self.random.random_range(0..self.blocks),
        };
        self.next_block = if self.next_block + 1 >= self.blocks { 0 } else { self.next_block + 1 };
        self.engine.buffers().turn(place, write, &mut self.random);
        self.places[place] = UnderWay { intended, write };
        self.engine.begin(Operation { place, offset: block * self.load.block.0, write })
    }

    /// How long to wait for something to be done, in nanoseconds.
    fn longest_wait(&self, next: Start, now: u64) -> u64 {
        let thought = self.thinking.front().map_or(LONGEST_SLEEP, |until| until.saturating_sub(now));
        let due = match next {
            Start::At(due) => due.saturating_sub(now),
            _ => LONGEST_SLEEP,
        };
        thought.min(due).min(LONGEST_SLEEP)
    }

    /// Counts what is done, and gives the time after it.
    fn take(&mut self, done: Completion, tally: &mut Tally, mut now: u64) -> io::Result<u64> {
        let UnderWay { intended, write } = self.places[done.place];
        self.free.push(done.place);
        if let Some(think) = self.load.think {
            self.thinking.push_back(now.saturating_add(clock::nanoseconds(think.0)));
        }
        let result = match done.result {
            Ok(bytes) if bytes as u64 == self.load.block.0 => {
                if !write && self.load.touch_every.0 > 0 {
                    self.touch(done.place);
                    now = clock::now();
                }
                self.sync_when_due(write)
            }
            // The file or the device ends before it should.
            Ok(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
            Err(error) => Err(error),
        };
        match result {
            Ok(synced) => {
                if synced {
                    now = clock::now();
                }
                self.count(intended, write, now);
                tally.operation(intended, now, self.load.block.0);
            }
            Err(error) => self.fail(error, tally, now)?,
        }
        Ok(now)
    }

    /// Uses what was read, as far as the load says.
    fn touch(&mut self, place: usize) {
        let stride = usize::try_from(self.load.touch_every.0).unwrap_or(usize::MAX);
        let buffer = self.engine.buffers().slice(place);
        buffer.iter_mut().step_by(stride).for_each(|byte| *byte &= 1);
        // Otherwise the compiler removes the unused read.
        black_box(buffer);
    }

    fn count(&mut self, intended: u64, write: bool, now: u64) {
        let took = now.saturating_sub(intended);
        self.errors_in_a_row = 0;
        self.spent_ns += took;
        self.facts.over_2s += u64::from(took > TWO_SECONDS);
        self.facts.over_10s += u64::from(took > TEN_SECONDS);
        if write {
            self.facts.writes += 1;
            self.facts.written_bytes += self.load.block.0;
        } else {
            self.facts.reads += 1;
            self.facts.read_bytes += self.load.block.0;
        }
    }

    /// Makes what was written durable where it is time for that; whether it was.
    fn sync_when_due(&mut self, write: bool) -> io::Result<bool> {
        if !write || self.load.sync_every == 0 {
            return Ok(false);
        }
        self.since_sync += 1;
        if self.since_sync < self.load.sync_every {
            return Ok(false);
        }
        self.since_sync = 0;
        self.sync().map(|()| true)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.facts.syncs += 1;
        match self.load.sync_by {
            SyncBy::Fdatasync => self.engine.sync(),
            SyncBy::Fsync => self.file.sync_all(),
            SyncBy::Syncfs => Ok(syncfs(&self.file)?),
            SyncBy::Sync => {
                sync();
                Ok(())
            }
        }
    }

    /// Counts a failure; one that will not pass ends the load.
    fn fail(&mut self, error: io::Error, tally: &mut Tally, now: u64) -> io::Result<()> {
        tally.error_text(kind_of(&error), now, || error.to_string());
        self.failed += 1;
        self.errors_in_a_row += 1;
        let final_ones = [
            libc::ENOSPC,
            libc::EDQUOT,
            libc::ENODEV,
            libc::ENXIO,
            libc::EROFS,
            libc::EBADF,
            libc::EINVAL,
            libc::EFBIG,
        ];
        let is_final = error.raw_os_error().is_some_and(|number| final_ones.contains(&number));
        if is_final || self.errors_in_a_row >= ERRORS_IN_A_ROW { Err(error) } else { Ok(()) }
    }

    fn report(&mut self, tally: &Tally) {
        let (requests, failed) = self.reported;
        self.shared.requests.fetch_add(tally.requests - requests, Ordering::Relaxed);
        self.shared.errors.fetch_add(self.failed - failed, Ordering::Relaxed);
        self.reported = (tally.requests, self.failed);
    }
}

fn kind_of(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::EIO) => ErrorKind::Io,
        _ => ErrorKind::Other,
    }
}
