//! The claim that a path is good enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathExpect;

/// The path of a measured load `diagnose` is good enough for TCP at the rate and the round-trip time that the load names, and so are the hosts at
/// its ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseClaim {
    /// The measured phase.
    pub phase: String,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: PathExpect,
}
