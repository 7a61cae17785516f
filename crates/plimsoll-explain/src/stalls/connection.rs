//! One TCP connection: what its packets change, and which of its silences are stalls.

use plimsoll_model::packet::{Endpoint, Flags, Segment};

use super::classes::{self, Finding, side};
use super::counts::{self, Verdict};
use super::gap::{Gap, LastWord, LateAck};
use super::half::{FullWindow, Half, SEGMENTS};
use super::handshake::{Handshake, Predecessor};
use super::recovery::{Recovery, Trigger};
use super::rtt::{self, Rtt};
use super::sequence::{after, before, beyond};
use super::time::MILLISECOND;
use super::timeline::{KINDS, Stalls, Ticket, Timeline, Weight};
use plimsoll_model::trace::Class;

/// An acknowledgement or an opening window that came late, until it shows whether somebody waited for it.
#[derive(Clone, Copy)]
struct PendingAck {
    late: LateAck,
    /// The side that may have waited.
    waiter: usize,
    /// Since when the window was closed, where it is one that opened.
    closed_since: Option<u64>,
}

/// A silence that later packets may show in another light. Its class for now is in the timeline already.
struct Doubt {
    ticket: Ticket,
    /// Who ended the silence.
    sender: usize,
    of: DoubtOf,
}

enum DoubtOf {
    /// Data was sent while older data was still in flight: a probe of the tail, or just data.
    Probe(Recovery),
    /// A part of the data is missing behind the silence: lost on the way, or by the capture.
    Skipped { from: u32, missing: u32, length: u64 },
    /// What was sent again may have arrived before, and only its acknowledgement was late.
    Needless { recovery: Recovery, until: u64 },
    /// A segment after a silence as long as a timeout, seen where a loss before it cannot be seen.
    Resumed { as_loss: Recovery, at: u64, acked: bool },
}

/// More doubts than this at a time stay what they look like.
const DOUBTS: usize = 6;

/// A single number that is left out among those of the IP headers is no proof of a lost packet: one may have been given up before it left.
const ONE_STEP: u32 = 1;

/// What a packet is to the analysis of stalls.
#[derive(Clone, Copy)]
struct Facts {
    now: u64,
    me: usize,
    verdict: Verdict,
    rtt: Option<Rtt>,
    /// A silence longer than this is a stall.
    threshold: u64,
    /// Since the last packet that anybody could have waited for.
    silence: u64,
    new_data: bool,
    resent: bool,
    /// It was sent again only because the receiver's window has no room for it.
    probes_window: bool,
    /// How many packets its side sent before it that were not seen, by the numbers of their IP headers.
    missing_ids: Option<u16>,
    /// It acknowledges something new.
    advances: bool,
    /// It acknowledges something that was never seen.
    unseen: bool,
    /// It carries nothing but an acknowledgement.
    is_pure: bool,
}

/// A connection.
pub(super) struct Connection {
    pub(super) endpoints: [Endpoint; 2],
    /// Which of the endpoints is the client.
    pub(super) client: usize,
    pub(super) halves: [Half; 2],
    pub(super) handshake: Handshake,
    pub(super) first: u64,
    pub(super) last: u64,
    /// What kept it; whole when the connection is finished.
    pub(super) stalls: Stalls,
    timeline: Timeline,
    most_stalls: usize,
    /// When a packet was last seen that somebody could have waited for.
    active: u64,
    /// Whether it has been silent since for long enough for a stall.
    is_silent: bool,
    /// Silences that are not short, by kind: those that only their length assigns to a timer, and the others.
    by_length: [u32; KINDS],
    by_program: [u32; KINDS],
    /// Who sent it.
    active_by: usize,
    last_word: Option<usize>,
    /// The client has sent something else than SYNs.
    is_past_syn: bool,
    finished: [bool; 2],
    reset: bool,
    pending: Option<PendingAck>,
    doubts: Vec<Doubt>,
}

impl Connection {
    /// A connection of which `segment`, from endpoint `me`, is the first to be seen.
    pub(super) fn new(
        endpoints: [Endpoint; 2],
        now: u64,
        me: usize,
        segment: &Segment,
        most_stalls: usize,
    ) -> Self {
        let flags = segment.flags;
        let client = match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
            (true, false) => me,
            (true, true) => 1 - me,
            // Without a SYN the side with the higher port is taken for the one that chose any.
            _ => usize::from(endpoints[1].port > endpoints[0].port),
        };
        Self {
            endpoints,
            client,
            halves: <[Half; 2]>::default(),
            handshake: Handshake::default(),
            first: now,
            last: now,
            stalls: Stalls::default(),
            timeline: Timeline::default(),
            most_stalls,
            active: now,
            is_silent: false,
            by_length: [0; KINDS],
            by_program: [0; KINDS],
            active_by: me,
            last_word: None,
            is_past_syn: false,
            finished: [false; 2],
            reset: false,
            pending: None,
            doubts: Vec::new(),
        }
    }

    /// Remembers the connection that had these addresses and ports before.
    pub(super) fn follow(&mut self, old: &Self) {
        // An attempt that nobody answered leaves no connection behind.
        if old.halves[1 - old.client].packets > 0 {
            self.handshake.predecessor = Some(Predecessor { last: old.last, closed: old.is_closed() });
        }
    }

    /// Whether both sides have finished, or one reset it.
    pub(super) fn is_closed(&self) -> bool {
        self.reset || self.finished == [true, true]
    }

    /// Whether `segment` opens another connection with the same addresses and ports.
    #[inline]
    pub(super) fn is_succeeded_by(&self, me: usize, segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN)
            && !segment.flags.has(Flags::ACK)
            && (self.handshake.isn != Some(segment.seq) || me != self.client)
    }

    /// The round trip as it is known now.
    #[inline]
    pub(super) fn rtt(&self) -> Option<Rtt> {
        Rtt::of(&self.halves[0].rtt, &self.halves[1].rtt)
    }

    /// Whether the scale of both windows is known.
    pub(super) fn scale_known(&self) -> bool {
        self.handshake.syns > 0 && self.handshake.synacks > 0
    }

    /// Takes in a segment that endpoint `me` sent, with the identification of its IP header.
    #[inline]
    pub(super) fn step(&mut self, now: u64, me: usize, segment: &Segment, ip_id: Option<u16>) {
        // Captures of several interfaces hold packets a little out of order; within a connection time never runs back.
        let now = now.max(self.last);
        let facts = self.facts(now, me, segment, ip_id);
        if self.pending.is_some() {
            self.settle_pending(&facts);
        }
        if !self.doubts.is_empty() {
            self.settle_doubts(&facts, segment);
        }
        self.window_moves(&facts, segment);
        if facts.resent && !facts.probes_window {
            self.resend(&facts, segment);
        }
        if facts.advances && self.halves[1 - me].recovery.is_some() {
            self.recover(&facts, segment);
        }
        if self.is_silent || now.saturating_sub(self.active) > facts.threshold {
            self.silence_ends(&facts, segment);
        } else if !facts.is_pure || facts.advances {
            self.go_on(now, me);
        }
        self.take_in(&facts, segment, ip_id);
    }

    /// Something was said that somebody could have waited for.
    #[inline]
    fn go_on(&mut self, at: u64, by: usize) {
        self.active = at.max(self.active);
        self.active_by = by;
        self.is_silent = false;
    }

    #[inline]
    fn facts(&mut self, now: u64, me: usize, segment: &Segment, ip_id: Option<u16>) -> Facts {
        let handshake_ns = self.handshake.round_trip();
        let [a, b] = &mut self.halves;
        let (mine, theirs) = if me == 0 { (a, b) } else { (b, a) };
        let verdict = counts::observe(&mut mine.track, &mut theirs.track, now, segment, handshake_ns);
        let rtt = Rtt::of(&mine.rtt, &theirs.rtt);
        let flags = segment.flags;
        let is_control = flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        let has_data = segment.payload > 0 && !verdict.keep_alive && !verdict.window_probe;
        let takes_room = has_data || flags.has(Flags::FIN);
        let ack = flags.has(Flags::ACK).then_some(segment.ack);
        let resent = takes_room
            && !flags.has(Flags::SYN)
            && mine.sent_to.is_some_and(|sent_to| before(segment.seq, sent_to));
        let is_shaking = self.handshake.syns > 0 && !self.is_past_syn;
        Facts {
            now,
            me,
            verdict,
            rtt,
            threshold: if is_shaking {
                rtt::RTO_INITIAL * 9 / 10
            } else if self.active_by == me {
                rtt::stall_threshold(rtt)
            } else {
                rtt::answer_threshold(rtt, &mine.rtt)
            },
            silence: now.saturating_sub(self.active),
            new_data: has_data && mine.sent_to.is_none_or(|sent_to| after(segment.end(), sent_to)),
            resent,
            probes_window: resent && theirs.is_closed_to(mine),
            missing_ids: mine.ids.missing(ip_id),
            advances: ack.is_some_and(|ack| theirs.acked_to.is_some_and(|acked_to| after(ack, acked_to))),
            unseen: ack.is_some_and(|ack| theirs.never_seen(ack)),
            is_pure: !has_data && !is_control,
        }
    }

    /// Whether somebody waited for an acknowledgement that came late shows in who sends next, and how soon.
    #[cold]
    fn settle_pending(&mut self, facts: &Facts) {
        let Some(PendingAck { mut late, waiter, closed_since }) = self.pending else { return };
        let since = facts.now.saturating_sub(late.gap.end);
        let soon = since <= reaction_time(facts.rtt);
        if facts.new_data && facts.me == waiter && soon {
            late.followed_after = since;
            if let Some(since) = closed_since {
                self.window_was_closed(1 - waiter, since, late.gap.end, late.gap.window);
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
    fn settle_doubts(&mut self, facts: &Facts, segment: &Segment) {
        let tells_of_loss = facts.verdict.duplicate_ack || tells_of_hole(segment);
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.retain_mut(|doubt| {
            let is_sender = facts.me == doubt.sender;
            let sender = side(doubt.sender == self.client);
            let finding = match &mut doubt.of {
                DoubtOf::Probe(as_loss) => {
                    let is_lost = if is_sender { facts.resent } else { tells_of_loss };
                    if !is_lost && (is_sender || !facts.advances) {
                        return true;
                    }
                    is_lost.then(|| classes::of_recovery(as_loss, sender, facts.rtt))
                }
                DoubtOf::Skipped { from, missing, length } => {
                    if is_sender || !facts.advances || !after(segment.ack, *from) {
                        return true;
                    }
                    facts.unseen.then(|| classes::capture_gap::judge(*length, *missing))
                }
                DoubtOf::Needless { recovery, until } => {
                    let is_over = facts.now.saturating_sub(*until) > 2 * reaction_time(facts.rtt);
                    if !is_over && (is_sender || !tells_of_duplicate(segment)) {
                        return true;
                    }
                    let receiver = side(doubt.sender != self.client);
                    let length = until.saturating_sub(recovery.start);
                    (!is_over)
                        .then(|| classes::late_ack::judge(recovery, sender, receiver, length, facts.rtt))
                }
                // With a lost flight behind it, the sender may send but the one segment until it is acknowledged, and what follows
                // leaves a hole.
                DoubtOf::Resumed { as_loss, at, acked } => {
                    if !is_sender || segment.payload == 0 {
                        *acked |= !is_sender && facts.advances;
                        return true;
                    }
                    let after_a_round = facts.rtt.is_none_or(|rtt| facts.now - *at >= rtt.lowest * 3 / 4);
                    let sent_to = self.halves[facts.me].sent_to;
                    let leaves_hole = sent_to.is_some_and(|sent_to| after(segment.seq, sent_to));
                    let is_loss = leaves_hole && *acked && after_a_round;
                    is_loss.then(|| classes::of_recovery(as_loss, sender, facts.rtt))
                }
            };
            if let Some(finding) = finding {
                self.timeline.amend(doubt.ticket, &finding);
            }
            false
        });
        self.doubts = doubts;
    }

    /// Opens and closes the window that the sender of this packet announces.
    #[inline]
    fn window_moves(&mut self, facts: &Facts, segment: &Segment) {
        if segment.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            return;
        }
        let is_probe = facts.resent || facts.verdict.keep_alive || facts.verdict.window_probe;
        self.halves[1 - facts.me].probed |= is_probe && self.halves[1 - facts.me].closed_since.is_some();
        let half = &mut self.halves[facts.me];
        if segment.window == 0 {
            if half.closed_since.is_none() {
                (half.closed_since, half.probed) = (Some(facts.now), false);
                // Who closes it late says only then that nothing is to be sent any more into a window that was full before.
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
                self.pending = Some(PendingAck { late, waiter: 1 - facts.me, closed_since: Some(since) });
            }
        }
    }

    /// The window of `receiver` was closed, and its sender had something for it.
    fn window_was_closed(&mut self, receiver: usize, since: u64, until: u64, opened_to: Option<u32>) {
        let length = until.saturating_sub(since);
        let finding = classes::zero_window::judge(side(receiver == self.client), length, opened_to);
        self.end_silence(since);
        self.cover(since, until, &finding, Weight::Said);
        self.go_on(until, receiver);
    }

    /// Whatever of a silence lies before `at` is a stall of its own, by whose turn it was.
    fn end_silence(&mut self, at: u64) {
        let length = at.saturating_sub(self.active);
        if length > 0 && (self.is_silent || length > rtt::stall_threshold(self.rtt())) {
            let spoke_last = self.last_word.map(|last| side(last == self.client));
            self.put(self.active, at, classes::of_turn(spoke_last, length));
        }
    }

    /// A segment that was sent before, or that fills a hole.
    #[cold]
    fn resend(&mut self, facts: &Facts, segment: &Segment) {
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
        let told_within = (2 * rtt_ns).max(20 * MILLISECOND);
        let told = half.complaint.is_some_and(|at| facts.now.saturating_sub(at) <= told_within);
        let fills_hole = half.hole_of(segment).is_some() && quiet < timer;
        let is_tail = half.sent_to == Some(segment.end());
        let trigger = match (told || fills_hole, is_tail) {
            (true, _) => Trigger::Told,
            (false, true) => Trigger::TailTimer,
            (false, false) => Trigger::Timer,
        };
        let recovery = Recovery {
            start: half.progress.max(self.first),
            trigger,
            first_resent: facts.now,
            last_resent: facts.now,
            resent: 1,
            timeouts: u32::from(trigger != Trigger::Told),
            told,
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
    fn recover(&mut self, facts: &Facts, segment: &Segment) {
        let sender = 1 - facts.me;
        let Some(recovery) = self.halves[sender].recovery.take() else { return };
        let length = facts.now.saturating_sub(recovery.start);
        let has_sack = self.halves.iter().all(|half| half.sack_permitted);
        // Where packets of the receiver's are missing, its acknowledgement was lost, and not late.
        let was_lost = facts.missing_ids.is_some_and(|missing| missing > 0);
        let had_arrived =
            tells_of_duplicate(segment) || (recovery.window_was_full && !has_sack && !recovery.told);
        if had_arrived && !was_lost {
            self.had_arrived(facts, &recovery, length);
        } else if length > loss_threshold(&recovery, facts.rtt) {
            let finding = classes::of_recovery(&recovery, side(sender == self.client), facts.rtt);
            self.end_silence(recovery.start);
            let ticket = self.cover(recovery.start, facts.now, &finding, Weight::Loss);
            self.go_on(facts.now, facts.me);
            if !was_lost {
                self.doubt(Doubt { ticket, sender, of: DoubtOf::Needless { recovery, until: facts.now } });
            }
        }
    }

    /// What was sent again had arrived before: the acknowledgement was late, and nothing was lost.
    fn had_arrived(&mut self, facts: &Facts, recovery: &Recovery, length: u64) {
        if length <= facts.threshold {
            return;
        }
        let (sender, receiver) = (side(facts.me != self.client), side(facts.me == self.client));
        let finding = classes::late_ack::judge(recovery, sender, receiver, length, facts.rtt);
        self.end_silence(recovery.start);
        self.cover(recovery.start, facts.now, &finding, Weight::Loss);
        self.go_on(facts.now, facts.me);
    }

    fn doubt(&mut self, doubt: Doubt) {
        if self.doubts.len() == DOUBTS {
            self.doubts.remove(0);
        }
        self.doubts.push(doubt);
    }

    /// A packet after a silence that is long enough for a stall.
    #[cold]
    fn silence_ends(&mut self, facts: &Facts, segment: &Segment) {
        let gap = self.gap(facts, segment);
        let (start, end) = (gap.start, gap.end);
        self.is_silent = true;
        if facts.unseen {
            let missing = self.halves[1 - facts.me].sent_to.map_or(0, |sent_to| beyond(segment.ack, sent_to));
            self.put(start, end, classes::capture_gap::judge(gap.length(), missing));
        } else if facts.is_pure || facts.probes_window {
            // A silence goes on over acknowledgements and probes that nobody waited for.
            self.acknowledges_late(facts, segment, gap);
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

    /// What was sent before comes again after a silence. Where the loss is being repaired, it gets its final class when that ends.
    fn sends_again(&mut self, facts: &Facts, gap: &Gap) {
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

    /// Data, FIN or RST after a silence.
    fn speaks(&mut self, facts: &Facts, segment: &Segment, gap: &Gap) {
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
        let from = self.halves[facts.me].sent_to.unwrap_or(segment.seq);
        let missing = beyond(segment.seq, from);
        // More packets are missing than the hole before this one had: it was sent before.
        let in_hole =
            missing.div_ceil(self.halves[facts.me].segment_size_on_wire(&self.halves[1 - facts.me]));
        let unseen = facts.missing_ids.filter(|&unseen| is_long && u32::from(unseen) > in_hole.max(ONE_STEP));
        let is_known = facts.missing_ids.is_some();
        let classes::OfGap { finding, otherwise } = classes::of_gap(gap);
        let is_pause = matches!(finding.class, Class::SenderWaited | Class::SenderHeld);
        let ticket = match unseen {
            Some(unseen) => self.put(start, end, classes::of_unseen_flight(gap, unseen, me, facts.rtt)),
            None => self.put_by_kind(facts.me, gap, finding, otherwise),
        };
        let of = match unseen {
            _ if missing > 0 => DoubtOf::Skipped { from, missing, length: gap.length() },
            Some(_) => return,
            _ if gap.in_flight > 0 && segment.payload > 0 => {
                DoubtOf::Probe(Recovery::in_one_step(gap, Trigger::TailTimer))
            }
            _ if is_pause && is_long && !is_known => {
                let as_loss = Recovery::in_one_step(gap, Trigger::Timer);
                DoubtOf::Resumed { as_loss, at: facts.now, acked: false }
            }
            _ => return,
        };
        self.doubt(Doubt { ticket, sender: facts.me, of });
    }

    /// Puts a silence in, and counts it among those of its kind.
    fn put_by_kind(&mut self, me: usize, gap: &Gap, finding: Finding, otherwise: Option<Finding>) -> Ticket {
        let kind = 3 * me
            + match gap.last_word {
                LastWord::None => 0,
                LastWord::Own => 1,
                LastWord::Other => 2,
            };
        self.end_pace(gap.start);
        match otherwise {
            Some(otherwise) => {
                self.by_length[kind] = self.by_length[kind].saturating_add(1);
                let otherwise = (kind, otherwise);
                self.timeline.put_undecided(gap.start, gap.end, finding, otherwise, self.most_stalls)
            }
            None => {
                let is_held = finding.class == Class::SenderHeld;
                if gap.length() >= SHORT && gap.segment.payload > 0 && !is_held {
                    self.by_program[kind] = self.by_program[kind].saturating_add(1);
                }
                self.timeline.put(gap.start, gap.end, finding, self.most_stalls)
            }
        }
    }

    /// An acknowledgement or a window update after a silence.
    fn acknowledges_late(&mut self, facts: &Facts, segment: &Segment, mut gap: Gap) {
        let (mine, theirs) = (&self.halves[facts.me], &self.halves[1 - facts.me]);
        let acked = theirs.acked_to.map_or(0, |acked_to| beyond(segment.ack, acked_to));
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << mine.shift);
        let opens = mine.window_edge.is_some_and(|old| after(edge, old));
        let is_probe = facts.verdict.keep_alive || facts.verdict.window_probe;
        if self.pending.is_some() || self.handshake_is_open() || is_probe || !(acked > 0 || opens) {
            return;
        }
        gap.in_flight = theirs.in_flight();
        gap.usable_window = theirs.usable_window(mine, facts.now);
        gap.window = mine.window;
        gap.largest_window = mine.largest_window;
        gap.segment_size = theirs.segment_size(mine);
        let late = LateAck { gap, acked, followed_after: 0 };
        self.pending = Some(PendingAck { late, waiter: 1 - facts.me, closed_since: None });
    }

    fn handshake_is_open(&self) -> bool {
        self.handshake.syns > 0 && self.handshake.done.is_none()
    }

    fn gap(&self, facts: &Facts, segment: &Segment) -> Gap {
        let (mine, theirs) = (&self.halves[facts.me], &self.halves[1 - facts.me]);
        Gap {
            start: self.active,
            end: facts.now,
            by_client: facts.me == self.client,
            segment: *segment,
            last_word: match self.last_word {
                None => LastWord::None,
                Some(side) if side == facts.me => LastWord::Own,
                Some(_) => LastWord::Other,
            },
            own_data: mine.last_data,
            in_flight: mine.in_flight(),
            usable_window: mine.usable_window(theirs, facts.now),
            window: theirs.window,
            largest_window: theirs.largest_window,
            scale_known: self.scale_known(),
            segment_size: mine.segment_size(theirs),
            server_spoke: self.halves[1 - self.client].last_data.is_some(),
            rtt: facts.rtt,
            free_since: [mine.emptied, theirs.spoke, self.handshake.done]
                .into_iter()
                .flatten()
                .fold(self.active, u64::max),
            felt: mine.rtt.felt() + theirs.rtt.lowest(),
        }
    }

    /// Puts a silence in.
    fn put(&mut self, start: u64, end: u64, finding: Finding) -> Ticket {
        if finding.class != Class::SmallWindow {
            self.end_pace(start);
        }
        self.timeline.put(start, end, finding, self.most_stalls)
    }

    /// Puts in what explains a longer stretch than one silence.
    fn cover(&mut self, start: u64, end: u64, finding: &Finding, weight: Weight) -> Ticket {
        self.end_pace(start);
        self.timeline.cover(start, end, finding, weight, self.most_stalls)
    }

    /// A stall ends the stretches in which a window set the pace.
    fn end_pace(&mut self, at: u64) {
        for sender in [0, 1] {
            if let Some(full) = self.halves[sender].full.take() {
                self.end_full(sender, full, at);
            }
        }
    }

    /// A stretch in which the window was always full has ended.
    #[cold]
    fn end_full(&mut self, sender: usize, full: FullWindow, end: u64) {
        let end = full.opened.map_or(end, |opened| opened.min(end));
        let length = end.saturating_sub(full.since);
        if full.fills > 1 && length > rtt::stall_threshold(self.rtt()) {
            let receiver = side(sender != self.client);
            let lags = 2 * full.lagging > full.fills;
            let judge =
                if lags { classes::zero_window::judge_full } else { classes::small_window::judge_full };
            let finding = judge(&full, receiver, length);
            self.timeline.pace(full.since, end, &finding, self.most_stalls);
        }
    }

    /// Follows whether the window is full of what `facts.me` sends, or was before this packet moved it.
    #[inline]
    fn follow_window(&mut self, facts: &Facts, is_fin: bool) {
        let [a, b] = &mut self.halves;
        let (mine, theirs) = if facts.me == 0 { (a, b) } else { (b, a) };
        if theirs.full.is_some_and(|full| full.opened.is_none()) {
            let room =
                theirs.sent_to.zip(mine.window_edge).map_or(0, |(sent_to, edge)| beyond(edge, sent_to));
            if room >= theirs.segment_size(mine)
                && let Some(full) = &mut theirs.full
            {
                full.opened = Some(facts.now);
            }
        }
        if is_fin && let Some(full) = mine.full.take() {
            self.end_full(facts.me, full, facts.now);
            return;
        }
        if !facts.new_data {
            return;
        }
        let window = theirs.window.unwrap_or(0);
        // What is left of a window that is mostly free stops nobody.
        let needed = mine.segment_size(theirs).min(window / 2);
        let is_full = mine.usable_window(theirs, facts.now).is_some_and(|usable| usable < needed);
        let before = mine.full;
        let went_on = before
            .is_some_and(|full| full.opened.is_none_or(|at| facts.now <= at + reaction_time(facts.rtt)));
        let was_large = theirs.largest_window >= SEGMENTS.saturating_mul(mine.segment_size(theirs));
        let lags = u32::from(was_large && window <= theirs.largest_window / 2);
        match (before, is_full) {
            (Some(full), true) if went_on => {
                let (fills, lagging) = (full.fills.saturating_add(1), full.lagging.saturating_add(lags));
                mine.full = Some(FullWindow { opened: None, fills, lagging, window, ..full });
            }
            // The first segments into a window that has just moved do not fill it yet.
            (Some(_), false) if went_on => {}
            (None, false) => {}
            (_, is_full) => {
                let now = FullWindow { since: facts.now, opened: None, fills: 1, lagging: lags, window };
                mine.full = is_full.then_some(now);
                if let Some(full) = before {
                    self.end_full(facts.me, full, facts.now);
                }
            }
        }
    }

    /// Remembers what the packet says.
    #[inline]
    fn take_in(&mut self, facts: &Facts, segment: &Segment, ip_id: Option<u16>) {
        let flags = segment.flags;
        if flags.has(Flags::SYN) || self.handshake.done.is_none() {
            self.shake(facts, segment);
        }
        let scale_known = self.handshake.syns > 0 && self.handshake.synacks > 0;
        let [a, b] = &mut self.halves;
        let (mine, theirs) = if facts.me == 0 { (a, b) } else { (b, a) };
        if facts.verdict.keep_alive || facts.verdict.window_probe {
            mine.packets += 1;
        } else {
            mine.sent(facts.now, segment);
        }
        if flags.has(Flags::ACK) {
            let sample = theirs.acknowledged(facts.now, segment.ack);
            if let Some(sample) = sample
                && (facts.silence <= facts.threshold || !theirs.rtt.is_known())
                && !theirs.rtt.is_held_back(sample)
            {
                theirs.rtt.sample(sample);
            }
            if let Some(sample) = sample {
                theirs.rtt.feel(sample);
            }
            if facts.verdict.duplicate_ack || tells_of_hole(segment) {
                theirs.complaint = Some(facts.now);
            }
        }
        if !flags.has(Flags::RST) {
            mine.announced(facts.now, segment);
        }
        if !scale_known && mine.in_flight() > theirs.window.unwrap_or(u32::MAX) {
            let flight = mine.in_flight();
            theirs.infer_shift(flight);
        }
        mine.stamps |= segment.options.timestamps.is_some();
        if !flags.any(Flags::SYN.with(Flags::RST)) {
            let size = mine.segment_size_on_wire(theirs);
            mine.ids.take_in(ip_id, segment.payload.div_ceil(size));
        }
        self.follow_window(facts, flags.has(Flags::FIN));
        if facts.new_data {
            self.last_word = Some(facts.me);
        } else if facts.unseen {
            // The other side spoke, where the capture did not see it.
            self.last_word = Some(1 - facts.me);
        }
        self.finished[facts.me] |= flags.has(Flags::FIN);
        self.reset |= flags.has(Flags::RST);
        // The acknowledgement of the SYN-ACK ends the handshake, whether the SYN-ACK was seen or not.
        let is_answer = !self.is_past_syn && facts.me == self.client && flags.has(Flags::ACK);
        if is_answer && self.handshake.synacks == 0 && self.handshake.syns == 1 {
            // Where the SYN-ACK was not seen, this is the only round trip that a capture of one direction holds.
            self.halves[facts.me].rtt.sample(facts.now.saturating_sub(self.handshake.first_syn));
        }
        self.is_past_syn |= !flags.has(Flags::SYN) && facts.me == self.client;
        self.last = facts.now.max(self.last);
    }

    /// A packet of the handshake.
    #[cold]
    fn shake(&mut self, facts: &Facts, segment: &Segment) {
        let before = self.handshake;
        self.handshake.observe(facts.now, segment, facts.me == self.client);
        if segment.flags.has(Flags::SYN) {
            let half = &mut self.halves[facts.me];
            half.mss = segment.options.mss;
            // RFC 7323, section 2.3: a shift above 14 is taken for 14.
            half.offered_shift = segment.options.window_scale.map(|shift| shift.min(14));
            half.sack_permitted = segment.options.sack_permitted;
            if segment.flags.has(Flags::ACK) && before.syns > 0 {
                let [a, b] = &mut self.halves;
                // Windows are scaled only if both sides offered it.
                let both = a.offered_shift.zip(b.offered_shift).unwrap_or((0, 0));
                (a.shift, b.shift) = both;
            }
        }
        if before.done.is_none() && self.handshake.done.is_some() {
            self.judge_handshake(self.handshake);
        } else if before.done.is_some() && self.handshake.synacks > before.synacks {
            // The acknowledgement was seen here, and lost behind.
            self.judge_handshake(Handshake { syns: 1, first_synack: before.last_synack, ..self.handshake });
        }
    }

    fn judge_handshake(&mut self, handshake: Handshake) {
        for (start, end, finding) in classes::of_handshake(&handshake) {
            self.cover(start, end, &finding, Weight::Said);
        }
    }

    /// Judges what is still open when the connection, or the capture, ends.
    pub(super) fn finish(&mut self) {
        if self.handshake.done.is_none() {
            self.judge_handshake(self.handshake);
        }
        let rtt = self.rtt();
        for me in [0, 1] {
            let who = side(me == self.client);
            if let Some(recovery) = self.halves[me].recovery.take()
                && recovery.last_resent.saturating_sub(recovery.start) > loss_threshold(&recovery, rtt)
            {
                let finding = classes::of_recovery(&recovery, who, rtt);
                self.end_silence(recovery.start);
                self.cover(recovery.start, recovery.last_resent, &finding, Weight::Loss);
                self.go_on(recovery.last_resent, me);
            }
            if let Some(since) = self.halves[me].closed_since.take() {
                let length = self.last.saturating_sub(since);
                let is_wanted = self.halves[me].probed || self.halves[1 - me].in_flight() > 0;
                if length > rtt::stall_threshold(rtt) && is_wanted && !self.is_closed() {
                    self.window_was_closed(me, since, self.last, None);
                }
            }
        }
        self.end_silence(self.last);
        self.end_pace(self.last);
        let stands = std::array::from_fn(|kind| {
            // Who answers or asks may take any time for it, the same one each time as well; who goes on with what he began does not.
            kind % 3 == 1 && self.by_length[kind] >= self.by_program[kind]
        });
        self.stalls = std::mem::take(&mut self.timeline).finish(stands, self.most_stalls);
    }
}

/// Silences shorter than this say nothing about whether others are of a timer's making.
const SHORT: u64 = 20 * MILLISECOND;

/// Whether a segment's SACK ranges tell of something that came twice (RFC 2883).
fn tells_of_duplicate(segment: &Segment) -> bool {
    segment.options.sack.ranges().iter().any(|&(_, right)| !after(right, segment.ack))
}

/// Whether a segment's SACK ranges tell of a hole. A range that is acknowledged already tells of something that came twice (RFC 2883).
fn tells_of_hole(segment: &Segment) -> bool {
    segment.options.sack.ranges().iter().any(|&(_, right)| after(right, segment.ack))
}

/// How soon a side that waited sends when it may: at once, but the way to it and back may lie between.
fn reaction_time(rtt: Option<Rtt>) -> u64 {
    rtt.map_or(20 * MILLISECOND, |rtt| (rtt.smoothed * 3 / 2).max(10 * MILLISECOND))
}

/// A loss that cost less is no stall. One that the receiver told of costs about a round trip.
fn loss_threshold(recovery: &Recovery, rtt: Option<Rtt>) -> u64 {
    let least = rtt.map_or(rtt::FLOOR, |rtt| match recovery.trigger {
        Trigger::Told => rtt.lowest * 3 / 4,
        Trigger::TailTimer | Trigger::Timer => (2 * rtt.smoothed).min(rtt.rto),
    });
    least.max(MILLISECOND)
}
