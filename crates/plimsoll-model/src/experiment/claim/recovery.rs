//! The claim that a figure comes back after a flood.

use super::{ClaimKind, ClaimPlace, usual_metric};
use crate::experiment::prelude::*;
use crate::experiment::{Experiment, forget_default};
use crate::verdict::Interval;

/// The figure after the flood is as good as before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryClaim {
    /// The measured phase before.
    pub baseline: String,
    /// The measured phase after; every repetition counts.
    pub after: String,
    /// How much less is still as good (more than 0, less than 1).
    #[serde(default = "Share::percent::<5>")]
    pub margin: Share,
    /// Compared metric. The default is the usual metric of the measured load: connections per second where each carries one request, else requests
    /// per second. Others are bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: RecoveryExpect,
}

expectations! {
    /// Expected outcome for a figure after a flood.
    RecoveryExpect {
        /// The figure comes back.
        Recovered "recovered": Recovered,
        /// The figure stays down.
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

    follows_from!(expect);

    follows_from!(metric of baseline, after);

    fn complete(&mut self, experiment: &Experiment, says: &dyn Fn(&str) -> bool) {
        usual_metric(&mut self.metric, &self.baseline, experiment, says);
    }
}

/// Details of a verdict on recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryDetails {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The phase before the first flood.
    #[serde(default)]
    pub baseline: String,
    /// The phase after each flood.
    #[serde(default)]
    pub after: String,
    /// How much less is still as good, as a share.
    pub margin: f64,
    /// From the end of the drive to the first of the windows that pass, in seconds, the median over cycles; null when it was not
    /// watched, or none passed.
    pub time_to_recover_s: Option<f64>,
    /// Time to recover in each trial and cycle, in order; null where no window passed.
    pub time_to_recover_each_s: Vec<Option<f64>>,
    /// The ratio after/baseline, adjusted by the control, for each trial and cycle.
    pub cycles: Vec<CycleRatio>,
    /// Whether the ratio falls from cycle to cycle: Kendall's tau, from -1 (always falls) to 1; null with fewer than three cycles.
    pub trend_tau: Option<f64>,
    /// The probability of such a trend by chance (Mann-Kendall, two-sided).
    pub trend_p: Option<f64>,
}

/// The ratio of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CycleRatio {
    /// The trial's number.
    pub trial: u32,
    /// The cycle, from 1.
    pub cycle: u32,
    /// after/baseline, adjusted by the control.
    pub ratio: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}
