//! The loss of datagrams over the rate that was offered.

use plimsoll_model::experiment::claim::knee::{KneeClaim, KneeDetails, KneePointReport};
use plotly::Trace;
use plotly::common::Line;
use plotly::layout::RangeMode;

use super::{Judged, Shown};
use crate::chart::{CONTROL, Drawing, Figure, Plot, SOFT, axis, curve, layout, measured};
use crate::number::{figure, percent};
use crate::section::{Row, Section, right};
use crate::wording;

impl Shown for KneeClaim {
    type Details = KneeDetails;
    const TITLE: &'static str = "Loss over rate";

    /// The loss of datagrams at each rate.
    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let knee = found.details;
        let columns = [right("offered Mbit/s"), right("arrived Mbit/s"), right("lost %")];
        let rows = knee.points.iter().map(|point| {
            Row::of([
                figure(point.offered_bits_per_second / 1e6),
                figure(point.arrived_bits_per_second / 1e6),
                percent(point.loss),
            ])
        });
        Some(Section::new(title(knee)).chart(chart(found.number, knee)).table(columns, rows))
    }
}

fn title(knee: &KneeDetails) -> String {
    wording::titled(&format!("Loss over rate, {}", knee.phase), &knee.cell)
}

const HEIGHT: usize = 400;

const CAPTION: &str = "Bits of datagrams, without headers. Solid: what a link loses that carries the rate of the knee and no more. Grey: the interval \
of the knee.";

/// The chart of one curve.
fn chart(number: usize, knee: &KneeDetails) -> Figure {
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    if let Some(interval) = knee.interval {
        traces.push(line("interval", SOFT, &[(interval.lo(), 0.0), (interval.hi(), 0.0)], 8.0));
    }
    let curve: Vec<(f64, f64)> = knee.curve.iter().map(|[offered, lost]| (*offered, *lost)).collect();
    traces.push(line("one full link", CONTROL, &curve, 1.5));
    traces.push(points(knee));
    let layout = layout(HEIGHT)
        .x_axis(axis("offered Mbit/s").range_mode(RangeMode::ToZero))
        .y_axis(axis("lost, %").range_mode(RangeMode::ToZero));
    Figure {
        id: format!("knee-{number}"),
        title: title(knee),
        description: description(knee),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    }
}

/// A line through pairs of offered bit/s and lost share.
fn line(name: &str, color: &'static str, points: &[(f64, f64)], width: f64) -> Box<dyn Trace> {
    let points = points.iter().map(|(offered, lost)| (offered / 1e6, 100.0 * lost));
    curve(name, points, Line::new().color(color).width(width))
}

fn points(knee: &KneeDetails) -> Box<dyn Trace> {
    measured(
        knee.points
            .iter()
            .map(|point| (point.offered_bits_per_second / 1e6, 100.0 * point.loss, point_in_words(point))),
    )
}

fn point_in_words(point: &KneePointReport) -> String {
    format!("{} % lost at {} Mbit/s", percent(point.loss), figure(point.offered_bits_per_second / 1e6))
}

fn description(knee: &KneeDetails) -> String {
    let mut text = String::from("The share of datagrams that is lost, over the rate that is offered.");
    for point in &knee.points {
        text.push_str(&format!(" {}.", point_in_words(point)));
    }
    text
}
