//! One TCP connection: what its packets change, and which of its silences are stalls.

mod dialogue;
mod doubt;
mod loss;
mod queue;
mod silence;
mod window;

use plimsoll_model::packet::{Endpoint, Flags, Segment};
use plimsoll_model::trace::{Actor, Class};

use self::dialogue::Dialogue;
use self::doubt::{Doubt, PendingAck};
use self::loss::loss_threshold;
use super::classes::{self, Finding, side};
use super::counts::{self, Verdict};
use super::gap::{Gap, LastWord};
use super::half::Half;
use super::handshake::{Handshake, Predecessor};
use super::ids::Explained;
use super::rtt::{self, Rtt};
use super::sequence::{after, before};
use super::time::MILLISECOND;
use super::timeline::{CLOSING, KINDS, NUMBERING, STREAM, Stalls, Ticket, Timeline, Weight};

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
    /// Data before it is not in the capture.
    skips: bool,
    /// Whether the packet was sent again only because the receiver's window has no room for it.
    probes_window: bool,
    /// How many packets its side sent before it that were not seen, by the numbers of their IP headers.
    missing_ids: Option<u16>,
    /// Whether the packet acknowledges new data.
    advances: bool,
    /// Whether the packet acknowledges data that was never captured.
    unseen: bool,
    /// Whether the packet carries nothing but an acknowledgement.
    is_pure: bool,
    /// Reports a hole in what arrived: by a selective acknowledgement, or by a duplicate that is not an old one that was late.
    tells_of_loss: bool,
}

/// Reports of routers that segments were too big for the next link.
#[derive(Clone, Copy)]
pub(super) struct TooBig {
    pub(super) first: u64,
    pub(super) count: u64,
    /// The least of the MTUs that they state.
    pub(super) mtu: u32,
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
    pub(super) too_big: Option<TooBig>,
    /// What kept it; whole when the connection is finished.
    pub(super) stalls: Stalls,
    timeline: Timeline,
    most_stalls: usize,
    /// Time of the last packet that a side may have waited for.
    active: u64,
    /// Whether it has been silent since for long enough for a stall.
    is_silent: bool,
    /// Silences that are not short, by kind: those that only their length assigns to a timer, and the others.
    by_length: [u32; KINDS],
    by_program: [u32; KINDS],
    /// Who sent it.
    active_by: usize,
    last_word: Option<usize>,
    dialogue: Dialogue,
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
            too_big: None,
            stalls: Stalls::default(),
            timeline: Timeline::default(),
            most_stalls,
            active: now,
            is_silent: false,
            by_length: [0; KINDS],
            by_program: [0; KINDS],
            active_by: me,
            last_word: None,
            dialogue: Dialogue::default(),
            is_past_syn: false,
            finished: [false; 2],
            reset: false,
            pending: None,
            doubts: Vec::new(),
        }
    }

    /// Remembers the connection that had these addresses and ports before.
    pub(super) fn follow(&mut self, old: &Self) {
        // An unanswered attempt leaves no connection behind.
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
        self.halves.iter().all(|half| half.scale_known)
    }

    /// Whether both sides may acknowledge selectively.
    fn has_sack(&self) -> bool {
        self.halves.iter().all(|half| half.sack_permitted)
    }

    /// Takes in a segment that endpoint `me` sent, with the identification of its IP header.
    #[inline]
    pub(super) fn step(&mut self, now: u64, me: usize, segment: &Segment, ip_id: Option<u16>) {
        // Captures of several interfaces hold packets a little out of order; within a connection time never runs back.
        let now = now.max(self.last);
        let facts = self.facts(now, me, segment, ip_id);
        if self.pending.is_some() {
            self.settle_pending(&facts, segment);
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
            if facts.is_pure && self.may_be_held_back(&facts) {
                let gap = self.gap(&facts, segment);
                self.acknowledges_late(&facts, segment, gap, self.round_trip_to_waiter(&facts));
            }
            self.go_on(now, me);
        }
        self.take_in(&facts, segment, ip_id);
    }

    /// Records a packet that a side may have waited for. If `at` is earlier than the last one, the silence after that one continues.
    #[inline]
    fn go_on(&mut self, at: u64, by: usize) {
        if at >= self.active {
            self.active_by = by;
        }
        if at > self.active {
            self.active = at;
            self.is_silent = false;
        }
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
            skips: has_data && mine.sent_to.is_some_and(|sent_to| after(segment.seq, sent_to)),
            probes_window: resent && theirs.is_closed_to(mine),
            missing_ids: mine.ids.missing(ip_id),
            advances: ack.is_some_and(|ack| theirs.acked_to.is_some_and(|acked_to| after(ack, acked_to))),
            unseen: ack.is_some_and(|ack| theirs.never_seen(ack)),
            is_pure: !has_data && !is_control,
            tells_of_loss: tells_of_hole(segment)
                || (verdict.duplicate_ack
                    && !ack.zip(theirs.acked_to).is_some_and(|(ack, acked_to)| before(ack, acked_to))),
        }
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
            segment_size: mine.segment_size(theirs),
            other_closed: self.finished[1 - facts.me],
            answered: self.dialogue.answered,
            one_way: self.is_one_way(),
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

    /// Remembers what the packet says.
    #[inline]
    fn take_in(&mut self, facts: &Facts, segment: &Segment, ip_id: Option<u16>) {
        let flags = segment.flags;
        if flags.has(Flags::SYN) || self.handshake.done.is_none() {
            self.shake(facts, segment);
        }
        let server_spoke = self.halves[1 - self.client].spoke;
        let [a, b] = &mut self.halves;
        let (mine, theirs) = if facts.me == 0 { (a, b) } else { (b, a) };
        if facts.verdict.keep_alive || facts.verdict.window_probe {
            mine.packets += 1;
        } else {
            mine.sent(facts.now, segment);
        }
        let mut sample = None;
        if flags.has(Flags::ACK) {
            sample = theirs.acknowledged(facts.now, segment.ack);
            if let Some(sample) = sample
                && (facts.silence <= facts.threshold || !theirs.rtt.is_known())
                && !theirs.rtt.is_held_back(sample)
            {
                theirs.rtt.sample(sample);
            }
            if let Some(sample) = sample {
                theirs.rtt.feel(sample);
            }
            if facts.tells_of_loss {
                theirs.complaint = Some(facts.now);
            }
        }
        if !flags.has(Flags::RST) {
            mine.announced(facts.now, segment);
        }
        if let Some((stamp, _)) = segment.options.timestamps {
            mine.stamps = true;
            if let Some(sample) = sample {
                mine.clock.was_sent_after(stamp, facts.now.saturating_sub(sample));
            }
            mine.clock.take_in(stamp, facts.now);
        }
        if !flags.any(Flags::SYN.with(Flags::RST)) {
            let size = mine.segment_size_on_wire(theirs);
            let step = mine.ids.step(ip_id);
            let is_after_timer = facts.silence >= rtt::RTO_MIN * 9 / 10;
            let explained = if is_after_timer && rtt::is_time_of_loss(facts.rtt, step, facts.silence) {
                Explained::ByTimer
            } else if facts.resent
                || facts.skips
                || (is_after_timer && facts.silence <= rtt::longest_loss(facts.rtt, step))
            {
                Explained::Possibly
            } else {
                Explained::No
            };
            mine.ids.take_in(ip_id, segment.payload.div_ceil(size), explained);
        }
        self.follow_window(facts, flags.has(Flags::FIN), sample);
        if facts.new_data {
            self.converse(facts, server_spoke);
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
        self.bound_round_trip(facts, flags);
        self.is_past_syn |= !flags.has(Flags::SYN) && facts.me == self.client;
        self.last = facts.now.max(self.last);
    }

    /// Takes the first packet behind a SYN-ACK for the end of a round trip where the client's packets are not in the capture. The server sends it in
    /// answer to the client, so the round trip is no longer than that.
    fn bound_round_trip(&mut self, facts: &Facts, flags: Flags) {
        let Handshake { syns, synacks, first_synack, .. } = self.handshake;
        let is_alone = syns == 0 && synacks == 1 && self.halves[self.client].packets == 0;
        let took = facts.now.saturating_sub(first_synack);
        let half = &mut self.halves[facts.me];
        if is_alone && !flags.has(Flags::SYN) && !half.rtt.is_known() && took < rtt::LONGEST_BOUND {
            half.rtt.sample(took);
        }
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
            half.options_cut = segment.options.is_cut;
            if segment.flags.has(Flags::ACK) && before.syns > 0 {
                let [a, b] = &mut self.halves;
                // Windows are scaled only if both sides offered it.
                let both = a.offered_shift.zip(b.offered_shift).unwrap_or((0, 0));
                (a.shift, b.shift) = both;
                let is_known = !(a.options_cut || b.options_cut);
                (a.scale_known, b.scale_known) = (is_known, is_known);
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

    /// Judges what is still open when the connection, or at `capture_end` the capture, ends.
    pub(super) fn finish(&mut self, capture_end: Option<u64>) {
        if self.handshake.done.is_none() {
            self.judge_handshake(self.handshake);
        }
        let rtt = self.rtt();
        // The first packets of a path may take longer than later ones: addresses are resolved, and routes looked up.
        let usual = rtt.map_or(0, |rtt| 2 * rtt.lowest);
        let limit =
            |to: usize| rtt::answer_threshold(rtt, &self.halves[to].rtt).max(rtt::FLOOR_UNKNOWN).max(usual);
        let limits = [limit(1 - self.client), limit(self.client)];
        for (start, end, finding) in classes::of_slow_handshake(&self.handshake, limits, rtt) {
            self.cover(start, end, &finding, Weight::Said);
        }
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
        self.wait_until(capture_end);
        self.end_last_silence();
        self.end_pace(self.last);
        let numbered = self.halves.each_ref().map(|half| half.ids.are_of_connection());
        let is_stream = self.is_stream();
        let stands = std::array::from_fn(|kind| {
            if kind == STREAM {
                return !is_stream;
            }
            if kind == CLOSING {
                return true;
            }
            if kind >= NUMBERING {
                return numbered[kind - NUMBERING];
            }
            // A request or a reply may take any time, even a constant one; the continuation of a message may not.
            kind % 3 == 1 && self.by_length[kind] >= self.by_program[kind]
        });
        self.stalls = std::mem::take(&mut self.timeline).finish(stands, self.most_stalls);
    }

    /// A request that is not answered when the capture ends waits until then.
    fn wait_until(&mut self, capture_end: Option<u64>) {
        let Some(end) = capture_end.filter(|&end| end > self.active) else { return };
        let waits = self.last_word == Some(self.client) && self.finished == [false; 2] && !self.reset;
        let length = end - self.active;
        if !waits || self.is_one_way() || length <= rtt::stall_threshold(self.rtt()) {
            return;
        }
        let finding = if length > self.dialogue.longest_answer {
            classes::unanswered::at_end(length, self.halves[self.client].in_flight())
        } else {
            classes::of_turn(Some(Actor::Client), length)
        };
        self.put(self.active, end, finding);
        self.last = end;
        self.go_on(end, self.client);
    }
}

/// Whether a segment's SACK ranges tell of something that came twice (RFC 2883).
fn tells_of_duplicate(segment: &Segment) -> bool {
    segment.options.sack.ranges().iter().any(|&(_, right)| !after(right, segment.ack))
}

/// Whether a segment's SACK ranges tell of a hole. A range that is acknowledged already tells of something that came twice (RFC 2883).
fn tells_of_hole(segment: &Segment) -> bool {
    segment.options.sack.ranges().iter().any(|&(_, right)| after(right, segment.ack))
}

/// Reaction time of a waiting side: immediate, plus the round trip to it.
fn reaction_time(rtt: Option<Rtt>) -> u64 {
    rtt.map_or(20 * MILLISECOND, |rtt| (rtt.smoothed * 3 / 2).max(10 * MILLISECOND))
}
