//! Open loop: requests that begin when they are due, whether or not those before them have been answered.

use crate::experiment::prelude::*;

/// The rate of an open loop, over all generators of a load. Either `rate`, by itself or with `ramp_to` or `sine`, or `steps` is given.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenLoop {
    /// Requests per second (up to 10 million): throughout, at the beginning of a ramp, or in the mean of a sine.
    pub rate: f64,
    /// How requests follow one another at that rate.
    pub arrivals: Arrivals,
    /// Requests per second at the end; the rate changes evenly from `rate` to it.
    pub ramp_to: Option<f64>,
    /// Let the rate swing about `rate`.
    pub sine: Option<Sine>,
    /// Requests per second in each of several steps, which share the load's duration evenly and are reported one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<f64>,
}

impl OpenLoop {
    /// Whether the rate stays as it is.
    pub fn is_constant(&self) -> bool {
        self.rate > 0.0 && self.ramp_to.is_none() && self.sine.is_none() && self.steps.is_empty()
    }

    /// The loop at another rate; absent where its rate varies.
    pub fn at_rate(&self, rate: f64) -> Option<Self> {
        self.is_constant().then(|| Self { rate, ..self.clone() })
    }

    /// Requests per second on average, over whole periods of a sine.
    pub fn mean_rate(&self) -> f64 {
        if self.steps.is_empty() {
            f64::midpoint(self.rate, self.ramp_to.unwrap_or(self.rate))
        } else {
            self.steps.iter().sum::<f64>() / self.steps.len() as f64
        }
    }

    /// Requests per second when there are most.
    pub fn highest_rate(&self) -> f64 {
        let swing = self.sine.map_or(0.0, |sine| sine.amplitude);
        let ends = [self.rate + swing, self.ramp_to.unwrap_or(0.0)];
        self.steps.iter().copied().chain(ends).fold(0.0, f64::max)
    }
}

/// How the requests of a rate follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Constant,
    /// At random, independent of one another, as from many clients that know nothing of each other.
    Poisson,
}

/// A rate that swings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sine {
    /// How far the rate goes above and below its mean, in requests per second.
    pub amplitude: f64,
    /// From one crest to the next.
    pub period: Span,
}

pub(super) fn check_rate(rate: f64, path: impl Into<Vec<Part>>) -> Checked {
    within(rate, up_to(1e7), path, "requests per second: more than 0, at most 10 million")
}
