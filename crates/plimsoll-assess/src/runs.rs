//! Two stored runs against each other: what their claims measure, trial by trial.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_judge::Scale;
use plimsoll_judge::compare::{self, CompareSettings, Comparison};
use plimsoll_judge::stats::median;
use plimsoll_model::cause::Cause;
use plimsoll_model::experiment::{Factor, Metric};
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::{Plan, cell_text, level_text};
use plimsoll_model::report::{Evidence, ProfileReport};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::{Explained, aa_test, contrast, evidence, profile, sides, soundness};

/// The level of each factor.
type Cell = BTreeMap<String, String>;

/// One figure of both runs.
#[derive(Clone, Debug)]
pub struct RunContrast {
    /// The phase that it was measured in.
    pub phase: String,
    /// The levels of the cell.
    pub cell: Cell,
    /// A figure for each trial of the first run.
    pub a: Vec<f64>,
    /// A figure for each trial of the second run.
    pub b: Vec<f64>,
    /// The second run against the first.
    pub comparison: Comparison,
    /// Why the worse run is worse, the likeliest first; empty if neither leans that way. A run that failed where the other did not is worse.
    pub causes: Vec<Cause>,
    /// Counters that set the worse run apart, the strongest first; empty as well if neither is worse.
    pub evidence: Vec<Evidence>,
    /// Where the CPUs' time went on those two sides; `None` if it was not sampled, or neither is worse.
    pub profile: Option<ProfileReport>,
}

/// A figure of a run, trial by trial.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigure {
    /// The phase that it was measured in.
    pub phase: String,
    /// The levels of the cell.
    pub cell: BTreeMap<String, String>,
    /// Kind of the figure.
    pub metric: Metric,
    /// The number of each trial that has it, and how much it is there.
    pub values: Vec<(u32, f64)>,
}

/// Every figure of each measured phase of a run, in each of its cells.
pub fn figures_of(plan: &Plan, trials: &[TrialRecord]) -> Vec<RunFigure> {
    let phases = phases(trials);
    let mut all = Vec::new();
    for cell in &plan.cells {
        let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
        for (phase, metric) in
            phases.iter().flat_map(|phase| Metric::all().map(move |metric| (*phase, metric)))
        {
            let figure = |trial: &&TrialRecord| Some((trial.number, contrast::figure(trial, phase, metric)?));
            let values: Vec<(u32, f64)> = of_cell.iter().filter_map(figure).collect();
            if !values.is_empty() {
                let (phase, cell) = (phase.to_owned(), cell.levels.clone());
                all.push(RunFigure { phase, cell, metric, values });
            }
        }
    }
    all
}

/// Compares what the claims of both runs measure, in each cell that both have.
pub fn runs(
    a: (&Plan, &[TrialRecord]),
    b: (&Plan, &[TrialRecord]),
    margin: f64,
    alpha: f64,
) -> Vec<RunContrast> {
    let figures = common(measured(a.0), &measured(b.0));
    let figures = if figures.is_empty() { common(usual(a.0, a.1), &usual(b.0, b.1)) } else { figures };
    let settings = CompareSettings { margin, alpha, ..CompareSettings::default() };
    let [of_a, of_b] = cells(a, b);
    let mut all = Vec::new();
    for (cell, of_a) in of_a {
        let Some(of_b) = of_b.get(&cell) else { continue };
        let trials = [&of_a[..], &of_b[..]];
        all.extend(figures.iter().map(|figure| compared(a.0, &cell, trials, figure, settings)));
    }
    all
}

/// The cells of each run that the other lacks, as text.
pub fn alone(a: (&Plan, &[TrialRecord]), b: (&Plan, &[TrialRecord])) -> [Vec<String>; 2] {
    let [of_a, of_b] = cells(a, b);
    let without = |of: &Cells<'_>, other: &Cells<'_>| {
        let alone = of.keys().filter(|cell| !other.contains_key(*cell));
        alone.map(|cell| if cell.is_empty() { "no factor".to_owned() } else { cell_text(cell) }).collect()
    };
    [without(&of_a, &of_b), without(&of_b, &of_a)]
}

/// The trials of each cell, without those of the A/A test.
type Cells<'t> = BTreeMap<Cell, Vec<&'t TrialRecord>>;

/// The cells of both runs. A run that lacks a factor of the other has it at the level that its experiment sets. Where each run has a
/// single cell of the same factors, the two are one, whatever their levels.
fn cells<'t>(a: (&Plan, &'t [TrialRecord]), b: (&Plan, &'t [TrialRecord])) -> [Cells<'t>; 2] {
    let each = [(a, b), (b, a)].map(|((plan, trials), (other, _))| {
        let lacking = lacking(plan, other);
        let mut cells = Cells::new();
        for trial in aa_test::split(trials).1 {
            let cell =
                lacking.iter().chain(&trial.cell).map(|(factor, level)| (factor.clone(), level.clone()));
            cells.entry(cell.collect()).or_default().push(trial);
        }
        cells
    });
    let keys = each.each_ref().map(|cells| cells.keys().collect::<Vec<_>>());
    let [[of_a], [of_b]] = keys.each_ref().map(Vec::as_slice) else { return each };
    let Some(both) = joined(of_a, of_b) else { return each };
    each.map(|cells| cells.into_values().map(|trials| (both.clone(), trials)).collect())
}

/// A cell with the levels of both, `64k / 1k` where they differ; `None` if they have other factors.
fn joined(a: &Cell, b: &Cell) -> Option<Cell> {
    let level = |((factor, of_a), of_b): ((&String, &String), &String)| {
        (factor.clone(), if of_a == of_b { of_a.clone() } else { format!("{of_a} / {of_b}") })
    };
    a.keys().eq(b.keys()).then(|| a.iter().zip(b.values()).map(level).collect())
}

/// The levels at which an experiment has the factors that only another one varies.
fn lacking(plan: &Plan, other: &Plan) -> Cell {
    let experiment = serde_json::to_value(&plan.experiment).unwrap_or_default();
    let others = other.experiment.factors.iter();
    let lacking = others.filter(|(factor, _)| !plan.experiment.factors.contains_key(*factor));
    let level = |(factor, varied): (&String, &Factor)| {
        let path = varied.set.iter().next()?;
        let set = experiment.pointer(&format!("/{}", path.replace('.', "/")))?;
        Some((factor.clone(), level_text(set)))
    };
    lacking.filter_map(level).collect()
}

/// One figure of a cell of each run.
fn compared(
    plan: &Plan,
    cell: &Cell,
    trials: [&[&TrialRecord]; 2],
    (phase, metric): &(String, Metric),
    settings: CompareSettings,
) -> RunContrast {
    let figures = |trials: &[&TrialRecord]| -> Vec<f64> {
        trials.iter().filter_map(|trial| contrast::figure(trial, phase, *metric)).collect()
    };
    let [a, b] = trials.map(figures);
    let settings = CompareSettings {
        lower_is_better: metric.lower_is_better(),
        scale: contrast::scale(*metric),
        ..settings
    };
    let objections = trials.map(soundness::objection);
    let failed = match &objections {
        // A failure in one run alone needs an explanation.
        [None, Some(_)] => Some(true),
        [Some(_), None] => Some(false),
        _ => None,
    };
    let comparison = match objections.into_iter().flatten().next() {
        Some(reason) => bare(*metric, Outcome::Invalid, &reason),
        None => stopped(*metric, &a, &b, settings.alpha).unwrap_or_else(|| {
            compare::unpaired(metric.name(), &a, &b, &settings)
                .unwrap_or_else(|error| bare(*metric, Outcome::Undecided, &super::in_words(&error)))
        }),
    };
    let b_is_worse = match comparison.verdict.outcome {
        Outcome::Slower => Some(true),
        Outcome::Faster => Some(false),
        Outcome::Undecided => leaning(&comparison, settings),
        _ => failed,
    };
    let by_far = b_is_worse.is_none().then(|| far(&comparison, &a, &b, settings)).flatten();
    let mut explained = b_is_worse
        .or(by_far)
        .map_or_else(Explained::default, |b_is_worse| explained(plan, phase, trials, b_is_worse));
    if by_far.is_some() {
        explained.doubt();
    }
    let Explained { causes, evidence, profile } = explained;
    let cell = cell.clone();
    RunContrast { phase: phase.clone(), cell, a, b, comparison, causes, evidence, profile }
}

/// Why one of the runs is worse.
fn explained(plan: &Plan, phase: &str, trials: [&[&TrialRecord]; 2], b_is_worse: bool) -> Explained {
    let [of_a, of_b] = trials
        .map(|trials| trials.iter().copied().filter(|trial| trial.faults.is_empty()).collect::<Vec<_>>());
    let (better, worse) = if b_is_worse { (of_a, of_b) } else { (of_b, of_a) };
    let phases = sides::of_runs(phase, &better, &worse);
    let profile = profile::of(&phases);
    let measured = sides::measured(plan, phase, profile.as_ref());
    Explained::of(evidence::of_runs(plan, &phases), profile, &measured, None)
}

/// An undecided comparison with a smaller p than this leans to a side.
const LEANING: f64 = 0.1;

/// Whether the second run is probably the worse one, where that is not certain; `None` if the runs may as well be equal.
fn leaning(comparison: &Comparison, settings: CompareSettings) -> Option<bool> {
    let estimate = comparison.verdict.estimate.filter(|_| comparison.p < LEANING)?;
    let change = if settings.scale == Scale::Ratio { estimate.ln() } else { estimate };
    (change.abs() > settings.margin).then_some((change > 0.0) == settings.lower_is_better)
}

/// Whether the second run is worse by its median, where that is far from the first one's and nothing else decides.
fn far(comparison: &Comparison, a: &[f64], b: &[f64], settings: CompareSettings) -> Option<bool> {
    let is_open = comparison.verdict.outcome == Outcome::Undecided && settings.scale == Scale::Ratio;
    if !is_open || a.is_empty() || b.is_empty() {
        return None;
    }
    super::leans(median(b) / median(a), settings.lower_is_better)
}

/// The comparison of a run that came to a standstill in each of its trials with one that never did. Zeros have no ratio.
fn stopped(metric: Metric, a: &[f64], b: &[f64], alpha: f64) -> Option<Comparison> {
    let is_rate = !metric.lower_is_better() && contrast::scale(metric) == Scale::Ratio;
    let (stands, goes) =
        (|side: &[f64]| side.iter().all(|it| *it == 0.0), |side: &[f64]| side.iter().all(|it| *it > 0.0));
    // Fisher's exact test, two-sided: of all orders of these trials two divide them so.
    let p = (1..=a.len()).fold(2.0, |p, trial| p * trial as f64 / (b.len() + trial) as f64);
    let (outcome, which) = match () {
        () if !is_rate || p > alpha => return None,
        () if goes(a) && stands(b) => (Outcome::Slower, "second"),
        () if stands(a) && goes(b) => (Outcome::Faster, "first"),
        () => return None,
    };
    let reason =
        format!("the {which} run did nothing in any of its trials, and the other one did in all of them");
    let verdict = Verdict::bare("difference", metric.name(), outcome, a.len().min(b.len()), reason);
    Some(Comparison { verdict, p, needed: None })
}

fn bare(metric: Metric, outcome: Outcome, reason: &str) -> Comparison {
    Comparison {
        verdict: Verdict::bare("difference", metric.name(), outcome, 0, reason),
        p: 1.0,
        needed: None,
    }
}

/// The phases and metrics that the claims are about, each once, in their order.
fn measured(plan: &Plan) -> Vec<(String, Metric)> {
    let mut found: Vec<(String, Metric)> = Vec::new();
    for (phase, metric) in plan.experiment.claims.iter().flat_map(|claim| claim.between_runs()) {
        if !found.iter().any(|(other, of)| other == phase && *of == metric) {
            found.push((phase.to_owned(), metric));
        }
    }
    found
}

/// The usual figure of every measured phase: what runs are compared by whose claims have no figure in common.
fn usual(plan: &Plan, trials: &[TrialRecord]) -> Vec<(String, Metric)> {
    let usual = |phase: &str| Some((phase.to_owned(), plan.experiment.usual_metric(phase)?));
    phases(trials).into_iter().filter_map(usual).collect()
}

/// Figures of the first list that the second has as well.
fn common(mut figures: Vec<(String, Metric)>, others: &[(String, Metric)]) -> Vec<(String, Metric)> {
    figures.retain(|(phase, metric)| {
        others.iter().any(|(other, of)| other == phase && of.name() == metric.name())
    });
    figures
}

/// Phases that some trial measured.
fn phases(trials: &[TrialRecord]) -> BTreeSet<&str> {
    let phases = trials.iter().flat_map(|trial| &trial.phases).filter(|phase| !phase.slices.is_empty());
    phases.map(|phase| phase.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use plimsoll_model::observation::LoadResult;
    use plimsoll_model::plan::Settings;

    fn plan() -> Plan {
        let text = include_str!("../../../experiments/recovery/flood-relay.toml");
        Plan::read("flood-relay", text, &Settings::default()).unwrap()
    }

    /// Trials whose phases all carry about `rate` connections per second.
    fn trials(plan: &Plan, rate: u64, count: u32) -> Vec<TrialRecord> {
        let phase = |name: String, connections: u64| {
            let result =
                LoadResult { elapsed_ns: 1_000_000_000, connections, threads: 1, ..LoadResult::default() };
            fixture::phase(&name, result)
        };
        let trial = |number: u32| TrialRecord {
            number,
            block: number,
            cell: plan.cells[0].levels.clone(),
            phases: measured(plan)
                .into_iter()
                .map(|(name, _)| phase(name, rate + u64::from(number * 37 % 11)))
                .collect(),
            ..TrialRecord::default()
        };
        (1..=count).map(trial).collect()
    }

    #[test]
    fn a_run_at_half_the_rate_is_slower_in_every_phase_that_a_claim_measures() {
        let plan = plan();
        let (fast, slow) = (trials(&plan, 1000, 12), trials(&plan, 500, 10));
        let found = runs((&plan, &fast), (&plan, &slow), 0.01, 0.01);
        let phases: Vec<&str> = found.iter().map(|contrast| contrast.phase.as_str()).collect();
        assert_eq!(phases, ["baseline", "after"]);
        for contrast in &found {
            assert_eq!(contrast.comparison.verdict.outcome, Outcome::Slower);
            assert_eq!((contrast.a.len(), contrast.b.len()), (12, 10));
            assert!(contrast.comparison.verdict.reason.contains("not paired"));
        }
    }

    #[test]
    fn a_run_whose_generator_was_the_bottleneck_is_invalid() {
        let plan = plan();
        let calm = trials(&plan, 1000, 5);
        let mut saturated = calm.clone();
        for slice in
            saturated.iter_mut().flat_map(|trial| &mut trial.phases).flat_map(|phase| &mut phase.slices)
        {
            slice.result.user_us = 990_000;
        }
        let found = runs((&plan, &calm), (&plan, &saturated), 0.01, 0.01);
        assert!(found.iter().all(|contrast| contrast.comparison.verdict.outcome == Outcome::Invalid));
    }

    #[test]
    fn a_run_that_does_nothing_at_all_is_slower_and_no_ratio_is_asked_for() {
        let plan = plan();
        let outcomes = |of_b: u32| {
            let mut dead = trials(&plan, 1000, of_b);
            for phase in dead.iter_mut().flat_map(|trial| &mut trial.phases) {
                phase.slices.iter_mut().for_each(|slice| slice.result.connections = 0);
            }
            let found = runs((&plan, &trials(&plan, 1000, 5)), (&plan, &dead), 0.01, 0.01);
            found.iter().map(|it| it.comparison.verdict.outcome).collect::<Vec<_>>()
        };
        assert_eq!(outcomes(5), [Outcome::Slower; 2], "2 of C(10, 5) = 252 orders");
        assert_eq!(outcomes(3), [Outcome::Undecided; 2], "2 of C(8, 3) = 56 orders");
    }

    #[test]
    fn runs_without_a_common_claim_are_compared_by_the_usual_figure_of_each_phase() {
        let plan = plan();
        let (fast, slow) = (trials(&plan, 1000, 12), trials(&plan, 500, 10));
        let mut other = plan.clone();
        other.experiment.claims.clear();
        let found = runs((&plan, &fast), (&other, &slow), 0.01, 0.01);
        let phases: Vec<&str> = found.iter().map(|contrast| contrast.phase.as_str()).collect();
        assert_eq!(phases, ["after", "baseline"]);
        assert!(found.iter().all(|contrast| contrast.comparison.verdict.outcome == Outcome::Slower));
    }

    #[test]
    fn an_undecided_comparison_leans_to_the_side_that_is_worse() {
        let settings = CompareSettings { lower_is_better: false, ..CompareSettings::default() };
        let lower = CompareSettings { lower_is_better: true, ..settings };
        let comparison = |estimate: Option<f64>, p: f64| {
            let verdict = Verdict { estimate, ..Verdict::bare("difference", "x", Outcome::Undecided, 0, "") };
            Comparison { verdict, p, needed: None }
        };
        assert_eq!(leaning(&comparison(Some(0.7), 0.05), settings), Some(true));
        assert_eq!(leaning(&comparison(Some(1.4), 0.05), settings), Some(false));
        assert_eq!(leaning(&comparison(Some(1.4), 0.05), lower), Some(true));
        assert_eq!(leaning(&comparison(Some(0.7), 0.3), settings), None);
        assert_eq!(leaning(&comparison(Some(1.005), 0.05), settings), None);
        assert_eq!(leaning(&comparison(None, 0.05), settings), None);
    }

    /// Copies of these trials, with other levels.
    fn at(trials: &[TrialRecord], levels: &[(&str, &str)]) -> Vec<TrialRecord> {
        let cell = |trial: &TrialRecord| {
            let levels = levels.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned()));
            trial.cell.clone().into_iter().chain(levels).collect()
        };
        trials.iter().map(|trial| TrialRecord { cell: cell(trial), ..trial.clone() }).collect()
    }

    #[test]
    fn runs_are_compared_in_the_levels_that_both_have_and_the_others_are_named() {
        let plan = plan();
        let of = |levels: &[&str]| -> Vec<TrialRecord> {
            levels.iter().flat_map(|level| at(&trials(&plan, 1000, 3), &[("clients", level)])).collect()
        };
        let (a, b, other) = (of(&["10", "20"]), of(&["20", "40"]), of(&["30"]));
        let found = runs((&plan, &a), (&plan, &b), 0.01, 0.01);
        assert!(!found.is_empty() && found.iter().all(|contrast| contrast.cell["clients"] == "20"));
        assert_eq!(alone((&plan, &a), (&plan, &b)), [["clients = 10"], ["clients = 40"]]);
        assert!(runs((&plan, &a), (&plan, &other), 0.01, 0.01).is_empty());
        let one = at(&trials(&plan, 1000, 3), &[("clients", "20")]);
        let found = runs((&plan, &one), (&plan, &other), 0.01, 0.01);
        assert!(!found.is_empty() && found.iter().all(|contrast| contrast.cell["clients"] == "20 / 30"));
        let plain = trials(&plan, 1, 1);
        assert_eq!(alone((&plan, &other), (&plan, &plain)), [["clients = 30"], ["no factor"]]);
    }

    #[test]
    fn a_run_without_a_factor_of_the_other_has_it_at_the_level_that_its_experiment_sets() {
        let plan = plan();
        let text = format!(
            "{}\n[factors.clients]\nset = \"loads.flood.http.concurrency\"\nlevels = [200, 400]\n",
            include_str!("../../../experiments/recovery/flood-relay.toml")
        );
        let varied = Plan::read("flood-relay", &text, &Settings::default()).unwrap();
        let b = [
            at(&trials(&plan, 500, 12), &[("clients", "200")]),
            at(&trials(&plan, 900, 12), &[("clients", "400")]),
        ];
        let a = trials(&plan, 1000, 12);
        let found = runs((&plan, &a), (&varied, &b.concat()), 0.01, 0.01);
        assert!(!found.is_empty() && found.iter().all(|contrast| contrast.cell["clients"] == "200"));
        assert_eq!(alone((&plan, &a), (&varied, &b.concat())), [vec![], vec!["clients = 400".to_owned()]]);
    }
}
