//! Agreement with tshark on real captures: streams, and what its sequence analysis counts.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_explain::stalls::{Analyzer, TraceReport};

/// The compared fields: our name for a message, and tshark's field that is set where it counts.
const FIELDS: [&str; 8] = [
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "lost_segment",
    "ack_lost_segment",
    "zero_window",
];

type Counts = BTreeMap<&'static str, u64>;

fn tshark(path: &Path) -> (u64, Counts) {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-e", "tcp.stream", "-r"]).arg(path);
    for field in FIELDS {
        command.args(["-e", &format!("tcp.analysis.{field}")]);
    }
    let output = command.output().expect("tshark is installed (apt install tshark)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark prints text");
    let mut counts = Counts::from(FIELDS.map(|field| (field, 0)));
    let mut streams = std::collections::BTreeSet::new();
    for line in text.lines() {
        let mut columns = line.split('\t');
        streams.extend(columns.next().filter(|stream| !stream.is_empty()));
        for (field, value) in FIELDS.iter().zip(columns) {
            *counts.get_mut(field).expect("all fields are there") += u64::from(!value.is_empty());
        }
    }
    (streams.len() as u64, counts)
}

fn ours(path: &Path) -> (u64, Counts) {
    let mut analyzer = Analyzer::new();
    let file = File::open(path).expect("the capture is there");
    let capture =
        plimsoll_import::packets::read(file, |packet| analyzer.packet(packet)).expect("it is readable");
    let report: TraceReport = analyzer.finish(capture);
    let directions = report.connections.iter().flat_map(|c| [&c.from_client, &c.from_server]);
    let mut counts = Counts::from(FIELDS.map(|field| (field, 0)));
    for direction in directions {
        let values = [
            direction.retransmissions,
            direction.fast_retransmissions,
            direction.spurious_retransmissions,
            direction.out_of_order,
            direction.duplicate_acks,
            direction.lost_segments,
            direction.acked_unseen,
            direction.zero_windows,
        ];
        for (field, value) in FIELDS.iter().zip(values) {
            *counts.get_mut(field).expect("all fields are there") += value;
        }
    }
    (report.tcp_connections, counts)
}

/// Real flows of `tests/flows/generate.py`, one or two of each kind, merged into one capture.
fn mixed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mixed.pcap")
}

#[test]
#[ignore = "needs tshark; cargo xtask test runs it"]
fn streams_and_counts_agree_with_tshark() {
    let (streams, counts) = tshark(&mixed());
    assert!(
        counts["retransmission"] > 50 && counts["zero_window"] > 0,
        "a capture worth comparing: {counts:?}"
    );
    assert_eq!(ours(&mixed()), (streams, counts));
}

#[test]
fn the_mixed_capture_has_the_counts_that_tshark_gave() {
    let (streams, counts) = ours(&mixed());
    let values = FIELDS.map(|field| counts[field]);
    assert_eq!((streams, values), (STREAMS, VALUES));
}

/// What tshark 4.0.17 counts in the mixed capture, in the order of [`FIELDS`].
const STREAMS: u64 = 20;
const VALUES: [u64; 8] = [83, 2, 0, 31, 11, 7, 4, 4];
