//! The rate of the loads over a trial, with its phases.

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, TrialRecord};
use plotly::common::{Line, LineShape, Mode};
use plotly::layout::{HoverMode, RangeMode};
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, drawn_s, spans};
use crate::html::TRIAL_PICKER;
use crate::html::timeline::{self, LoadSeries};
use crate::number::seconds;
use crate::{summary, wording};

const HEIGHT: usize = 420;

/// The chart, a drawing for each trial; absent when no load was recorded.
pub(in crate::html) fn chart(trials: &[&TrialRecord], metric: Metric) -> Option<Figure> {
    let points = timeline::points(trials.len());
    let mut longest_step = 0.0_f64;
    let mut any = false;
    let mut plots = Vec::new();
    let slices = || trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.slices);
    let measured = summary::measured(slices().any(|slice| slice.arm == Arm::Control));
    for trial in trials {
        let mut traces: Vec<Box<dyn Trace>> = Vec::new();
        let rigs = [(Arm::Treatment, measured, TREATMENT), (Arm::Control, summary::CONTROL, CONTROL)];
        for (arm, name, color) in rigs {
            if let Some(series) = timeline::load(trial, arm, points, metric) {
                longest_step = longest_step.max(series.step_s);
                traces.push(trace(&series, name, Line::new().color(color), metric));
            }
        }
        any |= !traces.is_empty();
        plots.push((trial.number.to_string(), Plot::new(traces, framed(trial, metric))));
    }
    any.then(|| Figure {
        id: "load-over-time".into(),
        title: "Rate over time".into(),
        description: description(trials, metric),
        caption: format!(
            "Rate while a load ran, the flood's own load with it; gaps are times without one on that rig. Shaded: phases; upright lines: what \
             was done, by its name. One \
             value for {}: shorter intervals are put together.",
            seconds(longest_step)
        ),
        height: HEIGHT,
        drawing: Drawing::Picked { picker: TRIAL_PICKER, plots },
    })
}

/// A line of steps, each as wide as its stretch.
pub(super) fn trace(series: &LoadSeries, name: &str, line: Line, metric: Metric) -> Box<dyn Trace> {
    let mut xs = Vec::new();
    let mut ys = Vec::new();
    let mut gap = true;
    for (i, rate) in series.rates.iter().enumerate() {
        match rate {
            Some(rate) => {
                xs.push(drawn_s(i as f64 * series.step_s));
                ys.push(Some(drawn(*rate)));
                gap = false;
            }
            // The last step before a gap ends where the gap begins.
            None if !gap => {
                let end = drawn_s(i as f64 * series.step_s);
                xs.extend([end, end]);
                ys.extend([ys.last().copied().flatten(), None]);
                gap = true;
            }
            None => {}
        }
    }
    Scatter::new(xs, ys)
        .name(name)
        .mode(Mode::Lines)
        .line(line.width(1.5).shape(LineShape::Hv))
        .connect_gaps(false)
        .hover_template(format!("%{{y}} {}", metric.unit().name()))
}

/// Axes and phases.
fn framed(trial: &TrialRecord, metric: Metric) -> plotly::Layout {
    let range = (0.0, timeline::length_s(trial).max(1e-3));
    let layout = spans::layout(HEIGHT, &timeline::spans(trial), range);
    spans::with_moments(layout, &timeline::moments(trial))
        .hover_mode(HoverMode::XUnified)
        .show_legend(true)
        .x_axis(axis("seconds after the trial's start").range(vec![range.0, range.1]).zero_line(false))
        .y_axis(axis(&wording::metric(metric.name())).range_mode(RangeMode::ToZero))
}

fn description(trials: &[&TrialRecord], metric: Metric) -> String {
    format!(
        "Step lines of {} over the time of a trial, treatment and control, with the phases shaded; {} to choose from.",
        wording::metric(metric.name()),
        match trials.len() {
            1 => "1 trial".into(),
            n => format!("{n} trials"),
        }
    )
}
