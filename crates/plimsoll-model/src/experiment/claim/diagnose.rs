//! The claim that a path is good enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimKind, ClaimPlace};
use crate::experiment::problem::{Checked, problem};
use crate::verdict::Expected;

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

expectations! {
    /// What is expected of a path for TCP.
    PathExpect {
        /// It is good enough.
        Reached "reached": Reached,
        /// It is not.
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

    fn expected(&self) -> Option<Expected> {
        Some(self.expect.into())
    }
}
