//! Where a connection stood still, and why: stalls from packets.
//!
//! A stall is a silence longer than twice the round trip (on a long path: half as much again and 10 ms), or than the
//! retransmission timeout where that is less, and never shorter than a few milliseconds. Its class comes from who ended
//! it, and with what packet: length alone cannot tell a segment that a cork held back for 200 ms from one that a timer
//! sent again. Losses and closed windows are stalls from the last progress to the packet that ends them, however many
//! probes lie between.
//!
//! The state is bounded: it has a limit of connections at a time, and of listed stalls for each. Stalls beyond that
//! still count in the sums.

mod classes;
mod clock;
mod connection;
pub(crate) mod copies;
mod counts;
mod drain;
mod gap;
mod half;
mod handshake;
mod ids;
mod recovery;
mod rtt;
mod sequence;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod time_sequence;
mod timeline;

pub use plimsoll_model::trace::{
    Actor, Class, ConnectionReport, DirectionReport, HandshakeReport, Stall, TRACE_SCHEMA, TraceReport,
};

pub use time_sequence::{Choice, Painter};

use plimsoll_model::packet::{CaptureSummary, Packet, Transport};

use summary::Summary;
use table::Table;

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections followed at a time. When there are more, one that is closed, or has been quiet for long, is taken to
    /// have ended.
    pub followed: usize,
    /// Connections listed in the report: those that stood still longest.
    pub listed: usize,
    /// Stalls listed for each connection: the longest.
    pub stalls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { followed: 131_072, listed: 10_000, stalls: 256 }
    }
}

/// Reads packets in the order of a file, and finds the stalls.
///
/// ```
/// use plimsoll_explain::stalls::Analyzer;
/// use plimsoll_model::packet::CaptureSummary;
///
/// let report = Analyzer::new().finish(CaptureSummary::default());
/// assert_eq!(report.schema, "plimsoll.trace/1");
/// assert!(report.connections.is_empty());
/// ```
pub struct Analyzer {
    table: Table,
    summary: Summary,
    udp: table::Flows,
    begin: Option<u64>,
    end: u64,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::new()
    }
}

impl Analyzer {
    /// An analysis with the usual limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// An analysis with limits of its own.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            table: Table::new(limits),
            summary: Summary::new(limits),
            udp: table::Flows::default(),
            begin: None,
            end: 0,
        }
    }

    /// Takes in the next packet. Never inlined, so that all below it is compiled as this crate is optimised, not as its caller is.
    #[inline(never)]
    pub fn packet(&mut self, packet: &Packet) {
        self.begin.get_or_insert(packet.time_ns);
        self.end = self.end.max(packet.time_ns.min(table::LATEST));
        match &packet.transport {
            Transport::Tcp(segment) => {
                if let Some(ended) = self.table.take_in(packet, segment) {
                    self.summary.add(*ended, None);
                }
            }
            Transport::Udp { .. } => self.udp.take_in(packet),
            Transport::PacketTooBig { mtu } => self.table.too_big(packet, *mtu),
        }
    }

    /// Ends the analysis. `capture` is what the reader says of the file.
    pub fn finish(self, capture: CaptureSummary) -> TraceReport {
        self.finish_and_choose(capture, 0).0
    }

    /// Ends the analysis, and chooses the connections that are worth a time-sequence graph, at most `time_sequences`.
    pub fn finish_and_choose(self, capture: CaptureSummary, time_sequences: usize) -> (TraceReport, Choice) {
        let Self { table, mut summary, udp, begin, end } = self;
        (summary.evicted, summary.duplicates) = (table.evicted(), table.duplicates());
        for connection in table.into_connections() {
            summary.add(connection, Some(end));
        }
        summary.report(capture, begin.unwrap_or(0), udp.count(), time_sequences)
    }
}
