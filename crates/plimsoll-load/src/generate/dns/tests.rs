//! Whole loads, against servers with scripted answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_model::experiment::DnsLoad;
use plimsoll_model::experiment::load::OfKind;
use plimsoll_model::experiment::load::dns::{DnsFacts, DnsTransport};
use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::frame::LoadSpec;
use plimsoll_model::observation::{ErrorKind, LoadResult};
use plimsoll_model::units::Span;

use crate::generate::{Control, run};

/// The reply to a message: the message itself, as one.
fn reply(message: &[u8], code: u8) -> Vec<u8> {
    let mut reply = message.to_vec();
    reply[2] |= 0x80;
    reply[3] = code;
    reply
}

/// A server over UDP that is asked what to send back to the nth message.
fn serve(answers: impl Fn(u64, &[u8]) -> Vec<Vec<u8>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 512];
        for nth in 0.. {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
            for message in answers(nth, &buffer[..length]) {
                socket.send_to(&message, from).ok();
            }
        }
    });
    address
}

fn load() -> DnsLoad {
    let names = vec!["h{1..20}.test".to_owned(), "nothing.test AAAA".to_owned()];
    DnsLoad { names, questions: Some(200), concurrency: 8, timeout: Span::millis(500), ..DnsLoad::default() }
}

fn carry_out(load: DnsLoad, target: SocketAddr) -> (LoadResult, DnsFacts) {
    let spec = LoadSpec {
        name: "load".into(),
        targets: vec![target],
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind: load.into(),
    };
    let control =
        Control { abort: &AtomicBool::new(false), progress: &|_| {}, every: Duration::from_millis(50) };
    let result = run(&spec, &control).unwrap();
    let facts = DnsFacts::of(result.facts.as_ref().unwrap()).unwrap().clone();
    (result, facts)
}

#[test]
fn every_question_is_answered_and_codes_are_counted() {
    let target = serve(|_, message| {
        let there = message.windows(5).all(|bytes| bytes != b"nothi");
        vec![reply(message, if there { 0 } else { 3 })]
    });
    let (result, facts) = carry_out(load(), target);
    assert_eq!((result.requests, result.failed()), (200, 0));
    // The 21st of 21 names is not there.
    assert_eq!((facts.with("NXDOMAIN"), facts.with("NOERROR")), (9, 191));
    assert_eq!(result.latency.total.len(), 200);
    assert!(result.bytes > 200 * 24, "{}", result.bytes);
}

#[test]
fn what_is_not_answered_times_out_or_is_sent_again() {
    let every_tenth_is_lost = |nth: u64, message: &[u8]| {
        if nth % 10 == 9 { Vec::new() } else { vec![reply(message, 0)] }
    };
    let once = DnsLoad { timeout: Span::millis(100), ..load() };
    let (result, facts) = carry_out(once.clone(), serve(every_tenth_is_lost));
    assert_eq!((result.requests, result.errors.get(&ErrorKind::Timeout)), (180, Some(&20)));
    assert_eq!(facts.resent, 0);
    let again = DnsLoad { retries: 3, ..once };
    let (result, facts) = carry_out(again, serve(every_tenth_is_lost));
    assert_eq!((result.requests, result.failed()), (200, 0));
    assert!((20..=24).contains(&facts.resent), "{facts:?}");
    // The time of a repeated question counts from the first time.
    assert!(result.latency.percentiles.max >= 100_000, "{:?}", result.latency.percentiles);
}

#[test]
fn replies_to_what_was_not_asked_count_for_nothing() {
    let target = serve(|nth, message| {
        let mut wrong = reply(message, 0);
        match nth % 3 {
            0 => wrong[1] ^= 0x40,
            1 => wrong[14] ^= 1,
            _ => {}
        }
        vec![wrong, reply(message, 0), reply(message, 0)]
    });
    let (result, facts) = carry_out(load(), target);
    assert_eq!((result.requests, result.failed()), (200, 0));
    assert_eq!(facts.replies(), 200);
    assert!(facts.unasked >= 300, "{facts:?}");
}

#[test]
fn a_reply_that_does_not_answer_its_question_is_an_error() {
    let target = serve(|nth, message| {
        let mut reply = reply(message, 0);
        if nth % 4 == 0 {
            // It says that it has an answer.
            reply[7] = 1;
        }
        vec![reply]
    });
    let (result, facts) = carry_out(load(), target);
    assert_eq!((result.requests, result.errors.get(&ErrorKind::Garbage)), (150, Some(&50)));
    assert_eq!((facts.replies(), facts.unasked), (200, 0));
    assert!(result.first_error.unwrap().contains("fewer records than it says"));
}

#[test]
fn refusals_are_errors_and_say_which() {
    let target = serve(|nth, message| vec![reply(message, if nth % 2 == 0 { 2 } else { 5 })]);
    let (result, facts) = carry_out(load(), target);
    assert_eq!(result.requests, 0);
    assert_eq!(result.errors.get(&ErrorKind::Deferred), Some(&facts.with("SERVFAIL")));
    assert_eq!(result.errors.get(&ErrorKind::Rejected), Some(&facts.with("REFUSED")));
    assert!(result.first_error.unwrap().contains("SERVFAIL"));
}

#[test]
fn over_tcp_replies_come_in_any_order_and_in_pieces_and_a_closed_connection_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap();
    let connections = std::sync::Arc::new(AtomicU64::new(0));
    let counted = connections.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            thread::spawn(move || {
                let mut held: Option<Vec<u8>> = None;
                for nth in 0.. {
                    let mut length = [0; 2];
                    if stream.read_exact(&mut length).is_err() {
                        return;
                    }
                    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut message).unwrap();
                    if first && nth == 60 {
                        return;
                    }
                    let answer = [&length[..], &reply(&message, 0)].concat();
                    // Every second reply overtakes the one before it, and both are cut.
                    match held.take() {
                        None => held = Some(answer),
                        Some(before) => {
                            let both = [answer, before].concat();
                            stream.write_all(&both[..7]).ok();
                            thread::sleep(Duration::from_micros(200));
                            stream.write_all(&both[7..]).ok();
                        }
                    }
                }
            });
        }
    });
    let over_tcp = DnsLoad { over: DnsTransport::Tcp, timeout: Span::secs(10), concurrency: 4, ..load() };
    let (result, facts) = carry_out(over_tcp, target);
    // Pending questions on the closed connection have failed, and no others.
    let closed: u64 =
        [ErrorKind::Truncated, ErrorKind::Reset].iter().filter_map(|kind| result.errors.get(kind)).sum();
    assert!((1..=4).contains(&closed), "{:?}", result.errors);
    assert_eq!((result.requests, result.failed()), (200 - closed, closed));
    assert_eq!((facts.replies(), connections.load(Ordering::Relaxed)), (200 - closed, 2));
}

#[test]
fn an_open_loop_asks_at_its_rate_and_latency_counts_from_when_a_question_was_due() {
    let target = serve(|nth, message| {
        if nth == 100 {
            thread::sleep(Duration::from_millis(200));
        }
        vec![reply(message, 0)]
    });
    let open = Some(OpenLoop { rate: 1000.0, ..OpenLoop::default() });
    let load =
        DnsLoad { open, questions: None, duration: Some(Span::millis(500)), concurrency: 500, ..load() };
    let (result, _) = carry_out(load, target);
    let offer = result.offer.as_ref().unwrap();
    assert_eq!((offer.due, result.requests + result.failed()), (500, 500));
    // The server stood still for 200 ms, and some 200 questions were due meanwhile: they waited for it.
    assert!(result.latency.percentiles.p90 >= 100_000, "{:?}", result.latency.percentiles);
    assert_eq!(offer.queued, 0, "none waited for a place");
}

#[test]
fn a_server_that_is_not_there_refuses() {
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (result, _) = carry_out(DnsLoad { questions: Some(20), ..load() }, gone);
    assert_eq!((result.requests, result.failed()), (0, 20));
    assert!(result.errors.contains_key(&ErrorKind::Refused), "{:?}", result.errors);
}
