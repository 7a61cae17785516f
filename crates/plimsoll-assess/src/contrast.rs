//! Basis of claims about factors: figures of trials, and the two sides that are compared.

use std::collections::BTreeMap;

use plimsoll_judge::Scale;
use plimsoll_judge::compare::{self, CompareSettings};
use plimsoll_model::experiment::{Claim, DifferenceClaim, GuestClock, Metric};
use plimsoll_model::observation::{Arm, TrialRecord};
pub(super) use plimsoll_model::plan::is_of;
use plimsoll_model::plan::{Plan, cell_text, level_text};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::{in_words, packets, slices, soundness, windows};

/// The phase and the figure that a claim about factors rests on.
pub(super) fn about(claim: &Claim) -> Option<(&str, Metric)> {
    let difference = claim.difference().map(|claim| (claim.phase.as_str(), claim.metric));
    difference.or_else(|| claim.interaction().map(|claim| (claim.phase.as_str(), claim.metric)))
}

/// How figures of a metric are compared: shares by their difference, for a ratio of nearly nothing says nothing.
pub(super) fn scale(metric: Metric) -> Scale {
    if metric.is_share() { Scale::Difference } else { Scale::Ratio }
}

/// Every level of the factor against its first one, or every cell against the one that is named.
pub(super) fn comparisons(plan: &Plan, claim: &DifferenceClaim) -> Vec<Comparison> {
    match &claim.factor {
        Some(factor) => of_levels(plan, factor),
        None => of_cells(plan, claim),
    }
}

/// Claims that the run cannot decide, or only under an assumption, because it makes too few pairs, each in a sentence.
pub fn shortfalls(plan: &Plan) -> Vec<String> {
    let trials = plan.experiment.run.max_trials as usize;
    let alpha = CompareSettings::default().alpha;
    let of_claim = |(n, claim): (usize, &Claim)| {
        let claim = claim.difference()?;
        let pairs =
            comparisons(plan, claim).iter().map(|each| trials * pairs_in_a_block(plan, each)).min()?;
        let least = |pairs_needed: usize| pairs_needed.div_ceil((pairs / trials.max(1)).max(1));
        let counted = format!("{trials} trials of each cell make {pairs} pairs");
        let (fewest, exact) = if counts_instructions(plan) {
            (compare::FEWEST_EXACT, compare::FEWEST_EXACT)
        } else {
            (compare::FEWEST, compare::exact_pairs(alpha))
        };
        if pairs < fewest {
            return Some(format!(
                "the claim {n} on a difference cannot be decided: {counted}, and fewer than {fewest} decide nothing; `run.max_trials` has to \
                 be at least {}",
                least(fewest)
            ));
        }
        (pairs < exact).then(|| {
            format!(
                "the claim {n} on a difference rests on a t test, which assumes normal values: {counted}, whose signs cannot reach p = {alpha}; those \
                 of {exact} can, with `run.max_trials` of at least {}",
                least(exact)
            )
        })
    };
    (1..).zip(&plan.experiment.claims).filter_map(of_claim).collect()
}

/// How many pairs of figures a comparison has in each block.
fn pairs_in_a_block(plan: &Plan, of: &Comparison) -> usize {
    let mut sides: BTreeMap<BTreeMap<&String, &String>, [bool; 2]> = BTreeMap::new();
    for cell in &plan.cells {
        let others = cell.levels.iter().filter(|(factor, _)| !of.a.contains_key(*factor)).collect();
        let both = sides.entry(others).or_default();
        both[0] |= is_of(&of.a, &cell.levels);
        both[1] |= is_of(&of.b, &cell.levels);
    }
    sides.into_values().filter(|both| *both == [true, true]).count()
}

/// Two sets of cells that are compared: they differ in nothing but this.
pub(super) struct Comparison {
    what: String,
    pub(super) a: BTreeMap<String, String>,
    pub(super) b: BTreeMap<String, String>,
}

fn of_levels(plan: &Plan, factor: &str) -> Vec<Comparison> {
    let levels: Vec<String> = plan.experiment.factors[factor].levels.iter().map(level_text).collect();
    let Some((first, others)) = levels.split_first() else { return Vec::new() };
    let only = |level: &String| BTreeMap::from([(factor.to_owned(), level.clone())]);
    let comparison = |other: &String| Comparison {
        what: format!("{factor} = {other} against {first}"),
        a: only(first),
        b: only(other),
    };
    others.iter().map(comparison).collect()
}

fn of_cells(plan: &Plan, claim: &DifferenceClaim) -> Vec<Comparison> {
    let against: BTreeMap<String, String> =
        claim.against.iter().map(|(factor, level)| (factor.clone(), level_text(level))).collect();
    // Other factors than those of the claim, such as the probes, belong to the pairs and not to the comparison.
    let only = |levels: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        levels
            .iter()
            .filter(|(factor, _)| against.contains_key(*factor))
            .map(|(f, l)| (f.clone(), l.clone()))
            .collect()
    };
    let mut others: Vec<BTreeMap<String, String>> =
        plan.cells.iter().map(|cell| only(&cell.levels)).filter(|levels| *levels != against).collect();
    others.dedup();
    let comparison = |other: &BTreeMap<String, String>| Comparison {
        what: format!("{} against {}", cell_text(other), cell_text(&against)),
        a: against.clone(),
        b: other.clone(),
    };
    others.iter().map(comparison).collect()
}

/// Whether time is the number of instructions, so that nothing is left to chance. Such a host is the only one of its experiment.
fn counts_instructions(plan: &Plan) -> bool {
    plan.experiment.hosts.values().all(|host| host.clock == GuestClock::Virtual)
}

/// The verdict on B against A.
pub(super) fn difference(
    plan: &Plan,
    claim: &DifferenceClaim,
    comparison: &Comparison,
    trials: &[TrialRecord],
) -> Verdict {
    let metric = claim.metric.name();
    if let Some(reason) = objection(claim.metric, &claim.phase, trials) {
        return Verdict::bare("difference", metric, Outcome::Invalid, 0, reason);
    }
    let (of_a, of_b) = pairs(claim, comparison, trials);
    let settings = CompareSettings {
        margin: claim.margin.0,
        scale: scale(claim.metric),
        lower_is_better: claim.metric.lower_is_better(),
        // A run shuffles the cells of each block.
        shuffled: true,
        ..CompareSettings::default()
    };
    let exact = || compare::exact(metric, &of_a, &of_b, &settings).transpose();
    let exact = counts_instructions(plan).then(exact).flatten();
    match exact.unwrap_or_else(|| compare::paired(metric, &of_a, &of_b, &settings)) {
        Ok(found) => {
            let reason = format!("{}: {}", comparison.what, found.verdict.reason);
            Verdict { claim: "difference".into(), reason, ..found.verdict }
        }
        Err(error) => Verdict::bare("difference", metric, Outcome::Undecided, of_a.len(), in_words(&error)),
    }
}

/// Why a figure of these trials cannot be judged; `None` if it can.
pub(super) fn objection(metric: Metric, phase: &str, trials: &[TrialRecord]) -> Option<String> {
    let all: Vec<&TrialRecord> = trials.iter().collect();
    let of_packets = || (metric == Metric::StallShare).then(|| packets::objection(trials, phase))?;
    soundness::objection_to_comparison(&all).or_else(of_packets)
}

/// A block, and the levels of the factors that are not compared.
type PairKey<'t> = (u32, BTreeMap<&'t String, &'t String>);

/// Figures that belong together: of the same block, with the same levels of all factors that are not compared.
pub(super) fn pairs(
    claim: &DifferenceClaim,
    of: &Comparison,
    trials: &[TrialRecord],
) -> (Vec<f64>, Vec<f64>) {
    let mut found: BTreeMap<PairKey<'_>, [Option<f64>; 2]> = BTreeMap::new();
    for trial in trials {
        let side = match (is_of(&of.a, &trial.cell), is_of(&of.b, &trial.cell)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => continue,
        };
        let others = trial.cell.iter().filter(|(factor, _)| !of.a.contains_key(*factor)).collect();
        found.entry((trial.block, others)).or_default()[side] = figure(trial, &claim.phase, claim.metric);
    }
    found.into_values().filter_map(|[a, b]| a.zip(b)).unzip()
}

/// The figure of a trial: the median over the slices of a phase, or, where packets show it, that of the whole phase.
pub(super) fn figure(trial: &TrialRecord, phase: &str, metric: Metric) -> Option<f64> {
    if !trial.faults.is_empty() {
        return None;
    }
    if metric == Metric::StallShare {
        return windows::measured(trial, phase).find_map(|phase| phase.stall_share(Arm::Treatment));
    }
    let slices = slices::measured(trial, phase);
    let mut figures: Vec<f64> = slices.filter_map(|slice| slice.result.figure(metric)).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::Details;
    use plimsoll_model::observation::LoadResult;
    use plimsoll_model::plan::Settings;

    use super::super::fixture;
    use super::*;

    const TEXT: &str = r#"
question = "which?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 1000 }
[[phases]]
name = "all"
measure = "some"
[factors.clients]
set = "services.web.web.clients"
levels = [1, 2]
[factors.backlog]
set = "services.web.web.backlog"
levels = [10, 20]
[[claims]]
difference = { phase = "all", against = { clients = 1, backlog = 10 }, margin = "20 %" }
[[claims]]
interaction = { phase = "all", factors = ["clients", "backlog"] }
"#;

    /// Blocks of all cells. The rate follows from the levels, with a little noise.
    fn trials(plan: &Plan, rate: impl Fn(&str, &str) -> f64) -> Vec<TrialRecord> {
        let trial = |block: u32, cell: &BTreeMap<String, String>| {
            // One cell is a little too fast in every other block and as much too slow in the others.
            let odd = cell["clients"] == "2" && cell["backlog"] == "20";
            let noise = if odd { if block.is_multiple_of(2) { 1.01 } else { 1.0 / 1.01 } } else { 1.0 };
            let connections = (10_000.0 * noise * rate(&cell["clients"], &cell["backlog"])) as u64;
            let result =
                LoadResult { connections, elapsed_ns: 1_000_000_000, threads: 1, ..Default::default() };
            TrialRecord {
                block,
                cell: cell.clone(),
                phases: vec![fixture::phase("all", result)],
                ..TrialRecord::default()
            }
        };
        (1..=10).flat_map(|block| plan.cells.iter().map(move |cell| trial(block, &cell.levels))).collect()
    }

    #[test]
    fn every_other_cell_is_compared_with_the_one_that_is_named() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let trials = trials(&plan, |clients, _| if clients == "2" { 2.0 } else { 1.0 });
        let findings = crate::findings(&plan, &trials);
        let judged: Vec<_> = findings[..3]
            .iter()
            .map(|finding| (finding.verdict.outcome, finding.verdict.reason.split(':').next().unwrap()))
            .collect();
        let against = "against backlog = 10, clients = 1";
        assert_eq!(findings.len(), 4);
        assert!(judged.contains(&(Outcome::Faster, format!("backlog = 10, clients = 2 {against}").as_str())));
        assert!(judged.contains(&(Outcome::Faster, format!("backlog = 20, clients = 2 {against}").as_str())));
        assert!(judged.contains(&(Outcome::Same, format!("backlog = 20, clients = 1 {against}").as_str())));
    }

    #[test]
    fn on_a_clock_that_counts_instructions_two_blocks_decide_and_elsewhere_they_do_not() {
        let counted =
            TEXT.replace("[hosts.a]\n", "[hosts.a]\nkernel = \"debian:6.12\"\nclock = \"virtual\"\n");
        for (text, expected) in [(TEXT, Outcome::Undecided), (&counted, Outcome::Faster)] {
            let plan = Plan::read("test", text, &Settings::default()).unwrap();
            let mut trials = trials(&plan, |clients, _| if clients == "2" { 2.0 } else { 1.0 });
            trials.retain(|trial| trial.block <= 2);
            let findings = crate::findings(&plan, &trials);
            // The cell in which every other block is a little faster is the last one, and decided nowhere.
            let quiet =
                findings.iter().find(|found| found.verdict.reason.starts_with("backlog = 10, clients = 2"));
            assert_eq!(quiet.unwrap().verdict.outcome, expected, "{findings:?}");
            let noisy =
                findings.iter().find(|found| found.verdict.reason.starts_with("backlog = 20, clients = 2"));
            assert_eq!(noisy.unwrap().verdict.outcome, Outcome::Undecided);
        }
    }

    #[test]
    fn two_by_two_cells_interact_without_an_odd_one() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let one_slow =
            |clients: &str, backlog: &str| if (clients, backlog) == ("2", "20") { 0.1 } else { 1.0 };
        let found = crate::findings(&plan, &trials(&plan, one_slow)).remove(3);
        assert_eq!(found.verdict.outcome, Outcome::Interaction, "{}", found.verdict.reason);
        let Some(Details::Interaction(details)) = found.details else { panic!("{:?}", found.details) };
        assert_eq!(details.odd_cell, None);
        let both = |clients: &str, backlog: &str| {
            (if clients == "2" { 2.0 } else { 1.0 }) * (if backlog == "20" { 0.5 } else { 1.0 })
        };
        assert_eq!(crate::findings(&plan, &trials(&plan, both))[3].verdict.outcome, Outcome::Additive);
    }

    #[test]
    fn a_claim_that_too_few_trials_cannot_decide_is_named() {
        let plan = |trials: u32, claim: &str| {
            let text = format!(
                "{}[[claims]]\n{claim}\n[run]\nmax_trials = {trials}\n",
                TEXT.split("[[claims]]").next().unwrap()
            );
            Plan::read("test", &text, &Settings::default()).unwrap()
        };
        let by_factor = "difference = { phase = \"all\", factor = \"clients\" }";
        // Two levels of the other factor make two pairs in each block.
        assert_eq!(shortfalls(&plan(4, by_factor)), Vec::<String>::new());
        let found = shortfalls(&plan(1, by_factor));
        assert!(found[0].contains("make 2 pairs") && found[0].ends_with("at least 2"), "{found:?}");
        let found = shortfalls(&plan(3, by_factor));
        assert!(found[0].contains("rests on a t test") && found[0].ends_with("at least 4"), "{found:?}");
        let by_cell = "difference = { phase = \"all\", against = { clients = 1, backlog = 10 } }";
        assert!(shortfalls(&plan(2, by_cell))[0].ends_with("at least 3"));
        assert!(shortfalls(&plan(7, by_cell))[0].ends_with("at least 8"));
        assert!(shortfalls(&plan(8, by_cell)).is_empty());
    }
}
