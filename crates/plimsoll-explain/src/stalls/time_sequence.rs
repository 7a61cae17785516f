//! Time-sequence graphs: connections drawn over time, with as many points as a screen can show.
//!
//! They are made in a second reading, when it is known which connections are worth it and how long each lived. Each series keeps the
//! first and the last point of every small stretch of time, so that a stall keeps its true ends.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use plimsoll_model::packet::{Endpoint, Flags, Packet, Segment, Transport};
use plimsoll_model::trace::{DirectionSeries, Point, TimeSequence, TraceReport};

use super::connection::Connection;
use super::table::LATEST;
use super::time::{SECOND, ms, seconds};

/// Into how many stretches a connection's life is cut for its points.
const STRETCHES: u64 = 600;
/// Into how many for its rate.
const RATES: u64 = 150;
/// How many segments that were sent again are drawn at most.
const RESENT: usize = 500;

/// A connection that is worth a time-sequence graph.
#[derive(Clone, Debug)]
struct Chosen {
    /// Its place in the report.
    place: usize,
    endpoints: [Endpoint; 2],
    client: usize,
    first: u64,
    last: u64,
}

/// The connections that get a time-sequence graph: those with the most stall time, then those with the most bytes.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    begin: u64,
    chosen: Vec<Chosen>,
}

impl Choice {
    /// Chooses among connections in the order of the report.
    pub(super) fn among(connections: &[Connection], begin: u64, most: usize) -> Self {
        let mut places: Vec<usize> = (0..connections.len()).collect();
        let worth = |place: &usize| {
            let connection = &connections[*place];
            let bytes: u64 = connection.halves.iter().map(|half| half.bytes).sum();
            std::cmp::Reverse((connection.stalls.total(), bytes))
        };
        places.sort_by_key(worth);
        places.truncate(most);
        let chosen = places.into_iter().map(|place| {
            let Connection { endpoints, client, first, last, .. } = &connections[place];
            Chosen { place, endpoints: *endpoints, client: *client, first: *first, last: *last }
        });
        Self { begin, chosen: chosen.collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }
}

/// Draws the chosen connections, from the same packets in the same order as before.
pub struct Painter<'r> {
    begin: u64,
    report: &'r TraceReport,
    /// Sketches by the connection's endpoints, the lesser first.
    places: HashMap<(Endpoint, Endpoint), Vec<usize>, RandomState>,
    sketches: Vec<Sketch>,
}

impl<'r> Painter<'r> {
    /// A painter of the connections that were chosen of a report.
    #[must_use]
    pub fn new(report: &'r TraceReport, choice: &Choice) -> Self {
        let mut places: HashMap<_, Vec<usize>, RandomState> = HashMap::default();
        for (nth, chosen) in choice.chosen.iter().enumerate() {
            let [a, b] = chosen.endpoints;
            places.entry((a.min(b), a.max(b))).or_default().push(nth);
        }
        let sketches = choice.chosen.iter().map(|chosen| Sketch::new(chosen, choice.begin, report));
        Self { begin: choice.begin, report, places, sketches: sketches.collect() }
    }

    /// Takes in the next packet.
    pub fn packet(&mut self, packet: &Packet) {
        let Transport::Tcp(segment) = &packet.transport else { return };
        let (a, b) = (packet.source, packet.destination);
        let Some(places) = self.places.get(&(a.min(b), a.max(b))) else { return };
        let now = packet.time_ns.min(LATEST);
        let lived = |nth: &&usize| (self.sketches[**nth].first..=self.sketches[**nth].last).contains(&now);
        let Some(&nth) = places.iter().find(lived) else { return };
        self.sketches[nth].take_in(now, self.begin, packet.source, segment);
    }

    /// The time-sequence graphs, the longest stalled first.
    pub fn finish(self) -> Vec<TimeSequence> {
        let report = self.report;
        let time_sequence = |sketch: Sketch| TimeSequence {
            place: String::new(),
            connection: report.connections[sketch.place].clone(),
            from_client: sketch.from_client.finish(),
            from_server: sketch.from_server.finish(),
        };
        self.sketches.into_iter().map(time_sequence).collect()
    }
}

/// A time-sequence graph that is being drawn.
struct Sketch {
    place: usize,
    client: Endpoint,
    first: u64,
    last: u64,
    from_client: Stroke,
    from_server: Stroke,
}

impl Sketch {
    fn new(chosen: &Chosen, begin: u64, report: &TraceReport) -> Self {
        let connection = &report.connections[chosen.place];
        let scales = [connection.from_client.window_scale, connection.from_server.window_scale];
        // Both sides have to offer it (RFC 7323, section 2.2).
        let scale =
            |nth: usize| if scales.iter().all(Option::is_some) { scales[nth].unwrap_or(0) } else { 0 };
        let time = Time { begin, first: chosen.first, length: (chosen.last - chosen.first).max(1) };
        Self {
            place: chosen.place,
            client: chosen.endpoints[chosen.client],
            first: chosen.first,
            last: chosen.last,
            // What limits the client is the server's window.
            from_client: Stroke::new(time, scale(1)),
            from_server: Stroke::new(time, scale(0)),
        }
    }

    fn take_in(&mut self, now: u64, begin: u64, source: Endpoint, segment: &Segment) {
        let (own, other) = if source == self.client {
            (&mut self.from_client, &mut self.from_server)
        } else {
            (&mut self.from_server, &mut self.from_client)
        };
        let at = seconds(now.saturating_sub(begin));
        own.sends(now, at, segment);
        if segment.flags.has(Flags::ACK) {
            other.is_acknowledged(now, at, segment);
        }
    }
}

/// How a moment becomes a place on the axis.
#[derive(Clone, Copy)]
struct Time {
    begin: u64,
    first: u64,
    length: u64,
}

impl Time {
    /// Which of `of` equal stretches of the connection's life a moment is in.
    fn stretch(self, now: u64, of: u64) -> u64 {
        let since = u128::from(now.saturating_sub(self.first));
        let nth = since * u128::from(of) / u128::from(self.length);
        u64::try_from(nth).unwrap_or(u64::MAX).min(of - 1)
    }
}

/// One direction that is being drawn.
struct Stroke {
    time: Time,
    scale: u8,
    /// The highest sequence number that was seen, and its distance from the first.
    highest: Option<(u32, i64)>,
    sent_any: bool,
    sent: Series,
    acked: Series,
    window: Series,
    rtt: Series,
    resent: Vec<Point>,
    bytes: Vec<u64>,
    /// The end of a segment whose acknowledgement is waited for, and when it was sent.
    timed: Option<(i64, u64)>,
}

impl Stroke {
    fn new(time: Time, scale: u8) -> Self {
        Self {
            time,
            scale,
            highest: None,
            sent_any: false,
            sent: Series::default(),
            acked: Series::default(),
            window: Series::default(),
            rtt: Series::default(),
            resent: Vec::new(),
            bytes: vec![0; RATES as usize],
            timed: None,
        }
    }

    /// The distance of a sequence number from the first that was seen.
    fn place(&mut self, seq: u32) -> i64 {
        let (highest, at) = *self.highest.get_or_insert((seq, 0));
        let place = at + i64::from(seq.wrapping_sub(highest).cast_signed());
        if place > at {
            self.highest = Some((seq, place));
        }
        place
    }

    fn sends(&mut self, now: u64, at: f64, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            self.place(segment.seq.wrapping_add(1));
            return;
        }
        if segment.payload == 0 {
            return;
        }
        let before = self.highest.map(|(_, at)| at);
        let start = self.place(segment.seq);
        let end = self.place(segment.seq.wrapping_add(segment.payload));
        let nth = self.time.stretch(now, RATES) as usize;
        self.bytes[nth] += u64::from(segment.payload);
        let again = self.sent_any && before.is_some_and(|before| start < before);
        self.sent_any = true;
        if again {
            // Its acknowledgement could be of either (Karn's rule; RFC 6298, section 3).
            self.timed = self.timed.filter(|(of, _)| *of <= start);
            if self.resent.len() < RESENT {
                self.resent.push((at, start.max(0) as f64));
            }
        } else {
            self.timed.get_or_insert((end, now));
            self.sent.add(self.time.stretch(now, STRETCHES), (at, end.max(0) as f64));
        }
    }

    /// A segment of the other side tells how far it has got, and how far it lets this one send.
    fn is_acknowledged(&mut self, now: u64, at: f64, segment: &Segment) {
        let acked = self.place(segment.ack);
        let nth = self.time.stretch(now, STRETCHES);
        self.acked.add(nth, (at, acked.max(0) as f64));
        // The window of a SYN is never scaled.
        let scale = if segment.flags.has(Flags::SYN) { 0 } else { self.scale.min(14) };
        let edge = acked + (i64::from(segment.window) << scale);
        self.window.add(nth, (at, edge.max(0) as f64));
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| *end <= acked) {
            self.rtt.add(nth, (at, ms(now.saturating_sub(sent))));
        }
    }

    fn finish(self) -> DirectionSeries {
        let Time { begin, first, length } = self.time;
        let stretch_s = length as f64 / RATES as f64 / SECOND as f64;
        let start = seconds(first.saturating_sub(begin));
        let rate = (0_u32..)
            .zip(&self.bytes)
            .map(|(nth, &bytes)| (start + f64::from(nth) * stretch_s, bytes as f64 / stretch_s));
        DirectionSeries {
            rate: if self.bytes.iter().any(|&bytes| bytes > 0) { rate.collect() } else { Vec::new() },
            sent: self.sent.points,
            resent: self.resent,
            acked: self.acked.points,
            window: self.window.points,
            rtt_ms: self.rtt.points,
        }
    }
}

/// The first and the last point of every stretch.
#[derive(Default)]
struct Series {
    points: Vec<Point>,
    stretch: Option<u64>,
    in_stretch: u32,
}

impl Series {
    fn add(&mut self, stretch: u64, point: Point) {
        if self.stretch != Some(stretch) {
            (self.stretch, self.in_stretch) = (Some(stretch), 0);
        }
        self.in_stretch = (self.in_stretch + 1).min(3);
        if self.in_stretch > 2 {
            self.points.pop();
        }
        self.points.push(point);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Analyzer;
    use super::*;
    use plimsoll_model::packet::CaptureSummary;

    const CLIENT: u16 = 40_000;

    fn packet(at_ms: u64, from: u16, segment: Segment) -> Packet {
        let endpoint = |port| Endpoint { address: [10, 0, 0, 1].into(), port };
        let (source, destination) = (endpoint(from), endpoint(if from == 80 { CLIENT } else { 80 }));
        Packet {
            time_ns: 1_000_000_000 + at_ms * 1_000_000,
            wire_bytes: 40 + segment.payload,
            source,
            destination,
            ip_id: None,
            transport: Transport::Tcp(segment),
        }
    }

    /// A thousand segments and their acknowledgements, 1 ms apart, with a pause of a second in the middle and one segment sent twice.
    fn packets() -> Vec<Packet> {
        let ack = Segment { flags: Flags::ACK, window: 1000, ..Segment::default() };
        let mut all = Vec::new();
        for n in 0..1000_u32 {
            let at = u64::from(n) * 2 + if n < 500 { 0 } else { 1000 };
            let data = Segment { seq: n.wrapping_mul(100).wrapping_sub(5000), payload: 100, ..ack };
            all.push(packet(at, CLIENT, data));
            if n == 700 {
                all.push(packet(at, CLIENT, data));
            }
            all.push(packet(at + 1, 80, Segment { ack: data.end(), seq: 1, ..ack }));
        }
        all
    }

    fn time_sequences(packets: &[Packet], most: usize) -> Vec<TimeSequence> {
        let mut analyzer = Analyzer::new();
        packets.iter().for_each(|packet| analyzer.packet(packet));
        let (report, choice) = analyzer.finish_and_choose(CaptureSummary::default(), most);
        let mut painter = Painter::new(&report, &choice);
        packets.iter().for_each(|packet| painter.packet(packet));
        painter.finish()
    }

    #[test]
    fn a_stall_keeps_its_ends_however_few_points_there_are() {
        let time_sequence = time_sequences(&packets(), 3).remove(0);
        let sent = &time_sequence.from_client.sent;
        assert!(sent.len() <= 2 * STRETCHES as usize && sent.len() > 300, "{}", sent.len());
        let pause = sent.windows(2).find(|pair| pair[1].0 - pair[0].0 > 0.5).expect("the pause is drawn");
        assert!((pause[0].0 - 0.998).abs() < 1e-9 && (pause[1].0 - 2.0).abs() < 1e-9, "{pause:?}");
        assert_eq!(sent.last().map(|point| point.1), Some(100_000.0), "across the wrap of sequence numbers");
    }

    #[test]
    fn what_is_sent_again_is_marked_and_times_nothing() {
        let way = time_sequences(&packets(), 3).remove(0).from_client;
        assert_eq!(way.resent.len(), 1);
        assert_eq!(way.resent[0].1, 70_000.0);
        assert!(way.rtt_ms.iter().all(|point| (point.1 - 1.0).abs() < 1e-6), "{:?}", way.rtt_ms);
        let bytes: f64 = way.rate.iter().map(|(_, rate)| rate).sum::<f64>() * (2.999 / RATES as f64);
        assert!((bytes - 100_100.0).abs() < 1.0, "{bytes}");
        let edge = way.window.last().expect("a window").1;
        assert_eq!(edge, 101_000.0);
    }

    #[test]
    fn only_as_many_as_are_wanted_are_drawn() {
        assert!(time_sequences(&packets(), 0).is_empty());
        assert!(time_sequences(&[], 5).is_empty());
    }
}
