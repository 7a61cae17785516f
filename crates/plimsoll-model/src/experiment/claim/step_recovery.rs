//! The claim that a load comes back after a step that is done while it is measured.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;
use crate::recovery::EventRecovery;

/// After a step of `during`, the load of the phase does again as well as before the first step of the phase. Three windows in a row are within the
/// margin of the median window before, or no worse than the worst of them. Looked for until the next step, or the end of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRecoveryClaim {
    /// The measured phase.
    pub phase: String,
    /// The step, by its name.
    pub step: String,
    /// How long it may take, from when the step begins; without it, until the next step, or the end of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// How much less is still as good (more than 0, less than 1).
    #[serde(default = "Share::percent::<10>")]
    pub margin: Share,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: StepRecoveryExpect,
}

expectations! {
    /// Expected outcome for a load after a step.
    StepRecoveryExpect {
        /// The load comes back, or was never affected.
        Recovered "recovered": Recovered,
        /// The load does not come back.
        NotRecovered "not_recovered": NotRecovered,
    }
}

impl ClaimKind for StepRecoveryClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        at.phase("phase", &self.phase)?;
        let phase = at.experiment.phase_recorded_as(&self.phase);
        let steps =
            phase.into_iter().flat_map(|phase| &phase.during).map(|step| (step.title(), ())).collect();
        declared(&self.step, &steps, "step in `during` of this phase", at.key("step"))?;
        at.margin("margin", self.margin)
    }

    fn describe(&self) -> String {
        let Self { phase, step, within, margin, expect } = self;
        let within = within.map_or_else(String::new, |within| format!(" within {within}"));
        let does = match expect {
            StepRecoveryExpect::Recovered => "does again",
            StepRecoveryExpect::NotRecovered => "does not do again",
        };
        format!(
            "after the step `{step}` the load of {phase} {does} as well as before{within}: less than {margin} worse"
        )
    }

    follows_from!(expect);

    follows_from!(phase);
}

/// How the load fared after the step, each time that it was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecoveryDetails {
    /// The measured phase.
    pub phase: String,
    /// The step.
    pub step: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// Each time that it was done, in the order of the trials.
    pub each: Vec<EventRecovery>,
}
