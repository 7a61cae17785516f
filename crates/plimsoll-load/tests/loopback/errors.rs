//! Each kind of failure is provoked, and gets its name.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, getsockname, listen, setsockopt, socket,
    sockopt,
};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::observation::ErrorKind::{
    self, ConnectTimeout, Garbage, Refused, Reset, Status, Timeout, Truncated, Unreachable,
};
use plimsoll_model::units::Span;

use crate::fake;
use crate::load::{connections, result};
use crate::service::Service;

/// An address without a listener.
pub(crate) fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Four connections to `target` must all fail in the same way.
fn assert_all_fail(target: SocketAddr, kind: ErrorKind) {
    let load = HttpLoad { timeout: Span::millis(300), ..connections(4, 2) };
    let found = result(&[target], load);
    assert_eq!(found.errors, [(kind, 4)].into());
    assert_eq!((found.connections, found.requests), (0, 0));
    assert_eq!(found.intervals.iter().map(|interval| interval.errors).sum::<u64>(), 4);
}

fn says(answer: &'static [u8]) -> SocketAddr {
    fake::server(move |mut stream| stream.write_all(answer).unwrap())
}

#[test]
fn nobody_listens() {
    assert_all_fail(closed_port(), Refused);
}

#[test]
fn the_target_cannot_be_reached() {
    // The broadcast address of the loopback network: TCP has no route to it, and nothing is sent.
    assert_all_fail(SocketAddr::from(([127, 255, 255, 255], 80)), Unreachable);
}

#[test]
fn no_answer_comes() {
    assert_all_fail(
        fake::server(|stream| {
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(60));
                drop(stream);
            });
        }),
        Timeout,
    );
}

#[test]
fn the_listen_queue_is_full() {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(fd.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    listen(&fd, Backlog::new(0).unwrap()).unwrap();
    let port = getsockname::<SockaddrIn>(fd.as_raw_fd()).unwrap().port();
    let target = SocketAddr::from(([127, 0, 0, 1], port));
    let found = result(&[target], HttpLoad { timeout: Span::millis(300), ..connections(6, 6) });
    assert_eq!(found.failed(), 6);
    assert!(found.errors.get(&ConnectTimeout).is_some_and(|&count| count >= 3), "{:?}", found.errors);
}

#[test]
fn the_connection_is_reset() {
    let reset = |stream: TcpStream| {
        setsockopt(&stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
    };
    assert_all_fail(fake::server(reset), Reset);
}

#[test]
fn the_answer_breaks_off() {
    assert_all_fail(says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), Truncated);
    assert_all_fail(says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), Truncated);
    assert_all_fail(says(b"HTTP/1.1 20"), Truncated);
    assert_all_fail(says(b""), Truncated);
}

#[test]
fn the_answer_is_not_http() {
    assert_all_fail(says(b"220 mail.example ESMTP\r\n"), Garbage);
    assert_all_fail(says(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ntoo much"), Garbage);
}

#[test]
fn the_status_is_not_2xx() {
    let web = Service::small_web();
    let found = result(&web.addresses, HttpLoad { path: "/nothing".into(), ..connections(4, 2) });
    assert_eq!((found.connections, found.errors), (0, [(Status, 4)].into()));
}

#[test]
fn a_server_that_said_it_would_close_and_does_not_is_a_timeout() {
    let held = fake::server(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").unwrap();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(60));
            drop(stream);
        });
    });
    let found = result(&[held], HttpLoad { timeout: Span::millis(300), ..connections(1, 1) });
    assert_eq!((found.requests, found.connections, found.errors), (1, 0, [(Timeout, 1)].into()));
}

#[test]
fn of_requests_that_are_sent_at_a_time_each_has_its_own_fate() {
    const KEPT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const BUSY: &str = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    const LAST: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    // What a server says to five requests, whether it closes then; answers, connections and errors that must be counted.
    let cases = [
        (KEPT.repeat(5), true, 5, 1, vec![]),
        ([KEPT, BUSY, KEPT, BUSY, KEPT].concat(), true, 3, 0, vec![(Status, 2)]),
        (KEPT.repeat(2), false, 2, 0, vec![(Timeout, 3)]),
        (KEPT.repeat(2), true, 2, 0, vec![(Truncated, 3)]),
        // It answers no more than it says, which is its right (RFC 9112, section 9.6).
        ([KEPT, LAST].concat(), true, 2, 1, vec![]),
        (KEPT.repeat(6), true, 4, 0, vec![(Garbage, 1)]),
    ];
    for (answers, closes, requests, connections_made, errors) in cases {
        let text = answers.clone();
        let target = fake::server(move |mut stream| {
            stream.write_all(text.as_bytes()).unwrap();
            if !closes {
                thread::sleep(Duration::from_secs(1));
            }
        });
        let load = HttpLoad {
            pipeline: 5,
            requests_per_connection: 5,
            timeout: Span::millis(300),
            ..connections(1, 1)
        };
        let found = result(&[target], load);
        let counts = (found.requests, found.connections, found.errors);
        assert_eq!(counts, (requests, connections_made, errors.into_iter().collect()), "{answers}");
    }
}

#[test]
fn answers_of_every_form_are_understood() {
    for answer in [
        b"HTTP/1.0 200 OK\r\n\r\nuntil the end".as_slice(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    ] {
        let target = fake::server(move |mut stream| {
            stream.set_nodelay(true).unwrap();
            for piece in answer.chunks(7) {
                stream.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(2));
            }
        });
        let found = result(&[target], connections(2, 1));
        assert_eq!((found.connections, found.requests, found.failed()), (2, 2, 0), "{answer:?}");
        assert_eq!(found.bytes, 2 * answer.len() as u64);
    }
}
