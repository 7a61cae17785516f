//! Named stretches of the horizontal axis: phases over time, cycles over places.

use plotly::Layout;
use plotly::common::{Anchor, DashType, Font};
use plotly::layout::{Annotation, Margin, Shape, ShapeLine, ShapeType};

use super::{SOFT, shortened};
use crate::chart::{band, upright};
use crate::escape::chart;
use crate::html::spans::{Moment, Shade, Span};

/// The axis of the narrowest page, in pixels.
const NARROWEST: f64 = 330.0;
/// A character of a name at its size, in pixels; a little more than it takes.
const CHARACTER: f64 = 5.2;
/// A line of names, in pixels.
const LINE: f64 = 16.0;
/// The legend's line, in pixels.
const LEGEND: f64 = 28.0;
/// Height of the axis below a plot, in pixels.
const AXIS: f64 = 52.0;
/// The longest name, in characters.
const NAME_LENGTH: usize = 20;

/// A layout of this height in which the stretches of an axis from `start` to `end` are shaded, and named above the plot: level
/// where every name has room in the narrowest page, else upright. The page's script leaves out names that would touch.
pub(in crate::html) fn layout(height: usize, spans: &[Span], (start, end): (f64, f64)) -> Layout {
    let width = |name: &str| name.chars().count() as f64 * CHARACTER;
    let fits = |s: &Span| width(&s.name) <= (s.end - s.start) / (end - start) * NARROWEST;
    let level = spans.iter().all(fits);
    let names: Vec<String> = spans.iter().map(|s| shortened(&s.name, NAME_LENGTH)).collect();
    let above = if level { LINE } else { names.iter().map(|n| width(n)).fold(0.0, f64::max) + 8.0 };
    let plot = (height as f64 - above - LEGEND - AXIS).max(80.0);
    let mut layout = super::layout(height)
        .margin(Margin::new().left(16).right(16).top((above + LEGEND) as usize).bottom(16))
        .legend(super::legend().y(1.0 + (above + 4.0) / plot));
    for (span, text) in spans.iter().zip(&names) {
        if let Some(fill) = fill(span.shade) {
            layout.add_shape(band(fill).x0(span.start).x1(span.end));
        }
        layout.add_annotation(name(span, text, level));
    }
    layout
}

/// Draws moments into a layout: an upright line for each, with its name beside it.
pub(in crate::html) fn with_moments(mut layout: Layout, moments: &[Moment]) -> Layout {
    for moment in moments {
        layout.add_shape(line(moment));
        layout.add_annotation(label(moment));
    }
    layout
}

fn line(moment: &Moment) -> Shape {
    upright()
        .shape_type(ShapeType::Line)
        .x0(moment.at)
        .x1(moment.at)
        .line(ShapeLine::new().width(1.5).color("var(--ink)").dash(DashType::Dot))
}

fn label(moment: &Moment) -> Annotation {
    Annotation::new()
        .text(chart(&shortened(&moment.name, NAME_LENGTH)))
        .x_ref("x")
        .y_ref("paper")
        .x(moment.at)
        .x_anchor(Anchor::Right)
        .y(0.98)
        .y_anchor(Anchor::Top)
        .text_angle(-90.0)
        .show_arrow(false)
        .font(Font::new().size(10).color("var(--ink)"))
}

fn fill(shade: Shade) -> Option<&'static str> {
    match shade {
        Shade::None => None,
        Shade::Plain => Some("var(--band)"),
        Shade::Flood => Some("var(--band-flood)"),
    }
}

fn name(span: &Span, text: &str, level: bool) -> Annotation {
    Annotation::new()
        .text(chart(text))
        .x_ref("x")
        .y_ref("paper")
        .x(f64::midpoint(span.start, span.end))
        .y(1.0)
        .y_anchor(Anchor::Bottom)
        .text_angle(if level { 0.0 } else { -90.0 })
        .show_arrow(false)
        .font(Font::new().size(10).color(SOFT))
}
