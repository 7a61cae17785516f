//! Stories of links that do something to packets.

use plimsoll_host::{LinkShape, LinkSpec, Queue, Rig, RigSpec};

use crate::agent::Agent;
use crate::scenarios::{Scenario, build, row};

pub(crate) const ALL: &[Scenario] = &[
    ("a_delayed_link_takes_as_long_as_it_says", a_delayed_link_takes_as_long_as_it_says),
    ("a_stream_is_as_fast_as_the_link", a_stream_is_as_fast_as_the_link),
    ("a_link_loses_the_share_that_was_asked_for", a_link_loses_the_share_that_was_asked_for),
    ("a_full_queue_drops_and_counts", a_full_queue_drops_and_counts),
    ("a_wire_is_made_anew_with_its_host", a_wire_is_made_anew_with_its_host),
];

const MS: u64 = 1_000_000;

/// client - firewall - server, with this between the client and the firewall: there, and back.
fn shaped(there: LinkShape, back: LinkShape) -> RigSpec {
    let mut spec = row();
    spec.links[0] = LinkSpec { shape: [there, back], seed: 1, ..spec.links[0].clone() };
    spec
}

fn both(shape: LinkShape) -> RigSpec {
    shaped(shape.clone(), shape)
}

/// The rig with the agents of client and server, and where the client reaches the server.
fn with_ends(spec: &RigSpec) -> (Rig, [Agent; 2], String) {
    let mut rig = build(spec);
    let agents = ["client", "server"].map(|h| Agent::of(&mut rig, h));
    let to = rig.address_towards("client", "server").expect("a way leads there").to_string();
    (rig, agents, to)
}

fn numbers(told: &str) -> Vec<u64> {
    told.split(' ').map(|word| word.parse().unwrap_or_else(|_| panic!("{told}"))).collect()
}

fn a_delayed_link_takes_as_long_as_it_says() {
    let there = LinkShape { delay_ns: 3 * MS, ..LinkShape::default() };
    let back = LinkShape { delay_ns: 2 * MS, ..LinkShape::default() };
    let (_rig, [mut client, mut server], to) = with_ends(&shaped(there, back));
    assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
    let told = client.ask(&format!("ping {to}:7 60 2000"));
    let [came, time] = numbers(&told)[..] else { panic!("{told}") };
    assert_eq!(came, 60);
    assert!((5_000..6_500).contains(&time), "3 ms there and 2 ms back took {time} µs");
}

fn a_stream_is_as_fast_as_the_link() {
    for megabits in [20, 60] {
        let shape = LinkShape {
            rate_bits: Some(megabits * 1_000_000),
            delay_ns: MS,
            queue: Queue::Packets(100),
            ..LinkShape::default()
        };
        let (mut rig, [mut client, mut server], to) = with_ends(&both(shape));
        assert_eq!(server.ask("sink 0.0.0.0:9"), "ok");
        let bytes = megabits * 1_000_000 / 8;
        let told = client.ask(&format!("pour {to}:9 {bytes}"));
        let seconds = numbers(&told)[0] as f64 / 1e6;
        // 1448 bytes of each frame of 1514 are the stream's.
        let share = bytes as f64 * 8.0 / seconds / (megabits as f64 * 1e6) * 1514.0 / 1448.0;
        let (_, counts) = rig.wires().expect("they answer")[0].clone();
        assert!((0.85..1.05).contains(&share), "{share:.3} of {megabits} Mbit/s; {counts:?}");
        assert!(counts.frames_per_second_at_most().is_some_and(|most| most > 5_000.0), "{counts:?}");
    }
}

fn a_link_loses_the_share_that_was_asked_for() {
    let there = LinkShape { loss: 0.2, ..LinkShape::default() };
    let (mut rig, [mut client, mut server], to) = with_ends(&shaped(there, LinkShape::default()));
    assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
    let told = client.ask(&format!("ping {to}:7 400 50"));
    let came = numbers(&told)[0];
    assert!((270..370).contains(&came), "{came} of 400 came through a link that loses a fifth");
    let (link, counts) = rig.wires().expect("they answer")[0].clone();
    assert_eq!((link.a.as_str(), counts.queue_drops), ("client", 0));
    assert!((30..=130).contains(&counts.lost), "{counts:?}");
}

fn a_full_queue_drops_and_counts() {
    // 1000 bytes and 42 of headers at 1 Mbit/s take 8.3 ms each: none leaves the queue while all arrive.
    let there = LinkShape { rate_bits: Some(1_000_000), queue: Queue::Packets(10), ..LinkShape::default() };
    let (mut rig, [mut client, mut server], to) = with_ends(&shaped(there, LinkShape::default()));
    assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
    assert!(
        client.ask(&format!("ping {to}:7 1 2000")).starts_with("1 "),
        "the neighbours know each other now"
    );
    let told = client.ask(&format!("volley {to}:7 100 1000"));
    let came = numbers(&told)[0];
    assert!((11..=14).contains(&came), "{came} came through a queue of ten");
    let (_, counts) = rig.wires().expect("they answer")[0].clone();
    assert_eq!(counts.queue_drops, 100 - came, "{counts:?}");
    assert_eq!(counts.overruns, 0);
}

fn a_wire_is_made_anew_with_its_host() {
    let shape = LinkShape { delay_ns: 4 * MS, ..LinkShape::default() };
    let (mut rig, [mut client, mut server], to) = with_ends(&both(shape));
    assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
    for _ in 0..2 {
        rig.rebuild("firewall").unwrap_or_else(|e| panic!("{e}"));
        let told = client.ask(&format!("ping {to}:7 20 100"));
        let [came, time] = numbers(&told)[..] else { panic!("{told}") };
        assert!(came > 15 && time >= 8_000, "{told}");
    }
}
