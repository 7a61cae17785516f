//! Whatever packets come: a connection's lifetime is cut into stalls and the rest, every long silence is in a stall,
//! and no loss is reported without a retransmission.

use std::net::Ipv4Addr;

use plimsoll_explain::stalls::{Analyzer, Class, TraceReport};
use plimsoll_model::packet::{CaptureSummary, Endpoint, Flags, Packet, Segment, TcpOptions, Transport};
use proptest::prelude::*;

/// One packet, by how it differs from the next one that a well-behaved side would send.
#[derive(Clone, Debug)]
struct Step {
    wait_us: u64,
    from_client: bool,
    flags: u8,
    payload: u32,
    /// Bytes before (or, if negative, beyond) what comes next.
    back: i64,
    /// Bytes that it leaves unacknowledged of what was sent.
    unacked: u32,
    window: u16,
    sack: Option<(u32, u32)>,
    /// Packets of its side before it that are not in the capture.
    id_step: u16,
}

const FULL: u32 = 1448;

fn wait() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..200, 2 => 200_u64..4_000, 2 => 4_000_u64..60_000, 2 => 60_000_u64..900_000, 1 => Just(204_000)]
}

fn flags() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(0x10_u8), 6 => Just(0x18), 1 => Just(0x11), 1 => Just(0x14)]
}

fn payload() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0_u32), 2 => Just(FULL), 1 => Just(1_u32), 2 => 2_u32..4000, 1 => Just(10 * FULL)]
}

fn window() -> impl Strategy<Value = u16> {
    prop_oneof![5 => Just(60_000_u16), 1 => Just(0_u16), 1 => 1_u16..1500, 1 => 1500_u16..20_000]
}

/// Any packet at all.
fn wild() -> impl Strategy<Value = Step> {
    let place = prop_oneof![6 => Just(0_i64), 1 => 1_i64..6000, 1 => -6000_i64..0];
    let sack = proptest::option::weighted(0.1, (0_u32..6000, 1_u32..3000));
    let unacked = prop_oneof![4 => Just(0_u32), 1 => 0_u32..6000];
    (wait(), any::<bool>(), flags(), payload(), place, unacked, window(), sack, 0_u16..4).prop_map(
        |(wait_us, from_client, flags, payload, back, unacked, window, sack, id_step)| Step {
            wait_us,
            from_client,
            flags,
            payload,
            back,
            unacked,
            window,
            sack,
            id_step,
        },
    )
}

/// A packet of a connection that loses nothing: all in order, each numbered.
fn orderly() -> impl Strategy<Value = Step> {
    let unacked = prop_oneof![3 => Just(0_u32), 1 => 0_u32..6000];
    let flags = prop_oneof![Just(0x10_u8), Just(0x18)];
    (wait(), any::<bool>(), flags, payload(), unacked).prop_map(
        |(wait_us, from_client, flags, payload, unacked)| Step {
            wait_us,
            from_client,
            flags,
            payload,
            back: 0,
            unacked,
            window: 60_000,
            sack: None,
            id_step: 0,
        },
    )
}

/// The packets of one connection. With a handshake its first three are regular, after `syns` SYNs.
fn packets(steps: &[Step], syns: u64, numbered: bool) -> Vec<Packet> {
    let endpoints = [(1, 40_000), (2, 80)];
    let endpoint = |nth: usize| {
        let (host, port) = endpoints[nth];
        Endpoint { address: Ipv4Addr::new(10, 0, 0, host).into(), port }
    };
    let mut all = Vec::new();
    let mut now = 1_000_000_000;
    let mut ids = [7_u16, 60_000];
    let mut push = |now: u64, from: usize, segment: Segment, id_step: u16| {
        ids[from] = ids[from].wrapping_add(id_step);
        let id = ids[from];
        // The card cuts a packet into segments, each with a number of its own.
        ids[from] = id.wrapping_add(segment.payload.div_ceil(1460).max(1) as u16);
        all.push(Packet {
            time_ns: now,
            wire_bytes: 66 + segment.payload,
            source: endpoint(from),
            destination: endpoint(1 - from),
            ip_id: numbered.then_some(id),
            transport: Transport::Tcp(segment),
        });
    };
    let mut next = [1000_u32, u32::MAX - 3000];
    if syns > 0 {
        let options = TcpOptions {
            mss: Some(1460),
            window_scale: Some(0),
            sack_permitted: true,
            ..TcpOptions::default()
        };
        let syn =
            Segment { seq: next[0] - 1, flags: Flags::SYN, window: 60_000, options, ..Segment::default() };
        for nth in 0..syns {
            push(now, 0, syn, 0);
            now += (1_000_000_000 << nth) * u64::from(nth + 1 < syns);
        }
        let flags = Flags::SYN.with(Flags::ACK);
        now += 300_000;
        push(now, 1, Segment { seq: next[1] - 1, ack: next[0], flags, ..syn }, 0);
        let ack =
            Segment { seq: next[0], ack: next[1], flags: Flags::ACK, window: 60_000, ..Segment::default() };
        push(now + 10_000, 0, ack, 0);
        now += 10_000;
    }
    for step in steps {
        now += step.wait_us * 1000;
        let me = usize::from(!step.from_client);
        let seq = next[me].wrapping_sub(step.back as u32);
        let ack = next[1 - me].wrapping_sub(step.unacked);
        let mut options = TcpOptions::default();
        if let Some((left, length)) = step.sack {
            let left = ack.wrapping_sub(3000).wrapping_add(left);
            options.sack.push(left, left.wrapping_add(length));
        }
        let segment = Segment {
            seq,
            ack,
            flags: Flags(step.flags),
            window: step.window,
            payload: step.payload,
            options,
        };
        push(now, me, segment, step.id_step);
        if segment.end().wrapping_sub(next[me]).cast_signed() > 0 {
            next[me] = segment.end();
        }
    }
    all
}

fn analyzed(packets: &[Packet]) -> TraceReport {
    let mut analyzer = Analyzer::new();
    packets.iter().for_each(|packet| analyzer.packet(packet));
    analyzer.finish(CaptureSummary::default())
}

/// Stalls as (from, to) in seconds after the first packet, in order.
fn stretches(report: &TraceReport) -> Vec<(f64, f64)> {
    let stalls = report.connections.iter().flat_map(|of| &of.stalls);
    let mut all: Vec<(f64, f64)> =
        stalls.map(|stall| (stall.start_s, stall.start_s + stall.length_ms / 1e3)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// How much of a stretch lies in stalls.
fn covered(stretches: &[(f64, f64)], from: f64, to: f64) -> f64 {
    stretches.iter().map(|of| (of.1.min(to) - of.0.max(from)).max(0.0)).sum()
}

/// Times are sums and differences of nanoseconds in floating point.
const EXACT: f64 = 1e-7;

fn adds_up(report: &TraceReport) {
    let stretches = stretches(report);
    for pair in stretches.windows(2) {
        assert!(pair[0].1 <= pair[1].0 + EXACT, "two stalls at a time: {pair:?}");
    }
    let connection = &report.connections[0];
    let sum: f64 = stretches.iter().map(|of| of.1 - of.0).sum();
    assert!((sum - connection.stalled_s).abs() < EXACT, "{sum} s listed of {} s", connection.stalled_s);
    assert!(connection.stalled_s <= connection.duration_s + EXACT);
    let shares: f64 = report.time_share.values().sum();
    assert!((shares * report.lifetime_s - sum).abs() < 1e-6, "shares of {shares}, {sum} s");
    for (from, to) in &stretches {
        let (first, last) = (connection.start_s, connection.start_s + connection.duration_s);
        assert!(*from >= first - EXACT && *to <= last + EXACT, "{from} to {to} outside {first} to {last}");
    }
}

/// Whether the last packet acknowledges part of what its peer sent, with at least a segment still behind it. A queue on
/// the path may have set the pace, and then neither side waited.
fn acknowledges_a_part(packets: &[Packet]) -> bool {
    let last = packets.last().expect("a silence ends with a packet");
    let segments = |mine: bool| {
        let side = packets.iter().filter(move |packet| (packet.source == last.source) == mine);
        side.filter_map(|packet| match &packet.transport {
            Transport::Tcp(segment) => Some(segment),
            _ => None,
        })
    };
    let Transport::Tcp(ending) = &last.transport else { return false };
    let behind = segments(false).map(|of| of.end().wrapping_sub(ending.ack).cast_signed()).max();
    let largest = segments(false).map(|of| of.payload).max().unwrap_or(0);
    let window = segments(true).map(|of| u32::from(of.window)).max().unwrap_or(0);
    let segment = FULL.min(largest).min(window).cast_signed();
    ending.payload <= 1 && behind.is_some_and(|behind| behind > 0 && behind >= segment)
}

/// Whether a packet says nothing new: an acknowledgement, or a probe of a window that has no room for it.
fn is_bare(packets: &[Packet], nth: usize) -> bool {
    let segment_of = |packet: &Packet| match &packet.transport {
        Transport::Tcp(segment) => *segment,
        _ => Segment::default(),
    };
    let segment = segment_of(&packets[nth]);
    let opposite = packets[..nth].iter().rfind(|before| before.source != packets[nth].source);
    let window = opposite.map_or(u32::MAX, |packet| u32::from(segment_of(packet).window));
    let is_control = [Flags::SYN, Flags::FIN, Flags::RST].iter().any(|flag| segment.flags.has(*flag));
    !is_control && (segment.payload <= 1 || segment.payload > window)
}

/// Whether the silence before a packet ends with such an acknowledgement: bare packets before it leave the turn as it is.
fn may_drain_a_queue(packets: &[Packet], nth: usize) -> bool {
    let mut bare = (nth..packets.len()).take_while(|nth| is_bare(packets, *nth));
    bare.any(|last| acknowledges_a_part(&packets[..=last]))
}

/// Every silence longer than the threshold that held when it ended is in stalls from its beginning to its end.
fn no_silence_is_missing(packets: &[Packet]) {
    let report = analyzed(packets);
    let stretches = stretches(&report);
    let begin = packets[0].time_ns;
    let at = |packet: &Packet| (packet.time_ns - begin) as f64 / 1e9;
    for nth in 1..packets.len() {
        let (from, to) = (at(&packets[nth - 1]), at(&packets[nth]));
        let before = analyzed(&packets[..nth]);
        let is_syn =
            |packet: &Packet| matches!(&packet.transport, Transport::Tcp(of) if of.flags.has(Flags::SYN));
        let threshold = match before.connections[0].rtt_ms {
            // A SYN is answered, or sent again, within a second.
            _ if packets[..nth].iter().all(is_syn) => 0.9,
            Some(rtt_ms) => (2.0 * rtt_ms / 1e3).max(0.005),
            None => 0.1,
        };
        let gap = to - from;
        assert!(
            gap <= threshold + EXACT
                || covered(&stretches, from, to) >= gap - EXACT
                || (gap < 0.2 && may_drain_a_queue(packets, nth)),
            "from {from} to {to} s (threshold {threshold} s) in {:#?}",
            report.connections[0].stalls
        );
    }
}

/// A bare acknowledgement of the client, at once.
const PLAIN: Step = Step {
    wait_us: 0,
    from_client: true,
    flags: 0x10,
    payload: 0,
    back: 0,
    unacked: 0,
    window: 60_000,
    sack: None,
    id_step: 0,
};
const PLAIN_OF_SERVER: Step = Step { from_client: false, ..PLAIN };

/// The client closes its window, opens it, and the server first acknowledges and only then sends. Its acknowledgement is the first to tell of a
/// long way, by which the silence before it would be none.
#[test]
fn a_silence_before_an_acknowledgement_that_lengthens_the_way_is_kept() {
    let steps = [
        Step { payload: FULL, ..PLAIN },
        Step { window: 0, ..PLAIN },
        Step { wait_us: 13_892, ..PLAIN },
        Step { wait_us: 9_970, ..PLAIN_OF_SERVER },
        Step { payload: FULL, ..PLAIN_OF_SERVER },
    ];
    // After two SYNs the answer to them says nothing of the round trip.
    let packets = packets(&steps, 2, false);
    adds_up(&analyzed(&packets));
    no_silence_is_missing(&packets);
}

/// The server repeats its last byte with a FIN, which nobody acknowledges, and acknowledges the client's data after a pause.
#[test]
fn a_silence_behind_a_retransmission_that_was_never_acknowledged_is_kept() {
    let steps = [
        PLAIN,
        PLAIN_OF_SERVER,
        Step { payload: 535, ..PLAIN_OF_SERVER },
        Step { wait_us: 408_001, flags: 0x11, back: 1, ..PLAIN_OF_SERVER },
        Step { payload: FULL, unacked: 535, ..PLAIN },
        Step { wait_us: 204_000, ..PLAIN_OF_SERVER },
    ];
    let packets = packets(&steps, 0, false);
    adds_up(&analyzed(&packets));
    no_silence_is_missing(&packets);
}

/// The client pauses between two segments, and the server acknowledges what it did before: twice what is older still, or once more, without SACK.
#[test]
fn a_pause_before_a_duplicate_acknowledgement_is_no_loss() {
    let old = Step { unacked: 5755, ..PLAIN_OF_SERVER };
    let bare = Step { unacked: 2 * FULL, ..PLAIN_OF_SERVER };
    for duplicates in [vec![old.clone(), old], vec![bare]] {
        let mut steps =
            vec![Step { payload: FULL, ..PLAIN }, Step { wait_us: 5_001, payload: FULL, ..PLAIN }];
        steps.extend(duplicates);
        let report = analyzed(&packets(&steps, 1, false));
        let classes: Vec<Class> = report.connections[0].stalls.iter().map(|of| of.class).collect();
        assert!(classes.len() == 1 && classes[0] != Class::TailLoss, "{classes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stalls_are_a_partition_whatever_packets_come(
        steps in proptest::collection::vec(wild(), 2..40), syns in 0_u64..4, numbered in any::<bool>(),
    ) {
        let packets = packets(&steps, syns, numbered);
        let report = analyzed(&packets);
        prop_assume!(report.connections.len() == 1);
        adds_up(&report);
        no_silence_is_missing(&packets);
    }

    #[test]
    fn where_nothing_is_sent_again_nothing_was_lost(
        steps in proptest::collection::vec(orderly(), 2..40), numbered in any::<bool>(),
    ) {
        let packets = packets(&steps, 1, numbered);
        let report = analyzed(&packets);
        adds_up(&report);
        no_silence_is_missing(&packets);
        let losses = [Class::Rto, Class::TailLoss, Class::FastRetransmit, Class::SynRetry, Class::SynackRetry];
        let told: Vec<_> = report.connections[0].stalls.iter().filter(|of| losses.contains(&of.class)).collect();
        prop_assert!(told.is_empty(), "{told:#?}");
    }
}
