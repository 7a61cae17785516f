//! Two captures of the same connections: what the packets show together that neither shows alone.
//!
//! Connections are matched by what survives a translation of addresses: sequence numbers, acknowledgements, time stamps and ports
//! (`connections.rs`). Packets of a connection are matched by the same fields, and by their bytes where a network card has split or merged
//! them (`packets.rs`). Packets that are in both give the offset and the drift of the clocks (`clock.rs`), and with them one-way delays. A packet at
//! the one point that never comes to the other was lost between them. Where a silence began follows from that (`silences.rs`).

mod clock;
mod connections;
mod joined;
mod packets;
mod record;
mod silences;

use plimsoll_model::trace::{CapturePoint, Clocks, PAIR_SCHEMA, PairReport, PairedConnection, TraceReport};

use clock::{Clock, Point};
use joined::Joined;
pub use record::Recorder;

/// One capture: its packets, its own report, and the name of its file.
pub struct Capture {
    /// The name of the file.
    pub file: String,
    /// Packets of its connections.
    pub packets: Recorder,
    /// What it shows alone.
    pub report: TraceReport,
}

/// Sets two captures against each other.
pub fn compare(captures: [Capture; 2]) -> PairReport {
    let [mut first, mut second] = captures;
    let begins = [first.packets.begin(), second.packets.begin()];
    let ends = [first.packets.end(), second.packets.end()];
    let pairs = connections::pair(&first.packets.connections, &mut second.packets.connections);
    let mut joined: Vec<Joined> = pairs
        .iter()
        .map(|&(a, b)| {
            Joined::new([&first.packets.connections[a], &second.packets.connections[b]], begins, ends)
        })
        .collect();
    settle_order(&mut joined);
    joined.iter_mut().for_each(Joined::match_split);
    let points: Vec<Point> = joined.iter().flat_map(Joined::points).collect();
    let clock = Clock::fit(&points);
    for one in &mut joined {
        one.match_the_rest(clock.as_ref());
    }
    let reports = [&first.report, &second.report];
    let mut connections: Vec<PairedConnection> =
        joined.iter().map(|joined| paired(joined, clock.as_ref(), reports)).collect();
    connections.sort_by(|a, b| stalled(b).total_cmp(&stalled(a)));
    PairReport {
        schema: PAIR_SCHEMA.to_owned(),
        clocks: clock.map(|clock| clock.report(begins)),
        connections,
        captures: [&mut first, &mut second].map(point),
    }
}

/// Seconds in silences.
fn stalled(connection: &PairedConnection) -> f64 {
    connection.silences.iter().map(|silence| silence.stall.length_ms).sum()
}

fn point(capture: &mut Capture) -> CapturePoint {
    let mut missing = std::mem::take(&mut capture.report.missing);
    if capture.packets.left_out > 0 {
        missing.push(format!(
            "{} packets beyond the first {} are not set against the other capture",
            capture.packets.left_out,
            Recorder::MOST
        ));
    }
    CapturePoint {
        file: std::mem::take(&mut capture.file),
        format: std::mem::take(&mut capture.report.format),
        packets: capture.report.packets,
        tcp_connections: capture.report.tcp_connections,
        missing,
    }
}

/// Says of connections whose packets do not show it which capture is nearer to the client: the same as of most others.
fn settle_order(joined: &mut [Joined]) {
    let second = joined.iter().filter(|one| one.nearer_to_client == Some(1)).count();
    let first = joined.iter().filter(|one| one.nearer_to_client == Some(0)).count();
    let usual = usize::from(second > first);
    for one in joined {
        one.nearer_to_client.get_or_insert(usual);
    }
}

fn paired(joined: &Joined, clock: Option<&Clock>, reports: [&TraceReport; 2]) -> PairedConnection {
    let ends = joined.connections.map(|connection| connection.endpoints.map(|end| end.to_string()));
    let [[client, server], translated] = ends;
    let is_translated = translated != [client.clone(), server.clone()];
    PairedConnection {
        from_client: joined.direction(0, clock),
        from_server: joined.direction(1, clock),
        silences: silences::of(joined, clock, reports),
        nearer_to_client: joined.near(0),
        translated: is_translated.then_some(translated),
        client,
        server,
    }
}

impl Clock {
    fn report(&self, begins: [u64; 2]) -> Clocks {
        let starts = begins[1] as f64 - begins[0] as f64;
        let ms = |ns: f64| ns / 1e6;
        let round_trip = self.round_trip();
        Clocks {
            ahead_ms: self.offset_at(self.from).map(|offset| ms(offset + starts)),
            ahead_error_ms: round_trip.map(|ns| ms(ns.max(0.0) / 2.0)),
            drift_ppm: self.has_drift.then_some(self.drift * 1e6),
            drift_error_ppm: self.drift_error.map(|error| error * 1e6),
            shortest_round_trip_ms: round_trip.map(ms),
            packets: self.packets,
            span_s: (self.to - self.from) / 1e9,
            consistent: self.is_consistent(),
        }
    }
}
