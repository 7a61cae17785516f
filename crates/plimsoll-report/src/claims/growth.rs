//! The time of messaging over the number of workers, with the growth fitted to it.

use plimsoll_model::experiment::claim::growth::{GrowthClaim, GrowthDetails, GrowthPointReport};
use plotly::Trace;
use plotly::common::Line;
use plotly::layout::AxisType;

use super::{Judged, Shown};
use crate::chart::{CONTROL, Drawing, Figure, Plot, axis, curve, layout, measured, plain_whiskers};
use crate::number::{count, figure};
use crate::section::{Row, Section, columns};
use crate::wording;

impl Shown for GrowthClaim {
    type Details = GrowthDetails;
    const TITLE: &'static str = "Time over workers";

    /// The time by the number of workers, and what they need.
    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let growth = found.details;
        let columns = columns![
            right "workers", right "trials", right "ms", right "least ms", right "most ms",
            right "memory MB",
        ];
        let rows = growth.points.iter().map(|point| {
            Row::of([
                count(point.workers),
                count(point.trials as u64),
                figure(point.ms),
                figure(point.least_ms),
                figure(point.most_ms),
                point.memory_bytes.map_or_else(String::new, |bytes| figure(bytes / 1e6)),
            ])
        });
        let needed = growth.bytes_per_worker.map(|bytes| {
            format!("Each further worker needs {} KB, of its own and of the kernel's.", figure(bytes / 1e3))
        });
        Some(
            Section::new(title(growth))
                .chart(chart(found.number, growth))
                .table(columns, rows)
                .say_all(needed),
        )
    }
}

fn title(growth: &GrowthDetails) -> String {
    wording::titled(&format!("Time over workers, {}", growth.phase), &growth.cell)
}

const HEIGHT: usize = 420;

const CAPTION: &str = "The time of a round, from the start signal until the last worker has ended: medians over trials, with the least and the \
most. Both scales are logarithmic: what is linear rises by a decade in each decade, what is constant is level. The line is the simplest kind of \
growth that the points support.";

/// The chart of one curve.
fn chart(number: usize, growth: &GrowthDetails) -> Figure {
    let layout = layout(HEIGHT)
        .x_axis(axis("workers").type_(AxisType::Log))
        .y_axis(axis("ms for a round").type_(AxisType::Log));
    Figure {
        id: format!("growth-{number}"),
        title: title(growth),
        description: description(growth),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(vec![line(growth), points(growth)], layout)),
    }
}

fn line(growth: &GrowthDetails) -> Box<dyn Trace> {
    let points = growth.curve.iter().map(|[workers, ms]| (*workers, *ms));
    curve(growth.kind.as_deref().unwrap_or("fitted"), points, Line::new().color(CONTROL).width(1.5))
}

fn points(growth: &GrowthDetails) -> Box<dyn Trace> {
    let reach: Vec<_> = growth.points.iter().map(|it| (it.ms - it.least_ms, it.most_ms - it.ms)).collect();
    let points = growth.points.iter().map(|point| (point.workers as f64, point.ms, point_in_words(point)));
    measured(points).error_y(plain_whiskers(&reach))
}

fn point_in_words(point: &GrowthPointReport) -> String {
    format!(
        "{} workers: {} ms ({} to {} in {} trials)",
        point.workers,
        figure(point.ms),
        figure(point.least_ms),
        figure(point.most_ms),
        point.trials
    )
}

fn description(growth: &GrowthDetails) -> String {
    let mut text = String::from("The time of a round over the number of workers.");
    for point in &growth.points {
        text.push_str(&format!(" {}.", point_in_words(point)));
    }
    if let Some(kind) = &growth.kind {
        text.push_str(&format!(" Growth: {kind}."));
    }
    text
}
