//! Stories of netem that need a machine on which nothing else delays packets.

use plimsoll_host::LinkShape;
use plimsoll_model::experiment::LinkShaper;

use crate::emulators::{MS, numbers, shaped, with_ends};
use crate::scenarios::{Scenario, row};

pub(super) const ALL: &[Scenario] = &[
    ("a_delay_is_exact", a_delay_is_exact),
    ("jitter_makes_every_delay_as_likely", jitter_makes_every_delay_as_likely),
    ("what_is_reordered_does_not_travel", what_is_reordered_does_not_travel),
];

/// Microseconds. Some thousand instructions go one way where there is a delay and another where there is none.
const NEAR: u64 = 10;

/// The quartile of the time that a link with this shape in the direction out adds to a round trip, in microseconds.
fn added(there: &LinkShape) -> u64 {
    let shaped = shaped(LinkShaper::Netem, there, &LinkShape::default());
    let [took, anyway] = [shaped, row()].map(|spec| {
        let (_rig, [mut client, mut server], to) = with_ends(&spec);
        assert_eq!(server.ask("echo 0.0.0.0:7"), "ok");
        let reply = client.ask(&format!("ping {to}:7 200 2000"));
        let [came, time] = numbers(&reply)[..] else { panic!("{reply}") };
        assert_eq!(came, 200);
        time
    });
    took.saturating_sub(anyway)
}

fn a_delay_is_exact() {
    for microseconds in [200, 3_000, 50_000] {
        let added = added(&LinkShape { delay_ns: microseconds * 1_000, ..LinkShape::default() });
        assert!(added.abs_diff(microseconds) < NEAR, "{microseconds} µs took {added} µs");
    }
}

fn jitter_makes_every_delay_as_likely() {
    let added = added(&LinkShape { delay_ns: 10 * MS, jitter_ns: 4 * MS, ..LinkShape::default() });
    // From 6 to 14 ms; the quartile of 200 scatters by 0.25 ms.
    assert!((6_800..9_200).contains(&added), "a quarter of 10 ms ± 4 ms took at most {added} µs");
}

fn what_is_reordered_does_not_travel() {
    for (reorder, expected) in [(0.1, 10_000), (0.5, 0)] {
        let added = added(&LinkShape { delay_ns: 10 * MS, reorder, ..LinkShape::default() });
        // At 10 % fewer than a quarter do not travel, at 50 % more.
        assert!(added.abs_diff(expected) < NEAR, "{reorder}: a quarter took at most {added} µs");
    }
}
