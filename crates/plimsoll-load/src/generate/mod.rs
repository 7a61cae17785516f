//! Load generators: threads that keep connections going, and what they found.
//!
//! One event loop serves every protocol and every pacing: a [`Protocol`](protocol::Protocol) knows what is said, a
//! [`Pacing`](pacing::Pacing) knows when to begin, and the [`engine`] knows sockets and time.

mod alarm;
mod connection;
mod course;
mod deadlines;
mod dialer;
mod engine;
mod error_kind;
#[cfg(feature = "fuzzed")]
pub(crate) mod fuzzed;
mod habit;
pub(crate) mod histogram;
mod intervals;
mod low_water;
mod mail_tally;
mod offering;
mod pacing;
mod progress;
mod protocol;
mod secure;
pub(crate) mod tally;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::Duration;

use plimsoll_model::frame::{Failure, LoadKind, LoadSpec};
use plimsoll_model::observation::{LoadResult, Progress};

use self::course::Course;
use self::dialer::Dialer;
use self::engine::Engine;
use self::offering::Offering;
use self::pacing::{ClosedLoop, OpenLoop, Pacing};
use self::progress::ProgressReporter;
use self::protocol::Protocol;
use self::secure::Secure;
use self::tally::Tally;
use crate::failure::other;
use crate::{clock, descriptors};

/// Other descriptors of a generator beside its connections.
const DESCRIPTORS: u64 = 2;

/// A hand on a load while it runs.
pub struct Control<'a> {
    /// Set it to end the load early: what is under way is dropped, within about 0.1 s, and not counted. A messaging load finishes its round;
    /// it runs in a process of its own, which can be ended.
    pub abort: &'a AtomicBool,
    /// Receives the progress of the load; called from the thread that called [`run`].
    pub progress: &'a dyn Fn(Progress),
    /// How often `progress` is called.
    pub every: Duration,
}

/// Common state of a load's generators while they run.
struct Shared<'a> {
    /// When the load began; set once all threads are there.
    start: OnceLock<u64>,
    abort: &'a AtomicBool,
    /// Not all threads could be had.
    broken: AtomicBool,
    connections: AtomicU64,
    requests: AtomicU64,
    errors: AtomicU64,
}

impl<'a> Shared<'a> {
    fn new(control: &Control<'a>) -> Self {
        Self {
            start: OnceLock::new(),
            abort: control.abort,
            broken: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        }
    }

    /// Adds the counts since the last call, which left them in `reported`.
    fn add(&self, tally: &Tally, reported: &mut (u64, u64, u64)) {
        let now = (tally.connections, tally.requests, tally.failed());
        self.connections.fetch_add(now.0 - reported.0, Ordering::Relaxed);
        self.requests.fetch_add(now.1 - reported.1, Ordering::Relaxed);
        self.errors.fetch_add(now.2 - reported.2, Ordering::Relaxed);
        *reported = now;
    }

    fn must_end(&self) -> bool {
        self.abort.load(Ordering::Relaxed) || self.broken.load(Ordering::Relaxed)
    }
}

/// Runs a load to its end, in threads of its own. A messaging load takes a process whose only thread is the calling one, since it forks.
///
/// Failures of single connections are counted in the result; they do not end the load.
///
/// # Errors
/// When the load cannot start at all: there is no target, the source is no address of this host, the limit of file
/// descriptors is too low, or the system gives no thread.
pub fn run(spec: &LoadSpec, control: &Control<'_>) -> Result<LoadResult, Failure> {
    carry_out(spec, control)
}

/// The modules of the kinds, each of which has `run`, and the way to it.
macro_rules! define {
    ($($(#[$_of_kind:meta])* $key:ident: $kind:ident($_load:ident) $(finds $_facts:ident)?,)+) => {
        $(mod $key;)+

        fn carry_out(spec: &LoadSpec, control: &Control<'_>) -> Result<LoadResult, Failure> {
            match &spec.kind {
                $(LoadKind::$kind(load) => $key::run(spec, load, control),)+
            }
        }
    };
}

plimsoll_model::each_load!(define);

/// Runs a load on the event loop, with a protocol for each generator that begins its random numbers at what it is given.
fn run_loop<P: Protocol + Send>(
    spec: &LoadSpec,
    course: &Course,
    control: &Control<'_>,
    protocol: impl Fn(u64) -> P,
) -> Result<LoadResult, Failure>
where
    P::Reply: Send,
    P::Request: Send,
{
    run_loop_over(spec, course, control, |seed| Ok((protocol(seed), None)))
}

/// Runs a load over a protocol, with TLS beneath where the load asks for TLS.
fn run_loop_over<P: Protocol + Send>(
    spec: &LoadSpec,
    course: &Course,
    control: &Control<'_>,
    protocol: impl Fn(u64) -> Result<(P, Option<Secure>), Failure>,
) -> Result<LoadResult, Failure>
where
    P::Reply: Send,
    P::Request: Send,
{
    let threads = course.generators;
    descriptors::make_room(u64::from(threads) * (u64::from(course.concurrency) + DESCRIPTORS))?;
    let shared = Shared::new(control);
    let seed = course.seed.unwrap_or_else(clock::now);
    let engine = |nth| {
        let (protocol, secure) = protocol(seed.wrapping_add(u64::from(nth)))?;
        let dialer = Dialer::new(&spec.targets, &spec.sources, nth as usize)?;
        Engine::new(protocol, dialer, secure, course, &shared)
    };
    let engines: Vec<_> = (0..threads).map(engine).collect::<Result<_, _>>()?;
    run_generators(engines, course, control, &shared, seed)
}

/// A generator of a part of a load, in a thread of its own.
trait Generator {
    /// Generates until the pacing is over and all that was begun has ended, or the load is aborted. What happens is added to `tally`.
    fn run(self, pacing: impl Pacing, tally: Tally) -> Tally;
}

/// Runs generators side by side, with `shared` in common, and merges their results.
fn run_generators<G: Generator + Send>(
    generators: Vec<G>,
    course: &Course,
    control: &Control<'_>,
    shared: &Shared<'_>,
    seed: u64,
) -> Result<LoadResult, Failure> {
    let threads = course.generators;
    thread::scope(|scope| {
        let (done, finished) = channel();
        for (generator, nth) in generators.into_iter().zip(1..) {
            let done = done.clone();
            let body = move || {
                let start = *shared.start.wait();
                let tally = generate(generator, course, start, nth - 1, seed);
                // The receiver is there until every thread has ended.
                let _ = done.send(tally);
            };
            if let Err(error) = Builder::new().name(format!("generator {nth}")).spawn_scoped(scope, body) {
                shared.broken.store(true, Ordering::Relaxed);
                shared.start.get_or_init(clock::now);
                return Err(other(format!("start generator {nth} of {threads}"), &error));
            }
        }
        drop(done);
        let start = *shared.start.get_or_init(clock::now);
        let mut watch = Watch::new(course, control);
        let mut total = Tally::new(start, offering(course, start));
        for _ in 0..threads {
            let Some(tally) = watch.wait(&finished, shared) else {
                return Err(other("generate load", &"a generator has panicked"));
            };
            total.merge(tally);
        }
        Ok(total.into_result(start, threads))
    })
}

/// Runs the `nth` generator of a load, from 0.
fn generate(generator: impl Generator, course: &Course, start: u64, nth: u32, seed: u64) -> Tally {
    let tally = Tally::new(start, offering(course, start));
    match &course.open {
        Some(open) => {
            generator.run(OpenLoop::new(course, open, start, (nth, course.generators), seed), tally)
        }
        None => generator.run(ClosedLoop::new(course, start), tally),
    }
}

/// Due requests of an open loop from `start` on.
fn offering(course: &Course, start: u64) -> Option<Offering> {
    let open = course.open.as_ref()?;
    Some(Offering::new(start, (pacing::length(course, open) * 1e9) as u64, &open.steps))
}

/// Reports progress while it waits for a load.
struct Watch<'a> {
    every: Duration,
    progress: ProgressReporter<'a>,
    counts_requests: bool,
}

impl<'a> Watch<'a> {
    fn new(course: &Course, control: &'a Control<'a>) -> Self {
        let progress = ProgressReporter::new(control, course.all());
        Self { every: control.every, progress, counts_requests: course.counts_requests() }
    }

    /// The tally of the next generator that ends; `None` when none can end any more.
    fn wait(&mut self, finished: &Receiver<Tally>, shared: &Shared<'_>) -> Option<Tally> {
        loop {
            match finished.recv_timeout(self.every) {
                Ok(tally) => return Some(tally),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    self.progress.report(self.done(shared), shared.errors.load(Ordering::Relaxed));
                }
            }
        }
    }

    fn done(&self, shared: &Shared<'_>) -> u64 {
        let counter = if self.counts_requests { &shared.requests } else { &shared.connections };
        counter.load(Ordering::Relaxed)
    }
}
