//! The claim that two levels of a factor, or two cells, compare as expected.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::forget_default;
use crate::experiment::prelude::*;
use crate::experiment::problem::check_cell;

/// Every other level of a factor is compared with its first, or every other cell with one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DifferenceClaim {
    /// The measured phase.
    pub phase: String,
    /// The factor. Give this or `against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    /// The cell that all others are compared with: a level for every factor. Give this or `factor`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub against: BTreeMap<String, serde_json::Value>,
    /// How small a difference counts as none (more than 0, less than 1). Of a metric that is a share it is in percentage points.
    #[serde(default = "DifferenceClaim::default_margin")]
    pub margin: Share,
    /// Compared metric. The default is the usual metric of the measured load: connections per second where each carries one request, else requests
    /// per second. Others are bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: DifferenceExpect,
}

impl DifferenceClaim {
    pub(crate) fn default_margin() -> Share {
        Share(0.02)
    }
}

expectations! {
    /// Expected outcome for B against A.
    DifferenceExpect {
        /// B is as good as A, or better.
        NotSlower "not_slower": Same | Faster,
        /// B is as good as A, within the margin.
        Same "same": Same,
        /// B is better than A, by more than the margin can hide.
        Faster "faster": Faster,
        /// B is worse than A.
        Slower "slower": Slower,
        /// Whichever it is: the claim holds when it is known.
        Any "any": Same | Faster | Slower,
    }
}

impl ClaimKind for DifferenceClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        at.phase("phase", &self.phase)?;
        let sides = [("factor", self.factor.is_some()), ("against", !self.against.is_empty())];
        one_of(&sides, "the difference", at.here())?;
        if let Some(factor) = &self.factor {
            at.factor(factor, at.key("factor"))?;
        } else {
            check_cell(at.experiment, &self.against, &at.key("against"))?;
            let cells = &at.experiment.cells;
            if !cells.is_empty() && !cells.contains(&self.against) {
                return Err(problem(at.key("against"), "this cell is not run", "one of the `cells`"));
            }
        }
        at.margin("margin", self.margin)?;
        at.of_whole_phase(&self.phase, self.metric)
    }

    fn describe(&self) -> String {
        let (metric, phase, margin) = (self.metric.name(), &self.phase, self.margin);
        let against = match &self.factor {
            Some(factor) => format!("at every other level of {factor} against the first"),
            None => "in every other cell against the one that is named".to_owned(),
        };
        match self.expect {
            DifferenceExpect::NotSlower => {
                format!("{metric} in {phase} is not worse, {against}: better, or worse by less than {margin}")
            }
            DifferenceExpect::Same => {
                format!("{metric} in {phase} is the same, {against}: neither better nor worse by {margin}")
            }
            DifferenceExpect::Faster => format!("{metric} in {phase} is better, {against}"),
            DifferenceExpect::Slower => format!("{metric} in {phase} is worse, {against}"),
            DifferenceExpect::Any => {
                format!(
                    "{metric} in {phase} is better, worse or the same (within {margin}), {against}: whichever it is"
                )
            }
        }
    }

    compares_one_figure!();
}

/// Sides of a verdict on a difference: B against A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceDetails {
    /// The measured phase.
    pub phase: String,
    /// The levels of A that B differs in.
    pub a: BTreeMap<String, String>,
    /// The levels of B.
    pub b: BTreeMap<String, String>,
    /// How small a difference counts as none, as a share; of a metric that is a share, in points from 0 to 1.
    pub margin: f64,
    /// The figures of A and of B in the trials that make pairs; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<[DifferenceSide; 2]>,
    /// The figures of A and of B in each pair, in the order of the blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<[f64; 2]>,
}

/// The figures of one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceSide {
    /// Their mean, in the metric's unit.
    pub mean: f64,
    /// Their standard deviation, in the metric's unit.
    pub sd: f64,
}
