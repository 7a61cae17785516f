//! Whole conversations, packet by packet: what was injected is what is found.

mod closing;
mod handshakes;
mod long_paths;
mod queued;
mod retransmitted;

use std::net::Ipv4Addr;

use plimsoll_model::packet::{CaptureSummary, Endpoint, Flags, Packet, Segment, TcpOptions, Transport};
use plimsoll_model::trace::PacketsTooBig;

use super::{Actor, Analyzer, Class, Limits, TraceReport};

const MSS: u32 = 1448;
const DATA: Flags = Flags(0x10);
const PUSH: Flags = Flags(0x18);

/// Writes down a conversation between 10.0.0.1 (the client) and 10.0.0.2:80, and has it analysed.
struct Talk {
    analyzer: Analyzer,
    now_us: u64,
    client_seq: u32,
    server_seq: u32,
    window: [u16; 2],
    packets: u64,
}

impl Talk {
    /// After a handshake with a round trip of one millisecond, captured at the client.
    fn open() -> Self {
        Self::open_with_window(60_000)
    }

    /// Opens a connection whose client has windows of this size.
    fn open_with_window(window: u16) -> Self {
        let mut talk = Self::silent();
        talk.window[0] = window;
        talk.syn();
        talk.after_ms(1).synack();
        talk.after_us(10).client(DATA, 0);
        talk
    }

    fn silent() -> Self {
        Self {
            analyzer: Analyzer::new(),
            now_us: 1_000_000,
            client_seq: 1000,
            server_seq: u32::MAX - 500,
            window: [60_000, 60_000],
            packets: 0,
        }
    }

    fn after_us(&mut self, us: u64) -> &mut Self {
        self.now_us += us;
        self
    }

    fn after_ms(&mut self, ms: u64) -> &mut Self {
        self.after_us(ms * 1000)
    }

    fn send(&mut self, from_client: bool, segment: Segment) {
        let client = Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port: 40_000 };
        let server = Endpoint { address: Ipv4Addr::new(10, 0, 0, 2).into(), port: 80 };
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        self.packets += 1;
        self.analyzer.packet(&Packet {
            time_ns: self.now_us * 1000,
            wire_bytes: 66 + segment.payload,
            source,
            destination,
            ip_id: None,
            transport: Transport::Tcp(segment),
        });
    }

    /// A router reports that a segment of the server's was too big.
    fn router_reports(&mut self, mtu: u32) {
        self.analyzer.packet(&Packet {
            time_ns: self.now_us * 1000,
            wire_bytes: 70,
            source: Endpoint { address: Ipv4Addr::new(10, 0, 0, 2).into(), port: 80 },
            destination: Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port: 40_000 },
            ip_id: None,
            transport: Transport::PacketTooBig { mtu },
        });
    }

    fn options() -> TcpOptions {
        TcpOptions { mss: Some(1448), window_scale: Some(0), ..TcpOptions::default() }
    }

    fn syn(&mut self) {
        let seq = self.client_seq.wrapping_sub(1);
        let options = Self::options();
        self.send(
            true,
            Segment { seq, flags: Flags::SYN, window: self.window[0], options, ..Segment::default() },
        );
    }

    fn synack(&mut self) {
        let (seq, ack) = (self.server_seq.wrapping_sub(1), self.client_seq);
        let flags = Flags::SYN.with(Flags::ACK);
        let options = Self::options();
        self.send(false, Segment { seq, ack, flags, window: self.window[1], options, payload: 0 });
    }

    /// The client sends what is next, acknowledging everything.
    fn client(&mut self, flags: Flags, payload: u32) {
        let segment = Segment {
            seq: self.client_seq,
            ack: self.server_seq,
            flags,
            window: self.window[0],
            payload,
            ..Segment::default()
        };
        self.send(true, segment);
        self.client_seq = segment.end();
    }

    /// The server sends what is next, acknowledging everything.
    fn server(&mut self, flags: Flags, payload: u32) {
        let segment = Segment {
            seq: self.server_seq,
            ack: self.client_seq,
            flags,
            window: self.window[1],
            payload,
            ..Segment::default()
        };
        self.send(false, segment);
        self.server_seq = segment.end();
    }

    /// The server sends again, or for the first time, what begins `offset` bytes before its end.
    fn server_again(&mut self, offset: u32, payload: u32) {
        let seq = self.server_seq.wrapping_sub(offset);
        let (ack, window) = (self.client_seq, self.window[1]);
        self.send(false, Segment { seq, ack, flags: PUSH, window, payload, ..Segment::default() });
    }

    /// The client acknowledges all but the last `missing` bytes, and the last `sacked` selectively.
    fn client_acks(&mut self, missing: u32, sacked: u32) {
        let mut options = TcpOptions::default();
        if sacked > 0 {
            options.sack.push(self.server_seq.wrapping_sub(sacked), self.server_seq);
        }
        let (seq, ack) = (self.client_seq, self.server_seq.wrapping_sub(missing));
        self.send(true, Segment { seq, ack, flags: DATA, window: self.window[0], payload: 0, options });
    }

    /// A request and its answer, at once.
    fn exchange(&mut self) -> &mut Self {
        self.after_us(20).client(PUSH, 100);
        self.after_ms(1).server(PUSH, 500);
        self.after_us(20).client(DATA, 0);
        self
    }

    fn report(self) -> TraceReport {
        let capture = CaptureSummary { packets: self.packets, ..CaptureSummary::default() };
        self.analyzer.finish(capture)
    }

    /// The one stall of the conversation: class, who had to act, and milliseconds.
    fn only_stall(self) -> (Class, Actor, u64) {
        let report = self.report();
        let stalls: Vec<_> = report.connections.iter().flat_map(|connection| &connection.stalls).collect();
        assert_eq!(stalls.len(), 1, "{stalls:#?}");
        (stalls[0].class, stalls[0].waiting_for, stalls[0].length_ms.round() as u64)
    }
}

#[test]
fn a_conversation_without_pauses_has_no_stall() {
    let mut talk = Talk::open();
    for _ in 0..100 {
        talk.exchange();
    }
    let report = talk.report();
    let connection = &report.connections[0];
    assert_eq!((connection.stall_count, connection.bytes, connection.packets), (0, 60_000, 303));
    assert_eq!((&*connection.client, &*connection.server), ("10.0.0.1:40000", "10.0.0.2:80"));
    assert!(connection.handshake.complete && connection.handshake.window_scale_known);
    assert!(report.time_share.is_empty());
    assert!((1.0..1.2).contains(&connection.rtt_ms.unwrap()));
}

#[test]
fn write_write_read_waits_for_a_delayed_acknowledgement() {
    let mut talk = Talk::open();
    talk.exchange();
    talk.after_us(20).client(PUSH, 100);
    talk.after_ms(40).server(DATA, 0);
    talk.after_us(50).client(PUSH, 100);
    talk.after_ms(1).server(PUSH, 500);
    assert_eq!(talk.only_stall(), (Class::DelayedAck, Actor::Server, 40));
}

#[test]
fn a_late_acknowledgement_that_nobody_waited_for_is_part_of_the_pause() {
    let mut talk = Talk::open();
    talk.after_us(20).client(PUSH, 100);
    talk.after_ms(40).server(DATA, 0);
    talk.after_ms(260).server(PUSH, 500);
    assert_eq!(talk.only_stall(), (Class::ServerThink, Actor::Server, 300));
}

#[test]
fn a_corked_rest_is_held_by_its_sender() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    talk.after_ms(1).server(DATA, MSS);
    talk.after_us(10).client(DATA, 0);
    talk.after_ms(204).server(PUSH, 300);
    assert_eq!(talk.only_stall(), (Class::SenderHeld, Actor::Server, 204));
}

#[test]
fn a_pause_after_a_complete_write_is_the_senders_own() {
    let mut talk = Talk::open();
    talk.exchange();
    talk.after_ms(200).server(PUSH, 500);
    assert_eq!(talk.only_stall(), (Class::SenderWaited, Actor::Server, 200));
}

#[test]
fn a_flight_that_is_lost_whole_is_sent_again_by_a_timer() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    for _ in 0..5 {
        talk.after_us(10).server(DATA, MSS);
    }
    talk.after_ms(204).server_again(5 * MSS, MSS);
    talk.after_ms(408).server_again(5 * MSS, MSS);
    talk.after_ms(1).client_acks(4 * MSS, 0);
    assert_eq!(talk.only_stall(), (Class::Rto, Actor::Server, 613));
}

#[test]
fn who_hangs_up_while_the_other_side_sends_again_did_not_think() {
    let mut talk = Talk::open();
    talk.exchange();
    let lost = talk.server_seq;
    talk.after_ms(1).server(PUSH, 1000);
    for wait in [250, 450, 900] {
        talk.after_ms(wait).server_again(1000, 1000);
    }
    // The client was told nothing and hangs up, with no acknowledgement of what it never had.
    talk.after_ms(3000);
    let (seq, ack) = (talk.client_seq, lost);
    let flags = DATA.with(Flags::FIN);
    talk.send(true, Segment { seq, ack, flags, window: 60_000, ..Segment::default() });
    assert_eq!(talk.only_stall(), (Class::Rto, Actor::Server, 4600));
}

#[test]
fn duplicate_acknowledgements_bring_a_fast_retransmission() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    for _ in 0..5 {
        talk.after_us(10).server(DATA, MSS);
    }
    talk.after_ms(1).client_acks(4 * MSS, 0);
    for sacked in 1..=3 {
        talk.after_us(10).client_acks(4 * MSS, sacked * MSS);
    }
    talk.after_ms(1).server_again(4 * MSS, MSS);
    talk.after_ms(1).client_acks(0, 0);
    let report = talk.report();
    let connection = &report.connections[0];
    assert_eq!(connection.from_server.fast_retransmissions, 1);
    assert_eq!(connection.stalls.len(), 1, "{:#?}", connection.stalls);
    assert_eq!(connection.stalls[0].class, Class::FastRetransmit);
    assert!((2.0..2.1).contains(&connection.stalls[0].length_ms));
}

#[test]
fn a_lost_tail_is_probed_for() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    for _ in 0..4 {
        talk.after_us(10).server(PUSH, MSS);
    }
    talk.after_ms(1).client_acks(MSS, 0);
    talk.after_ms(12).server_again(MSS, MSS);
    talk.after_ms(1).client_acks(0, 0);
    assert_eq!(talk.only_stall(), (Class::TailLoss, Actor::Server, 13));
}

#[test]
fn a_probe_of_new_data_that_brings_sack_was_a_tail_loss() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    talk.after_us(10).server(DATA, MSS);
    talk.after_ms(12).server(DATA, MSS);
    talk.after_us(900).client_acks(2 * MSS, MSS);
    assert_eq!(talk.only_stall(), (Class::TailLoss, Actor::Server, 12));
}

#[test]
fn a_timeout_shows_at_the_receiver_by_the_hole_behind_it() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    talk.after_ms(1).server(DATA, MSS);
    talk.after_us(10).client(DATA, 0);
    talk.after_ms(230).server(DATA, MSS);
    talk.after_us(10).client(DATA, 0);
    // What was sent before the loss goes on behind a hole.
    talk.server_seq = talk.server_seq.wrapping_add(8 * MSS);
    talk.after_ms(1).server(DATA, MSS);
    assert_eq!(talk.only_stall(), (Class::Rto, Actor::Server, 230));
}

#[test]
fn a_loss_that_a_router_reports_says_so() {
    let mut talk = Talk::open();
    talk.exchange().after_ms(1).client(PUSH, 100);
    talk.after_ms(1).server(PUSH, MSS);
    talk.after_us(100).router_reports(1400);
    talk.after_ms(220).server_again(MSS, 1300);
    talk.after_ms(1).client_acks(MSS - 1300, 0);
    let report = talk.report();
    let connection = &report.connections[0];
    assert_eq!(connection.packets_too_big, Some(PacketsTooBig { reports: 1, mtu: 1400 }));
    assert!(connection.stalls[0].evidence.contains("MTU 1400"), "{:?}", connection.stalls);
}

#[test]
fn frames_of_a_client_in_a_stream_of_the_server_are_no_requests() {
    let mut talk = Talk::open();
    talk.exchange();
    for before in [None, None, Some(20), None, None, Some(50), None, None] {
        if let Some(before) = before {
            talk.after_ms(before).client(PUSH, 13);
        }
        talk.after_ms(70 - before.unwrap_or(0)).server(PUSH, 1000);
    }
    let report = talk.report();
    let classes: Vec<Class> = report.connections[0].stalls.iter().map(|stall| stall.class).collect();
    assert_eq!(classes, [Class::SenderWaited; 10]);
}

#[test]
fn requests_between_the_pauses_of_a_server_stay_requests() {
    let mut talk = Talk::open();
    for _ in 0..4 {
        talk.after_ms(500).client(PUSH, 100);
        talk.after_ms(30).server(PUSH, 1000);
        talk.after_ms(70).server(PUSH, 1000);
    }
    let report = talk.report();
    let classes: Vec<Class> = report.connections[0].stalls.iter().map(|stall| stall.class).collect();
    let turn = [Class::ClientIdle, Class::ServerThink, Class::SenderWaited];
    assert_eq!(classes, turn.repeat(4));
}

#[test]
fn an_answer_that_was_lost_with_the_acknowledgement_in_it_shows_by_the_hole() {
    let mut talk = Talk::open();
    talk.exchange().after_ms(1).client(PUSH, 100);
    // The server's answer of three segments never comes here.
    talk.server_seq = talk.server_seq.wrapping_add(3 * MSS);
    talk.after_ms(210);
    let (seq, ack) = (talk.client_seq.wrapping_sub(100), talk.server_seq.wrapping_sub(3 * MSS));
    let again = Segment { seq, ack, flags: PUSH, window: 60_000, payload: 100, ..Segment::default() };
    talk.send(true, again);
    talk.after_ms(1).server(DATA, 0);
    let report = talk.report();
    let stall = &report.connections[0].stalls[0];
    assert_eq!((stall.class, stall.waiting_for), (Class::Rto, Actor::Server), "{stall:?}");
    assert!(stall.evidence.contains("lost before the capture point"), "{stall:?}");
}

#[test]
fn a_syn_that_nobody_answers_is_retried() {
    let mut talk = Talk::silent();
    talk.syn();
    talk.after_ms(1000).syn();
    talk.after_ms(2000).syn();
    talk.after_ms(1).synack();
    talk.after_us(10).client(DATA, 0);
    assert_eq!(talk.only_stall(), (Class::SynRetry, Actor::Server, 3000));
}

#[test]
fn a_syn_that_is_never_answered_is_a_stall_too() {
    let mut talk = Talk::silent();
    talk.syn();
    talk.after_ms(1000).syn();
    assert_eq!(talk.only_stall(), (Class::SynRetry, Actor::Server, 1000));
}

#[test]
fn a_syn_ack_is_retried_when_the_answer_to_it_is_lost() {
    let mut talk = Talk::silent();
    talk.syn();
    talk.after_us(10).synack();
    talk.after_ms(1000).synack();
    talk.after_ms(1).client(DATA, 0);
    assert_eq!(talk.only_stall(), (Class::SynackRetry, Actor::Client, 1000));
}

#[test]
fn a_syn_ack_retry_is_seen_behind_an_answer_that_was_lost_later() {
    let mut talk = Talk::open();
    talk.after_ms(1000).synack();
    talk.after_us(10).client(DATA, 0);
    assert_eq!(talk.only_stall(), (Class::SynackRetry, Actor::Client, 1000));
}

#[test]
fn a_syn_from_a_port_with_an_older_connection_is_ignored() {
    let mut talk = Talk::open();
    talk.exchange();
    talk.client_seq = 9_000_000;
    talk.after_ms(4).syn();
    talk.after_ms(1000).syn();
    talk.after_ms(1).synack();
    talk.after_us(10).client(DATA, 0);
    let report = talk.report();
    assert_eq!(report.tcp_connections, 2);
    let stall = &report.connections[1].stalls[0];
    assert_eq!((stall.class, stall.waiting_for), (Class::SynIgnored, Actor::Server));
    assert!((999.0..1001.0).contains(&stall.length_ms));
}

#[test]
fn a_bare_acknowledgement_in_answer_to_a_syn_tells_of_an_older_connection() {
    let mut talk = Talk::silent();
    talk.syn();
    let old = Segment { seq: 77, ack: 99, flags: Flags::ACK, window: 500, ..Segment::default() };
    talk.after_ms(1).send(false, old);
    talk.after_ms(1000).syn();
    talk.after_ms(1).synack();
    talk.after_us(10).client(DATA, 0);
    let (class, waiting_for, _) = talk.only_stall();
    assert_eq!((class, waiting_for), (Class::SynIgnored, Actor::Server));
}

#[test]
fn a_closed_window_is_one_stall_however_often_it_is_probed() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    talk.after_ms(1).server(PUSH, MSS);
    talk.window[0] = 0;
    talk.after_us(10).client(DATA, 0);
    for wait in [200, 400] {
        talk.after_ms(wait).server_again(1, 0);
        talk.after_us(50).client(DATA, 0);
    }
    talk.window[0] = 60_000;
    talk.after_ms(100).client(DATA, 0);
    talk.after_us(20).server(PUSH, MSS);
    assert_eq!(talk.only_stall(), (Class::ZeroWindow, Actor::Client, 700));
}

#[test]
fn a_window_smaller_than_a_segment_waits_for_the_persist_timer() {
    let mut talk = Talk::open_with_window(2000);
    talk.after_us(20).client(PUSH, 100);
    talk.after_ms(1).server(DATA, 1100);
    talk.window[0] = 900;
    talk.after_us(10).client(DATA, 0);
    talk.after_ms(205).server(PUSH, 900);
    let (class, waiting_for, _) = talk.only_stall();
    assert_eq!((class, waiting_for), (Class::SmallWindow, Actor::Client));
}

#[test]
fn a_window_that_is_always_full_sets_the_pace() {
    let mut talk = Talk::open_with_window(2896);
    talk.after_us(20).client(PUSH, 100);
    for _ in 0..50 {
        talk.after_ms(1).server(DATA, MSS);
        talk.after_us(10).server(PUSH, MSS);
        talk.after_us(10).client(DATA, 0);
    }
    let report = talk.report();
    let share = report.time_share[&Class::SmallWindow];
    assert!(share > 0.9, "{:?}", report.time_share);
    assert_eq!(report.connections[0].stalls[0].waiting_for, Actor::Client);
}

/// The kernel of a receiver whose program reads slowly keeps the buffer as small as it reads it, so that the window does not shrink.
#[test]
fn a_window_that_moves_on_only_when_the_program_reads_again_is_no_small_buffer() {
    for (moves_after_ms, class) in [(1, Class::SmallWindow), (20, Class::ZeroWindow)] {
        let mut talk = Talk::open_with_window(23_168);
        talk.after_us(20).client(PUSH, 100);
        for _ in 0..50 {
            talk.after_us(50);
            for _ in 0..16 {
                talk.after_us(1).server(DATA, MSS);
            }
            talk.after_ms(moves_after_ms).client(DATA, 0);
        }
        let report = talk.report();
        let share = report.time_share[&class];
        assert!(share > 0.8, "{moves_after_ms} ms: {:?}", report.time_share);
        assert_eq!(report.connections[0].stalls[0].waiting_for, Actor::Client);
    }
}

#[test]
fn an_answer_that_takes_long_is_the_servers_and_a_late_question_the_clients() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    talk.after_ms(90).server(PUSH, 500);
    talk.after_us(10).client(DATA, 0);
    talk.after_ms(300).client(PUSH, 100);
    let report = talk.report();
    let found: Vec<_> =
        report.connections[0].stalls.iter().map(|stall| (stall.class, stall.waiting_for)).collect();
    assert_eq!(found, [(Class::ServerThink, Actor::Server), (Class::ClientIdle, Actor::Client)]);
    let sum: f64 = report.time_share.values().sum();
    assert!((0.98..=1.0).contains(&sum), "{:?}", report.time_share);
}

#[test]
fn keep_alives_do_not_end_idleness() {
    let mut talk = Talk::open();
    talk.exchange();
    for _ in 0..3 {
        let (seq, ack) = (talk.client_seq.wrapping_sub(1), talk.server_seq);
        let keep_alive = Segment { seq, ack, flags: DATA, window: 60_000, ..Segment::default() };
        talk.after_ms(1000).send(true, keep_alive);
        talk.after_ms(1).server(DATA, 0);
    }
    talk.after_ms(997).client(PUSH, 100);
    assert_eq!(talk.only_stall(), (Class::ClientIdle, Actor::Client, 4000));
}

#[test]
fn what_was_acknowledged_and_never_seen_is_a_gap_of_the_capture() {
    let mut talk = Talk::open();
    talk.exchange().after_us(20).client(PUSH, 100);
    talk.server_seq = talk.server_seq.wrapping_add(20 * MSS);
    talk.after_ms(150).client(DATA, 0);
    talk.after_us(30).server(DATA, MSS);
    let (class, waiting_for, _) = talk.only_stall();
    assert_eq!((class, waiting_for), (Class::CaptureGap, Actor::Capture));
}

#[test]
fn an_excerpt_without_handshake_is_told_as_such() {
    let mut talk = Talk::silent();
    for _ in 0..3 {
        talk.exchange();
    }
    talk.after_ms(200).server(PUSH, 60);
    let report = talk.report();
    let connection = &report.connections[0];
    assert_eq!((&*connection.server, connection.handshake.complete), ("10.0.0.2:80", false));
    assert!(!connection.handshake.window_scale_known);
    assert!(report.missing[0].contains("window scale is unknown"), "{:?}", report.missing);
    assert_eq!(connection.stalls[0].class, Class::SenderWaited);
}

#[test]
fn connections_beyond_the_limits_still_count() {
    let mut talk = Talk::silent();
    talk.analyzer = Analyzer::with_limits(Limits { followed: 2, listed: 3, stalls: 1 });
    for number in 0..20 {
        talk.client_seq = 1_000_000 * (number + 1);
        talk.after_ms(10).syn();
        talk.after_ms(1).synack();
        talk.after_us(10).client(DATA, 0);
        talk.exchange().after_ms(100 + u64::from(number)).client(PUSH, 100);
        talk.after_ms(50).server(PUSH, 10);
    }
    let report = talk.report();
    assert_eq!((report.tcp_connections, report.connections.len()), (20, 3));
    assert!(report.missing.iter().any(|line| line.contains("17 connections with the least stall time")));
    for connection in &report.connections {
        assert_eq!((connection.stall_count, connection.stalls.len()), (2, 1));
        assert_eq!(connection.stalls[0].class, Class::ClientIdle, "the longer one is listed");
    }
}

#[test]
fn the_json_has_the_documented_form() {
    let mut talk = Talk::open();
    talk.after_ms(100).client(PUSH, 100);
    let json = serde_json::to_value(talk.report()).unwrap();
    assert_eq!(json["schema"], "plimsoll.trace/1");
    let stall = &json["connections"][0]["stalls"][0];
    assert_eq!((&stall["class"], &stall["waiting_for"]), (&"client_idle".into(), &"client".into()));
    assert!(stall["start_s"].is_f64() && stall["length_ms"].is_f64() && stall["evidence"].is_string());
    assert!(json["time_share"]["client_idle"].as_f64().unwrap() > 0.9);
    for field in ["packets", "bytes", "missing"] {
        assert!(json.get(field).is_some(), "{field}");
    }
}
