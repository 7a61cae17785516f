//! The values of a run, one by one.

use std::collections::BTreeMap;

use plimsoll_model::experiment::Experiment;
use plimsoll_model::observation::{Arm, PhaseRecord, Slice, TrialRecord};
use plimsoll_model::report::RunReport;
use serde::Serialize;

/// The exported part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// The figures of each slice of each load.
    #[default]
    Figures,
    /// Counts in each interval of a load.
    Intervals,
    /// The kernel's counters over time.
    Counters,
}

/// Which of these are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Kind of the value.
    pub rows: Rows,
    /// Only these metrics or counters; all where there are none.
    pub metrics: Vec<String>,
    /// Only these phases; all where there are none.
    pub phases: Vec<String>,
}

impl Selection {
    fn has(list: &[String], name: &str) -> bool {
        list.is_empty() || list.iter().any(|wanted| wanted == name)
    }

    fn phase(&self, name: &str) -> bool {
        Self::has(&self.phases, name)
    }

    fn metric(&self, name: &str) -> bool {
        Self::has(&self.metrics, name)
    }
}

/// A run and the part of it that is written.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'r> {
    /// The experiment, whose loads say which figures they have.
    pub experiment: &'r Experiment,
    /// The run.
    pub report: &'r RunReport,
    /// Its trials.
    pub trials: &'r [TrialRecord],
    /// The part.
    pub wanted: &'r Selection,
}

/// One value with its keys. What does not apply is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row<'r> {
    /// The run's id.
    pub run: &'r str,
    /// The experiment's name.
    pub experiment: &'r str,
    /// The trial, from 1.
    pub trial: u32,
    /// Its block, from 1.
    pub block: u32,
    /// The level of each factor.
    pub cell: &'r BTreeMap<String, String>,
    /// `treatment` or `control`.
    pub arm: Option<&'static str>,
    /// The phase.
    pub phase: Option<&'r str>,
    /// The cycle, from 1; 0 outside of any.
    pub cycle: Option<u32>,
    /// The slice of the phase.
    pub slice: Option<u32>,
    /// The host that a counter is of.
    pub host: Option<&'r str>,
    /// When, in seconds since the trial's start; of counters, since its first sample.
    pub at_s: f64,
    /// Kind of the value.
    pub metric: &'r str,
    /// How much. Units stand in the name of a metric; counts have none.
    pub value: f64,
}

/// Hands on each value of a run, in the order of trials.
///
/// # Errors
/// Those of `each`.
pub fn rows<E>(exported: &Exported<'_>, each: &mut dyn FnMut(&Row<'_>) -> Result<(), E>) -> Result<(), E> {
    let Exported { experiment, report, trials, wanted } = *exported;
    trials.iter().try_for_each(|trial| {
        let row = Row {
            run: &report.run,
            experiment: &report.experiment,
            trial: trial.number,
            block: trial.block,
            cell: &trial.cell,
            arm: None,
            phase: None,
            cycle: None,
            slice: None,
            host: None,
            at_s: 0.0,
            metric: "",
            value: 0.0,
        };
        match wanted.rows {
            Rows::Counters => counters(trial, &row, wanted, each),
            Rows::Figures => of_slices(trial, &row, wanted, &mut |slice, row| {
                let load = row.phase.and_then(|phase| experiment.recorded_load(phase));
                let figures = load.map(|load| load.kind.figures(&slice.result)).unwrap_or_default();
                let mut figures = figures.iter().filter(|(name, _)| wanted.metric(name));
                figures.try_for_each(|(metric, value)| each(&Row { metric, value: *value, ..row.clone() }))
            }),
            Rows::Intervals => {
                of_slices(trial, &row, wanted, &mut |slice, row| intervals(slice, row, wanted, each))
            }
        }
    })
}

/// Hands on each slice of a trial, with what its rows have in common.
fn of_slices<E>(
    trial: &TrialRecord,
    row: &Row<'_>,
    wanted: &Selection,
    each: &mut dyn FnMut(&Slice, &Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let phases = trial.phases.iter().filter(|phase| wanted.phase(&phase.name));
    let mut slices =
        phases.flat_map(|phase: &PhaseRecord| phase.slices.iter().map(move |slice| (phase, slice)));
    slices.try_for_each(|(phase, slice)| {
        let row = Row {
            arm: Some(slice.arm.name()),
            phase: Some(&phase.name),
            cycle: Some(phase.cycle),
            slice: Some(slice.number),
            at_s: slice.at_ns as f64 / 1e9,
            ..row.clone()
        };
        each(slice, &row)
    })
}

fn intervals<E>(
    slice: &Slice,
    row: &Row<'_>,
    wanted: &Selection,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for interval in &slice.result.intervals {
        let at_s = row.at_s + interval.end_ns as f64 / 1e9;
        let counts = [
            ("connections", interval.connections),
            ("requests", interval.requests),
            ("errors", interval.errors),
            ("bytes", interval.bytes),
        ];
        for (metric, count) in counts.into_iter().filter(|(metric, _)| wanted.metric(metric)) {
            each(&Row { at_s, metric, value: count as f64, ..row.clone() })?;
        }
    }
    Ok(())
}

/// The counters of each host. A sample leaves out what did not change, and so do the rows.
fn counters<E>(
    trial: &TrialRecord,
    row: &Row<'_>,
    wanted: &Selection,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for (host, samples) in &trial.series {
        // The control's hosts end in an apostrophe.
        let (name, arm) = match host.strip_suffix('\'') {
            Some(name) => (name, Arm::Control),
            None => (host.as_str(), Arm::Treatment),
        };
        let start = samples.first().map_or(0, |first| first.at_ns);
        for sample in samples {
            let at_s = sample.at_ns.saturating_sub(start) as f64 / 1e9;
            for (metric, value) in sample.values.iter().filter(|(metric, _)| wanted.metric(metric)) {
                each(&Row {
                    arm: Some(arm.name()),
                    host: Some(name),
                    at_s,
                    metric,
                    value: *value,
                    ..row.clone()
                })?;
            }
        }
    }
    Ok(())
}
