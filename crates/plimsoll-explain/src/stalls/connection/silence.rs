//! Silences that are long enough for a stall, and who ends them.

use plimsoll_model::packet::{Flags, Segment};
use plimsoll_model::trace::Class;

use super::doubt::{Doubt, DoubtKind};
use super::{Connection, Facts, reaction_time};
use crate::stalls::classes::{self, Finding, late_ack, side};
use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::recovery::{Recovery, Trigger};
use crate::stalls::rtt;
use crate::stalls::sequence::beyond;
use crate::stalls::time::MILLISECOND;
use crate::stalls::timeline::{CLOSING, NUMBERING, STREAM, Ticket, Weight};

/// Silences shorter than this say nothing about whether others are of a timer's making.
const SHORT: u64 = 20 * MILLISECOND;

impl Connection {
    /// Whatever of a silence lies before `at` is a stall of its own, by whose turn it was.
    pub(super) fn end_silence(&mut self, at: u64) {
        let length = at.saturating_sub(self.active);
        if length > 0 && (self.is_silent || length > rtt::stall_threshold(self.rtt())) {
            let spoke_last = self.last_word.map(|last| side(last == self.client));
            self.put(self.active, at, classes::of_turn(spoke_last, length));
        }
    }

    /// Ends the silence behind the last packet that anybody waited for.
    pub(super) fn end_last_silence(&mut self) {
        let (closer, length) = (self.active_by, self.last.saturating_sub(self.active));
        let is_acked = self.finished[closer] && self.halves[closer].emptied == Some(self.last);
        let may_be_held = length <= late_ack::longest_delay(self.rtt());
        if is_acked && may_be_held && (self.is_silent || length > rtt::stall_threshold(self.rtt())) {
            let receiver = side(closer != self.client);
            self.put(self.active, self.last, classes::delayed_ack::of_fin(receiver, length));
        } else {
            self.end_silence(self.last);
        }
    }

    /// A packet after a silence that is long enough for a stall.
    #[cold]
    pub(super) fn silence_ends(&mut self, facts: &Facts, segment: &Segment) {
        let gap = self.gap(facts, segment);
        if self.is_still_draining(facts, segment, &gap) {
            self.go_on(facts.now, facts.me);
            return;
        }
        let (start, end) = (gap.start, gap.end);
        self.is_silent = true;
        if facts.unseen {
            let missing = self.halves[1 - facts.me].sent_to.map_or(0, |sent_to| beyond(segment.ack, sent_to));
            self.put(start, end, classes::capture_gap::judge(gap.length(), missing));
        } else if let Some(held) = self.held_by_path(facts, segment, &gap) {
            if held >= rtt::RTO_MIN {
                self.put(start, end, classes::path_delay::judge(&gap, held));
            }
        } else if self.drains_a_queue(facts, segment, &gap) {
            self.note_drain(1 - facts.me, segment, gap.length());
        } else if facts.is_pure || facts.probes_window {
            // Acknowledgements and probes without a waiting side do not end a silence.
            self.acknowledges_late(facts, segment, gap, reaction_time(facts.rtt));
            return;
        } else if segment.flags.has(Flags::SYN) {
            let syns = self.handshake.syns + u32::from(!segment.flags.has(Flags::ACK));
            self.put(start, end, classes::of_open_handshake(segment, syns, gap.length()));
        } else if facts.resent {
            self.sends_again(facts, &gap);
        } else {
            self.speaks(facts, segment, &gap);
        }
        self.go_on(facts.now, facts.me);
    }

    /// Data, FIN or RST after a silence.
    pub(super) fn speaks(&mut self, facts: &Facts, segment: &Segment, gap: &Gap) {
        let (start, end) = (gap.start, gap.end);
        let me = side(facts.me == self.client);
        let peer = &self.halves[1 - facts.me];
        if peer.closed_since.is_some() && (segment.payload > 0 || peer.probed) {
            let finding = classes::zero_window::judge(side(facts.me != self.client), gap.length(), None);
            self.put(start, end, finding);
            return;
        }
        if let Some(recovery) = self.halves[facts.me].recovery {
            self.put(start, end, classes::of_recovery(&recovery, me, facts.rtt));
            return;
        }
        if let Some(lost) = self.halves[1 - facts.me].recovery.take() {
            // This side speaks for want of what the other one is still sending again.
            let finding = classes::of_recovery(&lost, side(facts.me != self.client), facts.rtt);
            self.end_silence(lost.start);
            self.cover(lost.start, end, &finding, Weight::Loss);
            return;
        }
        let is_long = gap.length() >= rtt::RTO_MIN * 9 / 10 && segment.payload > 0;
        let may_repeat = gap.length() >= rtt::RTO_MIN * 9 / 10
            && !segment.flags.has(Flags::RST)
            && (segment.payload > 0 || segment.flags.has(Flags::FIN));
        let from = self.halves[facts.me].sent_to.unwrap_or(segment.seq);
        let missing = beyond(segment.seq, from);
        // More packets are missing than the hole before this one had: it was sent before.
        let in_hole =
            missing.div_ceil(self.halves[facts.me].segment_size_on_wire(&self.halves[1 - facts.me]));
        let unseen = facts.missing_ids.filter(|&unseen| {
            may_repeat && u32::from(unseen) > in_hole && gap.length() <= rtt::longest_loss(facts.rtt, unseen)
        });
        let is_known = facts.missing_ids.is_some();
        let classes::OfGap { finding, otherwise } = classes::of_gap(gap);
        let is_unanswered = finding.class == Class::Unanswered;
        let is_pause = matches!(finding.class, Class::SenderWaited | Class::SenderHeld);
        let ticket = match unseen {
            Some(unseen) => {
                let loss = classes::of_unseen_flight(gap, unseen, me, facts.rtt);
                self.end_pace(start);
                let otherwise = (NUMBERING + facts.me, finding);
                self.timeline.put_undecided(start, end, loss, otherwise, self.most_stalls)
            }
            None => self.put_by_kind(facts.me, gap, finding, otherwise),
        };
        let kind = match unseen {
            _ if missing > 0 => DoubtKind::Skipped { from, missing, length: gap.length() },
            Some(_) => return,
            _ if gap.in_flight > 0 && segment.payload > 0 => {
                DoubtKind::Probe(Recovery::in_one_step(gap, Trigger::TailTimer))
            }
            _ if is_pause && is_long && !is_known => {
                let as_loss = Recovery::in_one_step(gap, Trigger::Timer);
                DoubtKind::Resumed { as_loss, at: facts.now, acked: false }
            }
            _ if is_unanswered => DoubtKind::HalfClosed { answered: classes::sender_waited::judge(gap) },
            _ => return,
        };
        self.doubt(Doubt { ticket, sender: facts.me, kind });
    }

    /// Puts a silence in, and counts it among those of its kind.
    pub(super) fn put_by_kind(
        &mut self,
        me: usize,
        gap: &Gap,
        finding: Finding,
        otherwise: Option<Finding>,
    ) -> Ticket {
        let may_be_streamed = gap.segment.payload > 0 && (gap.by_client || gap.last_word == LastWord::Other);
        let otherwise = otherwise.map(|otherwise| (Self::kind_of(me, gap), otherwise)).or_else(|| {
            let is_turn =
                matches!(finding.class, Class::ServerThink | Class::ClientIdle | Class::SenderWaited);
            (may_be_streamed && is_turn).then(|| (STREAM, classes::sender_waited::in_stream(gap)))
        });
        let kind = Self::kind_of(me, gap);
        self.end_pace(gap.start);
        if let Some((of, _)) = &otherwise
            && *of == kind
        {
            self.by_length[kind] = self.by_length[kind].saturating_add(1);
        } else if gap.length() >= SHORT && gap.segment.payload > 0 && finding.class != Class::SenderHeld {
            self.by_program[kind] = self.by_program[kind].saturating_add(1);
        }
        match otherwise {
            Some(otherwise) => {
                self.timeline.put_undecided(gap.start, gap.end, finding, otherwise, self.most_stalls)
            }
            None => self.timeline.put(gap.start, gap.end, finding, self.most_stalls),
        }
    }

    fn kind_of(me: usize, gap: &Gap) -> usize {
        if gap.segment.payload == 0 {
            return CLOSING;
        }
        3 * me
            + match gap.last_word {
                LastWord::None => 0,
                LastWord::Own => 1,
                LastWord::Other => 2,
            }
    }
}
