//! Datagrams at a rate, end to end.

use std::net::UdpSocket;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::{Metric, UdpLoad};
use plimsoll_model::frame::{LoadKind, LoadSpec};
use plimsoll_model::observation::Datagrams;
use plimsoll_model::units::Span;

use crate::load::run_kind;
use crate::service::Service;

fn rated(packets_per_second: u64) -> UdpLoad {
    let rate = Some(packets_per_second);
    UdpLoad { packets_per_second: rate, duration: Span::millis(500), size: 200, ..UdpLoad::default() }
}

#[test]
fn a_modest_rate_arrives_whole_and_in_order_cut_by_the_kernel_or_not() {
    let bulk = Service::bulk();
    for gso in [true, false] {
        for batch in [1, 16] {
            let load = UdpLoad { gso, batch, flows: 2, ..rated(4000) };
            let found = run_kind(&bulk.addresses, LoadKind::Udp(load));
            assert_eq!((found.connections, found.failed()), (2, 0), "{:?}", found.errors);
            let datagrams = *found.found::<Datagrams>().unwrap();
            assert_eq!((datagrams.intended, datagrams.duplicates, datagrams.reordered), (4000, 0, 0));
            assert!(datagrams.sent > 3900 && datagrams.sent <= 4000, "{datagrams:?}");
            assert!(datagrams.lost() <= datagrams.sent / 100, "{datagrams:?}");
            assert!(datagrams.jitter_us > 0.0 && datagrams.jitter_us < 50_000.0, "{datagrams:?}");
            assert_eq!(found.bytes, datagrams.received * 200);
            assert!(found.figure(Metric::PacketsPerSecond).unwrap() > 4000.0);
            assert!(found.figure(Metric::LossShare).unwrap() <= 0.01);
        }
    }
}

#[test]
fn without_a_rate_as_many_are_sent_as_the_system_takes() {
    let bulk = Service::bulk();
    let load = UdpLoad { packets_per_second: None, ..rated(1) };
    let datagrams = run_kind(&bulk.addresses, LoadKind::Udp(load)).found::<Datagrams>().copied().unwrap();
    assert!(datagrams.sent > 10_000 && datagrams.intended == datagrams.sent, "{datagrams:?}");
    assert!(datagrams.received > 0 && datagrams.received <= datagrams.sent);
}

#[test]
fn datagrams_longer_than_half_of_the_longest_are_sent_one_by_one() {
    let bulk = Service::bulk();
    let load = UdpLoad { size: 40_000, ..rated(200) };
    let datagrams = run_kind(&bulk.addresses, LoadKind::Udp(load)).found::<Datagrams>().copied().unwrap();
    assert!(datagrams.sent >= 95 && datagrams.received >= 90, "{datagrams:?}");
}

#[test]
fn what_is_no_datagram_of_a_load_disturbs_nothing() {
    let bulk = Service::bulk();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.send_to(b"who is there?", bulk.address()).unwrap();
    stranger.send_to(&[], bulk.address()).unwrap();
    let datagrams =
        run_kind(&bulk.addresses, LoadKind::Udp(rated(1000))).found::<Datagrams>().copied().unwrap();
    assert!(datagrams.received > 450 && datagrams.duplicates == 0, "{datagrams:?}");
}

#[test]
fn a_load_whose_service_is_not_there_does_not_start() {
    let abort = std::sync::atomic::AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    let targets = vec![crate::errors::closed_port()];
    let spec = LoadSpec {
        name: "load".into(),
        targets,
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind: LoadKind::Udp(rated(1)),
    };
    assert!(run(&spec, &control).is_err());
}
