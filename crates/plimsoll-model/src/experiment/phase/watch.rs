//! Looking for the time to recover.

use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;

/// How to look for the time to recover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The load of which windows are measured.
    pub load: String,
    /// The measured phase that a window is compared with.
    pub against: String,
    /// Connections (or requests) in a window.
    #[serde(default = "Watch::default_connections")]
    pub connections: u64,
    /// From the start of one window to the start of the next.
    #[serde(default = "Span::of_millis::<500>")]
    pub every: Span,
    /// How many windows in a row must pass.
    #[serde(default = "crate::units::number::<3>")]
    pub windows: u32,
    /// When to give up looking; the trial then goes on.
    pub give_up: Span,
}

impl Watch {
    fn default_connections() -> u64 {
        50
    }
}

impl PhaseType for Watch {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        let here = |key: &str| [at.key("watch"), path![key].to_vec()].concat();
        declared(&self.load, &at.experiment.loads, "load", here("load"))?;
        at.measured_before(&self.against, here("against"))?;
        in_range(u64::from(self.windows), 1, 100, here("windows"))?;
        in_range(self.connections, 1, 1_000_000, here("connections"))
    }

    fn describe(&self, _phase: &Phase) -> String {
        let Self { load, against, give_up, .. } = self;
        format!("watch {load} until it is as good as {against}, for at most {give_up}")
    }

    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        vec![PhaseKind::Watch]
    }

    fn loads(&self) -> &[String] {
        std::slice::from_ref(&self.load)
    }
}
