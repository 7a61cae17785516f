//! A connection that is in both captures.

use plimsoll_model::packet::Flags;
use plimsoll_model::trace::{Delay, PairedDirection};

use super::clock::{Clock, Point};
use super::packets::Lane;
use super::record::{Connection, Record};

/// A connection in both captures.
pub(super) struct Joined<'c> {
    pub(super) connections: [&'c Connection; 2],
    /// What the client sent, and what the server sent.
    pub(super) lanes: [Lane; 2],
    bases: [[u32; 2]; 2],
    /// The first and the last packet of each capture.
    begins: [u64; 2],
    ends: [u64; 2],
    /// Which capture is nearer to the client, where the packets show it.
    pub(super) nearer_to_client: Option<usize>,
    /// Places of packets of each direction that left its near point and never came to the far one.
    pub(super) lost: [Vec<usize>; 2],
}

impl<'c> Joined<'c> {
    pub(super) fn new(connections: [&'c Connection; 2], begins: [u64; 2], ends: [u64; 2]) -> Self {
        let base = |capture: usize, side: usize| match (connections[0].isn[side], connections[1].isn[side]) {
            (Some(_), Some(_)) => connections[capture].isn[side].unwrap_or(0),
            _ => 0,
        };
        let bases = [[base(0, 0), base(0, 1)], [base(1, 0), base(1, 1)]];
        let lane = |side: usize| {
            let sent = [connections[0].sent[side].as_slice(), connections[1].sent[side].as_slice()];
            Lane::new(sent, lane_bases(bases, side))
        };
        let mut joined = Self {
            lanes: [lane(0), lane(1)],
            connections,
            bases,
            begins,
            ends,
            nearer_to_client: None,
            lost: Default::default(),
        };
        joined.nearer_to_client = joined.order();
        joined
    }

    /// The capture nearer to the sender of a direction.
    pub(super) fn near(&self, side: usize) -> usize {
        self.nearer_to_client.unwrap_or(0) ^ side
    }

    pub(super) fn sent(&self, side: usize) -> [&'c [Record]; 2] {
        self.connections.map(|connection| connection.sent[side].as_slice())
    }

    /// A time of a capture in nanoseconds from its beginning.
    pub(super) fn since_begin(&self, capture: usize, time: u64) -> f64 {
        time.saturating_sub(self.begins[capture]) as f64
    }

    fn point(&self, side: usize, (first, second): (usize, usize)) -> Point {
        let sent = self.sent(side);
        let time = self.since_begin(0, sent[0][first].time);
        let later = self.since_begin(1, sent[1][second].time) - time;
        Point { time, later, is_onward: self.near(side) == 0 }
    }

    /// Packets that are in both captures.
    pub(super) fn points(&self) -> Vec<Point> {
        let of = |side: usize| self.lanes[side].pairs().map(move |pair| self.point(side, pair));
        of(0).chain(of(1)).collect()
    }

    /// Which capture is nearer to the client: there a packet of the client's is seen earlier, and the packet of the server's after it later. Each
    /// packet is compared with the next of the other direction, so that neither offset nor drift matters.
    fn order(&self) -> Option<usize> {
        let mut points: Vec<(f64, f64, usize)> = Vec::new();
        for side in 0..2 {
            points.extend(self.lanes[side].pairs().map(|pair| {
                let point = self.point(side, pair);
                (point.time, point.later, side)
            }));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut round_trips: Vec<f64> = points
            .windows(2)
            .filter(|two| two[0].2 != two[1].2)
            .map(|two| {
                let apart = two[0].1 - two[1].1;
                if two[0].2 == 0 { apart } else { -apart }
            })
            .collect();
        let middle = round_trips.len() / 2;
        let (_, median, _) =
            (!round_trips.is_empty()).then(|| round_trips.select_nth_unstable_by(middle, f64::total_cmp))?;
        (*median != 0.0).then_some(usize::from(*median < 0.0))
    }

    /// Matches data that a network card has split or merged, where it was sent once.
    pub(super) fn match_split(&mut self) {
        for side in 0..2 {
            let (sent, bases, near) = (self.sent(side), lane_bases(self.bases, side), self.near(side));
            self.lanes[side].match_pieces(sent, bases, near, None);
        }
    }

    /// Matches what only the clocks can tell; what is left was lost.
    pub(super) fn match_the_rest(&mut self, clock: Option<&Clock>) {
        if let Some(clock) = clock.filter(|clock| clock.is_consistent()) {
            self.match_by_time(clock);
        }
        self.lost = [0, 1].map(|side| self.never_arrived(side, clock));
    }

    fn match_by_time(&mut self, clock: &Clock) {
        for side in 0..2 {
            let (sent, bases, near) = (self.sent(side), lane_bases(self.bases, side), self.near(side));
            let begins = self.begins;
            let at = |capture: usize, place: usize| {
                let own = sent[capture][place].time.saturating_sub(begins[capture]) as f64;
                if capture == 0 { own } else { clock.to_first(own).unwrap_or(own) }
            };
            let had_left = |left: usize, arrived: usize| at(near, left) <= at(1 - near, arrived);
            self.lanes[side].match_by_time(near, had_left);
            self.lanes[side].match_pieces(sent, bases, near, Some(&had_left));
        }
    }

    /// A time of a capture in nanoseconds from the beginning of the first, by its clock.
    pub(super) fn common_time(&self, capture: usize, time: u64, clock: Option<&Clock>) -> Option<f64> {
        let own = self.since_begin(capture, time);
        if capture == 0 { Some(own) } else { clock.filter(|clock| clock.is_consistent())?.to_first(own) }
    }

    /// The time between the points of a packet that is in both.
    pub(super) fn delay(&self, side: usize, near_place: usize, clock: Option<&Clock>) -> Option<f64> {
        let near = self.near(side);
        let other = self.lanes[side].partner[near][near_place]? as usize;
        let pair = if near == 0 { (near_place, other) } else { (other, near_place) };
        clock?.delay(&self.point(side, pair))
    }

    /// Packets that never came to the far point, though it could have captured them.
    fn never_arrived(&self, side: usize, clock: Option<&Clock>) -> Vec<usize> {
        let near = self.near(side);
        let sent = self.sent(side);
        let lane = &self.lanes[side];
        let has_syn = sent[1 - near].iter().any(Record::is_syn);
        let answers = &self.sent(1 - side)[near];
        let furthest = furthest_acknowledgements(answers);
        let is_acknowledged = |record: &Record| {
            let later = answers.partition_point(|answer| answer.time < record.time);
            furthest[later].is_some_and(|ack| reaches(ack, record.end()))
        };
        let missing = (0..sent[near].len()).filter(|&at| lane.is_missing(near, at, &sent[near][at]));
        missing
            .filter(|&at| {
                let record = &sent[near][at];
                match self.was_on(1 - near, near, record.time, clock) {
                    Some(was_on) if was_on => true,
                    // A retransmitted SYN, or unacknowledged data, explains why the far capture is empty before or after.
                    _ if record.is_syn() => has_syn,
                    _ => record.takes_sequence() && !is_acknowledged(record),
                }
            })
            .collect()
    }

    /// Whether `far` had captured something before, and captured something after, a packet left the point `near`.
    fn was_on(&self, far: usize, near: usize, time: u64, clock: Option<&Clock>) -> Option<bool> {
        let at = |capture, time| self.common_time(capture, time, clock);
        let left = at(near, time)?;
        let longest = clock?.round_trip()?;
        Some(at(far, self.begins[far])? <= left && left + longest < at(far, self.ends[far])?)
    }

    /// What a direction of the report says.
    pub(super) fn direction(&self, side: usize, clock: Option<&Clock>) -> PairedDirection {
        let (near, sent) = (self.near(side), self.sent(side));
        let (lost, lane) = (&self.lost[side], &self.lanes[side]);
        let only_there: Vec<&Record> = sent[1 - near]
            .iter()
            .enumerate()
            .filter(|(at, record)| lane.is_missing(1 - near, *at, record))
            .map(|(_, record)| record)
            .filter(|record| self.was_on(near, 1 - near, record.time, clock).unwrap_or(false))
            .collect();
        let bytes = |&at: &usize| u64::from(sent[near][at].payload.saturating_sub(lane.covered[near][at]));
        let delays: Vec<f64> = (0..sent[near].len()).filter_map(|at| self.delay(side, at, clock)).collect();
        PairedDirection {
            sent: sent[near].len() as u64,
            arrived: sent[1 - near].len() as u64,
            lost: lost.len() as u64,
            lost_bytes: lost.iter().map(bytes).sum(),
            only_arrived: only_there.len() as u64,
            resets_from_between: only_there.iter().filter(|record| record.flags.has(Flags::RST)).count()
                as u64,
            delay: quantiles(delays),
        }
    }
}

/// For each place the furthest acknowledgement from there on; one more than there are packets.
fn furthest_acknowledgements(answers: &[Record]) -> Vec<Option<u32>> {
    let mut furthest = vec![None; answers.len() + 1];
    for (place, answer) in answers.iter().enumerate().rev() {
        let own = answer.flags.has(Flags::ACK).then_some(answer.ack);
        furthest[place] = match (own, furthest[place + 1]) {
            (Some(own), Some(later)) => Some(if reaches(own, later) { own } else { later }),
            (own, later) => own.or(later),
        };
    }
    furthest
}

/// Whether a position in a stream is at another or behind it.
fn reaches(position: u32, other: u32) -> bool {
    position.wrapping_sub(other) as i32 >= 0
}

/// The bases of a direction: of its own stream, and of the one that it acknowledges.
fn lane_bases(bases: [[u32; 2]; 2], side: usize) -> [(u32, u32); 2] {
    bases.map(|base| (base[side], base[1 - side]))
}

fn quantiles(mut delays: Vec<f64>) -> Option<Delay> {
    delays.sort_by(f64::total_cmp);
    let last = delays.len().checked_sub(1)?;
    let at = |share: f64| delays[(share * delays.len() as f64).ceil() as usize - 1] / 1e6;
    Some(Delay {
        packets: delays.len() as u64,
        min_ms: delays[0] / 1e6,
        median_ms: at(0.5),
        p90_ms: at(0.9),
        p99_ms: at(0.99),
        max_ms: delays[last] / 1e6,
    })
}
