//! What the probes of a path were answered.

use serde::{Deserialize, Serialize};

/// The answers to the probes of a path, hop by hop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbedPath {
    /// Whether the last hop is the host that was aimed at.
    pub reached: bool,
    /// The hops, the nearest first.
    pub hops: Vec<ProbedHop>,
}

/// One hop: a link, and the router (or the target) behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbedHop {
    /// Who answered; absent where nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What was answered to the probes of each size, by rising size; empty where nobody answered.
    pub sizes: Vec<ProbedSize>,
}

/// The probes of one size to one hop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbedSize {
    /// The length of a probe, in bytes with its IP header.
    pub bytes: u32,
    /// The length of an answer, likewise; 0 where there was none.
    pub answer_bytes: u32,
    /// How many were sent.
    pub sent: u32,
    /// The round-trip time of each that was answered, in nanoseconds, in the order of sending.
    pub rtt_ns: Vec<u64>,
}
