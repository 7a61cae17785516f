//! Common properties of web servers of all models.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::load::http::Mix;
use plimsoll_model::experiment::service::WebModel;
use plimsoll_model::experiment::{HttpLoad, WebService};
use plimsoll_model::units::{ByteSize, Span};
use wait4::Wait4;

use crate::lifetime::children;
use crate::load::{connections, result};
use crate::service::{Service, example};

const MODELS: [WebModel; 5] = [
    WebModel::Prefork,
    WebModel::PreforkSerialised,
    WebModel::ForkPerConnection,
    WebModel::Threads,
    WebModel::EventLoop,
];

fn small(model: WebModel) -> WebService {
    WebService { model, clients: 8, ..WebService::default() }
}

#[test]
fn connections_and_kept_connections_are_served_by_every_model() {
    for model in MODELS {
        for reuse_port in [false, true] {
            if reuse_port && model == WebModel::PreforkSerialised {
                continue;
            }
            // A client that keeps its connection keeps a process with a listening socket of its own from all others.
            let kept = !reuse_port || model == WebModel::EventLoop;
            let web = Service::web(WebService { reuse_port, ..small(model) });
            let found = result(&web.addresses, connections(200, 4));
            assert_eq!((found.requests, found.failed()), (200, 0), "{model:?} {reuse_port}");
            if kept {
                let load = HttpLoad { requests_per_connection: 25, ..connections(20, 4) };
                let found = result(&web.addresses, load);
                assert_eq!((found.requests, found.failed()), (500, 0), "{model:?} {reuse_port}");
            }
        }
    }
}

#[test]
fn requests_that_are_sent_at_a_time_are_answered_by_every_model() {
    for model in MODELS {
        let web = Service::web(small(model));
        for (pipeline, requests_per_connection) in [(2, 3), (7, 25), (64, 640)] {
            let load = HttpLoad { pipeline, requests_per_connection, ..connections(8, 4) };
            let found = result(&web.addresses, load);
            let all = 8 * requests_per_connection;
            let counts = (found.connections, found.requests, found.failed());
            assert_eq!(counts, (8, all, 0), "{model:?}, {pipeline} at a time");
            assert!(found.bytes > all * 1024);
        }
    }
}

#[test]
fn large_answers_are_whole_in_every_model() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("large"), vec![7; 3_000_000]).unwrap();
    for model in MODELS {
        let web = Service::web(WebService {
            document: ByteSize(1_000_003),
            root: root.path().to_str().map(Into::into),
            ..small(model)
        });
        for (path, bytes) in [("/", 1_000_003), ("/large", 3_000_000)] {
            let load = HttpLoad { path: path.into(), requests_per_connection: 2, ..connections(3, 3) };
            let found = result(&web.addresses, load);
            assert_eq!((found.requests, found.failed()), (6, 0), "{model:?} {path}");
            assert!(found.bytes > 6 * bytes && found.bytes < 6 * (bytes + 400), "{model:?} {path}");
        }
    }
}

#[test]
fn requests_in_pieces_and_together_are_understood_by_every_model() {
    let requests = "GET /?s=3 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGET /none HTTP/1.1\r\nHost: x\r\n\r\n\
                    GET /?s=5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for model in MODELS {
        let web = Service::web(small(model));
        for piece in [1, 7, requests.len()] {
            let mut stream = TcpStream::connect(web.address()).unwrap();
            stream.set_nodelay(true).unwrap();
            for part in requests.as_bytes().chunks(piece) {
                stream.write_all(part).unwrap();
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let statuses: Vec<_> = answer.lines().filter_map(|line| line.split("HTTP/1.1 ").nth(1)).collect();
            assert_eq!(
                statuses,
                ["200 OK", "404 Not Found", "200 OK"],
                "{model:?} in pieces of {piece}: {answer}"
            );
        }
        let mut stream = TcpStream::connect(web.address()).unwrap();
        stream.write_all(b"\x01\x02\r\n\r\nmore that nobody reads").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{model:?}: {answer}");
    }
}

#[test]
fn silent_clients_are_left_and_long_ones_are_asked_to_come_again() {
    for model in MODELS {
        let web = Service::web(WebService {
            keep_alive: Span::millis(100),
            keep_alive_requests: 10,
            ..small(model)
        });
        let mut silent = TcpStream::connect(web.address()).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap(), 0, "{model:?}");
        let load =
            HttpLoad { duration: Some(Span::millis(200)), requests_per_connection: 0, ..HttpLoad::default() };
        let found = result(&web.addresses, load);
        assert_eq!(found.failed(), 0, "{model:?}");
        assert!(found.requests > 10 && found.connections >= found.requests / 10, "{model:?}: {found:?}");
    }
}

#[test]
fn no_more_clients_than_allowed_are_served_at_a_time() {
    for model in MODELS {
        let web = Service::web(WebService { clients: 2, ..small(model) });
        let ask = |stream: &mut TcpStream| stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let served = |stream: &mut TcpStream, within| {
            stream.set_read_timeout(Some(within)).unwrap();
            stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0)
        };
        let mut all: Vec<_> = (0..3).map(|_| TcpStream::connect(web.address()).unwrap()).collect();
        all.iter_mut().for_each(ask);
        let mut third = all.pop().unwrap();
        assert!(all.iter_mut().all(|stream| served(stream, Duration::from_secs(10))), "{model:?}");
        assert!(!served(&mut third, Duration::from_millis(100)), "{model:?}");
        drop(all);
        assert!(served(&mut third, Duration::from_secs(10)), "{model:?}");
    }
}

#[test]
fn a_process_that_dies_is_replaced_and_its_lock_is_free() {
    for model in [WebModel::Prefork, WebModel::PreforkSerialised, WebModel::EventLoop] {
        let web = Service::web(WebService { clients: 2, workers: 2, ..small(model) });
        let before = children(web.pid());
        assert_eq!(before.len(), 2);
        for pid in &before {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(*pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        let end = Instant::now() + Duration::from_secs(5);
        while children(web.pid()).iter().filter(|pid| !before.contains(pid)).count() < 2 {
            assert!(Instant::now() < end, "{model:?}: no new process");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(result(&web.addresses, connections(20, 2)).failed(), 0, "{model:?}");
    }
}

#[test]
fn work_makes_a_request_as_expensive_as_it_says() {
    let web = Service::web(WebService { work: Span::millis(20), ..small(WebModel::EventLoop) });
    let found = result(&web.addresses, connections(10, 10));
    assert_eq!(found.failed(), 0);
    assert!(found.elapsed_ns > 190_000_000, "10 x 20 ms in one process: {} ns", found.elapsed_ns);
}

#[test]
fn the_documents_of_the_mix_are_served_with_their_sizes() {
    let web = Service::web(small(WebModel::EventLoop));
    let load = HttpLoad {
        mix: Some(Mix { rate: Some(20.0) }),
        seed: Some(5),
        requests_per_connection: 50,
        ..connections(40, 4)
    };
    let found = result(&web.addresses, load);
    assert_eq!((found.requests, found.failed()), (2000, 0), "{:?}", found.errors);
    // 35 % of about 0.5 KB, 50 % of 5, 14 % of 50 and 1 % of 500 KB.
    let mean = found.bytes as f64 / 2000.0 / 1024.0;
    assert!((9.0..20.0).contains(&mean), "{mean} KB each");
}

#[test]
fn ten_thousand_kept_connections_of_one_generator_fit_into_300_megabytes() {
    let web = Service::web(WebService { clients: 10_000, backlog: 10_000, ..small(WebModel::EventLoop) });
    let mut generate = example("generate");
    generate.arg(web.address().to_string()).args([
        "seconds=4",
        "concurrency=10000",
        "requests=0",
        "timeout=60s",
    ]);
    let mut child = generate.stdout(Stdio::piped()).spawn().unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    let used = child.wait4().unwrap().rusage;
    let connections = printed.lines().find_map(|line| line.strip_prefix("connections  ")?.split(' ').next());
    let connections: u64 = connections.and_then(|count| count.parse().ok()).unwrap_or(0);
    assert!(connections >= 3000 && !printed.contains("error"), "{printed}");
    // A busy machine may not get to all of them in time.
    let each = used.maxrss / connections;
    assert!(each < (300 << 20) / 10_000, "{each} bytes for each of {connections}");
}
