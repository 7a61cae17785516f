//! How a load fared after a step.

use plimsoll_model::experiment::claim::step_recovery::{StepRecoveryClaim, StepRecoveryDetails};
use plimsoll_model::verdict::Verdict;

use super::Shown;

impl Shown for StepRecoveryClaim {
    type Details = StepRecoveryDetails;
    const TITLE: &'static str = "Recovery after a step";

    fn found(_verdict: &Verdict, _metric: &str, value: &str) -> String {
        format!("the load was as good as before after {value} s")
    }
}
