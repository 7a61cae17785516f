//! Results from the packets of connections: the JSON of a trace, and what is drawn of a connection.

mod class;
mod pair;
mod time_sequence;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use class::{Actor, Class};
pub use pair::{
    CapturePoint, Clocks, Delay, PAIR_SCHEMA, PairReport, PairedConnection, PairedDirection, Side,
    SidedSilence,
};
pub use time_sequence::{DirectionSeries, Point, TimeSequence};

/// The name and version of the JSON form. The number rises when a field changes its meaning or goes away.
pub const TRACE_SCHEMA: &str = "plimsoll.trace/1";

/// Where the time went in a packet file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceReport {
    /// [`TRACE_SCHEMA`].
    pub schema: String,
    /// The format of the file, in words.
    pub format: String,
    /// Packets in the file, those of other protocols included.
    pub packets: u64,
    /// Bytes that those packets had on the wire.
    pub bytes: u64,
    /// Packets that the capturing program says it lost; `null` when it does not say.
    pub dropped: Option<u64>,
    /// Missing parts, one sentence each; empty for a whole file.
    pub missing: Vec<String>,
    /// TCP connections in the file, listed or not.
    pub tcp_connections: u64,
    /// UDP flows in the file.
    pub udp_flows: u64,
    /// TCP connections, in the order of their first packets. Beyond the limit those that stalled least are left out.
    pub connections: Vec<ConnectionReport>,
    /// The sum of the connections' lifetimes, listed or not, in seconds.
    #[serde(default)]
    pub lifetime_s: f64,
    /// Share of the connections' lifetimes (summed over all of them) that each class of stall took, 0 to 1.
    pub time_share: BTreeMap<Class, f64>,
    /// Share of the connections' lifetimes in stalls of other classes that the packets alone cannot distinguish from each of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub may_be_share: BTreeMap<Class, f64>,
}

/// ICMP "fragmentation needed" and ICMPv6 "packet too big" for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketsTooBig {
    /// Reports.
    pub reports: u64,
    /// Least MTU that they state, in bytes; 0 where an old router states none.
    pub mtu: u32,
}

/// One TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionReport {
    /// Address and port of the side that opened it.
    pub client: String,
    /// Address and port of the other side.
    pub server: String,
    /// When its first packet was seen, in seconds after the first packet of the file.
    pub start_s: f64,
    /// From its first packet to its last, in seconds.
    pub duration_s: f64,
    /// Packets in both directions.
    pub packets: u64,
    /// Payload in both directions, in bytes, what was sent again not counted again.
    pub bytes: u64,
    /// `bytes` per second of `duration_s`; `null` for a connection without duration.
    pub rate_bytes_per_s: Option<f64>,
    /// Smoothed round-trip time, with samples that a stall inflated left out, in ms; `null` without any sample.
    pub rtt_ms: Option<f64>,
    /// The shortest round-trip time, in ms.
    pub rtt_min_ms: Option<f64>,
    /// How it began.
    pub handshake: HandshakeReport,
    /// Reports of routers that its segments were too big for the next link; `null` without any.
    pub packets_too_big: Option<PacketsTooBig>,
    /// Direction from the client.
    pub from_client: DirectionReport,
    /// Direction from the server.
    pub from_server: DirectionReport,
    /// Time in stalls, in seconds; never more than `duration_s`.
    pub stalled_s: f64,
    /// Stalls found, listed or not.
    pub stall_count: u64,
    /// Stalls in the order of their ends. Beyond the limit the shortest are left out.
    pub stalls: Vec<Stall>,
}

/// The beginning of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeReport {
    /// Whether SYN, SYN-ACK and the acknowledgement of it were all seen.
    pub complete: bool,
    /// Whether the server refused the connection: it answered the SYN with a reset.
    #[serde(default)]
    pub refused: bool,
    /// SYNs seen.
    pub syns: u32,
    /// SYN-ACKs seen.
    pub synacks: u32,
    /// From the first SYN to the acknowledgement of the SYN-ACK, in ms.
    pub took_ms: Option<f64>,
    /// Whether the scale of the window fields is known: both SYNs were seen. Without it windows are lower bounds.
    pub window_scale_known: bool,
    /// Whether both sides offered selective acknowledgements.
    pub sack: bool,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionReport {
    /// Packets.
    pub packets: u64,
    /// Payload in bytes, what was sent again not counted again.
    pub bytes: u64,
    /// Segments sent again, as Wireshark's `tcp.analysis.retransmission` counts them, fast and spurious ones included.
    pub retransmissions: u64,
    /// Retransmissions right after duplicate acknowledgements, as `tcp.analysis.fast_retransmission`.
    pub fast_retransmissions: u64,
    /// Retransmissions of data acknowledged before, as `tcp.analysis.spurious_retransmission`.
    pub spurious_retransmissions: u64,
    /// As `tcp.analysis.out_of_order`.
    pub out_of_order: u64,
    /// As `tcp.analysis.duplicate_ack`.
    pub duplicate_acks: u64,
    /// As `tcp.analysis.lost_segment`.
    pub lost_segments: u64,
    /// As `tcp.analysis.ack_lost_segment`.
    pub acked_unseen: u64,
    /// As `tcp.analysis.zero_window`.
    pub zero_windows: u64,
    /// Acknowledgements with SACK blocks.
    #[serde(default)]
    pub selective_acks: u64,
    /// Maximum segment size that this side announced, in bytes.
    pub mss: Option<u16>,
    /// The shift count of its window fields; `null` if its SYN was not seen or had none.
    pub window_scale: Option<u8>,
}

/// A stretch in which a connection stood still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// When it began, in seconds after the first packet of the file.
    pub start_s: f64,
    /// How long it lasted, in ms.
    pub length_ms: f64,
    /// Why.
    pub class: Class,
    /// Another possible class, where the packets alone cannot decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_be: Option<Class>,
    /// The side that had to act.
    pub waiting_for: Actor,
    /// Evidence in the packets.
    pub evidence: String,
}
