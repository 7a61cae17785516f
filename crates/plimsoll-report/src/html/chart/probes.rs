//! The probes of a search for a limit: the rate that was offered against the time within which the wanted share was answered.

use plimsoll_model::report::{ProbeFinding, ProbeReport, SearchReport};
use plimsoll_model::verdict::Verdict;
use plotly::common::{DashType, HoverInfo, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, layout};
use crate::number::figure;
use crate::search;

const HEIGHT: usize = 400;

/// The chart; absent where no probe was made.
pub(in crate::html) fn chart(number: usize, found: &SearchReport, verdict: &Verdict) -> Option<Figure> {
    let slowest = found.probes.iter().filter_map(|probe| probe.took_ms).fold(found.at_most_ms, f64::max);
    // What was never answered is drawn above everything that was.
    let ceiling = slowest * 2.0;
    let findings = [
        (ProbeFinding::Held, "held", CONTROL, MarkerSymbol::Circle),
        (ProbeFinding::Broken, "broken", TREATMENT, MarkerSymbol::X),
        (ProbeFinding::NotOffered, "not offered", SOFT, MarkerSymbol::CircleOpen),
    ];
    let traces: Vec<_> = findings
        .into_iter()
        .filter_map(|(finding, name, color, symbol)| {
            let probes: Vec<&ProbeReport> = found.probes.iter().filter(|p| p.finding == finding).collect();
            (!probes.is_empty()).then(|| points(&probes, name, color, symbol, ceiling))
        })
        .collect();
    let layout = layout(HEIGHT)
        .x_axis(axis("offered requests per second").type_(AxisType::Log))
        .y_axis(axis("time within which the share was answered, ms").type_(AxisType::Log))
        .shapes(marks(found, verdict));
    (!found.probes.is_empty()).then(|| Figure {
        id: format!("search-{number}"),
        title: search::title(found),
        description: description(found),
        caption: format!(
            "One point for each probe. {} Dashed line: the bound. Shaded: the interval of the limit. Probes at the upper edge had too \
             many failures to have such a time. Both scales are logarithmic. {}",
            search::how_to_read(found),
            search::prediction(found, Some(verdict)).unwrap_or_default()
        ),
        height: HEIGHT,
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}

fn points(
    probes: &[&ProbeReport],
    name: &'static str,
    color: &'static str,
    symbol: MarkerSymbol,
    ceiling: f64,
) -> Box<dyn Trace> {
    let text = probes.iter().map(|probe| {
        let in_time = figure((probe.in_time * 1e3).round() / 10.0);
        format!("trial {}: {}/s {name}, {in_time} % in time", probe.trial, figure(probe.offered_per_second))
    });
    let xs = probes.iter().map(|probe| drawn(probe.offered_per_second)).collect();
    let ys = probes.iter().map(|probe| drawn(probe.took_ms.unwrap_or(ceiling).max(1e-3))).collect();
    Scatter::new(xs, ys)
        .name(name)
        .mode(Mode::Markers)
        .marker(Marker::new().color(color).symbol(symbol).size(9))
        .hover_text_array(text.collect())
        .hover_info(HoverInfo::Text)
}

/// The bound, and the interval of the limit as far as it is closed.
fn marks(found: &SearchReport, verdict: &Verdict) -> Vec<Shape> {
    let bound = Shape::new()
        .shape_type(ShapeType::Line)
        .x_ref("paper")
        .x0(0.0)
        .x1(1.0)
        .y0(found.at_most_ms)
        .y1(found.at_most_ms)
        .line(ShapeLine::new().color("var(--open)").width(1.5).dash(DashType::Dash));
    let rates = found.probes.iter().map(|probe| probe.offered_per_second);
    let (least, most) = rates.fold((f64::INFINITY, 0.0), |(lo, hi), rate| (rate.min(lo), rate.max(hi)));
    let interval = verdict.interval.map(|interval| {
        Shape::new()
            .shape_type(ShapeType::Rect)
            .layer(ShapeLayer::Below)
            .y_ref("paper")
            .x0(drawn(interval.lo().max(least)))
            .x1(drawn(interval.hi().min(most)))
            .y0(0.0)
            .y1(1.0)
            .fill_color("var(--grid)")
            .line(ShapeLine::new().width(0.0))
    });
    interval.into_iter().chain([bound]).collect()
}

fn description(found: &SearchReport) -> String {
    let mut text = String::from("What probes at rising rates found.");
    for band in search::bands(found) {
        text.push_str(&format!(
            " At {} per second: {} held, {} broken.",
            band.rates(),
            band.held,
            band.broken
        ));
    }
    text
}
