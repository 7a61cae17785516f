//! On which side of the path a silence began.
//!
//! 1. A packet that left one point and never reached the other was lost between them.
//! 2. A packet was retransmitted although its original had passed the other point: the receiver did not acknowledge it, unless
//!    the acknowledgement was slow between the points.
//! 3. Otherwise the packet that ended the silence is followed back: to the point nearer to its sender, to the packet that this one had waited
//!    for, and so on. Points that were quiet and delays over the minimum share the time; both are differences of times of one direction.

use plimsoll_model::trace::{Actor, Class, ConnectionReport, Side, SidedSilence, Stall, TraceReport};
use plimsoll_model::units::counted;

use super::clock::Clock;
use super::joined::Joined;
use super::record::Record;

/// Times in reports are rounded.
const ROUNDING: f64 = 1_000.0;
/// A packet whose loss began a silence left at most so much, and a round trip between the points, before it.
const BEFORE: f64 = 5e6;
/// Packets that a silence is followed back through.
const STEPS: usize = 64;
/// A packet that fills a hole comes at most this many packets late.
const HOLE: usize = 1024;

/// Every silence that is a stall in either capture, once.
pub(super) fn of(joined: &Joined, clock: Option<&Clock>, reports: [&TraceReport; 2]) -> Vec<SidedSilence> {
    let nearer = joined.near(0);
    // What is left of a silence at the other point while its end is under way is no other silence.
    let round_trip = clock.and_then(Clock::round_trip).unwrap_or(0.0);
    let mut silences: Vec<(f64, f64, SidedSilence)> = Vec::new();
    for capture in [nearer, 1 - nearer] {
        let Some(report) = report_of(joined, capture, reports[capture]) else { continue };
        for stall in &report.stalls {
            let silence = Silence::new(joined, clock, capture, stall);
            let (from, to) = silence.common;
            let is_known = silences.iter().any(|(start, end, other)| {
                let is_part = other.stall.class == stall.class && to - from <= round_trip + ROUNDING;
                let reach = if is_part { round_trip } else { 0.0 };
                other.seen_in != capture
                    && to.min(*end + reach) - from.max(*start - reach) > (to - from) / 2.0
            });
            if !is_known {
                let (began, because) = silence.began();
                silences.push((
                    from,
                    to,
                    SidedSilence { seen_in: capture, stall: stall.clone(), began, because },
                ));
            }
        }
    }
    silences.sort_by(|a, b| a.1.total_cmp(&b.1));
    silences.into_iter().map(|(_, _, silence)| silence).collect()
}

/// What the capture alone shows of the connection.
fn report_of<'r>(joined: &Joined, capture: usize, report: &'r TraceReport) -> Option<&'r ConnectionReport> {
    let connection = joined.connections[capture];
    let ends = connection.endpoints.map(|endpoint| endpoint.to_string());
    let first = connection.sent.iter().filter_map(|sent| sent.first()).map(|record| record.time).min()?;
    let start = joined.since_begin(capture, first) / 1e9;
    let named = report.connections.iter().filter(|of| ends.contains(&of.client) && ends.contains(&of.server));
    named.min_by(|a, b| (a.start_s - start).abs().total_cmp(&(b.start_s - start).abs()))
}

/// A packet in a capture.
#[derive(Clone, Copy)]
struct Event {
    side: usize,
    place: usize,
}

struct Silence<'a> {
    joined: &'a Joined<'a>,
    clock: Option<&'a Clock>,
    capture: usize,
    stall: &'a Stall,
    /// From its beginning to its end, in nanoseconds from the beginning of its capture.
    own: (f64, f64),
    /// Beginning and end by the clock of the first capture; by its own where the clocks are not aligned.
    common: (f64, f64),
}

impl<'a> Silence<'a> {
    fn new(joined: &'a Joined<'a>, clock: Option<&'a Clock>, capture: usize, stall: &'a Stall) -> Self {
        let from = stall.start_s * 1e9;
        let own = (from, from + stall.length_ms * 1e6);
        let to_common = |own: f64| match clock.filter(|clock| capture == 1 && clock.is_consistent()) {
            Some(clock) => clock.to_first(own).unwrap_or(own),
            None => own,
        };
        Self { joined, clock, capture, stall, own, common: (to_common(own.0), to_common(own.1)) }
    }

    fn length(&self) -> f64 {
        self.own.1 - self.own.0
    }

    fn record(&self, capture: usize, event: Event) -> &'a Record {
        &self.joined.sent(event.side)[capture][event.place]
    }

    fn time(&self, capture: usize, event: Event) -> f64 {
        self.joined.since_begin(capture, self.record(capture, event).time)
    }

    /// The packet that ended it.
    fn ending(&self) -> Option<Event> {
        let first = |side: usize| {
            let sent = self.joined.sent(side)[self.capture];
            let is_before =
                |record: &Record| self.joined.since_begin(self.capture, record.time) < self.own.1 - ROUNDING;
            let place = sent.partition_point(is_before);
            (place < sent.len()).then_some(Event { side, place })
        };
        let time = |event: &Event| self.time(self.capture, *event);
        [first(0), first(1)].into_iter().flatten().min_by(|a, b| time(a).total_cmp(&time(b)))
    }

    /// Where it began, and what shows it.
    fn began(&self) -> (Side, String) {
        if let Some(lost) = self.lost_between() {
            return lost;
        }
        if let Some(beyond) = [0, 1].into_iter().find_map(|side| self.never_acknowledged(side)) {
            return beyond;
        }
        self.ending().map_or_else(|| self.never_ended(), |ending| self.followed_back(ending))
    }

    /// Packets that were lost between the points, and whose loss it may be.
    fn lost_between(&self) -> Option<(Side, String)> {
        let round_trip = self.clock.and_then(Clock::round_trip).unwrap_or(0.0);
        let lost = [0, 1].map(|side| self.left_within(side, self.common.0 - BEFORE - round_trip));
        let count = |side: usize| lost[side].iter().filter(|lost| lost.1.takes_sequence()).count();
        let side = usize::from(count(1) > count(0));
        let (what, first) = match count(side) {
            0 if is_of_loss(self.stall.class) => {
                let side = usize::from(lost[1].len() > lost[0].len());
                let first = lost[side].first()?;
                return Some((
                    Side::Between,
                    left_and_never_came(lost[side].len(), "acknowledgement", side, first.1),
                ));
            }
            0 => return None,
            number => {
                ("packet", lost[side].iter().find(|lost| lost.1.takes_sequence()).map(|lost| (number, lost))?)
            }
        };
        let (number, &(place, record, left)) = first;
        let never_came = left_and_never_came(number, what, side, record);
        // A sender may have been quiet before the packet that was lost.
        let near = self.joined.near(side);
        let quiet = self.quiet_before(near, Event { side, place }).min(left - self.common.0);
        if quiet > self.common.1 - left {
            let text = format!("{} was quiet for {:.1} ms; then {never_came}", point(side), quiet / 1e6);
            return Some((owner(side), text));
        }
        Some((Side::Between, never_came))
    }

    /// Packets that were lost and had left their point from a moment until the silence ended, with their places and times.
    fn left_within(&self, side: usize, from: f64) -> Vec<(usize, &'a Record, f64)> {
        let near = self.joined.near(side);
        let sent = self.joined.sent(side)[near];
        let left = |record: &Record| {
            // Without common time only a capture's own losses can be placed.
            let own = || (near == self.capture).then(|| self.joined.since_begin(near, record.time));
            self.joined.common_time(near, record.time, self.clock).or_else(own)
        };
        self.joined.lost[side]
            .iter()
            .filter_map(|&place| Some((place, &sent[place], left(&sent[place])?)))
            .filter(|&(_, _, left)| from <= left && left < self.common.1 - ROUNDING)
            .collect()
    }

    /// No packet came until the end of the capture, although the awaited side had received the data.
    fn never_ended(&self) -> (Side, String) {
        match self.stall.waiting_for {
            Actor::Client => (Side::Client, "the client sent nothing until the captures ended".to_owned()),
            Actor::Server => (
                Side::Server,
                "the client's data reached the server's point; no reply came before the captures ended"
                    .to_owned(),
            ),
            Actor::Path | Actor::Capture => {
                (Side::Unknown, "the captures end before the side is known".to_owned())
            }
        }
    }

    /// A packet that was sent again though the first copy had come to the other point.
    fn never_acknowledged(&self, side: usize) -> Option<(Side, String)> {
        if !is_of_loss(self.stall.class) {
            return None;
        }
        let (near, far) = (self.joined.near(side), 1 - self.joined.near(side));
        let [sent, arrived] = [near, far].map(|capture| self.joined.sent(side)[capture]);
        let (first, again) = self.sent_again(side, sent)?;
        let Some(first) = first else {
            let text = format!("the original of the retransmission never reached {}", point(side));
            return Some((owner(side), text));
        };
        if self.joined.lost[side].binary_search(&first).is_ok() {
            return Some((Side::Between, left_and_never_came(1, "packet", side, &sent[first])));
        }
        let partner =
            |place: usize| self.joined.lanes[side].partner[near][place].map(|at| arrived[at as usize].time);
        let arrival = partner(first)?;
        let waited = (sent[again].time - sent[first].time) as f64 / 1e6;
        if let Some(late) = self.delay_over_minimum(side, first).filter(|late| late / 1e6 > waited / 2.0) {
            let text = format!(
                "the original of the retransmission after {waited:.1} ms took {:.1} ms more than the shortest delay between the points",
                late / 1e6
            );
            return Some((Side::Between, text));
        }
        let answers = self.joined.sent(1 - side);
        let from = answers[far].partition_point(|answer| answer.time < arrival);
        let covers = |answer: &Record| answer.ack.wrapping_sub(sent[first].end()) as i32 >= 0;
        let answer = answers[far][from..].iter().position(covers).map(|at| from + at);
        let answer = answer.filter(|&at| partner(again).is_none_or(|copy| answers[far][at].time < copy));
        let Some(answer) = answer else {
            let text = format!(
                "the original of the retransmission after {waited:.1} ms had reached {}, but no acknowledgement left there",
                point(1 - side)
            );
            return Some((owner(1 - side), text));
        };
        let came = self.joined.lanes[1 - side].partner[far][answer]?;
        let is_late = answers[near][came as usize].time > sent[again].time;
        let text = format!(
            "{} had acknowledged the original of the retransmission after {waited:.1} ms; the acknowledgement was in transit",
            point(1 - side)
        );
        is_late.then_some((Side::Between, text))
    }

    /// The first packet within the silence that was sent again, behind its copy before; `None` for one that only fills a hole.
    fn sent_again(&self, side: usize, sent: &[Record]) -> Option<(Option<usize>, usize)> {
        let near = self.joined.near(side);
        let is_by = |record: &Record, limit: f64| {
            self.joined.common_time(near, record.time, self.clock).is_some_and(|time| time <= limit)
        };
        let from = sent.partition_point(|record| is_by(record, self.common.0));
        let to = sent.partition_point(|record| is_by(record, self.common.1 + ROUNDING));
        (from..to.max(from)).filter(|&again| sent[again].takes_sequence()).find_map(|again| {
            // A copy may be part of a larger packet, which a network card splits.
            let is_copy = |record: &Record| {
                record.takes_sequence() && sent[again].seq.wrapping_sub(record.seq) < record.payload.max(1)
            };
            let is_beyond = |record: &Record| record.end().wrapping_sub(sent[again].end()) as i32 > 0;
            let begin = again.saturating_sub(HOLE);
            let first = sent[begin..again].iter().rposition(is_copy).map(|at| begin + at);
            (first.is_some() || sent[begin..again].iter().any(is_beyond)).then_some((first, again))
        })
    }

    /// Follows the packet that ended the silence back to its sender, from there to the packet that this one had waited for, and so on to the
    /// beginning of the silence. Where most of the time passed, it began.
    fn followed_back(&self, ending: Event) -> (Side, String) {
        let near = self.joined.near(ending.side);
        let Some(mut at) = self.at_near(self.capture, ending) else {
            let text =
                format!("the capture at {} lacks the packet that ended the silence", point(ending.side));
            return (Side::Unknown, text);
        };
        let (mut quiet, mut between) =
            ([0.0; 2], self.delay_over_minimum(ending.side, at.place).unwrap_or(0.0).min(self.length()));
        let mut capture = near;
        for _ in 0..STEPS {
            let left = self.joined.common_time(capture, self.record(capture, at).time, self.clock);
            let within = left.map_or(self.length(), |left| left - self.common.0);
            if within <= ROUNDING {
                break;
            }
            quiet[at.side] += self.quiet_before(capture, at).min(within);
            let Some(last) = self.last_before(capture, at) else { break };
            let Some(sent) = self.at_near(capture, last) else { break };
            if last.side != at.side {
                let arrived = self.joined.common_time(capture, self.record(capture, last).time, self.clock);
                // What it was late before the silence began is no part of it.
                let within = arrived.map_or(0.0, |arrived| (arrived - self.common.0).max(0.0));
                between += self.delay_over_minimum(sent.side, sent.place).unwrap_or(0.0).min(within);
            }
            (at, capture) = (sent, self.joined.near(sent.side));
        }
        let side = usize::from(quiet[1] > quiet[0]);
        let ms = quiet[side].max(between) / 1e6;
        if quiet[side] >= between && quiet[side] > 0.0 {
            return (owner(side), format!("{} was quiet for {ms:.1} ms of it", point(side)));
        }
        if between > 0.0 {
            return (
                Side::Between,
                format!("the packet took {ms:.1} ms more than the shortest delay between the points"),
            );
        }
        (Side::Unknown, "neither point was quiet for as long, and no packet was late".to_owned())
    }

    /// A packet of a capture at the point nearer to its sender.
    fn at_near(&self, capture: usize, event: Event) -> Option<Event> {
        if capture == self.joined.near(event.side) {
            return Some(event);
        }
        let place = self.joined.lanes[event.side].partner[capture][event.place]? as usize;
        Some(Event { place, ..event })
    }

    /// How long a capture had no packet of the connection before one.
    fn quiet_before(&self, capture: usize, event: Event) -> f64 {
        let time = self.time(capture, event);
        self.last_before(capture, event).map_or(0.0, |last| time - self.time(capture, last))
    }

    /// The packet before one, of either direction.
    fn last_before(&self, capture: usize, event: Event) -> Option<Event> {
        let time = self.record(capture, event).time;
        let last = |side: usize| {
            let sent = self.joined.sent(side)[capture];
            let count = if side == event.side {
                event.place
            } else {
                sent.partition_point(|record| record.time <= time)
            };
            count.checked_sub(1).map(|place| Event { side, place })
        };
        let time = |event: &Event| self.time(capture, *event);
        [last(0), last(1)].into_iter().flatten().max_by(|a, b| time(a).total_cmp(&time(b)))
    }

    /// How much longer than the shortest way a packet was between the points.
    fn delay_over_minimum(&self, side: usize, near_place: usize) -> Option<f64> {
        let shortest = self.clock?.round_trip()? / 2.0;
        Some((self.joined.delay(side, near_place, self.clock)? - shortest).max(0.0))
    }
}

/// The part of the path that a point divides off, and its sender.
fn owner(side: usize) -> Side {
    if side == 0 { Side::Client } else { Side::Server }
}

fn point(side: usize) -> &'static str {
    if side == 0 { "the client's point" } else { "the server's point" }
}

/// The classes that a loss, or what looked like one, explains.
fn is_of_loss(class: Class) -> bool {
    matches!(
        class,
        Class::Rto
            | Class::TailLoss
            | Class::PathDelay
            | Class::FastRetransmit
            | Class::SynRetry
            | Class::SynackRetry
    )
}

fn left_and_never_came(count: usize, what: &str, side: usize, first: &Record) -> String {
    let what = if first.is_syn() { "SYN" } else { what };
    let what = counted(count, what);
    format!("{what} left {} and never reached {}", point(side), point(1 - side))
}
