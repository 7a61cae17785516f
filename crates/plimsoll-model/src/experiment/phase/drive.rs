//! Running loads for their effect.

use super::measure::MeasureLoads;
use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;

/// Loads to run for their effect: one, or several at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DriveLoads {
    /// The loads.
    pub loads: MeasureLoads,
}

impl PhaseType for DriveLoads {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        self.loads.declared(at, "drive")
    }

    fn describe(&self, _phase: &Phase) -> String {
        format!("drive {}", self.loads.all().join(" and "))
    }

    fn settings(&self) -> &'static [&'static str] {
        &["during"]
    }

    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        vec![PhaseKind::Drive]
    }

    fn loads(&self) -> &[String] {
        self.loads.all()
    }
}
