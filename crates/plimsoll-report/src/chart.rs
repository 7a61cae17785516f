//! Common parts of all charts.
//!
//! A [`Figure`] is what makes a chart: an id, a title, a description for those who do not see it, a caption, and what Plotly
//! draws. [`Figure::markup`] puts it into a page; the page's script draws it. Colours are the style sheet's variables
//! (`"var(--treatment)"`), which the script resolves, so that one figure serves light, dark and paper.

pub(crate) mod thinned;

use maud::{Markup, PreEscaped, html};
use plimsoll_model::verdict::Interval;
use plotly::common::{
    Anchor, DashType, ErrorData, ErrorType, Font, HoverInfo, Label, Line, Marker, MarkerSymbol, Mode,
    Orientation, Title,
};
use plotly::layout::{
    Axis, AxisType, HoverMode, Legend, Margin, ModeBar, Shape, ShapeLayer, ShapeLine, ShapeType,
};
use plotly::{Layout, Scatter};
use serde_json::Value;

use crate::escape::{chart, json_in_script};
use crate::number::median_interval;

/// The rig that goes through the flood.
pub(crate) const TREATMENT: &str = "var(--treatment)";
/// The rig that is spared it.
pub(crate) const CONTROL: &str = "var(--control)";
/// Text beside what is measured.
pub(crate) const SOFT: &str = "var(--soft)";

/// How lines look that share a chart.
pub(crate) const LOOKS: [(&str, DashType, MarkerSymbol); 6] = [
    (TREATMENT, DashType::Solid, MarkerSymbol::Circle),
    (CONTROL, DashType::Dash, MarkerSymbol::Square),
    ("var(--iowait)", DashType::Dot, MarkerSymbol::Diamond),
    ("var(--softirq)", DashType::DashDot, MarkerSymbol::TriangleUp),
    ("var(--system)", DashType::LongDash, MarkerSymbol::Cross),
    ("var(--steal)", DashType::LongDashDot, MarkerSymbol::X),
];

/// How curves of several models look, the best model first.
pub(crate) const BEST_FIRST: [(&str, DashType); 3] =
    [(CONTROL, DashType::Solid), (SOFT, DashType::Dash), (SOFT, DashType::Dot)];

/// A chart with all that belongs to it.
pub(crate) struct Figure {
    /// The anchor: unique in the page, letters, digits and dashes.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Description, with its main figures, for readers who do not see it.
    pub(crate) description: String,
    /// How to read it, and what was done to the data before drawing.
    pub(crate) caption: String,
    pub(crate) drawing: Drawing,
}

/// Plotly's input.
pub(crate) enum Drawing {
    /// One drawing.
    One(Plot),
    /// One drawing for each entry of the selector with this id, with the value of its entry.
    Picked { picker: &'static str, plots: Vec<(String, Plot)> },
}

/// Traces and layout, as Plotly's JSON.
pub(crate) struct Plot(Value);

impl Plot {
    pub(crate) fn new(traces: Vec<Box<dyn plotly::Trace>>, layout: Layout) -> Self {
        let mut plot = plotly::Plot::new();
        plot.add_traces(traces);
        plot.set_layout(layout);
        let mut json = serde_json::to_value(&plot).unwrap_or_default();
        let mut part = |name: &str| json.get_mut(name).map(Value::take).unwrap_or_default();
        let (data, layout) = (part("data"), part("layout"));
        Self(serde_json::json!({ "data": data, "layout": layout }))
    }

    /// In pixels.
    fn height(&self) -> &Value {
        &self.0["layout"]["height"]
    }

    #[cfg(test)]
    pub(crate) fn json(&self) -> &Value {
        &self.0
    }

    fn script(&self, id: &str) -> Markup {
        html! {
            script type="application/json" id=(id) { (PreEscaped(json_in_script(&self.0.to_string()))) }
        }
    }
}

impl Figure {
    /// The chart's elements and its data.
    pub(crate) fn markup(&self) -> Markup {
        let data = format!("{}-data", self.id);
        let (picker, plot) = match &self.drawing {
            Drawing::One(plot) => (None, Some(plot)),
            Drawing::Picked { picker, plots } => (Some(*picker), plots.first().map(|(_, plot)| plot)),
        };
        let style = plot.map(|plot| format!("height:{}px", plot.height()));
        html! {
            figure id=(self.id) {
                h3 { (self.title) }
                div .chart role="img" aria-label=(self.description) data-figure=(data) data-picker=[picker] style=[style] {}
                figcaption { (self.caption) }
                @match &self.drawing {
                    Drawing::One(plot) => (plot.script(&data)),
                    Drawing::Picked { plots, .. } => {
                        @for (value, plot) in plots { (plot.script(&format!("{data}-{value}"))) }
                    }
                }
            }
        }
    }
}

/// The layout that all charts begin with.
pub(crate) fn layout(height: usize) -> Layout {
    let font =
        Font::new().family("system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif").size(13);
    Layout::new()
        .height(height)
        .auto_size(false)
        .font(font.color("var(--ink)"))
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .margin(Margin::new().left(16).right(16).top(36).bottom(16))
        .hover_label(Label::new().background_color("var(--paper)").border_color("var(--line)"))
        .hover_mode(HoverMode::Closest)
        .mode_bar(ModeBar::new().background_color("rgba(0,0,0,0)").color(SOFT).active_color("var(--ink)"))
        .legend(legend())
}

/// The legend that all charts begin with: a line above the plot.
pub(crate) fn legend() -> Legend {
    Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .x_anchor(Anchor::Left)
        .y(1.02)
        .y_anchor(Anchor::Bottom)
        .background_color("rgba(0,0,0,0)")
}

/// The start of a text that is longer than `length` characters.
pub(crate) fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.into();
    }
    text.chars().take(length - 1).chain(std::iter::once('…')).collect()
}

/// The axis that all charts begin with.
pub(crate) fn axis(title: &str) -> Axis {
    let axis = Axis::new()
        .auto_margin(true)
        .grid_color("var(--grid)")
        .line_color("var(--line)")
        .zero_line_color("var(--line)")
        .tick_color("var(--line)");
    if title.is_empty() {
        axis
    } else {
        axis.title(Title::with_text(chart(title)).font(Font::new().size(12).color(SOFT)))
    }
}

/// Whiskers of points: how far each reaches below and above its point.
pub(crate) fn whiskers(reach: &[(f64, f64)], color: &'static str) -> ErrorData {
    plain_whiskers(reach).thickness(1.5).width(4).color(color)
}

/// Whiskers as Plotly draws them, in the colour of their points.
pub(crate) fn plain_whiskers(reach: &[(f64, f64)]) -> ErrorData {
    ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(reach.iter().map(|it| drawn(it.1)).collect())
        .array_minus(reach.iter().map(|it| drawn(it.0)).collect())
}

/// How far an interval reaches below and above its point; nowhere where there is none.
pub(crate) fn within(point: f64, interval: Option<Interval>) -> (f64, f64) {
    interval.map_or((0.0, 0.0), |it| ((point - it.lo()).max(0.0), (it.hi() - point).max(0.0)))
}

/// A shape over the whole height of a plot.
pub(crate) fn upright() -> Shape {
    Shape::new().x_ref("x").y_ref("paper").y0(0.0).y1(1.0)
}

/// A shaded stretch below what is drawn.
pub(crate) fn band(color: &'static str) -> Shape {
    upright()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .fill_color(color)
        .line(ShapeLine::new().width(0.0))
}

/// How far the interval of the median of these values (in rising order) reaches below and above a point.
pub(crate) fn reach(point: f64, sorted: &[f64]) -> (f64, f64) {
    within(point, median_interval(sorted).map(|(lo, hi)| Interval(lo, hi)))
}

/// A line that is drawn beside what is measured, such as a model.
pub(crate) fn curve(
    name: &str,
    points: impl IntoIterator<Item = (f64, f64)>,
    line: Line,
) -> Box<Scatter<f64, f64>> {
    let (xs, ys) = points.into_iter().map(|(x, y)| (drawn(x), drawn(y))).unzip();
    Scatter::new(xs, ys).name(name).mode(Mode::Lines).line(line).hover_info(HoverInfo::Skip)
}

/// Measured points, each with its text.
pub(crate) fn measured(points: impl IntoIterator<Item = (f64, f64, String)>) -> Box<Scatter<f64, f64>> {
    hovered(points.into_iter().map(|(x, y, text)| (drawn(x), y, text)))
        .name("measured")
        .mode(Mode::Markers)
        .marker(Marker::new().color(TREATMENT).size(9))
}

/// Points, each with the text that a pointer shows.
pub(crate) fn hovered(points: impl IntoIterator<Item = (f64, f64, String)>) -> Box<Scatter<f64, f64>> {
    let (xs, ys, texts): (Vec<_>, Vec<_>, Vec<_>) =
        points.into_iter().map(|(x, y, text)| (x, drawn(y), text)).collect();
    Scatter::new(xs, ys).hover_text_array(texts).hover_info(HoverInfo::Text)
}

/// A value with no more digits than a screen can show: four significant ones. Drawn data is most of a page's size.
pub(crate) fn drawn(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = 3 - value.abs().log10().floor() as i32;
    // Dividing by a whole power of ten gives the float with the shortest text; multiplying by its inverse does not.
    let rounded = if places >= 0 {
        let scale = 10_f64.powi(places);
        (value * scale).round() / scale
    } else {
        let scale = 10_f64.powi(-places);
        (value / scale).round() * scale
    };
    if rounded.is_finite() { rounded } else { value }
}

/// A moment (seconds since 1970) as Plotly reads dates: it has no zones, and takes them as they are.
pub(crate) fn date(unix_s: u64) -> String {
    let at = i64::try_from(unix_s).ok().and_then(|s| chrono::DateTime::from_timestamp(s, 0));
    at.map_or_else(String::new, |at| at.format("%Y-%m-%d %H:%M:%S").to_string())
}

/// An axis of dates (seconds since 1970) with some room at both ends, also where there is but one.
pub(crate) fn dates(first_unix_s: u64, last_unix_s: u64) -> Axis {
    const OF_ONE: u64 = 3600;
    let length = last_unix_s.saturating_sub(first_unix_s);
    let room = if length == 0 { OF_ONE } else { length.div_ceil(30) };
    let ends = [first_unix_s.saturating_sub(room), last_unix_s.saturating_add(room)];
    axis("").type_(AxisType::Date).range(ends.map(date).to_vec())
}

/// A moment in seconds, to the millisecond.
pub(crate) fn drawn_s(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_values_keep_four_digits() {
        assert_eq!(drawn(0.123_456_789), 0.1235);
        assert_eq!(drawn(2030.449), 2030.0);
        assert_eq!(drawn(1_234_567.0), 1_235_000.0);
        assert_eq!(drawn(0.0), 0.0);
        assert!(drawn(f64::NAN).is_nan());
        assert_eq!(drawn(1e-320), 1e-320, "too small to scale");
    }
}
