//! The interaction claim: whether the effect of one factor depends on the level of another.

use plimsoll_judge::factors::{self, FactorRow, FactorSettings, FactorTable, FactorsVerdict};
use plimsoll_judge::input::JudgeError;
use plimsoll_model::experiment::claim::interaction::{InteractionClaim, InteractionDetails, MeasuredCell};

use crate::claims::prelude::*;
use crate::contrast;

impl ClaimKind for InteractionClaim {
    /// A single finding.
    fn judge(&self, _plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let metric = self.metric.name();
        let table = table(self, trials);
        let judged = judged(self, &table);
        let verdict = match (contrast::objection(self.metric, &self.phase, trials), &judged) {
            (Some(reason), _) => Verdict::bare("interaction", metric, Outcome::Invalid, 0, reason),
            (None, Ok(found)) => found.verdict.clone(),
            (None, Err(error)) => {
                let reason = in_words(error);
                Verdict::bare("interaction", metric, Outcome::Undecided, trials.len(), reason)
            }
        };
        // The cell that its factors do not explain, where there is one for sure.
        let odd = judged.ok().filter(|found| found.verdict.outcome == Outcome::Interaction);
        let odd_cell = odd.and_then(|found| Some(found.deviations[found.odd?].cell.clone()));
        let (phase, factors) = (self.phase.clone(), self.factors.clone());
        let measured =
            table.rows.into_iter().map(|FactorRow { levels, value, .. }| MeasuredCell { levels, value });
        let measured = measured.collect();
        let margin = self.margin.0;
        vec![Finding::new(verdict, InteractionDetails { phase, factors, margin, odd_cell, measured })]
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        (self.phase == phase).then_some(FailureQuestion::InPart)
    }
}

/// Figures of each trial that has the factors.
fn table(claim: &InteractionClaim, trials: &[TrialRecord]) -> FactorTable {
    let rows = trials.iter().filter_map(|trial| {
        let levels =
            claim.factors.iter().map(|factor| trial.cell.get(factor).cloned()).collect::<Option<Vec<_>>>()?;
        let value = contrast::figure(trial, &claim.phase, claim.metric)?;
        Some(FactorRow { levels, block: Some(trial.block.to_string()), value })
    });
    FactorTable { factors: claim.factors.clone(), rows: rows.collect() }
}

fn judged(claim: &InteractionClaim, table: &FactorTable) -> Result<FactorsVerdict, JudgeError> {
    let settings = FactorSettings {
        margin: claim.margin.0,
        scale: contrast::scale(claim.metric),
        ..FactorSettings::default()
    };
    factors::judge(claim.metric.name(), table, &settings)
}
