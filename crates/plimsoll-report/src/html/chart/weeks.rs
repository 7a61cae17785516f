//! A figure of a machine over time: its mean, and how far single seconds went.

use plotly::common::{Fill, HoverInfo, Line, Mode};
use plotly::layout::{HoverMode, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, layout};
use crate::chart::{date, dates, upright};
use crate::number::moment;
use crate::weeks::amount;

const HEIGHT: usize = 240;

/// Values in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When it begins, in seconds since 1970 (UTC).
    pub at_unix_s: u64,
    /// The mean.
    pub mean: f64,
    /// The least value of a second in it.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

/// The chart of a series; absent where nothing was measured. `marks` are moments at which something changed.
pub(in crate::html) fn chart(
    id: String,
    name: &str,
    unit: &str,
    points: &[Point],
    marks: &[u64],
) -> Option<Figure> {
    let (first, last) = points.first().zip(points.last())?;
    // Shares are read as per cent.
    let scale = if unit == "share" { 100.0 } else { 1.0 };
    let of = |value: fn(&Point) -> f64| -> Vec<f64> {
        points.iter().map(|point| drawn(scale * value(point))).collect()
    };
    let at: Vec<String> = points.iter().map(|point| date(point.at_unix_s)).collect();
    let edge = |values: Vec<f64>| {
        let line = Line::new().color(CONTROL).width(0.0);
        Scatter::new(at.clone(), values).mode(Mode::Lines).line(line).hover_info(HoverInfo::Skip)
    };
    let texts = points.iter().map(|point| {
        let [mean, least, greatest] =
            [point.mean, point.least, point.greatest].map(|value| amount(value, unit));
        format!("{}: {mean} ({least} to {greatest})", moment(point.at_unix_s))
    });
    let mean = Scatter::new(at.clone(), of(|point| point.mean))
        // One point alone makes no line.
        .mode(if points.len() == 1 { Mode::Markers } else { Mode::Lines })
        .line(Line::new().color(CONTROL).width(1.5))
        .hover_text_array(texts.collect())
        .hover_info(HoverInfo::Text);
    let traces: Vec<Box<dyn Trace>> = vec![
        edge(of(|point| point.least)),
        edge(of(|point| point.greatest)).fill(Fill::ToNextY).fill_color("var(--band)"),
        mean,
    ];
    let shapes = marks.iter().filter(|at| (first.at_unix_s..=last.at_unix_s).contains(at)).map(|at| {
        upright()
            .shape_type(ShapeType::Line)
            .layer(ShapeLayer::Above)
            .x0(date(*at))
            .x1(date(*at))
            .line(ShapeLine::new().color(TREATMENT).width(2.0))
    });
    let title = if unit == "share" { "%" } else { unit };
    let layout = layout(HEIGHT)
        .show_legend(false)
        .hover_mode(HoverMode::X)
        .x_axis(dates(first.at_unix_s, last.at_unix_s))
        .y_axis(axis(title))
        .shapes(shapes.collect());
    Some(Figure {
        id,
        title: name.to_owned(),
        description: format!(
            "{name} from {} to {}, in {} stretches; the last is {}.",
            moment(first.at_unix_s),
            moment(last.at_unix_s),
            points.len(),
            amount(last.mean, unit)
        ),
        caption: String::new(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}
