//! How connections end, and what the last silences are.

use plimsoll_model::packet::{Flags, Segment};

use super::{Actor, Class, DATA, MSS, PUSH, Talk};

const FIN: Flags = Flags(0x11);
const RESET: Flags = Flags(0x14);

/// A server that closes `ms` milliseconds after the last of its answers.
fn closed_after(answers: u32, ms: u64) -> Talk {
    let mut talk = Talk::open();
    for _ in 0..answers {
        talk.exchange();
    }
    talk.after_ms(ms).server(FIN, 0);
    talk.after_us(20).client(FIN, 0);
    talk
}

#[test]
fn a_server_that_closes_a_connection_with_several_answers_ends_the_clients_idle_time() {
    assert_eq!(closed_after(3, 700).only_stall(), (Class::ClientIdle, Actor::Client, 700));
    assert_eq!(closed_after(1, 5004).only_stall(), (Class::ClientIdle, Actor::Client, 5004));
}

#[test]
fn a_server_that_closes_some_time_after_its_only_answer_may_have_ended_it_so() {
    let report = closed_after(1, 350).report();
    let stall = &report.connections[0].stalls[0];
    assert_eq!((stall.class, stall.may_be), (Class::ServerThink, Some(Class::ClientIdle)));
    assert_eq!(stall.waiting_for, Actor::Server);
}

#[test]
fn nobody_waits_for_the_acknowledgement_of_the_last_fin() {
    let mut talk = Talk::open();
    talk.exchange().after_ms(1).client(FIN, 0);
    talk.after_ms(42).server(DATA, 0);
    assert_eq!(talk.only_stall(), (Class::DelayedAck, Actor::Server, 42));
}

#[test]
fn an_answer_to_a_client_that_has_closed_its_side_is_waited_for_from_the_request_on() {
    let mut talk = Talk::open();
    talk.after_us(20).client(PUSH, 100);
    talk.after_us(20).client(FIN, 0);
    talk.after_ms(41).server(DATA, 0);
    talk.after_ms(500).server(PUSH, 700);
    assert_eq!(talk.only_stall(), (Class::ServerThink, Actor::Server, 541));
}

#[test]
fn the_end_of_a_queue_that_drains_is_no_pause_of_either_side() {
    let mut talk = Talk::open();
    talk.after_us(20).client(PUSH, 100);
    talk.after_us(200);
    (0..12).for_each(|_| talk.server(DATA, MSS));
    for missing in (2..12).rev() {
        talk.after_ms(50).client_acks(missing * MSS, 0);
    }
    talk.after_ms(34).server(FIN, 0);
    talk.after_ms(16).client_acks(MSS + 1, 0);
    talk.after_ms(50).client(FIN, 0);
    let report = talk.report();
    assert_eq!(report.connections[0].stall_count, 0, "{:#?}", report.connections[0].stalls);
}

#[test]
fn a_connection_that_was_refused_lacks_no_handshake() {
    let mut talk = Talk::silent();
    talk.syn();
    let ack = talk.client_seq;
    talk.after_ms(3).send(false, Segment { ack, flags: RESET, ..Segment::default() });
    let report = talk.report();
    assert!(report.connections[0].handshake.refused);
    assert!(report.missing.is_empty(), "{:?}", report.missing);
}

#[test]
fn data_beyond_the_window_shows_that_acknowledgements_are_missing_and_not_that_the_window_is_full() {
    let mut talk = Talk::open_with_window(20_000);
    talk.after_us(20).client(PUSH, 100);
    for nth in 0..200 {
        talk.after_ms(2).server(DATA, MSS);
        if nth % 2 == 1 && !(40..160).contains(&nth) {
            talk.after_us(10).client(DATA, 0);
        }
    }
    let report = talk.report();
    assert_eq!(report.connections[0].stall_count, 0, "{:#?}", report.connections[0].stalls);
}
