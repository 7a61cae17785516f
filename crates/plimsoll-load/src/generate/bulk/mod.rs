//! Bulk TCP: streams side by side, each a connection and a thread for each direction.

mod dial;
mod states;
mod stream;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{BulkLoad, Direction};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{BulkFacts, LoadResult, Stream};

use self::states::States;
pub(super) use self::stream::number;
use self::stream::{Connection, Flow};
use super::Control;
use super::error_kind::kind_of_io;
use super::progress::ProgressReporter;
use super::tally::Tally;
use crate::failure::other;
use crate::{clock, descriptors};

/// How often the kernel's state of each connection is read at first.
const STATES_EVERY: Duration = Duration::from_millis(100);
/// How many descriptors a stream takes at most: its socket, a pipe and a file for each side's thread.
const DESCRIPTORS: u64 = 5;

/// Common state of a load's streams while they run.
pub(super) struct Shared<'a> {
    pub(super) load: &'a BulkLoad,
    pub(super) abort: &'a AtomicBool,
    pub(super) start: u64,
    pub(super) bytes: AtomicU64,
    pub(super) errors: AtomicU64,
}

/// Runs a bulk load to its end.
///
/// # Errors
/// When it cannot start at all: no target, too few descriptors, no thread, or a service that refuses what is asked for.
pub(super) fn run(spec: &LoadSpec, load: &BulkLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    descriptors::make_room(u64::from(load.streams) * DESCRIPTORS)?;
    let mut before = Tally::new(clock::now(), None);
    let mut connections = Vec::new();
    for nth in 0..load.streams as usize {
        match stream::connect(spec, load, nth, control.abort) {
            Ok(connection) => connections.push(connection),
            Err(error) if is_refusal(&error) => return Err(other("start the load", &error)),
            Err(error) => {
                before.error_text(kind_of_io(&error, false), clock::now(), || {
                    format!("connect stream {nth}: {error}")
                });
            }
        }
    }
    let start = clock::now();
    let running =
        Shared { load, abort: control.abort, start, bytes: AtomicU64::new(0), errors: AtomicU64::new(0) };
    let mut tally = Tally::new(start, None);
    (tally.errors, tally.first_error) = (before.errors, before.first_error);
    for connection in &connections {
        tally.connected(0, connection.connect_ns);
    }
    let (streams, threads) = carry(&running, &connections, control, &mut tally)?;
    let ended = tally.end;
    let mut result = tally.into_result(start, threads);
    result.elapsed_ns = ended.saturating_sub(start);
    let streams = stream::with_peers(spec, &connections, streams);
    result.facts = Some(BulkFacts { streams }.into());
    Ok(result)
}

/// Lets the bytes flow, and watches. Gives the streams and the number of threads.
fn carry(
    running: &Shared<'_>,
    connections: &[Connection],
    control: &Control<'_>,
    tally: &mut Tally,
) -> Result<(Vec<Stream>, u32), Failure> {
    let flows: &[Flow] = match running.load.direction {
        Direction::Send => &[Flow::Out],
        Direction::Receive => &[Flow::In],
        Direction::Both => &[Flow::Out, Flow::In],
    };
    let mut states: Vec<States> = connections.iter().map(|_| States::default()).collect();
    let mut streams: Vec<Stream> = connections.iter().map(Connection::describe).collect();
    thread::scope(|scope| {
        let mut working = Vec::new();
        for (nth, connection) in connections.iter().enumerate() {
            for &flow in flows {
                let body = move || stream::work(running, connection, flow);
                match Builder::new().name(format!("stream {nth}")).spawn_scoped(scope, body) {
                    Ok(handle) => working.push((nth, flow, handle)),
                    Err(error) => {
                        connections.iter().for_each(Connection::cut);
                        return Err(other(format!("start stream {nth}"), &error));
                    }
                }
            }
        }
        let threads = working.len() as u32;
        watch(running, connections, control, &mut states, || {
            working.iter().all(|(.., work)| work.is_finished())
        });
        for (nth, flow, work) in working {
            let Ok(done) = work.join() else {
                return Err(other("generate load", &"a stream has panicked"));
            };
            let stream = &mut streams[nth];
            match flow {
                Flow::Out => {
                    stream.sent = done.moved.bytes;
                    stream.block = running.load.message.is_none().then_some(done.moved.largest);
                }
                Flow::In => stream.received = done.moved.bytes,
            }
            stream.elapsed_ns = stream.elapsed_ns.max(done.elapsed_ns);
            states[nth].keep(done.last);
            tally.merge(done.tally);
        }
        for (stream, states) in streams.iter_mut().zip(states) {
            stream.tcp = states.finish();
        }
        Ok((streams, threads))
    })
}

/// Reads the states of the connections now and then, and reports progress, until the load is done.
fn watch(
    running: &Shared<'_>,
    connections: &[Connection],
    control: &Control<'_>,
    states: &mut [States],
    is_done: impl Fn() -> bool,
) {
    let mut next_states = Instant::now() + STATES_EVERY;
    let mut progress = ProgressReporter::new(control, of(running.load));
    while !is_done() {
        thread::sleep(Duration::from_millis(5).min(control.every));
        let now = Instant::now();
        if now >= next_states {
            next_states = now + STATES_EVERY;
            for (states, connection) in states.iter_mut().zip(connections) {
                states.read(&connection.stream, clock::now() - running.start);
            }
        }
        progress.report(running.bytes.load(Ordering::Relaxed), running.errors.load(Ordering::Relaxed));
    }
}

/// How many bytes there will be in all, where that is known.
fn of(load: &BulkLoad) -> Option<u64> {
    let flows = if load.direction == Direction::Both { 2 } else { 1 };
    load.total.map(|total| total.0.saturating_mul(u64::from(load.streams) * flows))
}

/// Whether an error says that the load's settings cannot be had, rather than that a connection failed.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotFound | io::ErrorKind::InvalidInput)
}
