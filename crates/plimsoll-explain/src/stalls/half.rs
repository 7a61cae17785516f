//! State of one direction of a connection: what its side sent, and what it announced.

use plimsoll_model::packet::{Flags, Segment};

use super::clock::Clock;
use super::copies::Copies;
use super::counts::Track;
use super::drain::Drain;
use super::gap::LastData;
use super::ids::Ids;
use super::recovery::Recovery;
use super::rtt::HalfRtt;
use super::sequence::{after, before, beyond};

/// A range of sequence numbers that was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// A stretch in which a sender always had the window full as soon as it might send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FullWindow {
    pub(super) since: u64,
    /// When the window last moved on; the sender has not sent since.
    pub(super) opened: Option<u64>,
    /// How often the sender filled the window.
    pub(super) fills: u32,
    /// How often of these the window was half of its largest or less, where that was large.
    pub(super) lagging: u32,
    /// The window at the last of these.
    pub(super) window: u32,
    /// When the sender last filled it.
    pub(super) filled: u64,
    /// How often the window moved on after that, ..
    pub(super) moves: u32,
    /// .. and how often much later than a round trip.
    pub(super) late: u32,
    /// The time, in nanoseconds, that data waited for these.
    pub(super) read_late: u64,
    /// The time, in nanoseconds, of silences that a queue on the path made.
    pub(super) drained: u64,
}

/// Holes remembered at a time.
const MOST_HOLES: usize = 256;

/// A window that was once this many segments and now is less than one has been closed; one that never was is small.
pub(super) const LARGE: u32 = 8;

/// A window that moves on by as many segments at once was read at once. One that had room for as many may be closed by a remainder.
pub(super) const SEGMENTS: u32 = 4;

/// One side.
#[derive(Default)]
pub(super) struct Half {
    pub(super) packets: u64,
    /// Payload, each byte counted once.
    pub(super) bytes: u64,
    /// The sequence number after the last one seen; `None` before any.
    pub(super) sent_to: Option<u32>,
    /// The highest acknowledgement of what this side sent.
    pub(super) acked_to: Option<u32>,
    /// The window that this side announced last.
    pub(super) window: Option<u32>,
    /// The largest window that it ever announced.
    pub(super) largest_window: u32,
    /// The sequence number up to which this side lets the other send.
    pub(super) window_edge: Option<u32>,
    /// Window scale of its SYN; `None` if the SYN was not seen, or had none.
    pub(super) offered_shift: Option<u8>,
    /// The shift in use; meaningful only if `scale_known`.
    pub(super) shift: u8,
    /// Whether the handshake showed how its window field is scaled. Otherwise only a window of zero has a meaning.
    pub(super) scale_known: bool,
    /// Whether the capture cut the options of its SYN off.
    pub(super) options_cut: bool,
    pub(super) mss: Option<u16>,
    pub(super) sack_permitted: bool,
    pub(super) stamps: bool,
    /// The largest payload in one packet.
    pub(super) largest: u32,
    pub(super) last_data: Option<LastData>,
    /// When it last sent something new, or was acknowledged something new.
    pub(super) progress: u64,
    /// When the other side last said that something is missing, with no progress since.
    pub(super) complaint: Option<u64>,
    /// Since when its window is closed.
    pub(super) closed_since: Option<u64>,
    /// How fast a queue drains what it has in flight, where one does.
    pub(super) drain: Option<Drain>,
    /// The stretch in which the other side's window has been full of what this side sent.
    pub(super) full: Option<FullWindow>,
    pub(super) recovery: Option<Recovery>,
    pub(super) rtt: HalfRtt,
    /// Time of the acknowledgement of this side's last data, if nothing unacknowledged followed.
    pub(super) emptied: Option<u64>,
    /// When it last sent data.
    pub(super) spoke: Option<u64>,
    /// Whether the other side probed since this one closed its window: it has something to send.
    pub(super) probed: bool,
    pub(super) ids: Ids,
    pub(super) copies: Copies,
    pub(super) clock: Clock,
    pub(super) track: Track,
    timed: Option<(u32, u64)>,
    /// Ranges that were skipped, the newest last.
    holes: Vec<Hole>,
    /// The last edges of its window and when they were announced, the newest first.
    edges: [(u64, u32); EDGES],
}

/// How many edges of a window are remembered. A window that sets the pace moves a few times in a round trip, no more.
const EDGES: usize = 8;

impl Half {
    /// Bytes sent and not acknowledged.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        match (self.sent_to, self.acked_to) {
            (Some(sent_to), Some(acked_to)) => beyond(sent_to, acked_to),
            _ => 0,
        }
    }

    /// Whether it sent beyond the other side's window, a probe aside: then the capture lacks the announcement of a larger one.
    #[inline]
    pub(super) fn exceeds_window(&self, peer: &Self) -> bool {
        let room = self.sent_to.zip(peer.window_edge).map_or(0, |(sent_to, edge)| beyond(sent_to, edge));
        peer.scale_known && room > 1
    }

    /// How many new bytes the other side's window allows beyond what was sent; `None` if no window is known.
    ///
    /// An announced window takes effect only after the delay between the capture and this side.
    #[inline]
    pub(super) fn usable_window(&self, peer: &Self, now: u64) -> Option<u32> {
        let newest = peer.window_edge.filter(|_| peer.scale_known && !self.exceeds_window(peer))?;
        let known_before = now.saturating_sub(peer.rtt.lowest() * 9 / 10);
        let known = peer.edges.iter().find(|&&(at, _)| at <= known_before);
        let edge = known.map_or(newest, |&(_, edge)| edge);
        Some(self.sent_to.map_or(u32::MAX, |sent_to| beyond(edge, sent_to)))
    }

    /// The payload of a full segment on the wire, as far as the packets tell.
    #[inline]
    pub(super) fn segment_size_on_wire(&self, peer: &Self) -> u32 {
        let options = if self.stamps { 12 } else { 0 };
        // Who announces a small size because of its own link sends no larger ones either.
        let announced = [self.mss, peer.mss].into_iter().flatten().min();
        announced.map_or(self.largest, |mss| u32::from(mss).saturating_sub(options)).max(1)
    }

    /// Whether this side's window has no room for a segment of `sender`'s: closed, or so much less than it was that none fits any more.
    pub(super) fn is_closed_to(&self, sender: &Self) -> bool {
        let size = sender.segment_size(self);
        let has_shrunk = self.scale_known && self.largest_window >= SEGMENTS.saturating_mul(size);
        self.closed_since.is_some() || (has_shrunk && self.window.is_some_and(|window| window < size))
    }

    /// Whether the window that `receiver` announced leaves no room for a segment.
    pub(super) fn is_stopped_by(&self, receiver: &Self, now: u64) -> bool {
        self.usable_window(receiver, now).is_some_and(|usable| usable < self.segment_size(receiver))
    }

    /// The payload of the largest segment that the sender makes, as far as the packets tell.
    #[inline]
    pub(super) fn segment_size(&self, peer: &Self) -> u32 {
        let size = self.segment_size_on_wire(peer);
        // Linux never sends a segment of more than half the largest window (`tcp_bound_to_half_wnd`).
        let most = match peer.largest_window {
            _ if !peer.scale_known => u32::MAX,
            0 => u32::MAX,
            window @ ..=536 => window,
            window => window / 2,
        };
        size.min(most).max(1)
    }

    /// The hole that `segment` begins to fill.
    #[inline]
    pub(super) fn hole_of(&self, segment: &Segment) -> Option<Hole> {
        let fills = |hole: &Hole| !before(segment.seq, hole.from) && before(segment.seq, hole.to);
        self.holes.iter().rev().copied().find(fills)
    }

    /// Whether `ack` acknowledges a part of this side's data that was never seen.
    pub(super) fn never_seen(&self, ack: u32) -> bool {
        let is_hole = |hole: &Hole| after(ack, hole.from);
        self.sent_to.is_some_and(|sent_to| after(ack, sent_to)) || self.holes.iter().any(is_hole)
    }

    /// Takes in what this side sent.
    #[inline]
    pub(super) fn sent(&mut self, now: u64, segment: &Segment) {
        let end = segment.end();
        let sent_to = self.sent_to.unwrap_or(segment.seq);
        // What came before the first packet seen is taken to have arrived.
        self.acked_to.get_or_insert(segment.seq);
        let new_bytes = beyond(end, sent_to);
        if new_bytes > 0 || self.sent_to.is_none() {
            if after(segment.seq, sent_to) {
                self.note_hole(Hole { from: sent_to, to: segment.seq });
            }
            self.sent_to = Some(end);
        }
        if new_bytes > 0 {
            // After a loss a few new segments may leave before the lost one is sent again: they end no standstill.
            let is_still =
                self.complaint.is_some() && now.saturating_sub(self.progress) > self.rtt.lowest() / 2;
            if !is_still {
                self.progress = now;
            }
            if self.timed.is_none() {
                self.timed = Some((end, now));
            }
        } else if end != segment.seq {
            // An acknowledgement of what was sent twice tells nothing about the round trip (Karn).
            self.timed = None;
        }
        let filled = self.fill_holes(segment);
        if segment.payload > 0 {
            self.bytes += u64::from((new_bytes + filled).min(segment.payload));
            self.largest = self.largest.max(segment.payload);
            let pushed = segment.flags.has(Flags::PSH);
            self.last_data = Some(LastData { payload: segment.payload, pushed });
            self.spoke = Some(now);
        }
        self.packets += 1;
    }

    /// Takes in an acknowledgement of this side's data; returns a sample of the round trip where it gives one.
    #[inline]
    pub(super) fn acknowledged(&mut self, now: u64, ack: u32) -> Option<u64> {
        if !self.acked_to.is_none_or(|acked_to| after(ack, acked_to)) {
            return None;
        }
        self.acked_to = Some(ack);
        if self.sent_to.is_none_or(|sent_to| !after(sent_to, ack)) {
            self.emptied = Some(now);
            self.drain = None;
        }
        self.progress = now;
        self.complaint = None;
        if self.sent_to.is_none_or(|sent_to| after(ack, sent_to)) {
            self.sent_to = Some(ack);
        }
        self.holes.retain(|hole| !after(ack, hole.from));
        let (end, at) = self.timed?;
        if before(ack, end) {
            return None;
        }
        self.timed = None;
        Some(now.saturating_sub(at))
    }

    /// Takes in the window that this side announces.
    #[inline]
    pub(super) fn announced(&mut self, now: u64, segment: &Segment) {
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.shift };
        let window = u32::from(segment.window) << shift;
        self.window = Some(window);
        self.largest_window = self.largest_window.max(window);
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let edge = segment.ack.wrapping_add(window);
        if self.window_edge.is_none_or(|old| after(edge, old)) {
            if self.window_edge.is_none() {
                self.edges = [(now, edge); EDGES];
            }
            self.window_edge = Some(edge);
            self.edges.copy_within(..EDGES - 1, 1);
            self.edges[0] = (now, edge);
        }
    }

    fn note_hole(&mut self, hole: Hole) {
        if self.holes.len() == MOST_HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Takes what `segment` fills out of the holes; returns the number of bytes.
    #[inline]
    fn fill_holes(&mut self, segment: &Segment) -> u32 {
        if self.holes.is_empty() { 0 } else { self.fill_some(segment) }
    }

    fn fill_some(&mut self, segment: &Segment) -> u32 {
        let (from, to) = (segment.seq, segment.end());
        let mut filled = 0;
        for hole in std::mem::take(&mut self.holes) {
            if !before(from, hole.to) || !after(to, hole.from) {
                self.holes.push(hole);
                continue;
            }
            filled += beyond(hole.to, hole.from) - beyond(from, hole.from) - beyond(hole.to, to);
            if after(from, hole.from) {
                self.holes.push(Hole { from: hole.from, to: from });
            }
            if before(to, hole.to) {
                self.holes.push(Hole { from: to, to: hole.to });
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u32, payload: u32) -> Segment {
        Segment { seq, payload, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn a_byte_sent_twice_counts_once_and_gives_no_round_trip() {
        let mut half = Half::default();
        half.sent(10, &data(1, 100));
        half.sent(20, &data(1, 100));
        assert_eq!((half.bytes, half.in_flight()), (100, 100));
        assert_eq!(half.acknowledged(30, 101), None);
        assert_eq!(half.in_flight(), 0);
    }

    #[test]
    fn sequence_numbers_may_wrap() {
        let mut half = Half::default();
        half.acknowledged(0, u32::MAX - 10);
        half.sent(10, &data(u32::MAX - 10, 100));
        assert_eq!(half.in_flight(), 100);
        assert_eq!(half.acknowledged(30, 89), Some(20));
        assert_eq!(half.in_flight(), 0);
    }

    #[test]
    fn a_hole_is_remembered_until_it_is_filled() {
        let mut half = Half::default();
        half.sent(10, &data(1, 100));
        half.sent(20, &data(301, 100));
        assert!(half.never_seen(401));
        half.sent(30, &data(101, 100));
        assert_eq!(half.hole_of(&data(201, 100)), Some(Hole { from: 201, to: 301 }));
        half.sent(40, &data(201, 100));
        assert!(!half.never_seen(401));
    }

    #[test]
    fn a_syn_acknowledges_nothing_and_sets_no_edge() {
        let mut half = Half::default();
        half.announced(0, &Segment { window: 2304, flags: Flags::SYN, ..Segment::default() });
        half.announced(1, &Segment { ack: 1 << 31, window: 2304, flags: Flags::ACK, ..Segment::default() });
        assert_eq!(half.window_edge, Some((1 << 31) + 2304));
    }

    #[test]
    fn what_is_announced_counts_when_it_has_reached_the_sender() {
        let mut sender = Half::default();
        let mut receiver = Half { scale_known: true, ..Half::default() };
        receiver.rtt.sample(10);
        let announce = |ack| Segment { ack, window: 1000, flags: Flags::ACK, ..Segment::default() };
        receiver.announced(0, &announce(1));
        sender.sent(20, &data(1, 1000));
        receiver.announced(21, &announce(1001));
        assert_eq!(sender.usable_window(&receiver, 22), Some(0));
        assert_eq!(sender.usable_window(&receiver, 30), Some(1000));
    }

    #[test]
    fn a_window_of_unknown_scale_limits_no_sender() {
        let (mut sender, mut receiver) = (Half::default(), Half::default());
        receiver.announced(0, &Segment { window: 502, flags: Flags::ACK, ..Segment::default() });
        sender.sent(20, &data(1, 400));
        assert_eq!(sender.usable_window(&receiver, 30), None);
    }

    #[test]
    fn bytes_that_fill_a_gap_count_once() {
        let mut half = Half::default();
        for (seq, payload) in [(1, 100), (301, 100), (151, 50), (101, 100), (101, 200), (1, 400)] {
            half.sent(10, &data(seq, payload));
        }
        assert_eq!(half.bytes, 400);
    }
}
