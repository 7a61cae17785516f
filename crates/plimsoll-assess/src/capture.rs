//! Packet files: read, and drawn. The stall reader accepts packets from any source; here a file supplies them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plimsoll_explain::pair::{Capture, Recorder};
use plimsoll_explain::stalls::{Analyzer, Choice, Painter, TraceReport};
use plimsoll_import::packets::{self, ReadError};
use plimsoll_model::observation::{ClassTime, Traffic};
use plimsoll_model::trace::{Class, ConnectionReport, Stall, TimeSequence};

/// Finds the stalls in a packet file, and selects connections for up to `time_sequences` time-sequence graphs.
pub fn analyze(input: impl Read, time_sequences: usize) -> Result<(TraceReport, Choice), ReadError> {
    let mut analyzer = Analyzer::new();
    let capture = packets::read(input, |packet| analyzer.packet(packet))?;
    Ok(analyzer.finish_and_choose(capture, time_sequences))
}

/// Reads a capture that is set against another one. `file` is its name in the report.
pub fn record(input: impl Read, file: String) -> Result<Capture, ReadError> {
    let (mut analyzer, mut recorder) = (Analyzer::new(), Recorder::default());
    let capture = packets::read(input, |packet| {
        analyzer.packet(packet);
        recorder.packet(packet);
    })?;
    Ok(Capture { file, packets: recorder, report: analyzer.finish(capture) })
}

/// Draws the connections that were chosen, from the same packets.
pub fn paint(
    input: impl Read,
    report: &TraceReport,
    choice: &Choice,
) -> Result<Vec<TimeSequence>, ReadError> {
    let mut painter = Painter::new(report, choice);
    packets::read(input, |packet| painter.packet(packet))?;
    Ok(painter.finish())
}

/// Connections and stalls of a capture.
pub fn traffic(file: &Path) -> Result<Traffic, String> {
    let input = File::open(file).map_err(|error| format!("cannot be read: {error}"))?;
    let (report, _) = analyze(input, 0).map_err(|error| error.to_string())?;
    Ok(summed(&report))
}

fn summed(report: &TraceReport) -> Traffic {
    let mut stalls: Vec<ClassTime> =
        report.time_share.iter().filter_map(|(&class, &share)| of_class(report, class, share)).collect();
    stalls.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    let may_be_s = report.may_be_share.iter().map(|(&class, share)| (class, share * report.lifetime_s));
    Traffic {
        connections: report.tcp_connections,
        lifetime_s: report.lifetime_s,
        stalls,
        may_be_s: may_be_s.collect(),
    }
}

fn of_class(report: &TraceReport, class: Class, share: f64) -> Option<ClassTime> {
    let stalls = report.connections.iter().flat_map(|of| of.stalls.iter().map(move |stall| (of, stall)));
    let mut stalls: Vec<(&ConnectionReport, &Stall)> =
        stalls.filter(|(_, stall)| stall.class == class).collect();
    stalls.sort_by(|a, b| a.1.length_ms.total_cmp(&b.1.length_ms));
    let (of, longest) = stalls.last()?;
    Some(ClassTime {
        class,
        time_s: share * report.lifetime_s,
        count: stalls.len() as u64,
        median_ms: stalls[stalls.len() / 2].1.length_ms,
        evidence: format!(
            "{} -> {}, {:.1} ms, waiting for the {}: {}",
            of.client, of.server, longest.length_ms, longest.waiting_for, longest.evidence
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_reported_in_words() {
        let error = traffic(Path::new("/no/such/file.pcapng")).unwrap_err();
        assert!(error.starts_with("cannot be read"), "{error}");
    }

    #[test]
    fn stalls_are_summed_by_class_with_the_longest_as_evidence() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../plimsoll-explain/tests/data/delayed_ack-40.pcap");
        let traffic = traffic(Path::new(file)).unwrap();
        let first = &traffic.stalls[0];
        assert_eq!((traffic.connections, first.class), (1, Class::DelayedAck));
        assert!((30.0..60.0).contains(&first.median_ms), "{first:?}");
        assert!(first.evidence.contains("waiting for the"), "{}", first.evidence);
        assert!(first.time_s > 0.0 && first.time_s <= traffic.lifetime_s);
    }
}
