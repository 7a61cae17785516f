//! The winner claim: which level of a factor is best, for each phase and each combination of the other factors' levels.
//!
//! Levels are compared within blocks, whose trials were carried out close together. How certain a winner is, is the share of resamples of
//! the blocks in which it comes out best: it takes in that the winner was picked by the same figures (Efron & Tibshirani 1993, *An Introduction
//! to the Bootstrap*, on the problem of regions). Few blocks that agree are drawn in each resample, though chance alone makes n of them agree
//! once in 2ⁿ times; so it is never more than the rest.
//!
//! The figure of a level is its geometric mean over the blocks: the winner has the best of those that are shown, and its lead is their quotient.
//! Where medians, or the comparison block by block, put another level first, the reason says so.

use std::collections::BTreeSet;

use plimsoll_judge::compare::Comparison;
use plimsoll_judge::compare::{self, CompareSettings};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_judge::stats::{mean, median};
use plimsoll_model::experiment::claim::winner::{WinnerClaim, WinnerDetails};
use plimsoll_model::plan::level_text;

use crate::claims::prelude::*;
use crate::contrast;

/// Resamples of the blocks.
const RESAMPLES: usize = 2000;
/// Fewer blocks than this say nothing of certainty.
const LEAST_BLOCKS: usize = 3;

/// The combinations of the levels of all factors but one.
type Row = BTreeMap<String, String>;

impl ClaimKind for WinnerClaim {
    /// One finding for each row.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let all: Vec<&TrialRecord> = trials.iter().collect();
        let rows = rows(plan, self).into_iter().map(|(phase, row)| judged(plan, self, phase, &row, trials));
        let Some(reason) = soundness::objection_to_comparison(&all) else { return rows.collect() };
        vec![Finding::bare(Verdict::bare("winner", self.metric.name(), Outcome::Invalid, 0, reason))]
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        self.phases.iter().any(|of| of == phase).then_some(FailureQuestion::InPart)
    }
}

/// The phases and the combinations of other levels, in the order of the plan.
fn rows<'c>(plan: &Plan, claim: &'c WinnerClaim) -> Vec<(&'c str, Row)> {
    let mut others: Vec<Row> = Vec::new();
    for cell in &plan.cells {
        let mut row = cell.levels.clone();
        row.remove(&claim.factor);
        if !others.contains(&row) {
            others.push(row);
        }
    }
    let of_phase = |phase: &'c String| others.iter().map(move |row| (phase.as_str(), row.clone()));
    claim.phases.iter().flat_map(of_phase).collect::<Vec<_>>()
}

/// The figure of each level in each block; blocks in which one is missing are left out.
fn figures(
    plan: &Plan,
    claim: &WinnerClaim,
    phase: &str,
    row: &Row,
    trials: &[TrialRecord],
) -> BTreeMap<String, Vec<f64>> {
    let levels: Vec<String> = plan.experiment.factors[&claim.factor].levels.iter().map(level_text).collect();
    let is_of = |trial: &TrialRecord, level: &String| {
        trial.cell.get(&claim.factor) == Some(level)
            && row.iter().all(|(factor, level)| trial.cell.get(factor) == Some(level))
    };
    let blocks: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for block in blocks {
        let figure = |level: &String| {
            let trial = trials.iter().find(|trial| trial.block == block && is_of(trial, level))?;
            contrast::figure(trial, phase, claim.metric).filter(|figure| *figure > 0.0)
        };
        let of_block: Option<Vec<f64>> = levels.iter().map(figure).collect();
        for (level, figure) in levels.iter().zip(of_block.into_iter().flatten()) {
            found.entry(level.clone()).or_default().push(figure);
        }
    }
    found
}

fn judged(plan: &Plan, claim: &WinnerClaim, phase: &str, row: &Row, trials: &[TrialRecord]) -> Finding {
    let metric = claim.metric.name();
    let place = format!("{phase}, {}", prefix(row));
    let place = place.trim_end_matches([' ', ',', ':']);
    let figures = figures(plan, claim, phase, row, trials);
    let blocks = figures.values().next().map_or(0, Vec::len);
    if blocks < LEAST_BLOCKS {
        let reason = format!("{place}: {blocks} complete blocks, and a winner needs at least {LEAST_BLOCKS}");
        return Finding::bare(Verdict::bare("winner", metric, Outcome::Undecided, blocks, reason));
    }
    // Higher is better from here on.
    let sign = if claim.metric.lower_is_better() { -1.0 } else { 1.0 };
    let logs: Vec<(&String, Vec<f64>)> =
        figures.iter().map(|(level, of)| (level, of.iter().map(|x| sign * x.ln()).collect())).collect();
    let mut order: Vec<usize> = (0..logs.len()).collect();
    order.sort_by(|a, b| mean(&logs[*b].1).total_cmp(&mean(&logs[*a].1)));
    let (first, second) = (order[0], order[1]);
    let certainty = certainty(&logs, first, blocks);
    let (winner, next) = (logs[first].0.clone(), logs[second].0.clone());
    let settings = CompareSettings {
        margin: claim.margin.0,
        lower_is_better: claim.metric.lower_is_better(),
        ..CompareSettings::default()
    };
    let lead = (mean(&logs[first].1) - mean(&logs[second].1)).exp();
    let mut doubts = Vec::new();
    let compared = compare::paired(metric, &figures[&next], &figures[&winner], &settings);
    let verdict = match compared {
        Ok(found) => {
            let outcome = match found.verdict.outcome {
                Outcome::Faster | Outcome::Same => found.verdict.outcome,
                // The level that was picked as the best may still be undecided.
                _ => Outcome::Undecided,
            };
            doubts = contradictions(claim, &figures, [winner.as_str(), next.as_str()], &found);
            let mut reason = format!(
                "{place}: {winner} is the best {}, {lead:.2} times {next} by geometric means over {blocks} blocks, to {:.0} % certain",
                claim.factor,
                100.0 * certainty
            );
            for doubt in &doubts {
                reason += &format!("; {doubt}");
            }
            Verdict { claim: "winner".into(), outcome, reason, ..found.verdict }
        }
        Err(error) => Verdict::bare(
            "winner",
            metric,
            Outcome::Undecided,
            blocks,
            format!("{place}: {}", in_words(&error)),
        ),
    };
    let geometric = |of: &[f64]| mean(&of.iter().map(|x| x.ln()).collect::<Vec<f64>>()).exp();
    let details = WinnerDetails {
        phase: phase.to_owned(),
        row: row.clone(),
        factor: claim.factor.clone(),
        metric: metric.to_owned(),
        figure: geometric(&figures[&winner]),
        lead,
        certainty,
        outcome: verdict.outcome,
        figures: figures.iter().map(|(level, of)| (level.clone(), geometric(of))).collect(),
        winner,
        next,
        doubts,
    };
    Finding::new(verdict, details)
}

/// Evidence against the geometric means: the medians, or the ratios block by block.
fn contradictions(
    claim: &WinnerClaim,
    figures: &BTreeMap<String, Vec<f64>>,
    [winner, next]: [&str; 2],
    found: &Comparison,
) -> Vec<String> {
    let sign = if claim.metric.lower_is_better() { -1.0 } else { 1.0 };
    let medians = figures.iter().map(|(level, of)| (level.as_str(), sign * median(of)));
    let by_median = medians.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(winner, |(level, _)| level);
    let mut doubts = Vec::new();
    if by_median != winner {
        doubts.push(format!("by medians over the blocks, {by_median} leads"));
    }
    // Of the metric itself, so that above 1 is not always better.
    if let Some(ratio) = found.verdict.estimate.filter(|ratio| sign * ratio.ln() < 0.0) {
        doubts.push(format!("block by block {winner} is {ratio:.3} times {next}"));
    }
    doubts
}

/// Share of bootstrap resamples over `blocks` blocks in which this level has the highest mean.
fn certainty(logs: &[(&String, Vec<f64>)], first: usize, blocks: usize) -> f64 {
    let mut random = SmallRng::new(1);
    let mut best = 0;
    for _ in 0..RESAMPLES {
        let drawn: Vec<usize> = (0..blocks).map(|_| random.below(blocks)).collect();
        let sum = |of: &Vec<f64>| drawn.iter().map(|block| of[*block]).sum::<f64>();
        let own = sum(&logs[first].1);
        let beaten = logs.iter().enumerate().any(|(n, (_, of))| n != first && sum(of) > own);
        best += usize::from(!beaten);
    }
    (best as f64 / RESAMPLES as f64).min(1.0 - 0.5_f64.powi(i32::try_from(blocks).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::Details;
    use plimsoll_model::observation::LoadResult;
    use plimsoll_model::plan::Settings;

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "which?"
[hosts.box]
[volumes.disk]
on = "box"
folder = {}
[loads.read]
from = "box"
to = "disk"
storage = { duration = "1s" }
[factors.engine]
set = "loads.read.storage.engine"
levels = ["pread", "mmap", "io_uring"]
[factors.threads]
set = "loads.read.storage.threads"
levels = [1, 2]
[[phases]]
name = "read"
measure = "read"
[[claims]]
winner = { phases = ["read"], factor = "engine" }
"#;

    fn trials(plan: &Plan, rate: impl Fn(&str, &str, u32) -> f64) -> Vec<TrialRecord> {
        let trial = |block: u32, cell: &Row| {
            let bytes = (1e6 * rate(&cell["engine"], &cell["threads"], block)) as u64;
            let result = LoadResult {
                elapsed_ns: 1_000_000_000,
                bytes,
                requests: 1,
                threads: 1,
                ..LoadResult::default()
            };
            let phase = fixture::phase("read", result);
            TrialRecord { block, cell: cell.clone(), phases: vec![phase], ..TrialRecord::default() }
        };
        (1..=8).flat_map(|block| plan.cells.iter().map(move |cell| trial(block, &cell.levels))).collect()
    }

    fn all(plan: &Plan, trials: &[TrialRecord]) -> Vec<WinnerDetails> {
        let details = |finding: Finding| match finding.details {
            Some(Details::Winner(details)) => Some(details),
            _ => None,
        };
        crate::findings(plan, trials).into_iter().filter_map(details).collect()
    }

    #[test]
    fn every_row_has_its_own_winner_with_its_certainty() {
        let plan = Plan::read("winner", TEXT, &Settings::default()).unwrap();
        // With one thread mmap leads by far; with two threads no engine leads.
        let rate = |engine: &str, threads: &str, block: u32| {
            let wave = 1.0 + 0.02 * f64::from((block * 7 + engine.len() as u32) % 5);
            let lead = if threads == "1" && engine == "mmap" { 1.5 } else { 1.0 };
            100.0 * wave * lead
        };
        let trials = trials(&plan, rate);
        let found = all(&plan, &trials);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].winner.as_str(), found[0].outcome), ("mmap", Outcome::Faster));
        assert!(
            found[0].certainty == 1.0 - 1.0 / 256.0 && (1.4..1.6).contains(&found[0].lead),
            "{:?}",
            found[0]
        );
        assert!(found[1].outcome != Outcome::Faster && found[1].certainty < 0.9, "{:?}", found[1]);
        let reason = &crate::findings(&plan, &trials)[0].verdict.reason;
        assert!(reason.starts_with("read, threads = 1: mmap is the best engine"), "{reason}");
    }

    #[test]
    fn the_winner_has_the_best_of_the_figures_that_are_shown_and_medians_that_differ_are_named() {
        let plan = Plan::read("winner", TEXT, &Settings::default()).unwrap();
        // mmap is a little faster in most blocks, and very slow in two of eight.
        let rate = |engine: &str, _: &str, block: u32| match (engine, block) {
            ("mmap", 3 | 6) => 40.0,
            ("mmap", _) => 104.0 + f64::from(block),
            ("pread", _) => 100.0 + f64::from(block),
            _ => 60.0,
        };
        let trials = trials(&plan, rate);
        let found = &all(&plan, &trials)[0];
        assert_eq!((found.winner.as_str(), found.next.as_str()), ("pread", "mmap"));
        let shown = |level: &str| found.figures[level];
        assert!(found.figures.values().all(|figure| *figure <= shown("pread")), "{found:?}");
        assert_eq!(found.figure, shown("pread"));
        assert!((found.lead - shown("pread") / shown("mmap")).abs() < 1e-9, "{found:?}");
        assert!(found.outcome != Outcome::Faster, "{found:?}");
        let reason = &crate::findings(&plan, &trials)[0].verdict.reason;
        assert!(reason.contains("by geometric means over 8 blocks"), "{reason}");
        assert!(reason.contains("by medians over the blocks, mmap leads"), "{reason}");
        assert!(reason.contains("block by block pread is 0.9"), "{reason}");
    }

    #[test]
    fn few_blocks_that_agree_are_not_certain() {
        let plan = Plan::read("winner", TEXT, &Settings::default()).unwrap();
        let mut trials = trials(&plan, |engine, _, _| if engine == "mmap" { 2.0 } else { 1.0 });
        trials.retain(|trial| trial.block <= 4);
        let found = all(&plan, &trials);
        assert_eq!((found[0].winner.as_str(), found[0].certainty), ("mmap", 1.0 - 1.0 / 16.0));
    }

    #[test]
    fn too_few_blocks_have_no_winner() {
        let plan = Plan::read("winner", TEXT, &Settings::default()).unwrap();
        let mut trials = trials(&plan, |_, _, _| 1.0);
        trials.retain(|trial| trial.block < 3);
        assert_eq!(crate::findings(&plan, &trials)[0].verdict.outcome, Outcome::Undecided);
        assert!(all(&plan, &trials).is_empty());
    }
}
