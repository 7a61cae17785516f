//! Retransmissions of data that had arrived.

use plimsoll_model::packet::{Segment, TcpOptions};

use super::{Class, DATA, PUSH, Talk};

/// A request that is sent again crosses its answer, and the server then reports that it had the request twice (D-SACK).
#[test]
fn an_answer_that_comes_once_was_lost_before_and_one_that_comes_twice_was_late() {
    let of_answers = |answers: u32| {
        let mut talk = Talk::silent();
        talk.syn();
        talk.after_ms(1).synack();
        talk.after_us(10).client(DATA, 0);
        talk.exchange().after_us(20).client(PUSH, 100);
        let (seq, ack) = (talk.client_seq.wrapping_sub(100), talk.server_seq);
        let window = talk.window[0];
        talk.after_ms(215);
        talk.send(true, Segment { seq, ack, flags: PUSH, window, payload: 100, ..Segment::default() });
        talk.after_us(200).server(PUSH, 500);
        if answers > 1 {
            talk.after_us(1100).server_again(500, 500);
        }
        let mut options = TcpOptions::default();
        options.sack.push(seq, talk.client_seq);
        let (seq, ack, window) = (talk.server_seq, talk.client_seq, talk.window[1]);
        talk.after_us(100).send(false, Segment { seq, ack, flags: DATA, window, payload: 0, options });
        talk.after_us(20).client(DATA, 0);
        talk.only_stall().0
    };
    assert_eq!((of_answers(1), of_answers(2)), (Class::TailLoss, Class::PathDelay));
}
