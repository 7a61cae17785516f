//! Named stretches of the horizontal axis: phases over time, cycles over places.

use plotly::Layout;
use plotly::common::{Anchor, Font};
use plotly::layout::{Annotation, Shape, ShapeLayer, ShapeLine, ShapeType};

use super::SOFT;
use crate::escape::chart;

/// A stretch that is shaded and named.
pub(in crate::html) struct Span {
    pub(in crate::html) name: String,
    pub(in crate::html) start: f64,
    pub(in crate::html) end: f64,
    pub(in crate::html) shade: Shade,
}

/// How a stretch is shaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::html) enum Shade {
    /// Not at all.
    None,
    /// To tell it from its neighbours.
    Plain,
    /// Under the flood.
    Flood,
}

/// The least share of the axis that has room for a level name; narrower stretches have theirs turned upright.
const ROOM_FOR_LEVEL: f64 = 0.12;
/// The least share of the axis that has room for an upright name; narrower stretches go without.
const ROOM_FOR_UPRIGHT: f64 = 0.018;

/// Shades and names the stretches of an axis from `start` to `end`.
pub(in crate::html) fn draw(mut layout: Layout, spans: &[Span], (start, end): (f64, f64)) -> Layout {
    let length = end - start;
    let narrowest = spans.iter().map(|s| s.end - s.start).fold(f64::INFINITY, f64::min) / length;
    // All names of a chart are written the same way.
    let upright = narrowest < ROOM_FOR_LEVEL;
    for span in spans {
        if let Some(fill) = fill(span.shade) {
            layout.add_shape(rectangle(span, fill));
        }
        if (span.end - span.start) / length >= ROOM_FOR_UPRIGHT {
            layout.add_annotation(name(span, upright));
        }
    }
    layout
}

fn fill(shade: Shade) -> Option<&'static str> {
    match shade {
        Shade::None => None,
        Shade::Plain => Some("var(--band)"),
        Shade::Flood => Some("var(--band-flood)"),
    }
}

fn rectangle(span: &Span, fill: &'static str) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .y_ref("paper")
        .x0(span.start)
        .x1(span.end)
        .y0(0.0)
        .y1(1.0)
        .fill_color(fill)
        .line(ShapeLine::new().width(0.0))
}

fn name(span: &Span, upright: bool) -> Annotation {
    let annotation = Annotation::new()
        .text(chart(&span.name))
        .x_ref("x")
        .y_ref("paper")
        .x(f64::midpoint(span.start, span.end))
        .show_arrow(false)
        .font(Font::new().size(11).color(SOFT));
    if upright {
        annotation.y(0.99).y_anchor(Anchor::Top).text_angle(-90.0)
    } else {
        annotation.y(1.0).y_anchor(Anchor::Bottom)
    }
}
