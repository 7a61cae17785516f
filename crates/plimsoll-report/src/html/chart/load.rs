//! The rate of the loads over a trial, with its phases.

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, PhaseKind, TrialRecord};
use plotly::common::{AxisSide, DashType, Fill, HoverInfo, Line, LineShape, Mode};
use plotly::layout::{HoverMode, RangeMode};
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, drawn_s, spans};
use crate::html::TRIAL_PICKER;
use crate::html::timeline::{self, Window};
use crate::number::{median, sorted};
use crate::{summary, wording};

const HEIGHT: usize = 420;

/// The baseline of a claim on recovery.
pub(in crate::html) struct Baseline<'r> {
    pub(in crate::html) phase: &'r str,
    /// How much less is still as good, as a share.
    pub(in crate::html) margin: f64,
}

/// The chart, a drawing for each trial; absent when no load was recorded.
pub(in crate::html) fn chart(
    trials: &[&TrialRecord],
    metric: Metric,
    baseline: Option<&Baseline<'_>>,
) -> Option<Figure> {
    let slices = || trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.slices);
    let measured = summary::measured(slices().any(|slice| slice.arm == Arm::Control));
    let rigs = [(Arm::Treatment, measured, TREATMENT), (Arm::Control, summary::CONTROL, CONTROL)];
    let mut any = false;
    let mut plots = Vec::new();
    for trial in trials {
        let mut traces: Vec<Box<dyn Trace>> = band(trial, metric, baseline);
        let mut layout = framed(trial, metric);
        for (arm, name, color) in rigs {
            let measured = steps(trial, arm, metric, |kind| kind != PhaseKind::Drive);
            traces.extend(
                measured.map(|trace| line(trace, name, metric).line(stroke(color, DashType::Solid)) as _),
            );
        }
        for (arm, name, color) in rigs {
            let Some(driven) = steps(trial, arm, metric, |kind| kind == PhaseKind::Drive) else { continue };
            let name = format!("{name}, driven");
            traces.push(line(driven, &name, metric).line(stroke(color, DashType::Dot)).y_axis("y2"));
            let right = axis("driven").range_mode(RangeMode::ToZero).show_grid(false);
            layout = layout.y_axis2(right.overlaying("y").side(AxisSide::Right));
        }
        any |= !traces.is_empty();
        plots.push((trial.number.to_string(), Plot::new(traces, layout)));
    }
    any.then(|| Figure {
        id: "load-over-time".into(),
        title: "Rate over time".into(),
        description: description(trials, metric),
        caption: "Mean rate while a load ran, over windows of several slices. Loads that only drive, such as a flood, have a scale of their own \
                  on the right. The band below the baseline's median is the margin. Shaded: phases. Upright lines: steps, by name."
            .into(),
        drawing: Drawing::Picked { picker: TRIAL_PICKER, plots },
    })
}

/// The margin below the baseline, over the whole trial; empty without a claim on recovery.
fn band(trial: &TrialRecord, metric: Metric, baseline: Option<&Baseline<'_>>) -> Vec<Box<dyn Trace>> {
    let of_trial = |baseline: &Baseline<'_>| {
        let phases = timeline::measured(&[trial], baseline.phase).collect::<Vec<_>>();
        let windows = phases.into_iter().flat_map(|phase| timeline::rates_of(phase, Arm::Treatment, metric));
        Some((median(&sorted(windows.map(|window| window.rate)))?, baseline.margin))
    };
    let Some((rate, margin)) = baseline.and_then(of_trial) else { return Vec::new() };
    let edge = |rate: f64| {
        let xs = vec![0.0, drawn_s(timeline::length_s(trial))];
        Scatter::new(xs, vec![drawn(rate); 2])
            .name("margin below the baseline")
            .mode(Mode::Lines)
            .line(Line::new().width(1.0).color("var(--soft)"))
            .hover_info(HoverInfo::Skip)
    };
    let lower = edge(rate * (1.0 - margin)).show_legend(false);
    vec![lower, edge(rate).fill(Fill::ToNextY).fill_color("var(--band)")]
}

/// The windows of all phases of some kinds as steps, with gaps between the phases; absent when the rig never ran in one.
fn steps(trial: &TrialRecord, arm: Arm, metric: Metric, of: impl Fn(PhaseKind) -> bool) -> Option<Steps> {
    let mut steps = Steps::default();
    for phase in trial.phases.iter().filter(|phase| of(phase.kind)) {
        steps.add(&timeline::rates_of(phase, arm, metric));
    }
    (!steps.xs.is_empty()).then_some(steps)
}

/// A line of steps, each as wide as its window, with gaps where no load ran.
#[derive(Default)]
struct Steps {
    xs: Vec<f64>,
    ys: Vec<Option<f64>>,
}

impl Steps {
    fn add(&mut self, windows: &[Window]) {
        for (n, window) in windows.iter().enumerate() {
            self.xs.push(drawn_s(window.from_s));
            self.ys.push(Some(drawn(window.rate)));
            let next = windows.get(n + 1).map(|next| drawn_s(next.from_s));
            if next != Some(drawn_s(window.to_s)) {
                self.xs.extend([drawn_s(window.to_s); 2]);
                self.ys.extend([Some(drawn(window.rate)), None]);
            }
        }
    }
}

/// The windows of a phase as a line of steps.
pub(super) fn trace(
    windows: &[Window],
    name: &str,
    color: &'static str,
    dash: DashType,
    metric: Metric,
) -> Box<dyn Trace> {
    let mut steps = Steps::default();
    steps.add(windows);
    line(steps, name, metric).line(stroke(color, dash))
}

fn stroke(color: &'static str, dash: DashType) -> Line {
    Line::new().color(color).dash(dash).width(1.5).shape(LineShape::Hv)
}

fn line(Steps { xs, ys }: Steps, name: &str, metric: Metric) -> Box<Scatter<f64, Option<f64>>> {
    Scatter::new(xs, ys)
        .name(name)
        .mode(Mode::Lines)
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
