//! Streams of TCP, of the loads that report them.

use crate::experiment::prelude::*;

/// A stream of TCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// The load's address and port.
    pub from: String,
    /// The service's.
    pub to: String,
    /// Bytes that the load sent.
    pub sent: u64,
    /// Bytes that the load received.
    pub received: u64,
    /// Most bytes that one call of the load handed over; absent where only the service sent, or answered each message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// From its first byte to the end of its last one's transfer, in nanoseconds.
    pub elapsed_ns: u64,
    /// States of the connection in the kernel on the load's side, in order of time; the last is of its end.
    pub tcp: Vec<TcpState>,
    /// State of the service's socket at the end, where the service reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<TcpState>,
}

impl Stream {
    /// Last state in the kernel of the sending end: of the two ends, the one that was busy for longer.
    pub fn sending_end(&self) -> Option<&TcpState> {
        self.tcp.last().into_iter().chain(&self.peer).max_by_key(|state| state.busy_us)
    }

    /// How often the load's socket had bytes to send and nothing in flight, and how often it was looked at while the stream went on.
    pub fn held_back(&self) -> (u64, u64) {
        // The last state is that of the end, when nothing is left.
        let states = self.tcp.split_last().map_or(&[][..], |(_, before)| before);
        let held = states.iter().filter(|state| state.unsent_bytes > 0 && state.unacked == 0);
        (held.count() as u64, states.len() as u64)
    }
}

/// State of a connection in the kernel (`TCP_INFO`, struct tcp_info in linux/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpState {
    /// When it was read, in nanoseconds after the load's start.
    pub at_ns: u64,
    /// Time with something to send, in microseconds (`tcpi_busy_time`).
    pub busy_us: u64,
    /// Part of it in which the receiver's window was the limit (`tcpi_rwnd_limited`).
    pub rwnd_limited_us: u64,
    /// Part of it in which the send buffer was the limit (`tcpi_sndbuf_limited`).
    pub sndbuf_limited_us: u64,
    /// The congestion window, in segments.
    pub cwnd: u32,
    /// The slow-start threshold, in segments.
    pub ssthresh: u32,
    /// The smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
    /// The smallest round-trip time that was seen, in microseconds.
    pub min_rtt_us: u32,
    /// The retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// The largest segment that is sent, in bytes.
    pub mss: u32,
    /// Segments retransmitted so far.
    pub retransmits: u32,
    /// Segments under way.
    pub unacked: u32,
    /// Bytes in the send buffer that were not sent yet.
    pub unsent_bytes: u32,
    /// Bytes that the other side has acknowledged so far.
    pub acked_bytes: u64,
    /// Bytes received so far.
    pub received_bytes: u64,
    /// Data segments sent so far.
    pub segments_out: u32,
    /// The rate of delivery that the kernel saw last, in bytes per second.
    pub delivery_rate: u64,
}
