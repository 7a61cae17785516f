//! Retransmissions: from the first one to the acknowledgement that ends them.

use plimsoll_model::packet::Segment;

use super::doubt::{Doubt, DoubtKind, PendingAck};
use super::{Connection, Facts, tells_of_duplicate};
use crate::stalls::classes::late_ack::{self, Arrival};
use crate::stalls::classes::{self, side};
use crate::stalls::gap::Gap;
use crate::stalls::recovery::{Recovery, Trigger};
use crate::stalls::rtt::{self, Rtt};
use crate::stalls::sequence::{after, beyond};
use crate::stalls::time::MILLISECOND;
use crate::stalls::timeline::Weight;

impl Connection {
    /// A segment that was sent before, or that fills a hole.
    #[cold]
    pub(super) fn resend(&mut self, facts: &Facts, segment: &Segment) {
        let quiet = facts.now.saturating_sub(self.last);
        let [a, b] = &mut self.halves;
        let (half, peer) = if facts.me == 0 { (a, b) } else { (b, a) };
        let rtt_ns = facts.rtt.map_or(0, |rtt| rtt.smoothed);
        // No answer within this time, and it was a timer: the shortest one, unless the way itself is longer.
        let timer = (rtt::RTO_MIN * 9 / 10).max(rtt_ns * 3 / 2);
        if let Some(recovery) = &mut half.recovery {
            recovery.again(facts.now, quiet >= timer);
            return;
        }
        let reported_within = (2 * rtt_ns).max(20 * MILLISECOND);
        let was_reported = half.complaint.is_some_and(|at| facts.now.saturating_sub(at) <= reported_within);
        let fills_hole = half.hole_of(segment).is_some() && quiet < timer;
        let is_tail = half.sent_to == Some(segment.end());
        let trigger = match (was_reported || fills_hole, is_tail) {
            (true, _) => Trigger::Reported,
            (false, true) => Trigger::TailTimer,
            (false, false) => Trigger::Timer,
        };
        let recovery = Recovery {
            start: half.progress.max(self.first),
            trigger,
            first_resent: facts.now,
            last_resent: facts.now,
            resent: 1,
            timeouts: u32::from(trigger != Trigger::Reported),
            was_reported,
            in_flight: half.in_flight(),
            payload: segment.payload,
            window_was_full: half.is_stopped_by(peer, facts.now),
            largest_window: peer.largest_window,
            segment_size: half.segment_size(peer),
        };
        let is_acked = half.acked_to.is_some_and(|acked_to| !after(segment.end(), acked_to));
        if is_acked {
            // What was acknowledged before is sent again only because the acknowledgement got lost behind the capture.
            if quiet > facts.threshold {
                let finding = classes::of_recovery(&recovery, side(facts.me == self.client), facts.rtt);
                self.cover(self.last, facts.now, &finding, Weight::Loss);
            }
        } else {
            half.recovery = Some(recovery);
        }
    }

    /// The acknowledgement that ends a loss.
    #[cold]
    pub(super) fn recover(&mut self, facts: &Facts, segment: &Segment) {
        let sender = 1 - facts.me;
        let Some(recovery) = self.halves[sender].recovery.take() else { return };
        let length = facts.now.saturating_sub(recovery.start);
        // Where packets of the receiver's are missing, its acknowledgement was lost, and not late.
        let was_lost = facts.missing_ids.is_some_and(|missing| missing > 0);
        let may_be_held = length <= late_ack::longest_delay(facts.rtt);
        let was_full = recovery.window_was_full && !self.has_sack() && !recovery.was_reported && may_be_held;
        let arrival = match (tells_of_duplicate(segment), was_full) {
            (true, _) => Some(Arrival::SecondCopy),
            (false, true) => Some(Arrival::FullWindow),
            (false, false) => None,
        };
        let lost_with = self.halves[facts.me].sent_to.map_or(0, |sent_to| beyond(segment.seq, sent_to));
        if lost_with > 0 && length > loss_threshold(&recovery, facts.rtt) {
            let who = side(facts.me == self.client);
            let finding = classes::rto::of_lost_ack(&recovery, who, lost_with, length);
            self.end_silence(recovery.start);
            self.cover(recovery.start, facts.now, &finding, Weight::Loss);
            self.go_on(facts.now, facts.me);
        } else if let Some(arrival) = arrival.filter(|_| !was_lost) {
            self.had_arrived(facts, &recovery, arrival, length);
        } else if length > loss_threshold(&recovery, facts.rtt) {
            let finding = classes::of_recovery(&recovery, side(sender == self.client), facts.rtt);
            self.end_silence(recovery.start);
            let ticket = self.cover(recovery.start, facts.now, &finding, Weight::Loss);
            self.go_on(facts.now, facts.me);
            if !was_lost {
                let (until, by_answer) = (facts.now, facts.new_data);
                let kind =
                    DoubtKind::SpuriousRetransmit { recovery, until, by_answer, answered_again: false };
                self.doubt(Doubt { ticket, sender, kind });
            }
        }
    }

    /// Classifies a needless retransmission: the data had arrived, the acknowledgement was late, and nothing was lost.
    pub(super) fn had_arrived(&mut self, facts: &Facts, recovery: &Recovery, arrival: Arrival, length: u64) {
        if length <= facts.threshold {
            return;
        }
        let (sender, receiver) = (side(facts.me != self.client), side(facts.me == self.client));
        let finding = late_ack::judge(recovery, sender, receiver, arrival, length, facts.rtt);
        self.end_silence(recovery.start);
        self.cover(recovery.start, facts.now, &finding, Weight::Loss);
        self.go_on(facts.now, facts.me);
    }

    /// Classifies a retransmission after a silence. During loss recovery the class becomes final when the recovery
    /// ends.
    pub(super) fn sends_again(&mut self, facts: &Facts, gap: &Gap) {
        let recovery = self.halves[facts.me].recovery;
        // A probe that crossed the acknowledgement of what it repeats: that one came late, and nothing was lost.
        let crossed = self.pending.filter(|pending| recovery.is_none() && pending.waiter == facts.me);
        let late = crossed.and_then(|PendingAck { mut late, .. }| {
            late.followed_after = facts.now.saturating_sub(late.gap.end);
            classes::of_late_ack(&late)
        });
        let finding = late.unwrap_or_else(|| {
            let recovery = recovery.unwrap_or_else(|| Recovery::in_one_step(gap, Trigger::Timer));
            classes::of_recovery(&recovery, side(facts.me == self.client), facts.rtt)
        });
        self.put(gap.start, gap.end, finding);
    }
}

/// A loss that cost less is no stall. One that the receiver reported costs about a round trip.
pub(super) fn loss_threshold(recovery: &Recovery, rtt: Option<Rtt>) -> u64 {
    let least = rtt.map_or(rtt::FLOOR, |rtt| match recovery.trigger {
        Trigger::Reported => rtt.lowest * 3 / 4,
        Trigger::TailTimer | Trigger::Timer => (2 * rtt.smoothed).min(rtt.rto),
    });
    least.max(MILLISECOND)
}
