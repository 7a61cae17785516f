//! Where the machine's CPU time went over a trial, stacked as vmstat reports it, with the phases.

use plimsoll_model::observation::TrialRecord;
use plotly::common::{Line, LineShape, Mode};
use plotly::layout::HoverMode;
use plotly::{Scatter, Trace};

use super::{Drawing, Figure, Plot, axis, drawn_s, spans};
use crate::html::TRIAL_PICKER;
use crate::html::timeline::{self, CpuSeries};
use crate::number::{percent, seconds};

const HEIGHT: usize = 460;

/// The chart, a drawing for each trial; absent when no host sampled CPU time in any.
pub(in crate::html) fn chart(trials: &[&TrialRecord]) -> Option<Figure> {
    let points = timeline::points(trials.len());
    let series: Vec<_> = trials.iter().map(|trial| timeline::cpu(trial, points)).collect();
    let first = series.iter().flatten().next()?;
    let step_s = series.iter().flatten().map(|s| s.step_s).fold(0.0, f64::max);
    let unseen = series.iter().filter(|s| s.is_none()).count();
    let mut caption = format!(
        "Shares of all CPUs of the machine, read on {}; interrupts are counted with softirqs. One value for {}: the mean over that \
         time. Shaded: phases.",
        first.host,
        seconds(step_s)
    );
    if unseen > 0 {
        caption.push_str(&format!(" Not seen in {unseen} of {} trials.", trials.len()));
    }
    let description = description(first);
    let plots = trials
        .iter()
        .zip(&series)
        .map(|(trial, series)| (trial.number.to_string(), plot(trial, series.as_ref())));
    Some(Figure {
        id: "cpu-over-time".into(),
        title: "CPU time".into(),
        description,
        caption,
        drawing: Drawing::Picked { picker: TRIAL_PICKER, plots: plots.collect() },
    })
}

fn plot(trial: &TrialRecord, series: Option<&CpuSeries>) -> Plot {
    let range = (0.0, timeline::length_s(trial).max(1e-3));
    let layout = spans::layout(HEIGHT, &timeline::spans(trial), range);
    let layout = spans::with_moments(layout, &timeline::moments(trial))
        .hover_mode(HoverMode::XUnified)
        .x_axis(axis("seconds after the trial's start").range(vec![range.0, range.1]).zero_line(false))
        .y_axis(axis("% of all CPUs").range(vec![0.0, 100.0]));
    let traces = series.map_or_else(Vec::new, traces);
    Plot::new(traces, layout)
}

/// The layers of the stack.
fn traces(series: &CpuSeries) -> Vec<Box<dyn Trace>> {
    let xs: Vec<f64> = series.at_s.iter().map(|s| drawn_s(*s)).collect();
    let layer = |(i, kind): (usize, &'static str)| -> Box<dyn Trace> {
        // One decimal of a per cent; the last value again, so that the last stretch is drawn to its end.
        let values = series.shares.iter().chain(series.shares.last());
        let ys: Vec<f64> = values.map(|shares| (shares[i] * 1000.0).round() / 10.0).collect();
        let color = format!("var(--{kind})");
        Scatter::new(xs.clone(), ys)
            .name(kind)
            .mode(Mode::Lines)
            .stack_group("cpu")
            .line(Line::new().width(0.0).shape(LineShape::Hv).color(color.clone()))
            .fill_color(color)
            .hover_template("%{y} %")
    };
    timeline::cpu_kinds().enumerate().map(layer).collect()
}

fn description(series: &CpuSeries) -> String {
    let means: Vec<String> = timeline::cpu_kinds()
        .enumerate()
        .map(|(i, kind)| {
            let mean = series.shares.iter().map(|s| s[i]).sum::<f64>() / series.shares.len() as f64;
            format!("{kind} {} %", percent(mean))
        })
        .collect();
    format!(
        "Stacked areas of CPU shares over the time of a trial. Means over the first trial: {}.",
        means.join(", ")
    )
}
