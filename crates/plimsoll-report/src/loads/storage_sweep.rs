//! Storage over a factor of numbers, such as threads: rate, latency and CPU, a line for each combination of the other factors' levels.

use std::collections::BTreeMap;

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, PhaseKind, StorageFacts, TrialRecord};

use crate::chart::Figure;
use crate::levels::{self, About, Group};
use crate::number::{median, sorted};
use crate::wording;

const CAPTION: &str = "Medians over trials; whiskers are 95 % intervals of the median (by order statistics; the range where there are \
fewer than six).";

/// Charts: the metric and the title of each.
const FIGURES: [(Metric, &str); 4] = [
    (Metric::MegabytesPerSecond, "Rate"),
    (Metric::MeanMs, "Mean time of an operation"),
    (Metric::MaxMs, "Longest time of an operation"),
    (Metric::CpuUsPerRequest, "CPU time of an operation"),
];

/// The charts of every phase that measures storage; empty if no factor is one of numbers.
pub(super) fn charts(records: &[TrialRecord]) -> Vec<Figure> {
    let Some(factor) = numbers(records) else { return Vec::new() };
    let mut phases: Vec<&str> = Vec::new();
    for phase in records.iter().flat_map(|trial| &trial.phases) {
        let of_storage = phase.slices.iter().any(|slice| slice.result.found::<StorageFacts>().is_some());
        if phase.kind == PhaseKind::Measure && of_storage && !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let each = phases.iter().enumerate().flat_map(|(n, phase)| {
        FIGURES.iter().enumerate().filter_map({
            let factor = factor.clone();
            move |(m, of)| chart(&format!("sweep-{}-{}", n + 1, m + 1), phase, &factor, *of, records)
        })
    });
    each.collect()
}

/// The factor whose levels are numbers, of several the one with the most levels.
fn numbers(records: &[TrialRecord]) -> Option<String> {
    let mut levels: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for (factor, level) in records.iter().flat_map(|trial| &trial.cell) {
        let known = levels.entry(factor).or_default();
        if !known.contains(&level) {
            known.push(level);
        }
    }
    let of_numbers = levels
        .into_iter()
        .filter(|(_, levels)| levels.len() > 1 && levels.iter().all(|level| level.parse::<f64>().is_ok()));
    of_numbers.max_by_key(|(_, levels)| levels.len()).map(|(factor, _)| factor.clone())
}

/// Figures by this factor's levels, then by the other factors'.
fn groups(phase: &str, factor: &str, metric: Metric, records: &[TrialRecord]) -> Vec<Group> {
    let mut groups: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for trial in records.iter().filter(|trial| trial.faults.is_empty()) {
        let Some(level) = trial.cell.get(factor) else { continue };
        let slices = trial
            .phases
            .iter()
            .filter(|of| of.name == phase && of.kind == PhaseKind::Measure)
            .flat_map(|of| &of.slices)
            .filter(|slice| slice.arm == Arm::Treatment);
        let Some(value) = median(&sorted(slices.filter_map(|slice| slice.result.figure(metric)))) else {
            continue;
        };
        let mut others = trial.cell.clone();
        others.remove(factor);
        groups.entry((level.clone(), wording::cell_title(&others))).or_default().push(value);
    }
    let mut groups: Vec<Group> =
        groups.into_iter().map(|((level, line), values)| Group { level, line, values }).collect();
    let number = |group: &Group| group.level.parse::<f64>().unwrap_or(f64::NAN);
    groups.sort_by(|a, b| number(a).total_cmp(&number(b)));
    groups
}

fn chart(
    id: &str,
    phase: &str,
    factor: &str,
    (metric, title): (Metric, &str),
    records: &[TrialRecord],
) -> Option<Figure> {
    let about = About {
        id: id.to_owned(),
        title: format!("{title}, {phase}"),
        caption: CAPTION.into(),
        factor: factor.to_owned(),
        metric: metric.unit().name().to_owned(),
        logarithmic: false,
        odd: None,
    };
    levels::chart(about, &groups(phase, factor, metric, records))
}
