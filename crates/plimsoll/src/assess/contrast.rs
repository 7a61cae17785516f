//! Claims about factors: differences between two levels, and interactions.

use std::collections::BTreeMap;

use plimsoll_judge::compare::{self, CompareSettings};
use plimsoll_judge::factors::{self, FactorRow, FactorSettings, FactorTable};
use plimsoll_model::experiment::{DifferenceClaim, InteractionClaim, Metric};
use plimsoll_model::observation::{TrialRecord, Twin};
use plimsoll_model::plan::{Plan, level_text};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::{recovery, validity};

/// Every level of the factor against its first one.
pub(super) fn differences(plan: &Plan, claim: &DifferenceClaim, trials: &[TrialRecord]) -> Vec<Verdict> {
    let levels: Vec<String> = plan.experiment.factors[&claim.factor].levels.iter().map(level_text).collect();
    let Some((first, others)) = levels.split_first() else { return Vec::new() };
    others.iter().map(|other| difference(claim, (first, other), trials)).collect()
}

fn difference(claim: &DifferenceClaim, (a, b): (&str, &str), trials: &[TrialRecord]) -> Verdict {
    let metric = claim.metric.name();
    let all: Vec<&TrialRecord> = trials.iter().collect();
    if let Some(reason) = validity::objection(&all) {
        return Verdict::bare("difference", metric, Outcome::Invalid, 0, reason);
    }
    let (of_a, of_b) = pairs(claim, (a, b), trials);
    let settings = CompareSettings {
        margin: claim.margin.0,
        lower_is_better: claim.metric.lower_is_better(),
        ..CompareSettings::default()
    };
    match compare::paired(metric, &of_a, &of_b, &settings) {
        Ok(comparison) => {
            let reason = format!("{} = {b} against {a}: {}", claim.factor, comparison.verdict.reason);
            Verdict { claim: "difference".into(), reason, ..comparison.verdict }
        }
        Err(error) => Verdict::bare("difference", metric, Outcome::Undecided, of_a.len(), error.to_string()),
    }
}

/// A block, and the levels of all factors but one.
type Place<'t> = (u32, BTreeMap<&'t String, &'t String>);

/// Figures of two levels that belong together: of the same block, with the same levels of all other factors.
fn pairs(claim: &DifferenceClaim, (a, b): (&str, &str), trials: &[TrialRecord]) -> (Vec<f64>, Vec<f64>) {
    let mut found: BTreeMap<Place<'_>, [Option<f64>; 2]> = BTreeMap::new();
    for trial in trials {
        let side = match trial.cell.get(&claim.factor) {
            Some(level) if level == a => 0,
            Some(level) if level == b => 1,
            _ => continue,
        };
        let others = trial.cell.iter().filter(|(factor, _)| **factor != claim.factor).collect();
        found.entry((trial.block, others)).or_default()[side] = figure(trial, &claim.phase, claim.metric);
    }
    found.into_values().filter_map(|[a, b]| a.zip(b)).unzip()
}

/// The figure of a trial: the median over the slices of a phase.
pub(super) fn figure(trial: &TrialRecord, phase: &str, metric: Metric) -> Option<f64> {
    if !trial.faults.is_empty() {
        return None;
    }
    let slices = recovery::measured(trial, phase)
        .flat_map(|phase| &phase.slices)
        .filter(|slice| slice.twin == Twin::Main);
    let mut figures: Vec<f64> = slices.filter_map(|slice| slice.result.figure(metric)).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

pub(super) fn interaction(claim: &InteractionClaim, trials: &[TrialRecord]) -> Verdict {
    let metric = claim.metric.name();
    let all: Vec<&TrialRecord> = trials.iter().collect();
    if let Some(reason) = validity::objection(&all) {
        return Verdict::bare("interaction", metric, Outcome::Invalid, 0, reason);
    }
    let rows = trials.iter().filter_map(|trial| {
        let levels =
            claim.factors.iter().map(|factor| trial.cell.get(factor).cloned()).collect::<Option<Vec<_>>>()?;
        let value = figure(trial, &claim.phase, claim.metric)?;
        Some(FactorRow { levels, block: Some(trial.block.to_string()), value })
    });
    let table = FactorTable { factors: claim.factors.clone(), rows: rows.collect() };
    match factors::judge(metric, &table, &FactorSettings::default()) {
        Ok(found) => found.verdict,
        Err(error) => {
            Verdict::bare("interaction", metric, Outcome::Undecided, table.rows.len(), error.to_string())
        }
    }
}
