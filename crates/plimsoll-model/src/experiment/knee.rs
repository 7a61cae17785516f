//! The claim about where a path begins to lose datagrams.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Datagrams are lost from an offered rate on: the knee is the rate that the path carries. The measured load is `udp`; every cell becomes a point,
/// of what was offered and the share that did not arrive. Bits are those of datagrams, without headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KneeClaim {
    /// The measured phase.
    pub phase: String,
    /// The factors whose levels are points of one curve, such as the rate of the load. Every combination of levels of the others is a
    /// curve of its own.
    pub over: Vec<String>,
}
