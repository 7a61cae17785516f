//! Retransmissions and the like, counted by the rules of Wireshark's sequence analysis, so that the figures agree.
//!
//! The rules are those that the user's guide describes under "TCP Analysis" (version 4.0), among them the thresholds: a
//! fast retransmission follows two duplicate acknowledgements within 20 ms; a segment is out of order within 3 ms, or
//! within the round trip of the handshake.

use plimsoll_model::packet::{Flags, Segment};

use super::sequence::{after, before};
use super::time::MILLISECOND;

/// What one segment is by these rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) keep_alive: bool,
    pub(super) window_probe: bool,
    pub(super) duplicate_ack: bool,
}

/// Counts of one direction.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) retransmissions: u64,
    pub(super) fast: u64,
    pub(super) spurious: u64,
    pub(super) out_of_order: u64,
    pub(super) duplicate_acks: u64,
    pub(super) lost_segments: u64,
    pub(super) acked_unseen: u64,
    pub(super) zero_windows: u64,
    pub(super) selective_acks: u64,
}

/// State of one direction that the counts need.
#[derive(Clone, Copy, Default)]
pub(super) struct Track {
    pub(super) counts: Counts,
    next: Option<u32>,
    next_time: u64,
    last_ack: Option<u32>,
    last_ack_time: u64,
    duplicates: i32,
    window: u16,
    /// The highest sequence number up to which every segment was seen.
    seen_to: Option<u32>,
    /// Payload of the segment that last advanced `next`.
    last_advance: u32,
    last: Verdict,
}

const FAST_WITHIN: u64 = 20 * MILLISECOND;
const REORDERED_WITHIN: u64 = 3 * MILLISECOND;

/// Takes in a segment of the direction `me`, and counts what it is. `handshake_ns` is the round trip of the handshake.
#[inline]
pub(super) fn observe(
    me: &mut Track,
    peer: &mut Track,
    now: u64,
    segment: &Segment,
    handshake_ns: Option<u64>,
) -> Verdict {
    let controls = segment.flags.any(Flags::SYN.with(Flags::FIN));
    let verdict = judge(me, peer, segment);
    if me.last_ack != Some(segment.ack) {
        me.duplicates = 0;
    }
    if segment.flags.has(Flags::ACK) {
        acked_unseen(me, peer, segment.ack);
        me.counts.selective_acks += u64::from(!segment.options.sack.is_empty());
    }
    if (segment.payload > 0 || controls) && !verdict.keep_alive {
        resent(me, peer, now, segment, handshake_ns);
    }
    remember(me, now, segment, verdict);
    verdict
}

/// Probes and duplicates.
#[inline]
fn judge(me: &mut Track, peer: &Track, segment: &Segment) -> Verdict {
    let mut verdict = Verdict::default();
    let closing = segment.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
    let Some(next) = me.next else {
        me.counts.zero_windows += u64::from(segment.window == 0 && !closing);
        return verdict;
    };
    if segment.payload == 1 && segment.seq == next && peer.window == 0 && peer.last_ack.is_some() {
        verdict.window_probe = true;
        return verdict;
    }
    if segment.window == 0 && !closing {
        me.counts.zero_windows += 1;
    }
    if after(segment.seq, next) && !segment.flags.has(Flags::RST) {
        me.counts.lost_segments += 1;
    }
    verdict.keep_alive = segment.payload <= 1 && segment.seq == next.wrapping_sub(1) && !closing;
    let answers_probe = peer.last.keep_alive || (peer.last.window_probe && segment.window == 0);
    let nothing_new = segment.payload == 0
        && segment.window == me.window
        && segment.seq == next
        && me.last_ack == Some(segment.ack)
        && !closing;
    if nothing_new && segment.window != 0 && !answers_probe {
        me.duplicates = if me.duplicates < 0 { 1 } else { me.duplicates.saturating_add(1) };
        me.counts.duplicate_acks += 1;
        verdict.duplicate_ack = true;
    }
    verdict
}

/// An acknowledgement of something that was never seen.
#[inline]
fn acked_unseen(me: &mut Track, peer: &mut Track, ack: u32) {
    let (Some(seen_to), Some(next)) = (peer.seen_to, peer.next) else { return };
    if !after(ack, seen_to) {
        return;
    }
    if before(seen_to, next) {
        peer.seen_to = peer.next;
        me.counts.acked_unseen += 1;
    } else {
        me.counts.acked_unseen += u64::from(peer.duplicates == 0);
        peer.duplicates = -1;
    }
}

/// Segments that do not advance the sequence number: sent again, or out of order.
#[inline]
fn resent(me: &mut Track, peer: &Track, now: u64, segment: &Segment, handshake_ns: Option<u64>) {
    let Some(next) = me.next else { return };
    let end = segment.seq.wrapping_add(segment.payload);
    let follows_probe = segment.payload > 1 && next.wrapping_sub(1) == segment.seq;
    let not_advanced = before(segment.seq, next) && !follows_probe;
    if segment.payload > 0 && peer.last_ack.is_some_and(|ack| ack != 0 && !after(end, ack)) {
        me.counts.spurious += 1;
        me.counts.retransmissions += 1;
        return;
    }
    if !not_advanced {
        return;
    }
    let since_ack = now.saturating_sub(peer.last_ack_time);
    if peer.duplicates >= 2 && peer.last_ack == Some(segment.seq) && since_ack < FAST_WITHIN {
        me.counts.fast += 1;
        me.counts.retransmissions += 1;
        return;
    }
    let closes_series = next == segment.end() && me.last_advance != 0;
    let since_next = now.saturating_sub(me.next_time);
    if since_next < handshake_ns.unwrap_or(REORDERED_WITHIN) && !closes_series {
        me.counts.out_of_order += 1;
    } else {
        me.counts.retransmissions += 1;
    }
}

#[inline]
fn remember(me: &mut Track, now: u64, segment: &Segment, verdict: Verdict) {
    let end = segment.end();
    let controls = u32::from(segment.flags.any(Flags::SYN.with(Flags::FIN)));
    if me.next.is_none_or(|next| after(end, next.wrapping_add(controls))) {
        me.last_advance = segment.payload;
    }
    if !verdict.window_probe {
        if me.next.is_none_or(|next| after(end, next)) {
            me.next = Some(end);
            me.next_time = now;
        }
        if me.seen_to.is_none_or(|seen_to| seen_to == segment.seq) {
            me.seen_to = me.next;
        }
    }
    me.window = segment.window;
    me.last_ack = Some(segment.ack);
    me.last_ack_time = now;
    me.last = verdict;
}
