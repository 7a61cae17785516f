//! The difference claim: every level of a factor against its first one, or every cell against the one that is named.

use plimsoll_explain::causes::Shown;
use plimsoll_judge::stats::{mean, sd};
use plimsoll_model::experiment::claim::difference::{DifferenceClaim, DifferenceDetails, DifferenceSide};

use crate::claims::prelude::*;
use crate::contrast::{self, Comparison};
use crate::flushing;

impl ClaimKind for DifferenceClaim {
    /// One finding for each comparison.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let finding = |comparison: Comparison| {
            let verdict = contrast::difference(plan, self, &comparison, trials);
            let (of_a, of_b) = contrast::pairs(self, &comparison, trials);
            let pairs: Vec<[f64; 2]> = of_a.iter().zip(&of_b).map(|(a, b)| [*a, *b]).collect();
            let sides = [of_a, of_b].map(|of| DifferenceSide { mean: mean(&of), sd: sd(&of) });
            let Comparison { a, b, .. } = comparison;
            let details = DifferenceDetails {
                phase: self.phase.clone(),
                a,
                b,
                margin: self.margin.0,
                sides: (!pairs.is_empty()).then_some(sides),
                pairs,
            };
            Finding::new(verdict, details)
        };
        contrast::comparisons(plan, self).into_iter().map(finding).collect()
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        (self.phase == phase).then_some(FailureQuestion::InPart)
    }

    /// A background load that the factor switches, and that makes the disk flush.
    fn shows(&self, plan: &Plan, trials: &[TrialRecord], finding: &Finding) -> Vec<Shown> {
        let flushing = flushing::of(plan, self, trials, &finding.verdict);
        flushing.map(|it| Shown::Flushing(Box::new(it))).into_iter().collect()
    }
}
