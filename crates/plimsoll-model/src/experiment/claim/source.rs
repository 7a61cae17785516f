//! The claim that what was read came from memory, or from the device.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;

/// Where the bytes came from that a storage load read: from memory, or from the device. The estimate is the share that the device delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceClaim {
    /// The measured phase.
    pub phase: String,
}

impl ClaimKind for SourceClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        let load = at.load(&self.phase)?;
        if load.and_then(|load| load.kind.storage()).is_none_or(|storage| storage.reads.0 == 0.0) {
            return Err(problem(
                at.key("phase"),
                "nothing is read from a volume in this phase",
                "a phase that measures a storage load with `reads`",
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("reads in {} come from memory, or from the device", self.phase)
    }

    fn between_runs(&self) -> Vec<(&str, Metric)> {
        vec![(&self.phase, Metric::MegabytesPerSecond)]
    }

    follows_from!(phase);
}

/// Where what was read came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceDetails {
    /// The measured phase.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that the device delivered.
    pub device_read_bytes: u64,
}
