//! The forking relay, end to end.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use plimsoll_model::experiment::{HttpLoad, Leak, WebService};
use plimsoll_model::units::Span;

use crate::errors::closed_port;
use crate::load::{connections, result, sequential_rate};
use crate::service::Service;

#[test]
fn five_thousand_connections_at_200_at_a_time_pass_without_an_error() {
    let web = Service::web(WebService::default());
    let relay = Service::relay(4, &web.addresses, None);
    let found = result(&relay.addresses, HttpLoad { timeout: Span::secs(60), ..connections(5000, 200) });
    assert_eq!((found.connections, found.requests, found.failed()), (5000, 5000, 0), "{:?}", found.errors);
}

#[test]
fn large_answers_and_kept_connections_pass_whole() {
    let web = Service::small_web();
    let relay = Service::relay(1, &web.addresses, None);
    let load = HttpLoad { path: "/?s=5M".into(), requests_per_connection: 3, ..connections(4, 2) };
    let found = result(&relay.addresses, load);
    assert_eq!((found.connections, found.requests, found.failed()), (4, 12, 0));
    assert!(found.bytes > 12 * (5 << 20));
}

#[test]
fn either_side_may_end_its_direction_first() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = Service::relay(1, &[server.local_addr().unwrap()], None);
    let answering = thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
    });
    let mut client = TcpStream::connect(relay.address()).unwrap();
    let sent: Vec<u8> = (0..1_000_000u32).map(|n| n as u8).collect();
    client.write_all(&sent).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert!(received == sent);
    answering.join().unwrap();
}

#[test]
fn a_reset_is_passed_on() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = Service::relay(1, &[server.local_addr().unwrap()], None);
    let client = TcpStream::connect(relay.address()).unwrap();
    let (mut accepted, _) = server.accept().unwrap();
    setsockopt(&client, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
    drop(client);
    accepted.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let error = accepted.read(&mut [0; 16]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_client_is_not_left_waiting_when_the_server_refuses() {
    let relay = Service::relay(1, &[closed_port()], None);
    let found = result(&relay.addresses, connections(20, 4));
    assert_eq!((found.connections, found.failed()), (0, 20));
    assert!(found.elapsed_ns < 10_000_000_000, "no timeout was waited for");
}

#[test]
fn records_that_are_kept_make_the_relay_slow() {
    let web = Service::small_web();
    let relay = Service::relay(1, &web.addresses, Some(Leak::Record { forget_after: None }));
    let before = sequential_rate(&relay.addresses, 200);
    assert_eq!(result(&relay.addresses, connections(5000, 8)).failed(), 0);
    let after = sequential_rate(&relay.addresses, 200);
    assert!(after < before * 0.6, "{before} connections/s before, {after} after");
}

#[test]
fn records_that_are_forgotten_let_it_recover() {
    let web = Service::small_web();
    let leak = Leak::Record { forget_after: Some(Span::millis(1000)) };
    let relay = Service::relay(1, &web.addresses, Some(leak));
    let before = sequential_rate(&relay.addresses, 200);
    assert_eq!(result(&relay.addresses, connections(5000, 8)).failed(), 0);
    thread::sleep(Duration::from_millis(1100));
    let after = sequential_rate(&relay.addresses, 200);
    assert!(after > before * 0.5, "{before} connections/s before, {after} after");
}
