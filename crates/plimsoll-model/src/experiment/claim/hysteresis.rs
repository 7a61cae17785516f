//! The claim that a service takes the same way down a load as up.

use super::{ClaimKind, ClaimPlace, RecoveryExpect};
use crate::experiment::prelude::*;

/// At the same offered load the figure is as good on the way down as it was on the way up. The measured load has `open.steps` that rise
/// and then fall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HysteresisClaim {
    /// The measured phase.
    pub phase: String,
    /// How large a loop between the two ways counts as none, as a share of the area under the way up (more than 0, less than 1).
    #[serde(default = "Share::percent::<10>")]
    pub margin: Share,
    /// Compared metric: requests answered per second, or a time of a request.
    #[serde(default = "HysteresisClaim::default_metric")]
    pub metric: Metric,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: RecoveryExpect,
}

impl HysteresisClaim {
    fn default_metric() -> Metric {
        Metric::RequestsPerSecond
    }
}

/// The steps of a load on its way up, the highest with them, and on its way down from the highest on.
pub fn ways<T>(steps: &[T], rate: impl Fn(&T) -> f64) -> (&[T], &[T]) {
    let higher = |best: usize, n: usize| if rate(&steps[n]) > rate(&steps[best]) { n } else { best };
    let top = (0..steps.len()).reduce(higher).unwrap_or(0);
    (&steps[..steps.len().min(top + 1)], &steps[top..])
}

impl ClaimKind for HysteresisClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        let load = at.load(&self.phase)?;
        let steps = load.and_then(|load| Some(&load.kind.http()?.open.as_ref()?.steps[..])).unwrap_or(&[]);
        let (up, down) = ways(steps, |rate| *rate);
        if up.len() < 2 || down.len() < 2 {
            return Err(problem(
                at.key("phase"),
                "the load of this phase does not go up and down",
                "a load with `open.steps` that rise and then fall",
            ));
        }
        at.margin("margin", self.margin)?;
        at.of_slices(self.metric)
    }

    fn describe(&self) -> String {
        let does = match self.expect {
            RecoveryExpect::Recovered => "takes the same way down the load as up, within",
            RecoveryExpect::NotRecovered => "comes down the load another way than up, by more than",
        };
        format!("{} in {} {does} {}", self.metric.name(), self.phase, self.margin)
    }

    follows_from!(expect);

    follows_from!(metric of phase);

    /// A loop has two ways: no single figure of it stands for a run.
    fn between_runs(&self) -> Vec<(&str, Metric)> {
        Vec::new()
    }
}

/// Subject of a verdict on the two ways of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HysteresisDetails {
    /// The measured phase.
    pub phase: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// How large a loop counts as none, as a share of the area under the way up.
    pub margin: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_step_belongs_to_both_ways() {
        let steps = [1.0, 3.0, 5.0, 2.0, 1.0];
        assert_eq!(ways(&steps, |rate| *rate), (&[1.0, 3.0, 5.0][..], &[5.0, 2.0, 1.0][..]));
        assert_eq!(ways(&[] as &[f64], |rate| *rate), (&[][..], &[][..]));
    }
}
