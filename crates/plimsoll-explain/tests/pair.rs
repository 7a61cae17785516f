//! Two captures of the same connections against the simulation that made them (`pair/make.py`, with Scapy).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use plimsoll_explain::pair::{Capture, Recorder, compare};
use plimsoll_explain::stalls::Analyzer;
use plimsoll_model::trace::{PairReport, Side};
use serde::Deserialize;

#[derive(Deserialize)]
struct Truth {
    connections: usize,
    offset_ms: f64,
    drift_ppm: f64,
    begin_s: f64,
    merges: bool,
    /// Packets lost between the points, of the client and of the server, where the capture began before all connections.
    lost: Option<[u64; 2]>,
    /// The shortest delay, and the longest of each direction.
    delay_ms: [f64; 3],
    /// The number of the connection, beginning and end by the true clock, and the part of the path.
    silences: Vec<(u16, f64, f64, Side)>,
}

#[derive(Debug, Default)]
struct Score {
    pairs: usize,
    silences: usize,
    right: usize,
    wrong: usize,
    missed: usize,
    invented: usize,
    failures: Vec<String>,
}

/// The captures' clocks begin here.
const EPOCH: f64 = 1_700_000_000.0;

fn capture(path: &Path) -> (Capture, f64) {
    let (mut analyzer, mut packets, mut begin) = (Analyzer::new(), Recorder::default(), None);
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let summary = plimsoll_import::packets::read(file, |packet| {
        begin.get_or_insert(packet.time_ns);
        analyzer.packet(packet);
        packets.packet(packet);
    });
    let report = analyzer.finish(summary.expect("the capture is readable"));
    let begin = begin.expect("the capture has packets") as f64 / 1e9 - EPOCH;
    (Capture { file: path.display().to_string(), packets, report }, begin)
}

impl Score {
    /// Compares a pair of captures with its truth, in either order.
    fn add(&mut self, directory: &Path, name: &str, swapped: bool) {
        let truth: Truth = serde_json::from_str(
            &fs::read_to_string(directory.join(format!("{name}.json"))).expect("the truth is there"),
        )
        .expect("the truth is JSON");
        let [a, b] = ["a", "b"].map(|point| capture(&directory.join(format!("{name}.{point}.pcap.gz"))));
        let begins = if swapped { [b.1, a.1] } else { [a.1, b.1] };
        let report = compare(if swapped { [b.0, a.0] } else { [a.0, b.0] });
        self.pairs += 1;
        let mut fail = |what: String| self.failures.push(format!("{name} (swapped: {swapped}): {what}"));
        if report.connections.len() != truth.connections {
            fail(format!("{} of {} connections", report.connections.len(), truth.connections));
        }
        clocks(&report, &truth, swapped, &mut fail);
        packets(&report, &truth, swapped, &mut fail);
        self.silences(&report, &truth, begins, swapped, name);
    }

    fn silences(&mut self, report: &PairReport, truth: &Truth, begins: [f64; 2], swapped: bool, name: &str) {
        for connection in &report.connections {
            let port: u16 =
                connection.client.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
            let number = if port >= 60_000 { 61_000 - port } else { port - 30_000 };
            let reported: Vec<Reported> = connection
                .silences
                .iter()
                .map(|silence| {
                    let own = begins[silence.seen_in] + silence.stall.start_s;
                    let is_b = (silence.seen_in == 1) != swapped;
                    let skew = 1.0 + truth.drift_ppm * 1e-6;
                    let from = if is_b { (own - truth.offset_ms / 1e3) / skew } else { own };
                    let text =
                        format!("{} {} {}", silence.stall.class, silence.stall.evidence, silence.because);
                    Reported { from, to: from + silence.stall.length_ms / 1e3, side: silence.began, text }
                })
                .collect();
            let of_connection = truth.silences.iter().filter(|of| of.0 == number);
            let true_ones: Vec<(f64, f64, Side)> = of_connection.map(|of| (of.1, of.2, of.3)).collect();
            self.connection(&reported, &true_ones, truth, name);
        }
    }

    fn connection(&mut self, reported: &[Reported], truth: &[(f64, f64, Side)], all: &Truth, name: &str) {
        let round_trip = all.delay_ms[0] / 500.0;
        let longest_delay = all.delay_ms[1].max(all.delay_ms[2]) / 1e3;
        // A silence of less than one and a half round trips and 10 ms is no stall (docs/stalls.md).
        let long = truth.iter().filter(|of| of.1 - of.0 > 1.5 * round_trip + 0.01);
        for &(from, to, side) in long {
            let found = reported.iter().find(|of| of.overlap(from, to) > (to - from) / 2.0);
            // Where a pause and a loss make one silence, the longer one is its cause.
            let is_main = |found: &Reported| {
                let longest = truth.iter().map(|of| found.overlap(of.0, of.1)).fold(0.0, f64::max);
                found.overlap(from, to) > longest - 1e-9
            };
            match found {
                Some(found) if !is_main(found) => continue,
                Some(found) if found.side == side => self.right += 1,
                Some(found) => {
                    self.wrong += 1;
                    self.failures.push(format!(
                        "{name}: {from:.3} to {to:.3} {side}, found {} {}",
                        found.side, found.text
                    ));
                }
                None => {
                    self.missed += 1;
                    self.failures.push(format!("{name}: nothing at {from:.3} to {to:.3} ({side})"));
                }
            }
            self.silences += 1;
        }
        for Reported { from, to, side, text } in reported {
            // A path that holds one connection holds the others.
            let known = all.silences.iter().any(|of| of.2 + longest_delay > *from && of.1 - 0.001 < *to);
            if to - from > 0.06 + 2.0 * round_trip && !known && *from > all.begin_s + 0.5 {
                self.invented += 1;
                self.failures.push(format!("{name}: invented {from:.3} to {to:.3} {side} {text}"));
            }
        }
    }
}

/// A reported silence by the true clock.
struct Reported {
    from: f64,
    to: f64,
    side: Side,
    text: String,
}

impl Reported {
    fn overlap(&self, from: f64, to: f64) -> f64 {
        self.to.min(to) - self.from.max(from)
    }
}

fn clocks(report: &PairReport, truth: &Truth, swapped: bool, fail: &mut impl FnMut(String)) {
    let Some(clocks) = &report.clocks else { return fail("no clocks".to_owned()) };
    let sign = if swapped { -1.0 } else { 1.0 };
    let ahead = sign * truth.offset_ms;
    // The path takes equally long in both directions; what is left is its jitter, and a drift that is not seen.
    let unseen = if clocks.drift_ppm.is_some() { truth.begin_s + 1.0 } else { truth.begin_s + clocks.span_s };
    let allowed = 0.3 + truth.drift_ppm.abs() * 1e-3 * unseen;
    match clocks.ahead_ms {
        Some(found) if (found - ahead).abs() <= allowed => {}
        found => fail(format!("offset {found:?}, true {ahead:.3}")),
    }
    let drift = sign * truth.drift_ppm;
    match (clocks.drift_ppm, clocks.drift_error_ppm) {
        (Some(found), Some(error)) if (found - drift).abs() <= 3.0 * error + 5.0 => {}
        (None, Some(error)) if drift.abs() <= 3.0 * error + 5.0 || error > 30.0 => {}
        (None, None) => {}
        found => fail(format!("drift {found:?}, true {drift}")),
    }
}

fn packets(report: &PairReport, truth: &Truth, swapped: bool, fail: &mut impl FnMut(String)) {
    let mut lost = [0; 2];
    for connection in &report.connections {
        if connection.nearer_to_client != usize::from(swapped) {
            fail(format!("{} is nearer to the client", connection.nearer_to_client));
        }
        for (side, direction) in [&connection.from_client, &connection.from_server].into_iter().enumerate() {
            lost[side] += direction.lost;
            let Some(delay) = direction.delay else { continue };
            if (delay.min_ms - truth.delay_ms[0]).abs() > 3.5 && delay.packets > 20 {
                fail(format!("least delay {:.3}, true {:.3}", delay.min_ms, truth.delay_ms[0]));
            }
            if delay.max_ms > truth.delay_ms[1 + side] + 1.0 {
                fail(format!("longest delay {:.3}, true {:.3}", delay.max_ms, truth.delay_ms[1 + side]));
            }
        }
    }
    if let Some(true_lost) = truth.lost.filter(|_| !truth.merges)
        && lost != true_lost
    {
        fail(format!("lost {lost:?}, true {true_lost:?}"));
    }
}

fn score(directory: &Path) -> Score {
    let mut names: Vec<String> = fs::read_dir(directory)
        .expect("the directory is there")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    let mut score = Score::default();
    for name in &names {
        score.add(directory, name, false);
        score.add(directory, name, true);
    }
    score
}

/// Scores the committed pairs, all of which are right, or prints the score of another set: `PAIRS=DIRECTORY cargo test ... -- --nocapture`.
#[test]
fn pairs_of_captures_give_back_clocks_losses_and_sides() {
    let other = std::env::var_os("PAIRS").map(PathBuf::from);
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pair");
    let score = score(other.as_ref().unwrap_or(&committed));
    score.failures.iter().for_each(|failure| println!("{failure}"));
    println!(
        "{} pairs, {} silences: {} right, {} wrong, {} missed, {} invented, {} failures in all",
        score.pairs,
        score.silences,
        score.right,
        score.wrong,
        score.missed,
        score.invented,
        score.failures.len()
    );
    assert!(score.pairs > 0 && score.right as f64 >= 0.97 * score.silences as f64, "too few are right");
    assert!(other.is_some() || score.failures.is_empty(), "a committed pair is wrong");
}
