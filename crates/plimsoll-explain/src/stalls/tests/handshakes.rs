//! What the packets of a handshake tell of the round trip, and what made one slow.

use super::{Actor, Class, DATA, PUSH, Talk};

#[test]
fn a_synack_that_comes_later_than_any_answer_is_the_servers() {
    let of_handshake = |ms| {
        let mut talk = Talk::silent();
        talk.syn();
        talk.after_ms(ms).synack();
        talk.after_us(10).client(DATA, 0);
        talk.exchange().exchange();
        talk
    };
    assert_eq!(of_handshake(156).only_stall(), (Class::ServerThink, Actor::Server, 156));
    assert_eq!(of_handshake(90).report().connections[0].stall_count, 0);
}

#[test]
fn the_first_answer_to_a_synack_bounds_the_round_trip_of_a_server_seen_alone() {
    let of_pause = |first_ms, pause_ms| {
        let mut talk = Talk::silent();
        talk.synack();
        talk.client_seq = talk.client_seq.wrapping_add(100);
        talk.after_ms(first_ms).server(PUSH, 500);
        talk.client_seq = talk.client_seq.wrapping_add(100);
        talk.after_ms(pause_ms).server(PUSH, 500);
        talk.report().connections[0].stall_count
    };
    assert_eq!(of_pause(1, 40), 1);
    // The answer itself may have taken that long.
    assert_eq!((of_pause(40, 45), of_pause(90, 95)), (0, 0));
}
