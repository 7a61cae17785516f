//! Sides that are compared, in one chart: their rates over the time of a phase, and how long their requests took.

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, Histogram, TrialRecord};
use plotly::Trace;
use plotly::common::Line;
use plotly::layout::{AxisType, HoverMode, RangeMode};

use super::{Drawing, Figure, LOOKS, Plot, axis, histogram, layout, load, shortened};
use crate::html::timeline;
use crate::number::{figure, median, millis, sorted};
use crate::wording;

const HEIGHT: usize = 400;
/// Points of each line.
const POINTS: usize = 120;
/// The longest name of a side, in characters.
const NAME_LENGTH: usize = 32;

/// One of the sides.
pub(in crate::html) struct Side<'r> {
    pub(in crate::html) name: String,
    pub(in crate::html) trials: Vec<&'r TrialRecord>,
}

/// The charts of a phase; empty if fewer than two sides were measured in it.
pub(in crate::html) fn charts(
    number: usize,
    phase: &str,
    sides: &[Side<'_>],
    metric: Metric,
) -> impl Iterator<Item = Figure> {
    over_time(number, phase, sides, metric).into_iter().chain(times(number, phase, sides))
}

fn over_time(number: usize, phase: &str, sides: &[Side<'_>], metric: Metric) -> Option<Figure> {
    let mut description = format!("{} over the time of {phase}.", wording::metric(metric.name()));
    let line = |(side, (color, dash, _)): (&Side<'_>, (&'static str, _, _))| {
        let windows = timeline::of_phase(&side.trials, phase, POINTS, metric);
        let middle = median(&sorted(windows.iter().map(|window| window.rate)))?;
        description.push_str(&format!(" {}: mostly {}.", side.name, figure(middle)));
        Some(load::trace(&windows, &name(side), color, dash, metric))
    };
    let traces: Vec<Box<dyn Trace>> = sides.iter().zip(LOOKS).filter_map(line).collect();
    let y_axis = axis(&wording::metric(metric.name())).range_mode(RangeMode::ToZero);
    let layout = layout(HEIGHT)
        .hover_mode(HoverMode::XUnified)
        .show_legend(true)
        .x_axis(axis("seconds after the start of the phase").range_mode(RangeMode::ToZero))
        .y_axis(y_axis);
    (traces.len() > 1).then(|| Figure {
        id: format!("sides-rate-{number}"),
        title: format!("Rate over time, {phase}"),
        description,
        caption: "Medians of the trials of each side, from the start of the phase on.".into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}

fn times(number: usize, phase: &str, sides: &[Side<'_>]) -> Option<Figure> {
    let mut description = format!("The share of the requests of {phase} that took at most each time.");
    let line = |(side, (color, dash, _)): (&Side<'_>, (&'static str, _, _))| {
        let mut times = Histogram::default();
        let slices = timeline::measured(&side.trials, phase).flat_map(|it| &it.slices);
        slices
            .filter(|slice| slice.arm == Arm::Treatment)
            .for_each(|slice| times.add(&slice.result.latency.total));
        if times.is_empty() {
            return None;
        }
        let p = times.percentiles();
        description.push_str(&format!(" {}: p50 {} ms, p99 {} ms.", side.name, millis(p.p50), millis(p.p99)));
        Some(histogram::cumulative(&times, &name(side), Line::new().color(color).dash(dash)))
    };
    let traces: Vec<Box<dyn Trace>> = sides.iter().zip(LOOKS).filter_map(line).collect();
    let layout = layout(HEIGHT)
        .show_legend(true)
        .x_axis(axis("request time, ms").type_(AxisType::Log).zero_line(false))
        .y_axis(axis("% of the requests, at most this time").range(vec![0.0, 101.0]));
    (traces.len() > 1).then(|| Figure {
        id: format!("sides-times-{number}"),
        title: format!("Request time, {phase}"),
        description,
        caption: "The share of the requests that took at most each time, all trials of a side together. The line further to the left is faster.".into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}

fn name(side: &Side<'_>) -> String {
    crate::escape::chart(&shortened(&side.name, NAME_LENGTH))
}
