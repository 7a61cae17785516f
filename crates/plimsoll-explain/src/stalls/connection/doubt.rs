//! Decisions that need later packets: the class of ambiguous silences, and whether a late acknowledgement delayed its peer.

use std::ops::ControlFlow::{self, Break, Continue};

use plimsoll_model::packet::Segment;
use plimsoll_model::trace::Class;

use super::{Connection, Facts, reaction_time, tells_of_duplicate, tells_of_hole};
use crate::stalls::classes::late_ack::Arrival;
use crate::stalls::classes::{self, Finding, side};
use crate::stalls::gap::{Gap, LateAck};
use crate::stalls::recovery::Recovery;
use crate::stalls::sequence::{after, before, beyond};
use crate::stalls::time::MILLISECOND;
use crate::stalls::timeline::Ticket;

/// A late acknowledgement or window update, until later packets show whether the sender waited for it.
#[derive(Clone, Copy)]
pub(super) struct PendingAck {
    pub(super) late: LateAck,
    /// The side that may have waited.
    pub(super) waiter: usize,
    /// How soon the waiter has to send for its data to be what waited.
    pub(super) within: u64,
    /// Since when the window was closed, where it is one that opened.
    pub(super) closed_since: Option<u64>,
    /// Whether the silence behind it was longer than the threshold already when another acknowledgement came. That one may lengthen the
    /// round trip, and the threshold with it.
    pub(super) silent_again: bool,
}

/// A silence that later packets may show in another light. Its class for now is in the timeline already.
pub(super) struct Doubt {
    pub(super) ticket: Ticket,
    /// Who ended the silence.
    pub(super) sender: usize,
    pub(super) kind: DoubtKind,
}

pub(super) enum DoubtKind {
    /// Data was sent while older data was still in flight: a probe of the tail, or just data.
    Probe(Recovery),
    /// A part of the data is missing behind the silence: lost on the way, or by the capture.
    Skipped { from: u32, missing: u32, length: u64 },
    /// Retransmitted data may have arrived before, with only its acknowledgement late. An answer that acknowledges it was late as well if its sender,
    /// who had no acknowledgement either, sends it again; else the first copy of the answer was lost.
    SpuriousRetransmit { recovery: Recovery, until: u64, by_answer: bool, answered_again: bool },
    /// A segment after a silence as long as a timeout, seen where a loss before it cannot be seen.
    Resumed { as_loss: Recovery, at: u64, acked: bool },
    /// The client closed its side without an answer, which may still come.
    HalfClosed { answered: Finding },
}

/// How long a kernel takes to send what an acknowledgement allows, on a machine that is busy.
const REACTION: u64 = 10 * MILLISECOND;

/// More doubts than this at a time stay what they look like.
const DOUBTS: usize = 6;

impl Connection {
    /// Decides whether the sender waited for a late acknowledgement, by who sends next and how soon.
    #[cold]
    pub(super) fn settle_pending(&mut self, facts: &Facts, segment: &Segment) {
        let Some(PendingAck { mut late, waiter, within, closed_since, silent_again }) = self.pending else {
            return;
        };
        let since = facts.now.saturating_sub(late.gap.end);
        let soon = since <= within;
        let waited = facts.new_data && facts.me == waiter && !left_before(segment, &late.gap.segment);
        if waited && soon {
            late.followed_after = since;
            if let Some(since) = closed_since {
                self.window_was_closed(1 - waiter, since, late.gap.end, late.gap.window);
                self.is_silent = silent_again;
            } else if let Some(finding) = classes::of_late_ack(&late) {
                // The way back to the sender, and from there to here, is a part of what the acknowledgement cost.
                self.put(late.gap.start, facts.now, finding);
                self.go_on(facts.now, waiter);
            }
        }
        if !(soon && (facts.is_pure || facts.resent)) {
            self.pending = None;
        }
    }

    /// What a silence was may show in what is sent and acknowledged behind it.
    #[cold]
    pub(super) fn settle_doubts(&mut self, facts: &Facts, segment: &Segment) {
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.retain_mut(|doubt| {
            let settled = self.settle(doubt, facts, segment);
            if let Break(Some(finding)) = &settled {
                self.timeline.amend(doubt.ticket, finding);
            }
            settled.is_continue()
        });
        self.doubts = doubts;
    }

    /// Continues while the doubt remains. Breaks with the class of the silence, or without one if it stays as it is.
    fn settle(
        &mut self,
        doubt: &mut Doubt,
        facts: &Facts,
        segment: &Segment,
    ) -> ControlFlow<Option<Finding>> {
        let is_sender = facts.me == doubt.sender;
        let sender = side(doubt.sender == self.client);
        let (is_open, finding) = match &mut doubt.kind {
            DoubtKind::Probe(as_loss) => {
                // Who may acknowledge selectively does so whenever there is a hole (RFC 2018, section 4).
                let tells_of_loss = facts.tells_of_loss && (tells_of_hole(segment) || !self.has_sack());
                let is_lost = if is_sender { facts.resent } else { tells_of_loss };
                let finding = is_lost.then(|| classes::tail_loss::of_probe(as_loss, sender));
                (!is_lost && (is_sender || !facts.advances), finding)
            }
            DoubtKind::Skipped { from, missing, length } => {
                let finding = facts.unseen.then(|| classes::capture_gap::judge(*length, *missing));
                (is_sender || !facts.advances || !after(segment.ack, *from), finding)
            }
            DoubtKind::SpuriousRetransmit { recovery, until, by_answer, answered_again } => {
                *answered_again |= !is_sender && facts.resent;
                let is_over = facts.now.saturating_sub(*until) > 2 * reaction_time(facts.rtt);
                if !is_over && (is_sender || !tells_of_duplicate(segment)) {
                    return Continue(());
                }
                // A copy that took much longer than a round trip shows the delay itself.
                let took = facts.now.saturating_sub(recovery.last_resent);
                let copy_was_late = took > 2 * reaction_time(facts.rtt);
                let was_late = !is_over && (!*by_answer || *answered_again || copy_was_late);
                let receiver = side(doubt.sender != self.client);
                let length = until.saturating_sub(recovery.start);
                let finding = was_late.then(|| {
                    classes::late_ack::judge(
                        recovery,
                        sender,
                        receiver,
                        Arrival::BothCopies,
                        length,
                        facts.rtt,
                    )
                });
                // What the path delayed, the other side sent again for the same reason.
                if let Some(finding) = finding.as_ref().filter(|finding| finding.class == Class::PathDelay) {
                    self.timeline.amend_losses(recovery.start, *until, finding);
                }
                (false, finding)
            }
            DoubtKind::HalfClosed { answered } => (is_sender || !facts.new_data, Some(answered.clone())),
            // With a lost flight behind it, the sender may send but the one segment until it is acknowledged, and what follows
            // leaves a hole.
            DoubtKind::Resumed { as_loss, at, acked } => {
                let is_open = !is_sender || segment.payload == 0;
                *acked |= !is_sender && facts.advances;
                let after_a_round = facts.rtt.is_none_or(|rtt| facts.now - *at >= rtt.lowest * 3 / 4);
                let sent_to = self.halves[facts.me].sent_to;
                let leaves_hole = sent_to.is_some_and(|sent_to| after(segment.seq, sent_to));
                let is_loss = leaves_hole && *acked && after_a_round;
                (is_open, is_loss.then(|| classes::of_recovery(as_loss, sender, facts.rtt)))
            }
        };
        if is_open { Continue(()) } else { Break(finding) }
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if self.doubts.len() == DOUBTS {
            self.doubts.remove(0);
        }
        self.doubts.push(doubt);
    }

    /// Whether an acknowledgement exceeds the round trip by the delayed-ACK timer of Linux, on a path so long that this is no silence by
    /// itself. Required are a steady round trip and a single partial segment in flight, after which Nagle's algorithm makes the sender wait.
    #[inline]
    pub(super) fn may_be_held_back(&self, facts: &Facts) -> bool {
        let (mine, theirs) = (&self.halves[facts.me], &self.halves[1 - facts.me]);
        theirs.rtt.is_held_back(facts.silence)
            && theirs.rtt.is_steady()
            && self.active_by != facts.me
            && theirs.in_flight() < theirs.segment_size(mine)
            && !theirs.is_stopped_by(mine, facts.now)
    }

    /// The longest time after this acknowledgement at which data of the waiting side is seen: a round trip to it, and its reaction.
    pub(super) fn round_trip_to_waiter(&self, facts: &Facts) -> u64 {
        self.halves[facts.me].rtt.lowest() + REACTION
    }

    /// Handles an acknowledgement or a window update after a silence. It caused the silence if the other side sends data `within` this time.
    pub(super) fn acknowledges_late(&mut self, facts: &Facts, segment: &Segment, mut gap: Gap, within: u64) {
        let (mine, theirs) = (&self.halves[facts.me], &self.halves[1 - facts.me]);
        let acked = theirs.acked_to.map_or(0, |acked_to| beyond(segment.ack, acked_to));
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << mine.shift);
        let opens = mine.window_edge.is_some_and(|old| after(edge, old));
        let is_probe = facts.verdict.keep_alive || facts.verdict.window_probe;
        if let Some(pending) = &mut self.pending {
            pending.silent_again |= facts.now.saturating_sub(pending.late.gap.end) > facts.threshold;
            return;
        }
        if self.handshake_is_open() || is_probe || !(acked > 0 || opens) {
            return;
        }
        gap.in_flight = theirs.in_flight();
        gap.usable_window = theirs.usable_window(mine, facts.now);
        gap.window = mine.window;
        gap.largest_window = mine.largest_window;
        gap.segment_size = theirs.segment_size(mine);
        let late = LateAck { gap, acked, followed_after: 0 };
        self.pending =
            Some(PendingAck { late, waiter: 1 - facts.me, within, closed_since: None, silent_again: false });
    }
}

/// Whether a segment left before its sender had `ack`: it echoes an older time stamp (RFC 7323, section 4.3).
fn left_before(segment: &Segment, ack: &Segment) -> bool {
    segment
        .options
        .timestamps
        .zip(ack.options.timestamps)
        .is_some_and(|((_, echo), (stamp, _))| before(echo, stamp))
}
