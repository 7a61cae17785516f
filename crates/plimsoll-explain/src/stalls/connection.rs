//! One TCP connection: what its packets change, and which of its silences are stalls.

use plimsoll_model::packet::{Endpoint, Flags, Segment};

use super::classes::{self, Finding, side};
use super::counts::{self, Verdict};
use super::gap::{Gap, LastWord, LateAck};
use super::half::{FullWindow, Half};
use super::handshake::{Handshake, Predecessor};
use super::log::Log;
use super::recovery::{Recovery, Trigger};
use super::rtt::{self, Rtt};
use super::sequence::{after, before, beyond};
use super::time::MILLISECOND;
use plimsoll_model::trace::Class;

/// An acknowledgement that came late, until it shows whether somebody waited for it.
#[derive(Clone, Copy)]
struct PendingAck {
    late: LateAck,
    /// The side that may have waited.
    waiter: usize,
}

/// Data that was sent after a silence while older data was still in flight: a probe of the tail, or just data.
struct Probe {
    sender: usize,
    as_loss: Recovery,
    otherwise: (u64, u64, Finding),
}

/// A silence behind which a part of the data is missing: lost on the way, or by the capture.
struct Skipped {
    sender: usize,
    missing_from: u32,
    missing: u32,
    otherwise: (u64, u64, Finding),
}

/// A segment after a silence as long as a timeout, seen where a loss before it cannot be seen.
struct Resumed {
    sender: usize,
    /// The silence as a loss of the sender's.
    as_loss: Recovery,
    /// The segment was a full one, and promised more.
    promised: bool,
    /// It has been acknowledged.
    acked: bool,
    otherwise: (u64, u64, Finding),
}

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
    pub(super) log: Log,
    most_stalls: usize,
    /// When a packet was last seen that somebody could have waited for.
    active: u64,
    /// Who sent it.
    active_by: usize,
    last_word: Option<usize>,
    finished: [bool; 2],
    reset: bool,
    pending: Option<PendingAck>,
    probe: Option<Probe>,
    skipped: Option<Skipped>,
    resumed: Option<Resumed>,
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
            log: Log::default(),
            most_stalls,
            active: now,
            active_by: me,
            last_word: None,
            finished: [false; 2],
            reset: false,
            pending: None,
            probe: None,
            skipped: None,
            resumed: None,
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

    /// Takes in a segment that endpoint `me` sent.
    #[inline]
    pub(super) fn step(&mut self, now: u64, me: usize, segment: &Segment) {
        // Captures of several interfaces hold packets a little out of order; within a connection time never runs back.
        let now = now.max(self.last);
        let facts = self.facts(now, me, segment);
        if self.pending.is_some() {
            self.settle_pending(&facts);
        }
        if self.probe.is_some() || self.skipped.is_some() || self.resumed.is_some() {
            self.settle_doubts(&facts, segment);
        }
        self.window_moves(&facts, segment);
        if facts.resent {
            self.resend(&facts, segment);
        }
        if facts.advances && self.halves[1 - me].recovery.is_some() {
            self.recover(&facts);
        }
        if now.saturating_sub(self.active) > facts.threshold {
            self.silence_ends(&facts, segment);
        } else if !facts.is_pure || facts.advances {
            self.active = now.max(self.active);
            self.active_by = me;
        }
        self.take_in(&facts, segment);
    }

    #[inline]
    fn facts(&mut self, now: u64, me: usize, segment: &Segment) -> Facts {
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
        Facts {
            now,
            me,
            verdict,
            rtt,
            threshold: if self.active_by == me {
                rtt::stall_threshold(rtt)
            } else {
                rtt::answer_threshold(rtt, &mine.rtt)
            },
            silence: now.saturating_sub(self.active),
            new_data: has_data && mine.sent_to.is_none_or(|sent_to| after(segment.end(), sent_to)),
            resent: takes_room
                && !flags.has(Flags::SYN)
                && mine.sent_to.is_some_and(|sent_to| before(segment.seq, sent_to)),
            advances: ack.is_some_and(|ack| theirs.acked_to.is_some_and(|acked_to| after(ack, acked_to))),
            unseen: ack.is_some_and(|ack| theirs.never_seen(ack)),
            is_pure: !has_data && !is_control,
        }
    }

    /// Whether somebody waited for an acknowledgement that came late shows in who sends next, and how soon.
    #[cold]
    fn settle_pending(&mut self, facts: &Facts) {
        let Some(PendingAck { mut late, waiter }) = self.pending else { return };
        let since = facts.now.saturating_sub(late.gap.end);
        let soon = since <= reaction_time(facts.rtt);
        if facts.new_data && facts.me == waiter && soon {
            late.followed_after = since;
            if let Some(finding) = classes::of_late_ack(&late) {
                self.add(late.gap.start, late.gap.end, finding);
                self.active = late.gap.end;
                self.active_by = 1 - waiter;
            }
        }
        if !(soon && (facts.is_pure || facts.resent)) {
            self.pending = None;
        }
    }

    /// Whether data after a silence was a probe, and whether a hole was lost by the capture, shows in what is acknowledged.
    #[cold]
    fn settle_doubts(&mut self, facts: &Facts, segment: &Segment) {
        let complains = facts.verdict.duplicate_ack || !segment.options.sack.is_empty();
        if let Some(probe) = self.probe.take_if(|probe| {
            if facts.me == probe.sender { facts.resent } else { facts.advances || complains }
        }) {
            let (start, end, otherwise) = probe.otherwise;
            let lost = complains || facts.me == probe.sender;
            let sender = side(probe.sender == self.client);
            let finding =
                if lost { classes::of_recovery(&probe.as_loss, sender, facts.rtt) } else { otherwise };
            self.add(start, end, finding);
        }
        self.settle_resumed(facts, segment);
        let is_acked = |skipped: &Skipped| {
            facts.me != skipped.sender && facts.advances && after(segment.ack, skipped.missing_from)
        };
        if let Some(skipped) = self.skipped.take_if(|skipped| is_acked(skipped)) {
            let (start, end, otherwise) = skipped.otherwise;
            let length = end.saturating_sub(start);
            let finding =
                if facts.unseen { classes::capture_gap::judge(length, skipped.missing) } else { otherwise };
            self.add(start, end, finding);
        }
    }

    /// What the sender does after the first segment after a long silence shows whether the silence was a timeout: with a
    /// lost flight behind it, it may send but that one until it is acknowledged, and what follows leaves a hole.
    fn settle_resumed(&mut self, facts: &Facts, segment: &Segment) {
        let Some(resumed) = &mut self.resumed else { return };
        if facts.me != resumed.sender {
            resumed.acked |= facts.advances;
            return;
        }
        if segment.payload == 0 {
            return;
        }
        let leaves_hole = self.halves[facts.me].sent_to.is_some_and(|sent_to| after(segment.seq, sent_to));
        let is_loss = leaves_hole || (resumed.promised && resumed.acked);
        if let Some(Resumed { sender, as_loss, otherwise: (start, end, otherwise), .. }) = self.resumed.take()
        {
            let sender = side(sender == self.client);
            let finding = if is_loss { classes::of_recovery(&as_loss, sender, facts.rtt) } else { otherwise };
            self.add(start, end, finding);
        }
    }

    /// Opens and closes the window that the sender of this packet announces.
    #[inline]
    fn window_moves(&mut self, facts: &Facts, segment: &Segment) {
        if segment.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            return;
        }
        let half = &mut self.halves[facts.me];
        if segment.window == 0 {
            half.closed_since.get_or_insert(facts.now);
        } else if let Some(since) = half.closed_since.take() {
            let length = facts.now.saturating_sub(since);
            if length > facts.threshold {
                let opened_to = u32::from(segment.window) << half.shift;
                let receiver = side(facts.me == self.client);
                let finding = classes::zero_window::judge(receiver, length, Some(opened_to));
                self.add(since, facts.now, finding);
                self.active = facts.now.max(self.active);
            }
        }
    }

    /// A segment that was sent before, or that fills a hole.
    #[cold]
    fn resend(&mut self, facts: &Facts, segment: &Segment) {
        let quiet = facts.now.saturating_sub(self.last);
        let half = &mut self.halves[facts.me];
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
        };
        let is_acked = half.acked_to.is_some_and(|acked_to| !after(segment.end(), acked_to));
        if is_acked {
            // What was acknowledged before is sent again only because the acknowledgement got lost behind the capture.
            if quiet > facts.threshold {
                let finding = classes::of_recovery(&recovery, side(facts.me == self.client), facts.rtt);
                self.add(self.last, facts.now, finding);
            }
        } else {
            half.recovery = Some(recovery);
        }
    }

    /// The acknowledgement that ends a loss.
    #[cold]
    fn recover(&mut self, facts: &Facts) {
        let sender = 1 - facts.me;
        let Some(recovery) = self.halves[sender].recovery.take() else { return };
        let length = facts.now.saturating_sub(recovery.start);
        if length > loss_threshold(&recovery, facts.rtt) {
            let finding = classes::of_recovery(&recovery, side(sender == self.client), facts.rtt);
            self.add(recovery.start, facts.now, finding);
            self.active = facts.now.max(self.active);
        }
    }

    /// A packet after a silence that is long enough for a stall.
    #[cold]
    fn silence_ends(&mut self, facts: &Facts, segment: &Segment) {
        let gap = self.gap(facts, segment);
        if facts.unseen {
            let missing = self.halves[1 - facts.me].sent_to.map_or(0, |sent_to| beyond(segment.ack, sent_to));
            self.stall(&gap, classes::capture_gap::judge(gap.length(), missing));
        } else if facts.is_pure {
            self.acknowledges_late(facts, segment, gap);
            return;
        } else if facts.new_data || segment.flags.any(Flags::FIN.with(Flags::RST)) && !facts.resent {
            self.speaks(facts, segment, &gap);
        }
        self.active = facts.now;
        self.active_by = facts.me;
    }

    /// Data, FIN or RST after a silence.
    fn speaks(&mut self, facts: &Facts, segment: &Segment, gap: &Gap) {
        let mine = &self.halves[facts.me];
        let peer_is_closed = self.halves[1 - facts.me].closed_since.is_some();
        let is_judged_elsewhere = peer_is_closed || mine.recovery.is_some() || segment.flags.has(Flags::SYN);
        if is_judged_elsewhere {
            return;
        }
        if let Some(lost) = self.halves[1 - facts.me].recovery.take() {
            // This side speaks for want of what the other one is still sending again.
            let finding = classes::of_recovery(&lost, side(facts.me != self.client), facts.rtt);
            self.add(lost.start, gap.end, finding);
            return;
        }
        let otherwise = classes::of_gap(gap);
        match self.halves[facts.me].sent_to {
            Some(sent_to) if after(segment.seq, sent_to) => {
                self.skipped = Some(Skipped {
                    sender: facts.me,
                    missing_from: sent_to,
                    missing: beyond(segment.seq, sent_to),
                    otherwise: (gap.start, gap.end, otherwise),
                });
            }
            _ if gap.in_flight > 0 && segment.payload > 0 => {
                let as_loss = Recovery::in_one_step(gap, Trigger::TailTimer);
                let otherwise = (gap.start, gap.end, otherwise);
                self.probe = Some(Probe { sender: facts.me, as_loss, otherwise });
            }
            _ if may_be_timeout(gap, otherwise.class) => {
                self.resumed = Some(Resumed {
                    sender: facts.me,
                    as_loss: Recovery::in_one_step(gap, Trigger::Timer),
                    promised: !segment.flags.has(Flags::PSH)
                        && segment.payload.is_multiple_of(gap.segment_size),
                    acked: false,
                    otherwise: (gap.start, gap.end, otherwise),
                });
            }
            _ => self.stall(gap, otherwise),
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
        self.pending =
            Some(PendingAck { late: LateAck { gap, acked, followed_after: 0 }, waiter: 1 - facts.me });
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
        }
    }

    fn stall(&mut self, gap: &Gap, finding: Finding) {
        self.add(gap.start, gap.end, finding);
    }

    /// Puts a stall into the log, and before it the stretch of a full window that it interrupts.
    fn add(&mut self, start: u64, end: u64, finding: Finding) {
        let is_full = self.halves.iter().any(|half| half.full.is_some());
        if is_full && finding.class == Class::SmallWindow {
            // It is a part of that stretch.
            return;
        }
        for sender in [0, 1] {
            if let Some(full) = self.halves[sender].full.take() {
                self.end_full(sender, full, start);
            }
        }
        self.log.add(start, end, finding, self.most_stalls);
    }

    /// A stretch in which the window was always full has ended.
    #[cold]
    fn end_full(&mut self, sender: usize, full: FullWindow, end: u64) {
        let end = full.opened.map_or(end, |opened| opened.min(end));
        let length = end.saturating_sub(full.since);
        if full.fills > 1 && length > rtt::stall_threshold(self.rtt()) {
            let receiver = side(sender != self.client);
            let finding = classes::small_window::judge_full(&full, receiver, length);
            self.log.add(full.since, end, finding, self.most_stalls);
        }
    }

    /// Follows whether the window is full of what `facts.me` sends, or was before this packet moved it.
    #[inline]
    fn follow_window(&mut self, facts: &Facts) {
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
        match (before, is_full) {
            (Some(full), true) if went_on => {
                mine.full =
                    Some(FullWindow { opened: None, fills: full.fills.saturating_add(1), window, ..full });
            }
            // The first segments into a window that has just moved do not fill it yet.
            (Some(_), false) if went_on => {}
            (None, false) => {}
            (_, is_full) => {
                let now = FullWindow { since: facts.now, opened: None, fills: 1, window };
                mine.full = is_full.then_some(now);
                if let Some(full) = before {
                    self.end_full(facts.me, full, facts.now);
                }
            }
        }
    }

    /// Remembers what the packet says.
    #[inline]
    fn take_in(&mut self, facts: &Facts, segment: &Segment) {
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
            {
                theirs.rtt.sample(sample);
            }
            if facts.verdict.duplicate_ack || !segment.options.sack.is_empty() {
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
        self.follow_window(facts);
        if facts.new_data {
            self.last_word = Some(facts.me);
        }
        self.finished[facts.me] |= flags.has(Flags::FIN);
        self.reset |= flags.has(Flags::RST);
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
            self.add(start, end, finding);
        }
    }

    /// Judges what is still open when the connection, or the capture, ends.
    pub(super) fn finish(&mut self) {
        if self.handshake.done.is_none() {
            self.judge_handshake(self.handshake);
        }
        let rtt = self.rtt();
        let doubts = [
            self.probe.take().map(|probe| probe.otherwise),
            self.skipped.take().map(|skipped| skipped.otherwise),
            self.resumed.take().map(|resumed| resumed.otherwise),
        ];
        for (start, end, finding) in doubts.into_iter().flatten() {
            self.add(start, end, finding);
        }
        for me in [0, 1] {
            let who = side(me == self.client);
            if let Some(full) = self.halves[me].full.take() {
                self.end_full(me, full, self.last);
            }
            if let Some(recovery) = self.halves[me].recovery.take()
                && recovery.last_resent.saturating_sub(recovery.start) > loss_threshold(&recovery, rtt)
            {
                let finding = classes::of_recovery(&recovery, who, rtt);
                self.add(recovery.start, recovery.last_resent, finding);
            }
            if let Some(since) = self.halves[me].closed_since.take() {
                let length = self.last.saturating_sub(since);
                if length > rtt::stall_threshold(rtt) && !self.is_closed() {
                    let finding = classes::zero_window::judge(who, length, None);
                    self.add(since, self.last, finding);
                }
            }
        }
    }
}

/// Whether the middle of a transfer stood still for as long as a timeout.
fn may_be_timeout(gap: &Gap, class: Class) -> bool {
    let is_pause = matches!(class, Class::SenderWaited | Class::SenderHeld);
    is_pause && gap.segment.payload > 0 && gap.length() >= rtt::RTO_MIN * 9 / 10
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
