//! The answer to a claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::cause::CauseId;

/// The name and version of the JSON form of a single verdict. The number rises when a field changes its meaning or goes away.
pub const VERDICT_SCHEMA: &str = "plimsoll.verdict/1";

/// Outcome of a claim. Each claim documents the outcomes that it can have; `Invalid` comes before all others.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// Recovery: the figure after is equivalent to the baseline, within the margin.
    Recovered,
    /// Recovery: the figure after lies below the margin.
    NotRecovered,
    /// Difference: B is worse than A.
    Slower,
    /// Difference: B is better than A.
    Faster,
    /// Difference: B and A are equivalent, within the margin.
    Same,
    /// Modes: one mode describes the values.
    OneMode,
    /// Modes: two or more modes are needed.
    SeveralModes,
    /// Modes: too few values to judge; the reason says how many more are needed.
    TooFew,
    /// Interaction: the factors do not merely add (on the scale that the reason names).
    Interaction,
    /// Interaction: the factors merely add.
    Additive,
    /// Change: the series changed, at the places listed beside the verdict.
    Changed,
    /// Change: no change was found.
    Unchanged,
    /// Delivery: all mail that was acknowledged arrived, and none was spoiled.
    Delivered,
    /// Delivery: mail that was acknowledged did not arrive, arrived spoiled, or twice where it must not.
    NotDelivered,
    /// Limit: the bound is held up to the rate that is wanted.
    Reached,
    /// Limit: it is not held up to there.
    NotReached,
    /// Limit: the figure keeps to its bound, with the whole of its interval.
    Held,
    /// Limit: the figure lies beyond its bound, with the whole of its interval.
    NotHeld,
    /// Confirmation: the intervention brings back more than half of the loss. Each of N causes alone needs an N-th of that. The estimate is the share.
    Confirmed,
    /// Confirmation: it brings back less.
    NotConfirmed,
    /// A model was fitted, or a limit found; the estimate is the answer.
    Estimated,
    /// The data do not decide it yet.
    Undecided,
    /// The measurement cannot carry any answer; the reason says why.
    Invalid,
}

/// Meaning of a run's outcomes to a caller who only sees an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The claim holds.
    Holds,
    /// The claim fails.
    Fails,
    /// The data do not say.
    Open,
}

impl Outcome {
    /// Every outcome, in the order of the reference.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The public name, as in the JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether something with this outcome holds, fails, or is open, where nothing was expected: the base of the exit code of what is no claim
    /// of an experiment, such as `judge`. A claim says what it expects ([`Verdict::standing`]).
    ///
    /// A claim fails when a system is shown to be worse: `slower`, `not_recovered`, `not_reached`. What was merely found (a second mode, a change,
    /// an interaction, a faster B) is an answer, not a failure.
    pub fn standing(self) -> Standing {
        match self {
            Self::Slower
            | Self::NotRecovered
            | Self::NotDelivered
            | Self::NotReached
            | Self::NotHeld
            | Self::NotConfirmed => Standing::Fails,
            Self::Undecided | Self::Invalid | Self::TooFew => Standing::Open,
            Self::Recovered
            | Self::Faster
            | Self::Same
            | Self::OneMode
            | Self::SeveralModes
            | Self::Interaction
            | Self::Additive
            | Self::Changed
            | Self::Unchanged
            | Self::Delivered
            | Self::Reached
            | Self::Held
            | Self::Confirmed
            | Self::Estimated => Standing::Holds,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// An interval `[lo, hi]`, at the confidence that the verdict states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval(pub f64, pub f64);

impl Interval {
    /// The lower end.
    pub fn lo(self) -> f64 {
        self.0
    }

    /// The upper end.
    pub fn hi(self) -> f64 {
        self.1
    }

    /// The interval with both ends mapped by a rising function.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self(f(self.0), f(self.1))
    }
}

/// The answer to one claim. A public contract: see `VERDICT_SCHEMA`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The claim's kind: `recovery`, `difference`, `modes`, `interaction`, `change` ...
    pub claim: String,
    /// Name of the metric, such as `connections_per_second`.
    pub metric: String,
    /// The outcome.
    pub outcome: Outcome,
    /// A ratio (after/baseline, b/a) for recovery and difference, in the metric's unit otherwise. Differences of a metric that is a share
    /// (its name ends in `_share`) are b - a: 0.05 is 5 percentage points. The share of a loss for a confirmation. Absent where nothing can be estimated.
    pub estimate: Option<f64>,
    /// The interval of the estimate.
    pub interval: Option<Interval>,
    /// The confidence of the interval, such as 0.95.
    pub confidence: f64,
    /// How many independent units (trials, pairs, blocks, values) carry the verdict.
    pub n: usize,
    /// One sentence that a reader without the data can follow.
    pub reason: String,
    /// What the claim expects, such as `not_slower`; absent where it expects nothing, and outside of experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The causes whose interventions a confirmation tried at once, by their ids in the catalogue; absent for other claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub causes: Vec<CauseId>,
    /// Whether the outcome is the expected one; absent where the outcome leaves the claim open, and where nothing is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
}

impl Verdict {
    /// A verdict without an estimate: `invalid`, or an `undecided` that has nothing to show.
    #[must_use]
    pub fn bare(claim: &str, metric: &str, outcome: Outcome, n: usize, reason: impl Into<String>) -> Self {
        Self {
            claim: claim.into(),
            metric: metric.into(),
            outcome,
            estimate: None,
            interval: None,
            confidence: 0.95,
            n,
            reason: reason.into(),
            causes: Vec::new(),
            expected: None,
            holds: None,
        }
    }

    /// Its claim, with the causes of a confirmation.
    pub fn title(&self) -> String {
        if self.causes.is_empty() {
            return self.claim.clone();
        }
        format!("{} ({})", self.claim, self.causes_text())
    }

    /// The causes of a confirmation: `net.rto and net.shaped`.
    pub fn causes_text(&self) -> String {
        self.causes.iter().map(|cause| cause.id()).collect::<Vec<_>>().join(" and ")
    }

    /// The verdict as the answer to a claim that expects this.
    #[must_use]
    pub fn expecting(self, expected: Expected) -> Self {
        let known = self.outcome.standing() != Standing::Open;
        let holds = known.then(|| expected.outcomes.contains(&self.outcome));
        Self { expected: Some(expected.name.to_owned()), holds, ..self }
    }

    /// Whether the claim holds, fails, or is open: by what it expects, or else by the outcome alone.
    pub fn standing(&self) -> Standing {
        match self.holds {
            Some(true) => Standing::Holds,
            Some(false) => Standing::Fails,
            None => self.outcome.standing(),
        }
    }

    /// Takes the answer back, and keeps the figures.
    pub fn invalidate(&mut self, reason: impl Into<String>) {
        (self.outcome, self.holds, self.reason) = (Outcome::Invalid, None, reason.into());
    }
}

/// An expectation of any kind, as verdicts carry it.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The public name.
    pub name: &'static str,
    /// The outcomes with which the claim holds.
    pub outcomes: &'static [Outcome],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::DifferenceExpect;

    #[test]
    fn the_public_names_are_those_of_the_json() {
        for &outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }

    #[test]
    fn a_claim_holds_when_what_it_expects_is_found() {
        let expecting = |outcome, expect: DifferenceExpect| {
            Verdict::bare("difference", "rate", outcome, 6, "").expecting(expect.into())
        };
        let not_slower = expecting(Outcome::Faster, DifferenceExpect::NotSlower);
        assert_eq!((not_slower.standing(), not_slower.holds), (Standing::Holds, Some(true)));
        assert_eq!(expecting(Outcome::Faster, DifferenceExpect::Same).standing(), Standing::Fails);
        assert_eq!(expecting(Outcome::Slower, DifferenceExpect::Slower).standing(), Standing::Holds);
        let mut open = expecting(Outcome::Undecided, DifferenceExpect::Any);
        assert_eq!((open.standing(), open.holds), (Standing::Open, None));
        open.invalidate("the service died");
        assert_eq!((open.standing(), open.expected.as_deref()), (Standing::Open, Some("any")));
    }

    #[test]
    fn an_interval_is_a_bare_pair_in_json() {
        assert_eq!(serde_json::to_string(&Interval(0.5, 1.5)).unwrap(), "[0.5,1.5]");
    }
}
