//! Which sides share charts: those of claims on differences, or two runs.

use plimsoll_model::experiment::Metric;
use plimsoll_model::experiment::claim::Details;
use plimsoll_model::observation::{PhaseKind, TrialRecord};
use plimsoll_model::plan::{cell_text, is_of};
use plimsoll_model::report::RunReport;

use super::chart::sides::{Side, charts};
use super::section::Section;
use crate::chart::Figure;
use crate::summary;
use crate::wording::Cell;

/// The sides of the run's claims on differences, phase by phase.
pub(super) fn section(report: &RunReport, records: &[TrialRecord]) -> Option<Section> {
    let mut phases: Vec<(&str, Vec<&Cell>)> = Vec::new();
    for finding in &report.verdicts {
        let Some(Details::Difference(details)) = &finding.details else { continue };
        let at = phases.iter().position(|(phase, _)| *phase == details.phase).unwrap_or_else(|| {
            phases.push((&details.phase, Vec::new()));
            phases.len() - 1
        });
        for cell in [&details.a, &details.b] {
            if !phases[at].1.contains(&cell) {
                phases[at].1.push(cell);
            }
        }
    }
    let sound = |cell: &&Cell| Side {
        name: cell_text(cell),
        trials: records.iter().filter(|trial| trial.faults.is_empty() && is_of(cell, &trial.cell)).collect(),
    };
    let metric = summary::rate_metric(report);
    let of_phase = |(n, (phase, cells)): (usize, &(&str, Vec<&Cell>))| {
        let sides: Vec<Side<'_>> = cells.iter().map(sound).collect();
        charts(n, phase, &sides, metric).collect::<Vec<Figure>>()
    };
    let figures: Vec<Figure> = (1..).zip(&phases).flat_map(of_phase).collect();
    (!figures.is_empty()).then(|| Section {
        id: "sides",
        title: "Side by side",
        content: maud::html! { @for figure in &figures { (figure.markup()) } },
    })
}

/// Two runs, in the phases that both measured.
pub(super) fn of_runs(names: [&str; 2], runs: [&[TrialRecord]; 2], metric: Metric) -> Vec<Figure> {
    let [a, b] = runs.map(|records| {
        let mut phases: Vec<&str> = Vec::new();
        for phase in records.iter().flat_map(|trial| &trial.phases) {
            if phase.kind == PhaseKind::Measure && !phases.contains(&phase.name.as_str()) {
                phases.push(&phase.name);
            }
        }
        phases
    });
    let sides = [0, 1].map(|n| Side {
        name: names[n].to_owned(),
        trials: runs[n].iter().filter(|trial| trial.faults.is_empty()).collect(),
    });
    let common = a.into_iter().filter(|phase| b.contains(phase));
    (1..).zip(common).flat_map(|(n, phase)| charts(n, phase, &sides, metric)).collect()
}
