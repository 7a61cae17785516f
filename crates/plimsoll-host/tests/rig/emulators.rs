//! Stories of shaped links, by an emulator and, if the kernel has it, by netem.

use plimsoll_host::{EmulatorCounts, HostError, LinkShape, LinkSpec, Rig, RigSpec, netem_missing};
use plimsoll_model::experiment::LinkShaper;
use plimsoll_model::units::QueueLength;

use crate::agent::Agent;
use crate::guest;
use crate::scenarios::{Scenario, build, row};

pub(crate) const ALL: &[Scenario] = &[
    ("a_delayed_link_takes_as_long_as_it_says", a_delayed_link_takes_as_long_as_it_says),
    ("a_stream_is_as_fast_as_the_link", a_stream_is_as_fast_as_the_link),
    ("a_link_loses_the_share_that_was_asked_for", a_link_loses_the_share_that_was_asked_for),
    ("a_full_queue_drops_and_counts", a_full_queue_drops_and_counts),
    ("an_emulator_is_restarted_with_its_host", an_emulator_is_restarted_with_its_host),
    ("the_kernel_or_an_emulator_shapes_as_was_asked_for", the_kernel_or_an_emulator_shapes_as_was_asked_for),
];

pub(crate) const MS: u64 = 1_000_000;

/// Shapers to test here. In a guest it is netem alone: the machine itself tests emulators.
fn shapers() -> impl Iterator<Item = LinkShaper> {
    let netem = netem_missing().is_none().then_some(LinkShaper::Netem);
    let emulator = (!guest::init::is_here()).then_some(LinkShaper::Emulator);
    netem.into_iter().chain(emulator)
}

/// client - firewall - server, with this between the client and the firewall: there, and back.
pub(crate) fn shaped(shaper: LinkShaper, there: &LinkShape, back: &LinkShape) -> RigSpec {
    let mut spec = row();
    let shape = [there.clone(), back.clone()];
    spec.links[0] = LinkSpec { shape, seed: 1, shaper: Some(shaper), ..spec.links[0].clone() };
    spec
}

fn both(shaper: LinkShaper, shape: &LinkShape) -> RigSpec {
    shaped(shaper, shape, shape)
}

/// Counts of the emulator; `None` if the kernel shaped the link.
fn counts(rig: &mut Rig) -> Option<EmulatorCounts> {
    rig.emulators().expect("they answer").first().map(|(_, counts)| *counts)
}

/// The rig with the agents of client and server, and the server's address.
pub(crate) fn with_ends(spec: &RigSpec) -> (Rig, [Agent; 2], String) {
    let mut rig = build(spec);
    let agents = ["client", "server"].map(|h| Agent::of(&mut rig, h));
    let to = rig.address_towards("client", "server").expect("a way leads there").to_string();
    (rig, agents, to)
}

pub(crate) fn numbers(reply: &str) -> Vec<u64> {
    reply.split(' ').map(|word| word.parse().unwrap_or_else(|_| panic!("{reply}"))).collect()
}

fn a_delayed_link_takes_as_long_as_it_says() {
    let there = LinkShape { delay_ns: 3 * MS, ..LinkShape::default() };
    let back = LinkShape { delay_ns: 2 * MS, ..LinkShape::default() };
    for shaper in shapers() {
        let (_rig, [mut client, mut server], to) = with_ends(&shaped(shaper, &there, &back));
        assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
        let reply = client.ask(&format!("ping {to}:7 60 2000"));
        let [came, time] = numbers(&reply)[..] else { panic!("{reply}") };
        assert_eq!(came, 60);
        assert!((5_000..6_500).contains(&time), "{shaper:?}: 3 ms there and 2 ms back took {time} µs");
    }
}

fn a_stream_is_as_fast_as_the_link() {
    for (megabits, shaper) in [20, 60].into_iter().flat_map(|rate| shapers().map(move |by| (rate, by))) {
        // The queue has room for all data that TCP has in flight within a second. On a full queue the last frame would be lost, and sent again only
        // after a quarter of a second.
        let queue = QueueLength::Packets(1000);
        let rate_bits = Some(megabits * 1_000_000);
        let shape = LinkShape { rate_bits, delay_ns: MS, queue, ..LinkShape::default() };
        let (mut rig, [mut client, mut server], to) = with_ends(&both(shaper, &shape));
        assert_eq!(server.ask("sink 0.0.0.0:9"), "ok");
        let bytes = megabits * 1_000_000 / 8;
        let reply = client.ask(&format!("pour {to}:9 {bytes}"));
        let seconds = numbers(&reply)[0] as f64 / 1e6;
        // 1448 bytes of each frame of 1514 are the stream's.
        let share = bytes as f64 * 8.0 / seconds / (megabits as f64 * 1e6) * 1514.0 / 1448.0;
        let counts = counts(&mut rig);
        assert!((0.85..1.05).contains(&share), "{share:.3} of {megabits} Mbit/s; {shaper:?}, {counts:?}");
        let most = counts.map(|counts| counts.frames_per_second_at_most());
        assert!(most.is_none_or(|most| most.is_some_and(|most| most > 5_000)), "{counts:?}");
    }
}

fn a_link_loses_the_share_that_was_asked_for() {
    // Tests of the emulator check its bursts.
    let bursts =
        |by: LinkShaper| if by == LinkShaper::Netem { vec![(by, 0.0), (by, 4.0)] } else { vec![(by, 0.0)] };
    for (shaper, burst) in shapers().flat_map(bursts) {
        let there = LinkShape { loss: 0.2, loss_burst: burst, ..LinkShape::default() };
        let (mut rig, [mut client, mut server], to) =
            with_ends(&shaped(shaper, &there, &LinkShape::default()));
        assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
        let reply = client.ask(&format!("ping {to}:7 400 50"));
        let came = numbers(&reply)[0];
        // In bursts of four they vary as those of a quarter as many packets do.
        let expected = if burst > 1.0 { 240..390 } else { 270..370 };
        assert!(
            expected.contains(&came),
            "{came} of 400 came through a link that loses a fifth; {shaper:?}, {burst}"
        );
        if let Some(counts) = counts(&mut rig) {
            assert_eq!(counts.queue_drops, 0);
            assert!((10..=160).contains(&counts.lost), "{counts:?}");
        }
    }
}

fn a_full_queue_drops_and_counts() {
    // 1000 bytes and 42 of headers at 1 Mbit/s take 8.3 ms each: none leaves the queue while all arrive.
    let queue =
        LinkShape { rate_bits: Some(1_000_000), queue: QueueLength::Packets(10), ..LinkShape::default() };
    let delayed = LinkShape { delay_ns: 20 * MS, ..queue.clone() };
    for (shaper, there) in shapers().flat_map(|by| [(by, &queue), (by, &delayed)]) {
        let (mut rig, [mut client, mut server], to) =
            with_ends(&shaped(shaper, there, &LinkShape::default()));
        assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
        assert!(
            client.ask(&format!("ping {to}:7 1 2000")).starts_with("1 "),
            "the neighbours know each other now"
        );
        let reply = client.ask(&format!("volley {to}:7 100 1000"));
        let came = numbers(&reply)[0];
        assert!((11..=14).contains(&came), "{came} came through a queue of ten; {shaper:?}, {there:?}");
        if let Some(counts) = counts(&mut rig) {
            assert_eq!(counts.queue_drops, 100 - came, "{counts:?}");
            assert_eq!(counts.overruns, 0);
        }
    }
}

fn an_emulator_is_restarted_with_its_host() {
    let shape = LinkShape { delay_ns: 4 * MS, ..LinkShape::default() };
    for shaper in shapers() {
        let (mut rig, [mut client, mut server], to) = with_ends(&both(shaper, &shape));
        assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
        for _ in 0..2 {
            rig.rebuild("firewall").unwrap_or_else(|e| panic!("{e}"));
            let reply = client.ask(&format!("ping {to}:7 20 100"));
            let [came, time] = numbers(&reply)[..] else { panic!("{reply}") };
            assert!(came > 15 && time >= 8_000, "{shaper:?}: {reply}");
        }
    }
}

/// With netem, the kernel shapes, and delays as long as an emulator. Without it, an emulator shapes, and a request for netem is refused.
fn the_kernel_or_an_emulator_shapes_as_was_asked_for() {
    let shape = LinkShape { delay_ns: 3 * MS, ..LinkShape::default() };
    let mut spec = both(LinkShaper::Emulator, &shape);
    for shaper in [None, Some(LinkShaper::Netem), Some(LinkShaper::Emulator)] {
        spec.links[0].shaper = shaper;
        let expected = match (shaper, netem_missing()) {
            (Some(LinkShaper::Netem), Some(missing)) => {
                let refused = Rig::build(&spec).map(drop);
                assert!(
                    matches!(&refused, Err(HostError::NoNetem { why, .. }) if why == missing),
                    "{refused:?}"
                );
                continue;
            }
            (Some(LinkShaper::Emulator), _) | (None, Some(_)) => LinkShaper::Emulator,
            (_, None) => LinkShaper::Netem,
        };
        let (mut rig, [mut client, mut server], to) = with_ends(&spec);
        let shaping: Vec<_> =
            rig.shaping().map(|(link, shaping)| (link.to_string(), shaping.clone())).collect();
        let [(link, shaping)] = &shaping[..] else { panic!("{shaping:?}") };
        assert_eq!((link.as_str(), shaping.by), ("client - firewall", expected));
        let fell_back = shaper.is_none() && expected == LinkShaper::Emulator;
        assert_eq!(shaping.why.as_deref(), netem_missing().filter(|_| fell_back));
        assert_eq!(
            rig.emulators().expect("they answer").len(),
            usize::from(expected == LinkShaper::Emulator)
        );
        assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
        let reply = client.ask(&format!("ping {to}:7 60 2000"));
        let [came, time] = numbers(&reply)[..] else { panic!("{reply}") };
        assert_eq!(came, 60);
        assert!((6_000..8_000).contains(&time), "3 ms each way took {time} µs by {expected:?}");
    }
}
