//! Delays of 40 ms beside round trips that are longer.

use super::*;

/// A conversation over a round trip of 100 ms, captured at the client.
fn far() -> Talk {
    let mut talk = Talk::silent();
    talk.syn();
    talk.after_ms(100).synack();
    talk.after_us(10).client(DATA, 0);
    talk
}

#[test]
fn a_delayed_acknowledgement_shows_beside_a_round_trip_that_is_longer() {
    let mut talk = far();
    for _ in 0..6 {
        talk.after_us(20).client(PUSH, 100);
        talk.after_ms(142).server(DATA, 0);
        talk.after_us(50).client(PUSH, 100);
        talk.after_ms(100).server(PUSH, 20);
    }
    let report = talk.report();
    let stalls = &report.connections[0].stalls;
    let found: Vec<_> = stalls.iter().map(|stall| (stall.class, stall.length_ms.round() as u64)).collect();
    assert_eq!(found, [(Class::DelayedAck, 142); 6]);
    assert!(stalls[0].evidence.contains("(the round trip takes 100.0 ms)"), "{}", stalls[0].evidence);
}

#[test]
fn a_write_that_follows_a_late_acknowledgement_by_chance_did_not_wait_for_it() {
    let mut talk = far();
    for _ in 0..6 {
        talk.after_ms(75).client(PUSH, 100);
        talk.after_ms(142).server(DATA, 0);
    }
    let report = talk.report();
    let stalls = &report.connections[0].stalls;
    let found: Vec<_> = stalls.iter().map(|stall| (stall.class, stall.length_ms.round() as u64)).collect();
    assert_eq!(found, [(Class::SenderWaited, 75); 5]);
}

#[test]
fn a_full_flight_that_is_acknowledged_late_waited_for_the_way() {
    let mut talk = far();
    for _ in 0..6 {
        for _ in 0..4 {
            talk.after_us(20).client(DATA, MSS);
        }
        talk.after_ms(142).server(DATA, 0);
    }
    assert_eq!(talk.report().connections[0].stall_count, 0);
}
