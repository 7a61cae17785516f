//! Packets as a probe: which are captured, and how much of each is kept.

use super::Load;
use crate::experiment::prelude::*;

/// Packets of the experiment's own flows are captured while a phase is measured, and the report says where their connections stood
/// still. Needs the right to capture (CAP_NET_RAW), which every host of kind `namespace` has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// The hosts to capture on; by default those that loads run on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Capture only on the links to these hosts; by default on all links, and on loopback.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub towards: Vec<String>,
    /// The phases to capture in; by default every measured one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// The services whose ports packets must have, on either side; by default all services of the experiment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// How many bytes of each packet are kept, from its IP header on (64 to 65535).
    #[default(128)]
    pub snap: u32,
    /// How large the ring is that the kernel fills, for each interface (4M to 1G). Packets that find no room in it are counted.
    #[default(ByteSize(32 << 20))]
    pub ring: ByteSize,
}

impl Capture {
    /// The hosts to capture on, each once, in order.
    pub fn hosts(&self, loads: &BTreeMap<String, Load>) -> Vec<String> {
        let mut hosts: Vec<String> = if self.on.is_empty() {
            loads.values().map(|load| load.from.clone()).collect()
        } else {
            self.on.clone()
        };
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Whether packets are captured in a measured phase of this name.
    pub fn is_in(&self, phase: &str) -> bool {
        self.phases.is_empty() || self.phases.iter().any(|name| name == phase)
    }
}
