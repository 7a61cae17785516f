//! The claim that measurements gather in one place, or in several.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;

/// The measurements of a phase, its slices, gather in one place, or in several. 100 are made unless the phase says how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModesClaim {
    /// The measured phase.
    pub phase: String,
    /// Metric whose values are searched for modes.
    #[serde(default = "ModesClaim::default_metric")]
    pub metric: Metric,
    /// Places that lie nearer to each other than this share of the figure count as one (0 to less than 1): smaller differences do not matter.
    #[serde(default = "Share::percent::<2>")]
    pub apart: Share,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: ModesExpect,
}

impl ModesClaim {
    /// How many measurements are made unless the phase says.
    pub const MEASUREMENTS: u32 = 100;

    fn default_metric() -> Metric {
        Metric::MegabytesPerSecond
    }
}

expectations! {
    /// Expected number of modes.
    ModesExpect {
        /// Measurements gather in one place.
        OneMode "one_mode": OneMode,
        /// Measurements gather in two places or more.
        SeveralModes "several_modes": SeveralModes,
        /// Whichever it is: the claim holds when it is known.
        Any "any": OneMode | SeveralModes,
    }
}

impl ClaimKind for ModesClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        at.phase("phase", &self.phase)?;
        within(self.apart.0, 0.0..1.0, at.key("apart"), "a share from 0 to less than 1")
    }

    fn describe(&self) -> String {
        let gathers = match self.expect {
            ModesExpect::OneMode => "in one place",
            ModesExpect::SeveralModes => "in two places or more",
            ModesExpect::Any => "in one place, or in several: whichever it is",
        };
        format!("{} in {} gathers {gathers}", self.metric.name(), self.phase)
    }

    follows_from!(expect);

    follows_from!(metric of phase);
}

/// Results of a claim about modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModesDetails {
    /// The measured phase.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// Name of the metric, such as `megabytes_per_second`.
    pub metric: String,
    /// The measurements in order of time.
    pub values: Vec<f64>,
    /// The modes by rising centre; empty where there were too few measurements.
    pub modes: Vec<ModePlace>,
    /// Which mode each measurement belongs to, from 0; empty where there is only one.
    pub belongs_to: Vec<u32>,
    /// How the modes follow one another: `comes_and_goes`, `alternates` or `random`; null where there are not two.
    pub order: Option<String>,
    /// The background loads that came and went, each with whether it was there in each measurement.
    pub background: BTreeMap<String, Vec<bool>>,
}

/// A place where measurements gather.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModePlace {
    /// The mean of its measurements.
    pub center: f64,
    /// Its share of all measurements.
    pub weight: f64,
}
