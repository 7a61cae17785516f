//! The ratio after/baseline of every trial by cycle: whether it stays, falls, or differs between trials.

use plimsoll_model::report::{CycleRatio, RecoveryFacts};
use plotly::Scatter;
use plotly::common::{DashType, ErrorData, ErrorType, HoverInfo, Marker, Mode};
use plotly::layout::{Shape, ShapeLine, ShapeType};

use super::{Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, layout};
use crate::number::{median, probability, ratio, sorted};
use crate::wording::ratio_and_interval;

const HEIGHT: usize = 320;
/// Half of the width over which the trials of one cycle are spread.
const SPREAD: f64 = 0.25;

/// The chart; absent with fewer than two ratios.
pub(in crate::html) fn chart(facts: &RecoveryFacts, limit: Option<f64>) -> Option<Figure> {
    let ratios: Vec<&CycleRatio> = facts.cycles.iter().filter(|c| c.ratio.is_finite()).collect();
    if ratios.len() < 2 {
        return None;
    }
    let last_cycle = ratios.iter().map(|c| c.cycle).max()?;
    let cycles: Vec<f64> = (1..=last_cycle).map(f64::from).collect();
    let x_axis = axis("cycle").range(vec![0.5, f64::from(last_cycle) + 0.5]).tick_values(cycles);
    let layout = layout(HEIGHT)
        .show_legend(false)
        .x_axis(x_axis.show_grid(false).zero_line(false))
        .y_axis(axis("after/baseline").range(vec![0.0, top(&ratios)]))
        .shapes(lines(limit, last_cycle));
    Some(Figure {
        id: "ratio-by-cycle".into(),
        title: "After/baseline by cycle".into(),
        description: description(&ratios),
        caption: caption(facts, limit),
        height: HEIGHT,
        drawing: Drawing::One(Plot::new(vec![trace(&ratios)], layout)),
    })
}

/// One point per trial and cycle, the trials of a cycle side by side.
fn trace(ratios: &[&CycleRatio]) -> Box<dyn plotly::Trace> {
    let trials = f64::from(ratios.iter().map(|c| c.trial).max().unwrap_or(1).max(2) - 1);
    let single = ratios.iter().all(|c| c.trial == ratios[0].trial);
    let aside = |c: &CycleRatio| if single { 0.0 } else { f64::from(c.trial.max(1) - 1) / trials - 0.5 };
    let xs: Vec<f64> = ratios.iter().map(|c| drawn(f64::from(c.cycle) + 2.0 * SPREAD * aside(c))).collect();
    let ys: Vec<f64> = ratios.iter().map(|c| drawn(c.ratio)).collect();
    let above = ratios.iter().map(|c| c.interval.map_or(0.0, |i| drawn((i.hi() - c.ratio).max(0.0))));
    let below = ratios.iter().map(|c| c.interval.map_or(0.0, |i| drawn((c.ratio - i.lo()).max(0.0))));
    let error = ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(above.collect())
        .array_minus(below.collect())
        .thickness(1.5)
        .width(3)
        .color(TREATMENT);
    let hover = ratios.iter().map(|c| {
        format!("trial {}, cycle {}<br>{}", c.trial, c.cycle, ratio_and_interval(Some(c.ratio), c.interval))
    });
    Scatter::new(xs, ys)
        .name("after/baseline")
        .mode(Mode::Markers)
        .marker(Marker::new().color(TREATMENT).size(8))
        .error_y(error)
        .hover_text_array(hover.collect())
        .hover_info(HoverInfo::Text)
}

/// The top of the axis: above every interval, and above the line for no change.
fn top(ratios: &[&CycleRatio]) -> f64 {
    let ends = ratios.iter().map(|c| c.interval.map_or(c.ratio, |i| i.hi().max(c.ratio)));
    drawn(ends.filter(|end| end.is_finite()).fold(1.0, f64::max) * 1.08)
}

/// No change, and the margin.
fn lines(limit: Option<f64>, last_cycle: u32) -> Vec<Shape> {
    let line = |y: f64, color: &'static str, dash| {
        Shape::new()
            .shape_type(ShapeType::Line)
            .x0(0.5)
            .x1(f64::from(last_cycle) + 0.5)
            .y0(y)
            .y1(y)
            .line(ShapeLine::new().color(color).width(1.5).dash(dash))
    };
    let one = line(1.0, SOFT, DashType::Solid);
    std::iter::once(one).chain(limit.map(|y| line(y, "var(--open)", DashType::Dash))).collect()
}

fn caption(facts: &RecoveryFacts, limit: Option<f64>) -> String {
    let mut text = String::from(
        "One point per trial and cycle, adjusted by the control where there is one, with its interval. Solid line: as before.",
    );
    if let Some(limit) = limit {
        text.push_str(&format!(" Dashed line: the margin, {}.", ratio(limit)));
    }
    if let (Some(tau), Some(p)) = (facts.trend_tau, facts.trend_p) {
        text.push_str(&format!(
            " Trend over cycles: Kendall's tau {tau:.2}, p {} (Mann-Kendall).",
            probability(p)
        ));
    }
    text
}

fn description(ratios: &[&CycleRatio]) -> String {
    let last = ratios.iter().map(|c| c.cycle).max().unwrap_or(0);
    let mut text = String::from("Ratio after/baseline by cycle.");
    for cycle in 1..=last {
        let values = sorted(ratios.iter().filter(|c| c.cycle == cycle).map(|c| c.ratio));
        if let Some(middle) = median(&values) {
            text.push_str(&format!(" Cycle {cycle}: median {} of {}.", ratio(middle), values.len()));
        }
    }
    text
}
