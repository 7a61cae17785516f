//! Common properties of all loads.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::load::http::Side;
use plimsoll_model::frame::{LoadKind, LoadSpec};
use plimsoll_model::observation::{LoadResult, Progress};
use plimsoll_model::units::Span;

use crate::fake;
use crate::service::Service;

pub(crate) fn spec(targets: &[SocketAddr], load: HttpLoad) -> LoadSpec {
    LoadSpec {
        name: "load".into(),
        targets: targets.to_vec(),
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind: LoadKind::Http(load),
    }
}

/// Runs a load of any kind to its end.
pub(crate) fn run_kind(targets: &[SocketAddr], kind: LoadKind) -> LoadResult {
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    let spec = LoadSpec {
        name: "load".into(),
        targets: targets.to_vec(),
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind,
    };
    run(&spec, &control).unwrap()
}

pub(crate) fn result(targets: &[SocketAddr], load: HttpLoad) -> LoadResult {
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    run(&spec(targets, load), &control).unwrap()
}

pub(crate) fn connections(count: u64, concurrency: u32) -> HttpLoad {
    HttpLoad { connections: Some(count), concurrency, ..HttpLoad::default() }
}

/// Sequential connections per second.
pub(crate) fn sequential_rate(targets: &[SocketAddr], count: u64) -> f64 {
    let found = result(targets, connections(count, 1));
    assert_eq!(found.connections, count, "{:?}", found.errors);
    count as f64 / (found.elapsed_ns as f64 / 1e9)
}

#[test]
fn every_connection_is_counted_once() {
    let web = Service::small_web();
    let found = result(&web.addresses, HttpLoad { generators: 2, ..connections(300, 7) });
    assert_eq!((found.connections, found.requests, found.failed(), found.threads), (600, 600, 0, 2));
    assert!(found.bytes > 600 * 1024);
    assert_eq!(found.intervals.iter().map(|interval| interval.connections).sum::<u64>(), 600);
    assert_eq!(found.intervals.last().unwrap().end_ns, found.elapsed_ns);
    assert!(found.elapsed_ns > 0 && found.user_us + found.system_us > 0);
    let latency = &found.latency;
    assert!(!latency.connect.is_empty() && !latency.first_byte.is_empty() && !latency.total.is_empty());
    assert!(latency.percentiles.p50 <= latency.percentiles.p99);
    assert!(latency.percentiles.p99 <= latency.percentiles.max);
}

#[test]
fn a_kept_connection_carries_as_many_requests_as_it_may() {
    let web = Service::small_web();
    let found = result(&web.addresses, HttpLoad { requests_per_connection: 25, ..connections(40, 4) });
    assert_eq!((found.connections, found.requests, found.failed()), (40, 1000, 0));
}

#[test]
fn answers_that_become_shorter_or_longer_are_awaited_all_the_same() {
    const REQUESTS: usize = 5;
    let target = fake::server(|mut stream| {
        let mut request = [0; 4096];
        for batch in 0.. {
            // A full answer, then one that another batch of the same length does not have, then one that is longer.
            let body = "x".repeat([10, 10, 2, 300, 300, 1][batch % 6]);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.repeat(REQUESTS).as_bytes()).unwrap();
            if !stream.read(&mut request).is_ok_and(|length| length > 0) {
                return;
            }
        }
    });
    let requests_per_connection = 60 * REQUESTS as u64;
    let load = HttpLoad { pipeline: REQUESTS as u32, requests_per_connection, ..connections(1, 1) };
    let found = result(&[target], HttpLoad { close_first: Side::Client, ..load });
    assert_eq!((found.connections, found.requests, found.failed()), (1, requests_per_connection, 0));
    // Short answers are waited for too long eight times, and then now and then.
    assert!(found.latency.percentiles.max < 2_000_000, "{:?}", found.latency.percentiles);
}

/// Numbers of connections between 127.0.0.1 and a port in TIME_WAIT, at the end with the port and at the other.
fn in_time_wait(port: u16) -> (usize, usize) {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let of_port = format!(":{port:04X}");
    let waiting = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let waiting: Vec<_> = waiting.filter(|fields| fields[3] == "06").collect();
    let at = |field: usize| waiting.iter().filter(|fields| fields[field].ends_with(&of_port)).count();
    (at(1), at(2))
}

#[test]
fn the_side_that_closes_first_keeps_the_time_wait() {
    for requests_per_connection in [1, 3] {
        for close_first in [Side::Server, Side::Client] {
            let web = Service::small_web();
            let load = HttpLoad { close_first, requests_per_connection, ..connections(20, 1) };
            let found = result(&web.addresses, load);
            assert_eq!((found.connections, found.failed()), (20, 0));
            // The last of them may still be on their way there, and a port that is used again takes another along.
            let end = Instant::now() + Duration::from_secs(10);
            let mut waiting = (0, 0);
            while waiting.0 + waiting.1 < 18 && Instant::now() < end {
                waiting = in_time_wait(web.address().port());
                thread::sleep(Duration::from_millis(5));
            }
            let (its, others) = if close_first == Side::Server { waiting } else { (waiting.1, waiting.0) };
            assert!(its >= 18 && others == 0, "{close_first:?}: {waiting:?}");
        }
    }
}

#[test]
fn a_load_with_a_duration_ends_by_itself() {
    let web = Service::small_web();
    let duration = Some(Span::millis(300));
    let load = HttpLoad { duration, concurrency: 4, requests_per_connection: 0, ..HttpLoad::default() };
    let found = result(&web.addresses, load);
    assert_eq!((found.connections, found.failed()), (4, 0));
    assert!(found.requests > 4);
    assert!(found.elapsed_ns >= 300_000_000);
}

#[test]
fn connections_come_from_the_source_and_go_to_each_target_in_turn() {
    let seen = |stream: std::net::TcpStream| {
        let source = stream.peer_addr().unwrap().ip();
        write!(&stream, "HTTP/1.0 200 OK\r\nX-Source: {source}\r\nContent-Length: 0\r\n\r\n").unwrap();
    };
    let targets = [fake::server(seen), fake::server(seen)];
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    let mut spec = spec(&targets, connections(10, 1));
    let bytes = |spec: &LoadSpec| run(spec, &control).unwrap().bytes;
    let from_default = bytes(&spec);
    spec.sources = vec!["127.0.0.123".parse().unwrap()];
    assert_eq!(bytes(&spec), from_default + 10 * ("127.0.0.123".len() - "127.0.0.1".len()) as u64);
    let one_is_gone = [targets[0], crate::errors::closed_port()];
    let found = result(&one_is_gone, connections(10, 1));
    assert_eq!((found.connections, found.failed()), (5, 5));
}

#[test]
fn an_aborted_load_ends_soon_with_what_it_has() {
    let silent = fake::server(|stream| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    let abort = AtomicBool::new(false);
    let reports = RefCell::new(Vec::new());
    let progress = |progress: Progress| {
        reports.borrow_mut().push(progress);
        abort.store(reports.borrow().len() >= 3, Ordering::Relaxed);
    };
    let control = Control { abort: &abort, progress: &progress, every: Duration::from_millis(20) };
    let start = Instant::now();
    let found = run(&spec(&[silent], connections(5, 5)), &control).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!((found.connections, found.failed()), (0, 0));
    assert_eq!(reports.borrow()[0], Progress { done: 0, of: Some(5), errors: 0, rate: 0.0 });
}

#[test]
fn a_load_without_a_target_does_not_start() {
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    assert!(run(&spec(&[], connections(1, 1)), &control).is_err());
}
