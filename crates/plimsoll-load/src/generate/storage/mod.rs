//! Storage: threads that read and write parts of a volume, each by an engine of its own, on the pacing of all loads.
//!
//! Before anything is measured each thread's [`Part`] is laid out, and its pages are dropped from the cache or brought into it; so what
//! the load meets is what the experiment says. A volume that goes away or is full ends the load with a sentence on it, since nothing that
//! follows would mean anything; single operations that fail are counted.

mod buffers;
mod engine;
mod fetched;
mod io_wq;
mod mapped;
pub(super) mod memory;
mod part;
mod plain;
mod ring;
mod worker;

use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, Builder};

use plimsoll_model::experiment::{StorageEngine, StorageLoad};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{LoadResult, StorageFacts};

use self::mapped::Mapped;
use self::part::Part;
use self::plain::Plain;
use self::ring::Ring;
use self::worker::{ThreadResult, Worker};
use super::course::Course;
use super::pacing::{ClosedLoop, OpenLoop};
use super::progress::ProgressReporter;
use super::tally::Tally;
use super::{Control, Shared, offering};
use crate::clock;
use crate::failure::other;

/// A load while its threads run.
#[derive(Clone, Copy)]
struct RunningLoad<'a> {
    load: &'a StorageLoad,
    course: &'a Course,
    shared: &'a Shared<'a>,
    /// Where the random numbers of the first thread begin.
    seed: u64,
}

/// Runs a storage load to its end.
///
/// # Errors
/// When it cannot start: there is no such volume, it is too small or full, the engine is not there; or when the volume goes away.
pub(super) fn run(spec: &LoadSpec, load: &StorageLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let volume = spec.volume.as_ref().ok_or_else(|| other("start the load", &"it has no volume"))?;
    let parts = part::prepare(volume, load)?;
    let shared = Shared::new(control);
    let course = Course::from(load);
    let running =
        RunningLoad { load, course: &course, shared: &shared, seed: load.seed.unwrap_or_else(clock::now) };
    let (found, start) = generate(running, parts, &volume.name, control)?;
    let mut facts = StorageFacts { device_read_bytes: Some(0), ..StorageFacts::default() };
    let mut total = Tally::new(start, offering(&course, start));
    let mut spent_ns = 0;
    for one in found {
        let of = one.facts;
        facts = StorageFacts {
            reads: facts.reads + of.reads,
            writes: facts.writes + of.writes,
            read_bytes: facts.read_bytes + of.read_bytes,
            written_bytes: facts.written_bytes + of.written_bytes,
            syncs: facts.syncs + of.syncs,
            over_2s: facts.over_2s + of.over_2s,
            over_10s: facts.over_10s + of.over_10s,
            device_read_bytes: facts.device_read_bytes.zip(of.device_read_bytes).map(|(a, b)| a + b),
            mean_us: 0.0,
        };
        spent_ns += one.spent_ns;
        total.merge(one.tally);
    }
    if total.requests > 0 {
        facts.mean_us = spent_ns as f64 / 1e3 / total.requests as f64;
    }
    let mut result = total.into_result(start, load.threads);
    result.facts = Some(facts.into());
    Ok(result)
}

/// Lets all threads work side by side; gives what each found, and when they began.
fn generate(
    running: RunningLoad<'_>,
    parts: Vec<Part>,
    volume: &str,
    control: &Control<'_>,
) -> Result<(Vec<ThreadResult>, u64), Failure> {
    let RunningLoad { load, shared, .. } = running;
    thread::scope(|scope| {
        let (done, finished) = channel();
        let (ready, readied) = channel();
        for (part, nth) in parts.into_iter().zip(0..) {
            let (done, ready) = (done.clone(), ready.clone());
            let body = move || {
                let found = work(running, part, nth, volume, &ready);
                // One that could not begin is not waited for; else nobody counts any more. The receivers are there until every thread has
                // ended.
                let _ = ready.send(());
                let _ = done.send(found);
            };
            if let Err(error) = Builder::new().name(format!("storage {nth}")).spawn_scoped(scope, body) {
                shared.broken.store(true, Ordering::Relaxed);
                shared.start.get_or_init(clock::now);
                return Err(other(format!("start thread {nth} of {}", load.threads), &error));
            }
        }
        drop((done, ready));
        // The time begins when every thread has made its engine ready.
        readied.iter().take(load.threads as usize).for_each(drop);
        let start = *shared.start.get_or_init(clock::now);
        let of = load.operations.map(|each| each.saturating_mul(load.threads.into()));
        let mut progress = ProgressReporter::new(control, of);
        let mut all = Vec::new();
        loop {
            match finished.recv_timeout(control.every) {
                Ok(Ok(found)) => all.push(found),
                Ok(Err(failure)) => {
                    shared.broken.store(true, Ordering::Relaxed);
                    return Err(failure);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            progress.report(shared.requests.load(Ordering::Relaxed), shared.errors.load(Ordering::Relaxed));
        }
        if all.len() < load.threads as usize {
            return Err(other("read and write", &"a thread has panicked"));
        }
        Ok((all, start))
    })
}

/// Work of one thread: it readies its engine, waits for the others, and begins.
fn work(
    running: RunningLoad<'_>,
    part: Part,
    nth: u32,
    volume: &str,
    ready: &Sender<()>,
) -> Result<ThreadResult, Failure> {
    let load = running.load;
    let wrong = |error| part::explain(volume, "use", &error);
    let file = part.file.try_clone().map_err(wrong)?;
    match load.engine {
        StorageEngine::Pread => begin(running, Plain::new(part, load).map_err(wrong)?, file, nth, ready),
        StorageEngine::Mmap => begin(running, Mapped::new(&part, load).map_err(wrong)?, file, nth, ready),
        StorageEngine::IoUring => {
            let engine = Ring::new(part, load).map_err(|error| other("use io_uring", &error))?;
            begin(running, engine, file, nth, ready)
        }
    }
    .map_err(|error| part::explain(volume, "go on with", &error))
}

fn begin(
    running: RunningLoad<'_>,
    engine: impl engine::Engine,
    file: File,
    nth: u32,
    ready: &Sender<()>,
) -> std::io::Result<ThreadResult> {
    let RunningLoad { load, course, shared, seed } = running;
    let worker = Worker::new(load, shared, engine, file, seed.wrapping_add(u64::from(nth)));
    let _ = ready.send(());
    let start = *shared.start.wait();
    let tally = Tally::new(start, offering(course, start));
    match &load.open {
        Some(open) => worker.run(OpenLoop::new(course, open, start, (nth, course.generators), seed), tally),
        None => worker.run(ClosedLoop::new(course, start), tally),
    }
}

impl From<&StorageLoad> for Course {
    fn from(load: &StorageLoad) -> Self {
        Self {
            generators: load.threads.max(1),
            concurrency: load.depth,
            connections: load.operations,
            requests: None,
            duration: load.duration.map(|span| span.0),
            open: load.open.clone(),
            most_per_second: None,
            timeout: load.timeout.0,
            requests_per_connection: 1,
            pipeline: 1,
            seed: load.seed,
        }
    }
}

#[cfg(test)]
mod tests;
