//! One stream: its opening, its threads, and its result.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_model::experiment::{BulkLoad, Direction};
use plimsoll_model::frame::LoadSpec;
use plimsoll_model::observation::{Stream, TcpState};

use super::{Shared, dial};
use crate::clock::{self, CpuTime};
use crate::generate::error_kind::kind_of_io;
use crate::generate::tally::Tally;
use crate::transfer::exchange::{End, Exchange};
use crate::transfer::opening::{self, Opening, State};
use crate::transfer::{Inlet, Stop, socket, tcp_state};

/// How much is received at a time, in bytes.
const INLET: usize = 1 << 20;
/// How long the service may take to report on the streams.
const REPORT_WITHIN: Duration = Duration::from_secs(2);

/// A connection that is open and agreed on.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// How long it took to establish.
    pub(super) connect_ns: u64,
    id: u64,
    from: SocketAddr,
    to: SocketAddr,
}

impl Connection {
    /// Its addresses, and no bytes yet.
    pub(super) fn describe(&self) -> Stream {
        Stream { from: self.from.to_string(), to: self.to.to_string(), ..Stream::default() }
    }

    /// Ends it at once, so that its threads end.
    pub(super) fn cut(&self) {
        // A connection that is closed already need not be cut.
        self.stream.shutdown(Shutdown::Both).ok();
    }
}

/// Which way a thread moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Out,
    In,
}

/// Bytes that a thread moved.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    /// Most of them at a time.
    pub(super) largest: u64,
}

pub(super) struct StreamResult {
    pub(super) moved: Moved,
    pub(super) elapsed_ns: u64,
    pub(super) last: Option<TcpState>,
    pub(super) tally: Tally,
}

/// Connects the `nth` stream and agrees with the service on its bytes.
pub(super) fn connect(
    spec: &LoadSpec,
    load: &BulkLoad,
    nth: usize,
    abort: &AtomicBool,
) -> io::Result<Connection> {
    let target = *spec
        .targets
        .get(nth % spec.targets.len().max(1))
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no target"))?;
    let begun = clock::now();
    let source = spec.sources.get(nth % spec.sources.len().max(1)).copied();
    let mut stream = dial::dial(target, source, load, abort)?;
    let connect_ns = clock::now() - begun;
    socket::prepare(&stream, load)?;
    let id = number();
    opening::open(&mut stream, &Opening::Stream { id, load: load.clone() })?;
    let (from, to) = (stream.local_addr()?, stream.peer_addr()?);
    Ok(Connection { stream, connect_ns, id, from, to })
}

/// A number that no other stream of this machine has: the clock's nanoseconds, mixed with the process.
pub(in crate::generate) fn number() -> u64 {
    clock::now() ^ u64::from(std::process::id()).rotate_left(40)
}

/// The life of one thread.
pub(super) fn work(running: &Shared<'_>, connection: &Connection, flow: Flow) -> StreamResult {
    let cpu = CpuTime::of_this_thread();
    let mut tally = Tally::new(running.start, None);
    let mut moved = Moved::default();
    let outcome = transfer(running, connection, flow, &mut tally, &mut moved);
    let now = clock::now();
    let last = tcp_state::read(&connection.stream, now - running.start).ok();
    match outcome {
        Ok(End::Complete) => {
            tally.bytes = moved.bytes;
            // The way out is the one that ends last where there is none in, so a stream counts once.
            if flow == Flow::Out || running.load.direction == Direction::Receive {
                tally.connection(now);
            } else {
                tally.end = tally.end.max(now);
            }
        }
        Ok(End::Stopped) => tally.end = tally.end.max(now),
        Err(error) => {
            tally.bytes = moved.bytes;
            tally.error_text(kind_of_io(&error, true), now, || format!("a stream ended: {error}"));
            running.errors.fetch_add(1, Ordering::Relaxed);
            connection.cut();
        }
    }
    tally.cpu = CpuTime::of_this_thread().since(cpu);
    StreamResult { moved, elapsed_ns: now - running.start, last, tally }
}

fn transfer(
    running: &Shared<'_>,
    connection: &Connection,
    flow: Flow,
    tally: &mut Tally,
    moved: &mut Moved,
) -> io::Result<End> {
    let exchange =
        Exchange { stream: &connection.stream, load: running.load, stop: Stop::when(running.abort) };
    let mut note = |tally: &mut Tally, n: u64, now: u64| {
        moved.bytes += n;
        moved.largest = moved.largest.max(n);
        tally.intervals.at(now).bytes += n;
        running.bytes.fetch_add(n, Ordering::Relaxed);
    };
    match (flow, running.load.message) {
        (Flow::In, _) => {
            let mut inlet = Inlet::new(Default::default(), INLET);
            exchange.take_all(&mut inlet, &mut |n| note(tally, n as u64, clock::now()))
        }
        (Flow::Out, Some(message)) => {
            let mut begun = clock::now();
            let end = exchange.ask(message.0, &mut |n| {
                let now = clock::now();
                note(tally, n, now);
                tally.request(begun, begun, now, now);
                begun = now;
            })?;
            if end == End::Stopped { Ok(end) } else { exchange.wait_for_end() }
        }
        (Flow::Out, None) if running.load.direction == Direction::Both => {
            exchange.send_and_see_it_arrive(&mut |n| note(tally, n as u64, clock::now()))
        }
        (Flow::Out, None) => match exchange.send(&mut |n| note(tally, n as u64, clock::now()))? {
            End::Complete => exchange.wait_for_end(),
            End::Stopped => Ok(End::Stopped),
        },
    }
}

/// The streams with the service's view of their ends. A service without a report is no error: its view is an addition.
pub(super) fn with_peers(
    spec: &LoadSpec,
    connections: &[Connection],
    mut streams: Vec<Stream>,
) -> Vec<Stream> {
    connections.iter().for_each(Connection::cut);
    for &target in &spec.targets {
        let of_target: Vec<usize> = (0..connections.len()).filter(|&n| connections[n].to == target).collect();
        let ids = of_target.iter().map(|&n| connections[n].id).collect();
        for (n, state) in of_target.iter().zip(states(target, ids).unwrap_or_default()) {
            streams[*n].peer = state;
        }
    }
    streams
}

fn states(target: SocketAddr, ids: Vec<u64>) -> io::Result<Vec<State>> {
    let mut stream = TcpStream::connect_timeout(&target, REPORT_WITHIN)?;
    stream.set_read_timeout(Some(REPORT_WITHIN))?;
    opening::open(&mut stream, &Opening::States { ids })?;
    opening::receive(&mut stream)
}
