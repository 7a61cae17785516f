//! The claim that a figure comes back after a flood.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimKind, ClaimPlace, usual_metric};
use crate::experiment::problem::{Checked, problem};
use crate::experiment::{Experiment, Metric, forget_default};
use crate::units::Share;
use crate::verdict::Expected;

/// The figure after the flood is as good as before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryClaim {
    /// The measured phase before.
    pub baseline: String,
    /// The measured phase after; every repetition counts.
    pub after: String,
    /// How much less is still as good (more than 0, less than 1).
    #[serde(default = "RecoveryClaim::default_margin")]
    pub margin: Share,
    /// What is compared; by default what is usually asked of the load that is measured: connections per second where each carries one
    /// request, else requests per second; bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: RecoveryExpect,
}

impl RecoveryClaim {
    fn default_margin() -> Share {
        Share(0.05)
    }
}

expectations! {
    /// What is expected of a figure after a flood.
    RecoveryExpect {
        /// It comes back.
        Recovered "recovered": Recovered,
        /// It does not.
        NotRecovered "not_recovered": NotRecovered,
    }
}

impl ClaimKind for RecoveryClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        at.phase("baseline", &self.baseline)?;
        at.phase("after", &self.after)?;
        if at.phases[&self.baseline] != at.phases[&self.after] {
            return Err(problem(
                at.key("after"),
                "baseline and after measure different loads",
                "two phases that measure the same load",
            ));
        }
        at.margin("margin", self.margin)?;
        at.of_slices(self.metric)
    }

    fn describe(&self) -> String {
        let Self { baseline, after, margin, metric, expect } = self;
        let (does, than) = match expect {
            RecoveryExpect::Recovered => ("comes", "less"),
            RecoveryExpect::NotRecovered => ("does not come", "more"),
        };
        let metric = metric.name();
        format!("{metric} {does} back in {after} to what it was in {baseline}: {than} than {margin} worse")
    }

    fn expected(&self) -> Option<Expected> {
        Some(self.expect.into())
    }

    fn figures(&self) -> Vec<(&str, Metric)> {
        vec![(&self.baseline, self.metric), (&self.after, self.metric)]
    }

    fn complete(&mut self, experiment: &Experiment, says: &dyn Fn(&str) -> bool) {
        usual_metric(&mut self.metric, &self.baseline, experiment, says);
    }
}
