//! Bulk TCP, end to end.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::{
    BulkLoad, BulkService, Direction, HttpLoad, Metric, SendBy, Take, WebService,
};
use plimsoll_model::frame::{LoadKind, LoadSpec, ServiceKind};
use plimsoll_model::observation::{ErrorKind, LoadResult};
use plimsoll_model::units::{ByteSize, Span};

use crate::load::{connections, result, run_kind};
use crate::service::Service;

const WAYS: [SendBy; 6] = [
    SendBy::Write,
    SendBy::WriteMore,
    SendBy::Sendfile,
    SendBy::Splice,
    SendBy::SpliceMore,
    SendBy::Zerocopy,
];

fn total(bytes: u64) -> BulkLoad {
    BulkLoad { total: Some(ByteSize(bytes)), ..BulkLoad::default() }
}

fn transfer(target: SocketAddr, load: BulkLoad) -> LoadResult {
    run_kind(&[target], LoadKind::Bulk(load))
}

#[test]
fn every_byte_arrives_whichever_way_it_is_sent_and_in_either_direction() {
    let bulk = Service::bulk();
    const BYTES: u64 = (5 << 20) + 77;
    for by in WAYS {
        for (direction, ways) in [(Direction::Send, 1), (Direction::Receive, 1), (Direction::Both, 2)] {
            let found = transfer(bulk.address(), BulkLoad { by, direction, streams: 2, ..total(BYTES) });
            assert_eq!(found.failed(), 0, "{by:?} {direction:?}: {:?}", found.errors);
            assert_eq!((found.connections, found.bytes), (2, 2 * ways * BYTES), "{by:?} {direction:?}");
            assert_eq!(found.intervals.iter().map(|interval| interval.bytes).sum::<u64>(), found.bytes);
            for stream in found.streams() {
                let expected = match direction {
                    Direction::Send => (BYTES, 0),
                    Direction::Receive => (0, BYTES),
                    Direction::Both => (BYTES, BYTES),
                };
                assert_eq!((stream.sent, stream.received), expected, "{by:?} {direction:?}");
                let (own, peer) = (stream.tcp.last().unwrap(), stream.peer.expect("the service reports"));
                assert!(own.acked_bytes >= stream.sent && own.received_bytes >= stream.received);
                assert!(peer.received_bytes >= stream.sent && peer.acked_bytes >= stream.received);
            }
        }
    }
}

#[test]
fn a_stream_with_a_duration_ends_by_itself_and_its_rate_follows_from_its_bytes() {
    let bulk = Service::start(
        ServiceKind::Bulk(BulkService { take: Take::Copy, ..BulkService::default() }),
        1,
        Vec::new(),
    );
    let duration = Some(Span::millis(400));
    for direction in [Direction::Send, Direction::Receive, Direction::Both] {
        let found = transfer(bulk.address(), BulkLoad { duration, direction, ..BulkLoad::default() });
        assert_eq!((found.connections, found.failed()), (1, 0), "{direction:?}: {:?}", found.errors);
        // The sender keeps the time: from here, the received part begins late and may end a little early.
        let milliseconds = found.elapsed_ns / 1_000_000;
        assert!(milliseconds >= 300 && found.bytes > 1 << 20, "{direction:?}: {milliseconds} ms");
        let rate = found.figure(Metric::BitsPerSecond).unwrap();
        assert!((rate - found.bytes as f64 * 8e9 / found.elapsed_ns as f64).abs() < 1.0);
        // No file states a size, and loopback is fast on any machine; what the service sends is not counted here.
        let block = found.streams()[0].block;
        assert_eq!(block, (direction != Direction::Receive).then_some(512 << 10), "{direction:?}");
        let states = &found.streams()[0].tcp;
        assert!(states.len() >= 2 && states.is_sorted_by_key(|state| state.at_ns), "{}", states.len());
    }
}

#[test]
fn a_message_whose_end_is_never_released_waits_for_the_kernel_to_lose_patience() {
    let bulk = Service::bulk();
    let load = |release| BulkLoad {
        by: SendBy::WriteMore,
        chunk: Some(ByteSize(100)),
        message: Some(ByteSize(1000)),
        release,
        ..total(5000)
    };
    let released = transfer(bulk.address(), load(true));
    assert_eq!((released.requests, released.connections, released.failed()), (5, 1, 0));
    let held = transfer(bulk.address(), load(false));
    assert_eq!((held.requests, held.connections, held.failed()), (5, 1, 0));
    // tcp_push_pending_frames after TCP_CORK's 200 ms, the last message's by its close.
    assert!(held.latency.percentiles.p50 >= 150_000, "{} us", held.latency.percentiles.p50);
    assert!(released.latency.percentiles.p50 < 100_000, "{} us", released.latency.percentiles.p50);
}

#[test]
fn the_receiver_s_window_shows_in_the_sender_s_limited_time() {
    let slow = BulkService {
        receive_buffer: Some(ByteSize(8 << 10)),
        chunk: Some(ByteSize(4 << 10)),
        pause: Span::millis(5),
        ..BulkService::default()
    };
    let bulk = Service::start(ServiceKind::Bulk(slow), 1, Vec::new());
    let found = transfer(bulk.address(), total(300 << 10));
    assert_eq!(found.failed(), 0, "{:?}", found.errors);
    let last = found.streams()[0].tcp.last().unwrap();
    let share = last.rwnd_limited_us as f64 / last.busy_us as f64;
    assert!(share > 0.5, "{share:.2} of {} us", last.busy_us);
}

#[test]
fn a_congestion_control_that_the_kernel_has_not_got_is_named() {
    let bulk = Service::bulk();
    let load = BulkLoad { congestion: Some("telepathy".into()), ..total(1) };
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    let kind = LoadKind::Bulk(load);
    let spec = LoadSpec {
        name: "load".into(),
        targets: bulk.addresses.clone(),
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind,
    };
    let failure = run(&spec, &control).unwrap_err().to_string();
    assert!(failure.contains("telepathy"), "{failure}");
}

#[test]
fn a_service_that_is_gone_is_an_error_and_not_the_end() {
    let found = transfer(crate::errors::closed_port(), BulkLoad { streams: 3, ..total(1) });
    assert_eq!((found.connections, found.failed()), (0, 3));
}

#[test]
fn a_peer_that_takes_nothing_counts_as_timed_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let silent = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Reports ready, as the service does, and then reads nothing more.
        stream.write_all(&[1]).unwrap();
        thread::sleep(Duration::from_secs(2));
    });
    let found = transfer(address, BulkLoad { timeout: Span::millis(500), ..total(1 << 30) });
    assert_eq!((found.connections, found.failed()), (0, 1), "{:?}", found.errors);
    silent.join().unwrap();
}

#[test]
fn an_aborted_load_ends_soon() {
    let bulk = Service::bulk();
    let abort = AtomicBool::new(false);
    let progress = |_| abort.store(true, Ordering::Relaxed);
    let control = Control { abort: &abort, progress: &progress, every: Duration::from_millis(50) };
    let kind = LoadKind::Bulk(BulkLoad { duration: Some(Span::secs(60)), ..BulkLoad::default() });
    let spec = LoadSpec {
        name: "load".into(),
        targets: bulk.addresses.clone(),
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind,
    };
    let start = Instant::now();
    let found = run(&spec, &control).unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!((found.connections, found.failed(), found.bytes), (0, 0, 0));
}

#[test]
fn bytes_that_nobody_has_announced_are_taken_all_the_same() {
    let bulk = Service::bulk();
    let mut stream = TcpStream::connect(bulk.address()).unwrap();
    stream.write_all(&[b'x'; 100_000]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn sized_documents_are_served_whole_whichever_way_they_are_sent() {
    for by in WAYS {
        let web = Service::web(WebService { by, clients: 2, ..WebService::default() });
        for requests_per_connection in [1, 3] {
            let load = HttpLoad { path: "/?s=3M".into(), requests_per_connection, ..connections(2, 1) };
            let found = result(&web.addresses, load);
            let broken = [ErrorKind::Truncated, ErrorKind::Garbage, ErrorKind::Status];
            assert!(!broken.iter().any(|kind| found.errors.contains_key(kind)), "{by:?}: {:?}", found.errors);
            assert_eq!(found.requests, 2 * requests_per_connection, "{by:?}");
            assert!(found.bytes > 2 * requests_per_connection * (3 << 20), "{by:?}");
        }
    }
}
