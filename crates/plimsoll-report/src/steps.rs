//! Loads that go up and down in steps: the trials of one cell put together, step by step.

use plimsoll_model::experiment::claim::hysteresis::ways;
use plimsoll_model::observation::{Arm, Percentiles, PhaseKind};
use plimsoll_model::report::{PhaseReport, RunReport, StepReport};

use crate::number::{NONE, median, millis, sorted};
use crate::wording::Cell;

/// The steps of one phase of one cell: over several trials the median of each figure, and the sum of errors.
#[derive(Debug)]
pub(crate) struct Stepped {
    pub(crate) cell: Cell,
    pub(crate) phase: String,
    pub(crate) steps: Vec<StepReport>,
    pub(crate) trials: usize,
}

impl Stepped {
    /// Steps on the way up, the highest with them, and on the way down from the highest on.
    pub(crate) fn ways(&self) -> (&[StepReport], &[StepReport]) {
        ways(&self.steps, |step| step.offered_per_second)
    }
}

/// Every measured phase whose load has steps, in the order in which they were first carried out.
pub(crate) fn all(report: &RunReport) -> Vec<Stepped> {
    let mut groups: Vec<(&Cell, &str, Vec<&[StepReport]>)> = Vec::new();
    for trial in &report.trials {
        for (phase, steps) in trial.phases.iter().filter_map(|phase| Some((phase, steps_of(phase)?))) {
            match groups.iter_mut().find(|(cell, name, _)| **cell == trial.cell && *name == phase.name) {
                Some((.., all)) => all.push(steps),
                None => groups.push((&trial.cell, &phase.name, vec![steps])),
            }
        }
    }
    let together = |(cell, phase, all): (&Cell, &str, Vec<&[StepReport]>)| Stepped {
        cell: cell.clone(),
        phase: phase.to_owned(),
        trials: all.len(),
        steps: (0..all[0].len()).map(|n| middle(&all, n)).collect(),
    };
    groups.into_iter().map(together).collect()
}

/// A percentile of a step in milliseconds.
pub(crate) fn step_millis(step: &StepReport, of: fn(&Percentiles) -> u64) -> String {
    step.latency_us.as_ref().map_or_else(|| NONE.to_owned(), |times| millis(of(times)))
}

fn steps_of(phase: &PhaseReport) -> Option<&[StepReport]> {
    let counts = phase.kind == PhaseKind::Measure && phase.arm == Arm::Treatment;
    phase.offer.as_ref().map(|offer| &offer.steps[..]).filter(|steps| counts && !steps.is_empty())
}

/// The `n`-th step of all trials that have one.
fn middle(all: &[&[StepReport]], n: usize) -> StepReport {
    let steps: Vec<&StepReport> = all.iter().filter_map(|steps| steps.get(n)).collect();
    let of =
        |f: &dyn Fn(&StepReport) -> f64| median(&sorted(steps.iter().map(|step| f(step)))).unwrap_or(0.0);
    let times: Vec<Percentiles> = steps.iter().filter_map(|step| step.latency_us).collect();
    let us = |f: fn(&Percentiles) -> u64| {
        median(&sorted(times.iter().map(|times| f(times) as f64))).unwrap_or(0.0).round() as u64
    };
    StepReport {
        offered_per_second: of(&|step| step.offered_per_second),
        answered_per_second: of(&|step| step.answered_per_second),
        errors: steps.iter().map(|step| step.errors).sum(),
        latency_us: (!times.is_empty()).then(|| Percentiles {
            p50: us(|p| p.p50),
            p90: us(|p| p.p90),
            p95: us(|p| p.p95),
            p99: us(|p| p.p99),
            p99_9: us(|p| p.p99_9),
            max: us(|p| p.max),
        }),
    }
}
