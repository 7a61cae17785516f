//! Two captures of the same connections: the JSON of `plimsoll trace FIRST SECOND`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stall;

/// The name and version of the JSON form. The number rises when a field changes its meaning or goes away.
pub const PAIR_SCHEMA: &str = "plimsoll.trace_pair/1";

/// Result of two captures of the same connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairReport {
    /// [`PAIR_SCHEMA`].
    pub schema: String,
    /// Both captures, in the order in which they were named.
    pub captures: [CapturePoint; 2],
    /// Clocks of the captures; `null` where no packet is in both.
    pub clocks: Option<Clocks>,
    /// Connections that are in both, in the order of the first capture.
    pub connections: Vec<PairedConnection>,
}

/// One of the captures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturePoint {
    /// The file.
    pub file: String,
    /// Its format, in words.
    pub format: String,
    /// Packets in the file, those of other protocols included.
    pub packets: u64,
    /// TCP connections in it.
    pub tcp_connections: u64,
    /// Missing parts, one sentence each; empty for a whole file.
    pub missing: Vec<String>,
}

/// How the clock of the second capture relates to that of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    /// How far the second clock was ahead of the first when the first packet that both hold was captured, in ms. The shortest way is taken
    /// to last equally long in both directions; `null` where packets of one direction alone are in both captures.
    pub ahead_ms: Option<f64>,
    /// Half of `shortest_round_trip_ms`: no split of the shortest round trip moves `ahead_ms` by more.
    pub ahead_error_ms: Option<f64>,
    /// How much faster the second clock ran, in parts per million; `null` where the packets do not show it.
    pub drift_ppm: Option<f64>,
    /// Half of the difference between the drifts that the two directions show, or the scatter of the shortest delays over the time; a drift
    /// is stated if it is more than twice this.
    pub drift_error_ppm: Option<f64>,
    /// The shortest time from one capture point to the other and back, in ms: no clock but one enters it.
    pub shortest_round_trip_ms: Option<f64>,
    /// Packets that the estimate rests on, from the first point to the second, and back.
    pub packets: [u64; 2],
    /// Time between the first and the last of these packets, in seconds.
    pub span_s: f64,
    /// Whether one offset and one drift fit: with them no packet arrives before it was sent. Without this there are no delays.
    pub consistent: bool,
}

/// A connection that both captures hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedConnection {
    /// Address and port of the side that opened it, in the first capture.
    pub client: String,
    /// Address and port of the other side, in the first capture.
    pub server: String,
    /// Client and server in the second capture, where addresses or ports were translated.
    pub translated: Option<[String; 2]>,
    /// The capture that was made nearer to the client: 0 is the first.
    pub nearer_to_client: usize,
    /// Direction from the client.
    pub from_client: PairedDirection,
    /// Direction from the server.
    pub from_server: PairedDirection,
    /// Silences that were stalls at either point, in the order of their ends.
    pub silences: Vec<SidedSilence>,
}

/// One direction of a connection between the two points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedDirection {
    /// Packets at the point nearer to their sender.
    pub sent: u64,
    /// Packets at the other point.
    pub arrived: u64,
    /// Packets of the first point that never came to the second, of those that it could have captured.
    pub lost: u64,
    /// Payload of these, in bytes.
    pub lost_bytes: u64,
    /// Packets at the second point that the first does not have: it lost them, or something between sent them.
    pub only_arrived: u64,
    /// Resets among these: something between the points sent them.
    pub resets_from_between: u64,
    /// Time from the one point to the other.
    pub delay: Option<Delay>,
}

/// One-way delays, in ms; the minimum is half of the shortest round trip by assumption.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delay {
    /// Packets.
    pub packets: u64,
    /// The shortest.
    pub min_ms: f64,
    /// Half took at most this.
    pub median_ms: f64,
    /// 90 of 100 took at most this.
    pub p90_ms: f64,
    /// 99 of 100 took at most this.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// A silence, and where it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SidedSilence {
    /// The capture in which it is a stall: 0 is the first. Where it is one in both, the one nearer to the client.
    pub seen_in: usize,
    /// The stall, in the time of that capture.
    pub stall: Stall,
    /// Where it began.
    pub began: Side,
    /// Evidence of it.
    pub because: String,
}

/// A part of the path, as two capture points divide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The client, or the path between it and the point nearer to it.
    Client,
    /// Between the points.
    Between,
    /// The server, or the path between it and the point nearer to it.
    Server,
    /// The captures do not show it.
    Unknown,
}

impl fmt::Display for Side {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Client => "on the client's side",
            Self::Between => "between the points",
            Self::Server => "on the server's side",
            Self::Unknown => "where the captures do not show it",
        })
    }
}
