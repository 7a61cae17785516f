//! The windows of both sides: closed, opened again, or always full.

use plimsoll_model::packet::{Flags, Segment};

use super::doubt::PendingAck;
use super::{Connection, Facts, reaction_time};
use crate::stalls::classes::{self, side};
use crate::stalls::gap::LateAck;
use crate::stalls::half::{FullWindow, LARGE};
use crate::stalls::rtt;
use crate::stalls::sequence::beyond;
use crate::stalls::timeline::Weight;

impl Connection {
    /// Opens and closes the window that the sender of this packet announces.
    #[inline]
    pub(super) fn window_moves(&mut self, facts: &Facts, segment: &Segment) {
        if segment.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            return;
        }
        let is_probe = facts.resent || facts.verdict.keep_alive || facts.verdict.window_probe;
        self.halves[1 - facts.me].probed |= is_probe && self.halves[1 - facts.me].closed_since.is_some();
        let half = &mut self.halves[facts.me];
        if segment.window == 0 {
            if half.closed_since.is_none() {
                (half.closed_since, half.probed) = (Some(facts.now), false);
                // A late zero window reports a window that was already full before.
                let is_late = self.is_silent || facts.now.saturating_sub(self.active) > facts.threshold;
                if is_late && self.halves[1 - facts.me].is_stopped_by(&self.halves[facts.me], facts.now) {
                    self.halves[facts.me].closed_since = Some(self.active);
                }
            }
        } else if let Some(since) = half.closed_since.take() {
            let opened_to = u32::from(segment.window) << half.shift;
            if facts.now.saturating_sub(since) <= facts.threshold {
                return;
            }
            if half.probed || self.halves[1 - facts.me].in_flight() > 0 {
                self.window_was_closed(facts.me, since, facts.now, Some(opened_to));
            } else {
                // Whether anybody wanted to send shows in what follows.
                let mut gap = self.gap(facts, segment);
                (gap.start, gap.window) = (since, Some(opened_to));
                let late = LateAck { gap, acked: 0, followed_after: 0 };
                let waiter = 1 - facts.me;
                let (within, closed_since) = (reaction_time(facts.rtt), Some(since));
                self.pending = Some(PendingAck { late, waiter, within, closed_since, silent_again: false });
            }
        }
    }

    /// The window of `receiver` was closed, and its sender had something for it.
    pub(super) fn window_was_closed(
        &mut self,
        receiver: usize,
        since: u64,
        until: u64,
        opened_to: Option<u32>,
    ) {
        let length = until.saturating_sub(since);
        let finding = classes::zero_window::judge(side(receiver == self.client), length, opened_to);
        self.end_silence(since);
        self.cover(since, until, &finding, Weight::Said);
        self.go_on(until, receiver);
    }

    /// A stretch in which the window was always full has ended.
    #[cold]
    pub(super) fn end_full(&mut self, sender: usize, full: FullWindow, end: u64) {
        let end = full.opened.map_or(end, |opened| opened.min(end));
        let length = end.saturating_sub(full.since);
        // What a queue drains comes at the pace of the link, and the window only bounds the queue.
        let is_of_link = 2 * full.drained > length;
        if full.fills > 1 && length > rtt::stall_threshold(self.rtt()) && !is_of_link {
            let receiver = side(sender != self.client);
            // What the program has not read takes room, so that the window shrinks; or the kernel keeps the buffer as small as the
            // program reads it (tcp_rcv_space_adjust in net/ipv4/tcp_input.c), and the window moves on only when it reads again.
            // Each read may move it twice, by the read bytes and by the next arrivals. So time decides, not the number of moves.
            let lags = 2 * full.lagging > full.fills || 2 * full.read_late > length;
            let judge =
                if lags { classes::zero_window::judge_full } else { classes::small_window::judge_full };
            let finding = judge(&full, receiver, length);
            self.timeline.pace(full.since, end, &finding, self.most_stalls);
        }
    }

    /// Follows whether the window is full of what `facts.me` sends, or was before this packet moved it. `sample` is how long the other side's first
    /// data since its last acknowledgement waited for this one.
    #[inline]
    pub(super) fn follow_window(&mut self, facts: &Facts, is_fin: bool, sample: Option<u64>) {
        let [a, b] = &mut self.halves;
        let (mine, theirs) = if facts.me == 0 { (a, b) } else { (b, a) };
        if theirs.full.is_some_and(|full| full.opened.is_none()) {
            let room =
                theirs.sent_to.zip(mine.window_edge).map_or(0, |(sent_to, edge)| beyond(edge, sent_to));
            let segment = theirs.segment_size(mine);
            if room >= segment
                && let Some(full) = &mut theirs.full
            {
                full.opened = Some(facts.now);
                full.moves = full.moves.saturating_add(1);
                // A sender that paces itself fills the window just before it moves on. Then it shows in the first data of it, which were not
                // acknowledged long before it was full. What left in one packet, to be cut by the link, is acknowledged at once.
                let since_filled = facts.now.saturating_sub(full.filled);
                let since_first = sample.unwrap_or(0).max(since_filled);
                let is_late =
                    |segment, waited| classes::zero_window::is_read_late(room, segment, waited, facts.rtt);
                if is_late(segment, since_filled)
                    || is_late(segment.max(theirs.largest), since_first - since_filled)
                {
                    full.late = full.late.saturating_add(1);
                    full.read_late += since_first;
                }
            }
        }
        if is_fin && let Some(full) = mine.full.take() {
            self.end_full(facts.me, full, facts.now);
            return;
        }
        if !facts.new_data {
            return;
        }
        if mine.exceeds_window(theirs) {
            mine.full = None;
            return;
        }
        let window = theirs.window.unwrap_or(0);
        // A mostly free window does not stop the sender.
        let needed = mine.segment_size(theirs).min(window / 2);
        let is_full = mine.usable_window(theirs, facts.now).is_some_and(|usable| usable < needed);
        let before = mine.full;
        let went_on = before
            .is_some_and(|full| full.opened.is_none_or(|at| facts.now <= at + reaction_time(facts.rtt)));
        let was_large = theirs.largest_window >= LARGE.saturating_mul(mine.segment_size(theirs));
        let lags = u32::from(was_large && window <= theirs.largest_window / 2);
        match (before, is_full) {
            (Some(full), true) if went_on => {
                let (fills, lagging) = (full.fills.saturating_add(1), full.lagging.saturating_add(lags));
                mine.full =
                    Some(FullWindow { opened: None, fills, lagging, window, filled: facts.now, ..full });
            }
            // The first segments into a window that has just moved do not fill it yet.
            (Some(_), false) if went_on => {}
            (None, false) => {}
            (_, is_full) => {
                let (since, filled) = (facts.now, facts.now);
                let (fills, lagging) = (1, lags);
                let now = FullWindow {
                    since,
                    opened: None,
                    fills,
                    lagging,
                    window,
                    filled,
                    moves: 0,
                    late: 0,
                    read_late: 0,
                    drained: 0,
                };
                mine.full = is_full.then_some(now);
                if let Some(full) = before {
                    self.end_full(facts.me, full, facts.now);
                }
            }
        }
    }
}
