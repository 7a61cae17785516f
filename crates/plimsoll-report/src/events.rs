//! Steps in the middle of trials, and how the load fared after each, as a table: a row for each step, over all trials of a cell.

use std::collections::BTreeMap;

use plimsoll_model::observation::Arm;
use plimsoll_model::plan::cell_text;
use plimsoll_model::report::{EventRecovery, EventReport, RecoveryOutcome, RunReport};

use crate::number::{NONE, figure, median, sorted};
use crate::section::{Row, Section, columns};
use crate::summary;

/// Which step it is: its cell, its phase, its rig and its name.
type StepKey<'r> = (String, &'r str, Arm, &'r str);

/// The table; `None` if nothing was done.
pub(crate) fn section(report: &RunReport) -> Option<Section> {
    let mut order: Vec<StepKey<'_>> = Vec::new();
    let mut all: BTreeMap<StepKey<'_>, Vec<&EventReport>> = BTreeMap::new();
    for trial in &report.trials {
        for event in &trial.events {
            let which = (cell_text(&trial.cell), event.phase.as_str(), event.arm, event.name.as_str());
            if !all.contains_key(&which) {
                order.push(which.clone());
            }
            all.entry(which).or_default().push(event);
        }
    }
    let columns = columns![
        left "cell" => 1, left "phase", left "step", right "at s", right "before/s" => 2,
        right "lowest/s" => 3, left "load", right "after s",
    ];
    let rows = order.iter().map(|which| row(which, &all[which]));
    let section = Section::new("Steps").table(columns, rows);
    (!section.blocks.is_empty()).then_some(section)
}

fn row((cell, phase, arm, name): &StepKey<'_>, events: &[&EventReport]) -> Row {
    let judged: Vec<&EventRecovery> = events.iter().filter_map(|event| event.recovery.as_ref()).collect();
    let typical = |values: Vec<f64>| median(&sorted(values)).map_or_else(String::new, figure);
    let of = |field: fn(&EventRecovery) -> f64| typical(judged.iter().map(|it| field(it)).collect());
    let control = if *arm == Arm::Control { format!(" ({})", summary::CONTROL) } else { String::new() };
    Row::of([
        cell.clone(),
        format!("{phase}{control}"),
        (*name).to_owned(),
        typical(events.iter().map(|event| event.at_s).collect()),
        of(|it| it.before),
        of(|it| it.lowest),
        outcomes(&judged),
        after(&judged),
    ])
    .faint_if(*arm == Arm::Control)
}

/// Outcomes of the load, with the number of trials where they differ.
fn outcomes(judged: &[&EventRecovery]) -> String {
    let kinds = [
        RecoveryOutcome::Unaffected,
        RecoveryOutcome::Recovered,
        RecoveryOutcome::NotRecovered,
        RecoveryOutcome::Undecided,
    ];
    let number = |kind: RecoveryOutcome| judged.iter().filter(|it| it.outcome == kind).count();
    let counts = kinds.into_iter().map(|kind| (kind, number(kind))).filter(|(_, number)| *number > 0);
    let counts = counts.map(|(kind, number)| match judged.len() {
        all if all == number => kind.words().to_owned(),
        all => format!("{} in {number} of {all}", kind.words()),
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// How long it took until the load did as well as before: the median, and the whole range where there are several trials.
fn after(judged: &[&EventRecovery]) -> String {
    let times = sorted(judged.iter().filter_map(|it| it.after_s));
    match (times.first(), times.last(), median(&times)) {
        (Some(first), Some(last), Some(middle)) if times.len() > 1 && first < last => {
            format!("{} ({} to {})", figure(middle), figure(*first), figure(*last))
        }
        (.., Some(middle)) => figure(middle),
        _ if judged.is_empty() => String::new(),
        _ => NONE.to_owned(),
    }
}
