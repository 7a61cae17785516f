//! The proxy for TCP, end to end.

use std::io::ErrorKind;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use plimsoll_model::experiment::{BulkLoad, Direction, HttpLoad, PassBy};
use plimsoll_model::frame::LoadKind;
use plimsoll_model::units::ByteSize;

use crate::errors::closed_port;
use crate::load::{connections, result, run_kind};
use crate::service::Service;

#[test]
fn requests_and_large_answers_pass_whole_whichever_way_they_are_passed_on() {
    let web = Service::small_web();
    for by in [PassBy::Copy, PassBy::Splice, PassBy::SpliceMore] {
        let proxy = Service::tcp_proxy(&web.addresses, by);
        let load = HttpLoad { path: "/?s=2M".into(), requests_per_connection: 2, ..connections(6, 3) };
        let found = result(&proxy.addresses, load);
        assert_eq!((found.connections, found.requests, found.failed()), (6, 12, 0), "{by:?}");
        assert!(found.bytes > 12 * (2 << 20), "{by:?}");
    }
}

#[test]
fn bulk_loads_pass_in_both_directions_at_a_time() {
    let bulk = Service::bulk();
    for by in [PassBy::Copy, PassBy::Splice] {
        let proxy = Service::tcp_proxy(&bulk.addresses, by);
        let load = BulkLoad {
            direction: Direction::Both,
            streams: 3,
            total: Some(ByteSize(4 << 20)),
            ..BulkLoad::default()
        };
        let found = run_kind(&proxy.addresses, LoadKind::Bulk(load));
        assert_eq!((found.connections, found.failed(), found.bytes), (3, 0, 6 * (4 << 20)), "{by:?}");
    }
}

#[test]
fn a_client_is_not_left_waiting_when_the_server_refuses() {
    let proxy = Service::tcp_proxy(&[closed_port()], PassBy::Splice);
    let found = result(&proxy.addresses, connections(10, 4));
    assert_eq!((found.connections, found.failed()), (0, 10));
}

#[test]
fn a_reset_is_passed_on() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Service::tcp_proxy(&[server.local_addr().unwrap()], PassBy::Splice);
    let client = TcpStream::connect(proxy.address()).unwrap();
    let (mut accepted, _) = server.accept().unwrap();
    setsockopt(&client, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
    drop(client);
    accepted.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(accepted.read(&mut [0; 16]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}
