//! Chart of one connection.

use super::ConnectionReport;

/// A point: a time in seconds after the first packet of the file, and a value.
pub type Point = (f64, f64);

/// One connection over time, in as many points as a screen can show.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSequence {
    /// Where it was captured, in words; empty for a file of its own.
    pub place: String,
    /// The connection.
    pub connection: ConnectionReport,
    /// Direction from the client.
    pub from_client: DirectionSeries,
    /// Direction from the server.
    pub from_server: DirectionSeries,
}

/// One direction of a connection over time. Places in the stream are bytes from its start, or from where the capture begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionSeries {
    /// How far data was sent.
    pub sent: Vec<Point>,
    /// Where data was sent again.
    pub resent: Vec<Point>,
    /// How far the other side has acknowledged.
    pub acked: Vec<Point>,
    /// How far the other side's window lets it send; a lower bound where the handshake was not seen.
    pub window: Vec<Point>,
    /// Bytes per second, what was sent again with them; each value holds until the next.
    pub rate: Vec<Point>,
    /// Round-trip times in milliseconds, of segments that were not sent again.
    pub rtt_ms: Vec<Point>,
}
