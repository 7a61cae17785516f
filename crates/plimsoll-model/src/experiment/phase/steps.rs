//! Phases inside a phase, which may be repeated.

use super::{Phase, PhasePlace, PhaseType, PhaseWork};
use crate::experiment::prelude::*;

/// Phases to carry out in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct InnerPhases {
    /// The phases.
    pub phases: Vec<Phase>,
}

impl PhaseType for InnerPhases {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        if self.phases.is_empty() {
            return Err(problem(at.key("steps"), "there is no step", "at least one, as [[phases.steps]]"));
        }
        Ok(())
    }

    fn describe(&self, phase: &Phase) -> String {
        format!("{} times:", phase.repeat.unwrap_or(1))
    }

    fn settings(&self) -> &'static [&'static str] {
        &["repeat"]
    }

    fn inside(&self) -> &[Phase] {
        &self.phases
    }

    fn without_namespaces(&self) -> Option<PhaseWork> {
        let phases = self.phases.iter().cloned().map(Phase::without_namespaces).collect();
        Some(Self { phases }.into())
    }
}
