//! Values at each level of a factor, on one axis.

use std::cmp::Ordering;

use plimsoll_model::observation::{Arm, PhaseKind};
use plimsoll_model::report::{PhaseReport, RunReport, TrialReport};

use super::section::Section;
use crate::chart::Figure;
use crate::levels::{self, About, Group};
use crate::number::{median, sorted};
use crate::{summary, wording};

const CAPTION: &str = "Large marks are medians of trials, which are the small marks; several cycles of a trial are put together by their median.";

/// A chart for each measured phase; nothing where no factor has two levels.
pub(super) fn section(report: &RunReport) -> Option<Section> {
    let mut phases: Vec<&str> = Vec::new();
    let measured = report.trials.iter().flat_map(|trial| &trial.phases);
    for phase in measured.filter(|phase| phase.kind == PhaseKind::Measure) {
        if !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let charts = (1..).zip(&phases).filter_map(|(n, phase)| chart(n, phase, phases.len() > 1, report));
    let markup: Vec<_> = charts.map(|chart| chart.markup()).collect();
    (!markup.is_empty()).then(|| Section {
        id: "levels",
        title: "Levels",
        content: maud::html! { @for chart in &markup { (chart) } },
    })
}

fn chart(number: usize, phase: &str, several: bool, report: &RunReport) -> Option<Figure> {
    let factors = factors(report);
    // The factor with the most levels has the axis.
    let (factor, _) = factors.iter().max_by_key(|(_, levels)| *levels)?;
    let others: Vec<&str> = factors.iter().map(|(name, _)| *name).filter(|name| name != factor).collect();
    let arms: &[(Arm, &str)] = if others.is_empty() {
        &[(Arm::Treatment, summary::TREATMENT), (Arm::Control, summary::CONTROL)]
    } else {
        &[(Arm::Treatment, "")]
    };
    let metric = summary::rate_metric(report);
    let mut groups: Vec<Group> = Vec::new();
    for trial in report.trials.iter().filter(|trial| trial.faults.is_empty()) {
        let Some(level) = trial.cell.get(*factor) else { continue };
        for (arm, name) in arms {
            let of_phase =
                |it: &&PhaseReport| it.name == phase && it.arm == *arm && it.kind == PhaseKind::Measure;
            let rates = trial.phases.iter().filter(of_phase).filter_map(|it| it.figure(metric));
            let Some(value) = median(&sorted(rates)) else { continue };
            let line = line(trial, &others, name);
            match groups.iter_mut().find(|group| group.level == *level && group.line == line) {
                Some(group) => group.values.push(value),
                None => groups.push(Group { level: level.clone(), line, values: vec![value] }),
            }
        }
    }
    groups.sort_by(|a, b| in_order(&a.level, &b.level).then_with(|| in_order(&a.line, &b.line)));
    if others.is_empty() && arms.iter().any(|(_, name)| groups.iter().all(|group| group.line != *name)) {
        // A single rig needs no name.
        groups.iter_mut().for_each(|group| group.line.clear());
    }
    let title = format!("By {factor}");
    let about = About {
        id: format!("levels-{number}"),
        title: if several { format!("{title}, {phase}") } else { title },
        caption: CAPTION.into(),
        factor: (*factor).to_owned(),
        metric: wording::metric(metric.name()),
        odd: None,
    };
    levels::chart(about, &groups)
}

/// The factors with several levels, and how many they have.
fn factors(report: &RunReport) -> Vec<(&str, usize)> {
    let mut seen: Vec<(&str, Vec<&str>)> = Vec::new();
    for (factor, level) in report.trials.iter().flat_map(|trial| &trial.cell) {
        match seen.iter_mut().find(|(name, _)| name == factor) {
            Some((_, levels)) if levels.contains(&level.as_str()) => {}
            Some((_, levels)) => levels.push(level),
            None => seen.push((factor, vec![level])),
        }
    }
    // The last of those with the most has the axis; so the first one written stands last.
    seen.into_iter()
        .rev()
        .filter(|(_, levels)| levels.len() > 1)
        .map(|(name, levels)| (name, levels.len()))
        .collect()
}

fn line(trial: &TrialReport, others: &[&str], rig: &str) -> String {
    if others.is_empty() {
        return rig.to_owned();
    }
    let levels = others.iter().filter_map(|other| Some(format!("{other} {}", trial.cell.get(*other)?)));
    levels.collect::<Vec<_>>().join(", ")
}

/// Numbers by their value, all else by its letters.
fn in_order(a: &str, b: &str) -> Ordering {
    let number = |text: &str| text.parse::<f64>().ok();
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    }
}
