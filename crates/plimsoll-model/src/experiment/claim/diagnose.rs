//! The claim that a path is good enough.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;

/// The path of a measured load `diagnose` is good enough for TCP at the rate and the round-trip time that the load names, and so are the hosts at
/// its ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseClaim {
    /// The measured phase.
    pub phase: String,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: PathExpect,
}

expectations! {
    /// Expected outcome for a path that carries TCP.
    PathExpect {
        /// The path is good enough.
        Reached "reached": Reached,
        /// The path is not good enough.
        NotReached "not_reached": NotReached,
    }
}

impl ClaimKind for DiagnoseClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        if at.load(&self.phase)?.is_none_or(|load| load.kind.diagnose().is_none()) {
            let message = "this phase does not diagnose a path";
            return Err(problem(at.key("phase"), message, "a load with `diagnose`"));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let is = match self.expect {
            PathExpect::Reached => "is",
            PathExpect::NotReached => "is not",
        };
        format!("the path of {} {is} good enough for TCP as its load wants it", self.phase)
    }

    follows_from!(expect);

    follows_from!(phase);
}

/// Diagnosis of a path that shall carry TCP at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnoseDetails {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// The rate that is wanted, in bit/s of data.
    pub target_bits_per_second: f64,
    /// The round-trip time for which it is wanted, in milliseconds.
    pub target_rtt_ms: f64,
    /// TCP's predicted rate over such a round trip, by the worst of the checks, in bit/s; no more than is wanted.
    pub reaches_bits_per_second: f64,
    /// TCP's measured rate over this path, in bit/s; null where it carried nothing.
    pub tcp_bits_per_second: Option<f64>,
    /// The shortest round-trip time of this path, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// The congestion control of the sender's host.
    pub congestion: String,
    /// The checks.
    pub checks: Vec<CheckReport>,
}

/// Subject of a check of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PathCheck {
    /// The rate itself.
    Rate,
    /// Losses among datagrams that are far apart.
    Loss,
    /// The queue at the narrow place.
    Buffer,
    /// The send buffer of the sender's host.
    SendBuffer,
    /// The receive buffer of the receiver's.
    ReceiveBuffer,
    /// The scaling of windows on both.
    WindowScaling,
}

impl PathCheck {
    /// The public name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Result of one check of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Subject of the check.
    pub check: PathCheck,
    /// Whether it is good enough; null where that is not sure.
    pub passes: Option<bool>,
    /// Measured value, in `unit`.
    pub measured: f64,
    /// Needed value, in the same unit.
    pub needed: f64,
    /// `bit/s`, `share` or `bytes`.
    pub unit: String,
    /// The check's result in words.
    #[serde(rename = "told")]
    pub text: String,
    /// Advice; empty where it passes.
    pub advice: String,
}
