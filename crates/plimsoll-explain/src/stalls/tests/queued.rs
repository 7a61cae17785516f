//! Queues on the path: time stamps show that packets waited there.

use plimsoll_model::packet::{Segment, TcpOptions};

use super::{Actor, Class, DATA, MSS, PUSH, Talk};

impl Talk {
    /// A segment of either side with the time at its sender in milliseconds as stamp.
    fn stamped(&mut self, from_client: bool, payload: u32, sent_ms: u32) {
        self.echoing(from_client, payload, (sent_ms, 0));
    }

    /// A segment of either side with its own stamp and the one that it echoes.
    fn echoing(&mut self, from_client: bool, payload: u32, stamps: (u32, u32)) {
        let options = TcpOptions { timestamps: Some(stamps), ..TcpOptions::default() };
        let (seq, ack) = match from_client {
            true => (self.client_seq, self.server_seq),
            false => (self.server_seq, self.client_seq),
        };
        let window = self.window[usize::from(!from_client)];
        let segment = Segment { seq, ack, flags: DATA, window, payload, options };
        self.send(from_client, segment);
        let next = if from_client { &mut self.client_seq } else { &mut self.server_seq };
        *next = segment.end();
    }

    /// An answer of full segments that arrive each 40 ms at the client, and of which the server sends one each so many milliseconds.
    fn answer_each_40_ms(sent_each_ms: u32) -> Self {
        let mut talk = Self::silent();
        talk.syn();
        talk.after_ms(1).synack();
        talk.after_us(10).client(DATA, 0);
        talk.stamped(true, 100, 7000);
        talk.after_ms(1).stamped(false, 200, 500);
        for nth in 0..10 {
            talk.after_ms(40).stamped(false, MSS, 500 + nth * sent_each_ms);
            talk.after_us(20).stamped(true, 0, 7041 + 40 * nth);
        }
        talk
    }
}

#[test]
fn segments_at_the_pace_of_a_slow_link_are_no_stalls_and_those_of_a_slow_sender_are() {
    let classes = |talk: Talk| {
        let report = talk.report();
        report.time_share.keys().copied().collect::<Vec<_>>()
    };
    assert!(classes(Talk::answer_each_40_ms(0)).is_empty());
    assert!(classes(Talk::answer_each_40_ms(2)).is_empty());
    assert_eq!(classes(Talk::answer_each_40_ms(40)), [Class::SenderWaited]);
}

#[test]
fn a_sender_that_the_acknowledgements_of_a_full_queue_pace_does_not_wait() {
    let mut talk = Talk::answer_each_40_ms(0);
    // Each was sent 400 ms before it came, as the queue is full.
    for nth in 0..20 {
        talk.after_ms(40).stamped(false, MSS, 541 + 40 * nth);
        talk.after_us(20).stamped(true, 0, 7441 + 40 * nth);
    }
    assert!(talk.report().time_share.is_empty());
}

#[test]
fn a_segment_that_the_path_held_is_the_paths() {
    let mut talk = Talk::answer_each_40_ms(0);
    talk.after_ms(500).stamped(false, MSS, 502);
    assert_eq!(talk.only_stall().0, Class::PathDelay);
}

#[test]
fn acknowledgements_at_the_pace_of_a_queue_are_not_held_back() {
    let mut talk = Talk::open();
    talk.after_us(20).client(PUSH, 100);
    talk.after_us(200);
    (0..12).for_each(|_| talk.server(DATA, MSS));
    for missing in (2..12).rev() {
        talk.after_ms(40).client_acks(missing * MSS, 0);
        talk.after_us(20).server(DATA, MSS);
    }
    let report = talk.report();
    assert!(!report.time_share.contains_key(&Class::DelayedAck), "{:?}", report.time_share);
}

#[test]
fn data_that_left_before_a_late_acknowledgement_came_did_not_wait_for_it() {
    for (echo, class) in [(8041, Class::DelayedAck), (8000, Class::SenderWaited)] {
        let mut talk = Talk::open();
        talk.echoing(true, 100, (8000, 500));
        talk.after_ms(1).echoing(false, 600, (501, 8000));
        talk.after_ms(41).echoing(true, 0, (8041, 501));
        talk.after_ms(8).echoing(false, 600, (543, echo));
        assert_eq!(talk.only_stall().0, class, "echo of {echo}");
    }
}

#[test]
fn a_pause_with_a_delayed_acknowledgement_in_it_is_not_held_by_the_path() {
    let mut talk = Talk::open();
    talk.stamped(true, 100, 8000);
    talk.after_ms(1).stamped(false, 600, 501);
    talk.after_ms(41).stamped(true, 0, 8042);
    talk.after_ms(20).stamped(true, 100, 8062);
    assert_eq!(talk.only_stall(), (Class::ClientIdle, Actor::Client, 61));
}
