//! The streams of bulk loads: their bytes, and TCP's waits.

use plimsoll_model::observation::{BulkFacts, Stream, TcpState};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::{NONE, count, figure};
use crate::section::{Row, Section, columns};

impl Shown for BulkFacts {
    const TITLE: &'static str = "Streams";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = columns![
            left "cell", left "phase", right "streams", right "MB sent" => 3, right "MB received" => 3,
            right "Mbit/s out", right "Mbit/s in", right "block KB" => 2, right "MSS", right "sent again",
            right "least RTT ms", right "busy s" => 1, right "window s", right "buffer s",
        ];
        let rows = pooled(found).into_iter().map(|of| row(of.cell, of.phase, &of.facts.streams));
        let section = Section::new("Streams of TCP, all trials of a phase together").table(columns, rows);
        let means = "Mbit/s: of each stream, out of the load's host and into it. Block: most that a call of the load handed over, in units of 1,024 bytes. MSS: the largest segment that is sent, in bytes. Busy: time with something to send; window and buffer: the part of it that waited for the receiver's window, or for the \
                     sender's own buffer.";
        (!found.is_empty()).then(|| section.say(means)).into_iter().collect()
    }
}

fn row(cell: String, phase: &str, streams: &[Stream]) -> Row {
    let megabytes = |bytes: fn(&Stream) -> u64| figure(streams.iter().map(bytes).sum::<u64>() as f64 / 1e6);
    let senders: Vec<&TcpState> = streams.iter().filter_map(Stream::sending_end).collect();
    let seconds =
        |us: fn(&TcpState) -> u64| figure(senders.iter().map(|state| us(state)).sum::<u64>() as f64 / 1e6);
    let rtt = senders.iter().map(|state| state.min_rtt_us).filter(|us| *us > 0).min();
    Row::of([
        cell,
        phase.to_owned(),
        count(streams.len() as u64),
        megabytes(|stream| stream.sent),
        megabytes(|stream| stream.received),
        rate(streams, |stream| stream.sent),
        rate(streams, |stream| stream.received),
        range(streams.iter().filter_map(|stream| stream.block), |bytes| figure(bytes as f64 / 1024.0)),
        range(senders.iter().map(|state| u64::from(state.mss)).filter(|mss| *mss > 0), count),
        count(senders.iter().map(|state| u64::from(state.retransmits)).sum()),
        rtt.map_or_else(|| NONE.to_owned(), |us| figure(f64::from(us) / 1e3)),
        seconds(|state| state.busy_us),
        seconds(|state| state.rwnd_limited_us),
        seconds(|state| state.sndbuf_limited_us),
    ])
}

/// Rates of the streams in one direction, in Mbit/s; empty if no bytes went that way.
fn rate(streams: &[Stream], bytes: fn(&Stream) -> u64) -> String {
    let moved: u64 = streams.iter().map(bytes).sum();
    let seconds = streams.iter().map(|stream| stream.elapsed_ns).sum::<u64>() as f64 / 1e9;
    if moved == 0 || seconds == 0.0 { NONE.to_owned() } else { figure(8.0 * moved as f64 / seconds / 1e6) }
}

/// Least and largest of some values; once where they are alike.
fn range(values: impl Iterator<Item = u64> + Clone, text: fn(u64) -> String) -> String {
    match (values.clone().min(), values.max()) {
        (Some(least), Some(most)) if least == most => text(least),
        (Some(least), Some(most)) => format!("{} to {}", text(least), text(most)),
        _ => NONE.to_owned(),
    }
}
