//! Values at each level of a factor, on one axis.

use std::cmp::Ordering;

use plimsoll_model::observation::{Arm, PhaseKind};
use plimsoll_model::plan::is_of;
use plimsoll_model::report::{PhaseReport, RunReport};

use super::section::Section;
use crate::levels::{self, About, Group};
use crate::number::{median, sorted};
use crate::summary;
use crate::wording::{self, Cell};

const CAPTION: &str = "Large marks are medians of trials, which are the small marks; several cycles of a trial are put together by their median. Whiskers \
are 95 % intervals of the medians, or the range of fewer than six trials.";

/// A chart for each measured phase and each choice of levels beyond the second factor; `None` if no factor has two levels.
pub(super) fn section(report: &RunReport) -> Option<Section> {
    let mut phases: Vec<&str> = Vec::new();
    let measured = report.trials.iter().flat_map(|trial| &trial.phases);
    for phase in measured.filter(|phase| phase.kind == PhaseKind::Measure) {
        if !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let factors = factors(report);
    // The factor with the most levels has the axis, the next its lines.
    let (axis, _) = *factors.iter().max_by_key(|(_, levels)| *levels)?;
    let mut others = factors.iter().map(|(name, _)| *name).filter(|name| *name != axis);
    let (lines, beyond): (Option<&str>, Vec<&str>) = (others.next(), others.collect());
    let mut choices: Vec<Cell> = Vec::new();
    for trial in &report.trials {
        let choice = chosen(&trial.cell, &beyond);
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    let asked = phases.iter().flat_map(|phase| choices.iter().map(move |choice| (*phase, choice)));
    let charts = (1..).zip(asked).filter_map(|(n, (phase, choice))| {
        let groups = groups(report, phase, (axis, lines), choice);
        let title = wording::titled(&format!("By {axis}"), choice);
        let about = About {
            id: format!("levels-{n}"),
            title: if phases.len() > 1 { format!("{title}, {phase}") } else { title },
            caption: CAPTION.into(),
            factor: axis.to_owned(),
            metric: wording::metric(summary::rate_metric(report).name()),
            logarithmic: false,
            odd: None,
        };
        levels::chart(about, &groups)
    });
    let markup: Vec<_> = charts.map(|chart| chart.markup()).collect();
    (!markup.is_empty()).then(|| Section {
        id: "levels",
        title: "Levels",
        content: maud::html! { @for chart in &markup { (chart) } },
    })
}

/// The levels that a cell has of some factors.
fn chosen(cell: &Cell, factors: &[&str]) -> Cell {
    cell.iter()
        .filter(|(factor, _)| factors.contains(&factor.as_str()))
        .map(|(f, l)| (f.clone(), l.clone()))
        .collect()
}

/// Figures of a phase at a choice of levels: by the level on the axis, and by that of the lines or, without one, by rig.
fn groups(report: &RunReport, phase: &str, (axis, lines): (&str, Option<&str>), choice: &Cell) -> Vec<Group> {
    let arms: &[(Arm, &str)] = match lines {
        Some(_) => &[(Arm::Treatment, "")],
        None => &[(Arm::Treatment, summary::TREATMENT), (Arm::Control, summary::CONTROL)],
    };
    let metric = summary::rate_metric(report);
    let mut groups: Vec<Group> = Vec::new();
    for trial in report.trials.iter().filter(|trial| trial.faults.is_empty() && is_of(choice, &trial.cell)) {
        let Some(level) = trial.cell.get(axis) else { continue };
        for (arm, name) in arms {
            let of_phase =
                |it: &&PhaseReport| it.name == phase && it.arm == *arm && it.kind == PhaseKind::Measure;
            let rates = trial.phases.iter().filter(of_phase).filter_map(|it| it.figure(metric));
            let Some(value) = median(&sorted(rates)) else { continue };
            let level_of = |factor| Some(format!("{factor} {}", trial.cell.get(factor)?));
            let line = lines.and_then(level_of).unwrap_or_else(|| (*name).to_owned());
            match groups.iter_mut().find(|group| group.level == *level && group.line == line) {
                Some(group) => group.values.push(value),
                None => groups.push(Group { level: level.clone(), line, values: vec![value] }),
            }
        }
    }
    groups.sort_by(|a, b| in_order(&a.level, &b.level).then_with(|| in_order(&a.line, &b.line)));
    if lines.is_none() && arms.iter().any(|(_, name)| groups.iter().all(|group| group.line != *name)) {
        // A single rig needs no name.
        groups.iter_mut().for_each(|group| group.line.clear());
    }
    groups
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

/// Numbers by their value, all else by its letters.
fn in_order(a: &str, b: &str) -> Ordering {
    let number = |text: &str| text.rsplit(' ').next()?.parse::<f64>().ok();
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    }
}
