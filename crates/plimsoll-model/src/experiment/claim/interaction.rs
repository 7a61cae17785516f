//! The claim that factors do not act on each other, or do.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::forget_default;
use crate::experiment::prelude::*;

/// Whether the effect of one factor depends on the level of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InteractionClaim {
    /// The measured phase.
    pub phase: String,
    /// The factors.
    pub factors: Vec<String>,
    /// How small an interaction counts as none (more than 0, less than 1). Of a metric that is a share it is in percentage points.
    #[serde(default = "Share::percent::<5>")]
    pub margin: Share,
    /// Compared metric. The default is the usual metric of the measured load: connections per second where each carries one request, else requests
    /// per second. Others are bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: InteractionExpect,
}

expectations! {
    /// Expected outcome for factors.
    InteractionExpect {
        /// The factors do not act on each other.
        Additive "additive": Additive,
        /// The effect of one depends on the level of another.
        Interaction "interaction": Interaction,
        /// Whichever it is: the claim holds when it is known.
        Any "any": Additive | Interaction,
    }
}

impl ClaimKind for InteractionClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        at.margin("margin", self.margin)?;
        at.phase("phase", &self.phase)?;
        if self.factors.len() < 2 {
            let expected = "the names of at least two factors";
            return Err(problem(at.key("factors"), "an interaction needs two factors", expected));
        }
        (0..)
            .zip(&self.factors)
            .try_for_each(|(place, factor)| at.factor(factor, at.element("factors", place)))?;
        at.of_whole_phase(&self.phase, self.metric)
    }

    fn describe(&self) -> String {
        let (metric, phase, margin) = (self.metric.name(), &self.phase, self.margin);
        let factors = self.factors.join(" and ");
        match self.expect {
            InteractionExpect::Additive => {
                format!("{metric} in {phase}: {factors} do not act on each other, within {margin}")
            }
            InteractionExpect::Interaction => format!("{metric} in {phase}: {factors} act on each other"),
            InteractionExpect::Any => {
                format!(
                    "{metric} in {phase}: {factors} act on each other, or do not (within {margin}): whichever it is"
                )
            }
        }
    }

    compares_one_figure!();
}

/// Details of a verdict on an interaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionDetails {
    /// The measured phase.
    pub phase: String,
    /// The factors.
    pub factors: Vec<String>,
    /// How small an interaction counts as none, as a share; of a metric that is a share, in points from 0 to 1.
    #[serde(default)]
    pub margin: f64,
    /// Cell that departs most from what the others predict; null without an interaction, and where several depart equally far, as in a 2 x 2 table.
    pub odd_cell: Option<BTreeMap<String, String>>,
    /// Measured values: an entry for each trial.
    #[serde(default)]
    pub measured: Vec<MeasuredCell>,
}

/// Figure of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredCell {
    /// The level of each factor, in the order of the factors.
    pub levels: Vec<String>,
    /// The figure, in the unit of the verdict's metric.
    pub value: f64,
}
