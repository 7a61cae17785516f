//! What was found of a path that is to carry TCP.

use serde::{Deserialize, Serialize};

/// What became of datagrams over a path, and what TCP may use on the hosts at its ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathFacts {
    /// The length of each datagram as an Ethernet frame, in bytes.
    pub frame_bytes: u32,
    /// Those that were sent far apart.
    pub apart: Train,
    /// Those that were sent at the rate that is wanted.
    pub at_rate: Train,
    /// Those that were sent as fast as the sender can, burst by burst.
    pub bursts: Vec<Train>,
    /// What TCP may use on the load's host.
    pub sender: TcpLimits,
    /// The same on the service's.
    pub receiver: TcpLimits,
}

/// Datagrams one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Train {
    /// How many were sent.
    pub sent: u64,
    /// How many arrived.
    pub received: u64,
    /// From the first to the last that was sent, in nanoseconds.
    pub elapsed_ns: u64,
}

/// What TCP may use on a host (`/proc/sys/net/ipv4/tcp_*`, ip-sysctl in the kernel's documentation).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpLimits {
    /// The largest send buffer that the kernel makes by itself, in bytes (`tcp_wmem`).
    pub send_buffer: u64,
    /// The largest receive buffer, likewise (`tcp_rmem`).
    pub receive_buffer: u64,
    /// Whether windows may be larger than 64 KiB (`tcp_window_scaling`, RFC 7323).
    pub window_scaling: bool,
    /// Whether several losses in a window are told one by one (`tcp_sack`, RFC 2018).
    pub selective_acks: bool,
    /// The congestion control of new connections (`tcp_congestion_control`).
    pub congestion: String,
}
