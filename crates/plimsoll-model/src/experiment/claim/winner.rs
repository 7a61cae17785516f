//! The claim that one level of a factor is the best.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;
use crate::verdict::Outcome;

/// Which level of a factor is best, for each phase and each combination of the other factors' levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WinnerClaim {
    /// The measured phases.
    pub phases: Vec<String>,
    /// The factor whose levels compete.
    pub factor: String,
    /// How small a lead counts as none (more than 0, less than 1).
    #[serde(default = "Share::percent::<5>")]
    pub margin: Share,
    /// Compared metric.
    #[serde(default = "WinnerClaim::default_metric")]
    pub metric: Metric,
}

impl WinnerClaim {
    fn default_metric() -> Metric {
        Metric::MegabytesPerSecond
    }
}

impl ClaimKind for WinnerClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        if self.phases.is_empty() {
            return Err(problem(at.key("phases"), "nothing is compared", "at least one measured phase"));
        }
        for (place, phase) in (0..).zip(&self.phases) {
            measured(phase, at.phases, at.element("phases", place))?;
        }
        at.factor(&self.factor, at.key("factor"))?;
        at.margin("margin", self.margin)
    }

    fn describe(&self) -> String {
        let (factor, phases, metric) = (&self.factor, self.phases.join(", "), self.metric.name());
        format!("one {factor} is the best in {phases}, by {metric}")
    }

    fn metric_mut(&mut self) -> Option<&mut Metric> {
        Some(&mut self.metric)
    }

    fn figures(&self) -> Vec<(&str, Metric)> {
        self.phases.iter().map(|phase| (phase.as_str(), self.metric)).collect()
    }

    fn phases_mut(&mut self) -> Vec<&mut String> {
        self.phases.iter_mut().collect()
    }
}

/// Which level of a factor is best in one phase, at one combination of the other factors' levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WinnerDetails {
    /// The measured phase.
    pub phase: String,
    /// The levels of the other factors.
    pub row: BTreeMap<String, String>,
    /// The factor whose levels competed.
    pub factor: String,
    /// Name of the compared metric.
    pub metric: String,
    /// The level that came out best.
    pub winner: String,
    /// Its figure: the geometric mean over blocks.
    pub figure: f64,
    /// The level that came next.
    pub next: String,
    /// How many times better the winner is: the quotient of both figures.
    pub lead: f64,
    /// How certain it is: the share of resamples of the blocks in which it comes out best, and at most 1 - 1/2ⁿ with n blocks.
    pub certainty: f64,
    /// `faster` where the lead is real, `same` where it is smaller than the margin, else `undecided`.
    pub outcome: Outcome,
    /// The figure of every level: the geometric mean over blocks.
    pub figures: BTreeMap<String, f64>,
    /// Evidence that puts another level first, in words: the medians, or the ratios block by block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}
