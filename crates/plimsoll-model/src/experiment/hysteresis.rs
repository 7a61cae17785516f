//! The claim that a service takes the same way down a load as up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Metric, RecoveryExpect};
use crate::units::Share;

/// At the same offered load the figure is as good on the way down as it was on the way up. The measured load has `open.steps` that rise
/// and then fall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HysteresisClaim {
    /// The measured phase.
    pub phase: String,
    /// How large a loop between the two ways counts as none, as a share of the area under the way up (more than 0, less than 1).
    #[serde(default = "HysteresisClaim::default_margin")]
    pub margin: Share,
    /// What is compared: requests answered per second, or a time of a request.
    #[serde(default = "HysteresisClaim::default_metric")]
    pub metric: Metric,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: RecoveryExpect,
}

impl HysteresisClaim {
    fn default_margin() -> Share {
        Share(0.1)
    }
    fn default_metric() -> Metric {
        Metric::RequestsPerSecond
    }
}

/// The steps of a load on its way up, the highest with them, and on its way down from the highest on.
#[must_use]
pub fn ways<T>(steps: &[T], rate: impl Fn(&T) -> f64) -> (&[T], &[T]) {
    let higher = |best: usize, n: usize| if rate(&steps[n]) > rate(&steps[best]) { n } else { best };
    let top = (0..steps.len()).reduce(higher).unwrap_or(0);
    (&steps[..steps.len().min(top + 1)], &steps[top..])
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
