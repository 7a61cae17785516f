//! A load that goes up and down in steps: answers and their times over the offered load, both ways.

use plimsoll_model::report::StepReport;
use plotly::Trace;
use plotly::common::{DashType, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, RangeMode};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, hovered, layout};
use crate::number::figure;
use crate::steps::{Stepped, step_millis};
use crate::wording;

const HEIGHT: usize = 400;

const ANSWERED: &str = "Solid: on the way up. Dashed: on the way down. Where the dashed line lies lower at the same offered load, \
something is left of the overload. Over several trials: medians.";
const TIMES: &str = "Time from when a request was due to the end of its answer. Circle: half of the requests are faster (p50). Square: \
99 % (p99). The scale is logarithmic. Solid: on the way up. Dashed: on the way down.";

/// A way through the steps, and how it is drawn.
struct StepPath<'a> {
    name: &'static str,
    color: &'static str,
    dash: DashType,
    steps: &'a [StepReport],
}

fn ways(stepped: &Stepped) -> [StepPath<'_>; 2] {
    let (up, down) = stepped.ways();
    [
        StepPath { name: "up", color: CONTROL, dash: DashType::Solid, steps: up },
        StepPath { name: "down", color: TREATMENT, dash: DashType::Dash, steps: down },
    ]
}

/// The two charts of one phase.
pub(in crate::html) fn charts(number: usize, stepped: &Stepped) -> [Figure; 2] {
    let place = |what: &str| wording::titled(&format!("{what}, {}", stepped.phase), &stepped.cell);
    let both = ways(stepped);
    let answered = both.iter().map(|way| line(way, "answered/s", MarkerSymbol::Circle, answered));
    let offered = axis("offered requests per second").range_mode(RangeMode::ToZero);
    let per_second = axis("answered requests per second").range_mode(RangeMode::ToZero);
    let times: Vec<_> = both
        .iter()
        .flat_map(|way| {
            [
                line(way, "p50 ms", MarkerSymbol::Circle, median),
                line(way, "p99 ms", MarkerSymbol::Square, p99),
            ]
        })
        .collect();
    let description = description(stepped);
    let figure = |id: &str, title: &str, caption: &str, traces, y| Figure {
        id: format!("{id}-{number}"),
        title: place(title),
        description: description.clone(),
        caption: caption.into(),
        drawing: Drawing::One(Plot::new(traces, layout(HEIGHT).x_axis(offered.clone()).y_axis(y))),
    };
    [
        figure("steps-answered", "Answered over offered load", ANSWERED, answered.collect(), per_second),
        figure(
            "steps-time",
            "Request time over offered load",
            TIMES,
            times,
            axis("request time, ms").type_(AxisType::Log),
        ),
    ]
}

fn answered(step: &StepReport) -> Option<f64> {
    Some(step.answered_per_second)
}

fn median(step: &StepReport) -> Option<f64> {
    step.latency_us.map(|times| times.p50 as f64 / 1e3)
}

fn p99(step: &StepReport) -> Option<f64> {
    step.latency_us.map(|times| times.p99 as f64 / 1e3)
}

/// A line through the steps of a way; a step without the figure is left out.
fn line(
    way: &StepPath<'_>,
    what: &str,
    symbol: MarkerSymbol,
    value: fn(&StepReport) -> Option<f64>,
) -> Box<dyn Trace> {
    let point = |step: &StepReport| {
        let (offered, value) = (step.offered_per_second, value(step)?);
        let [at, reached] = [offered, value].map(figure);
        Some((drawn(offered), value, format!("{} at {at} offered per second: {reached} {what}", way.name)))
    };
    hovered(way.steps.iter().filter_map(point))
        .name(format!("{}, {what}", way.name))
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(way.color).width(1.5).dash(way.dash.clone()))
        .marker(Marker::new().color(way.color).symbol(symbol).size(8))
}

fn description(stepped: &Stepped) -> String {
    let mut text = String::from(
        "What was answered at each step of the offered load, on the way up and on the way down.",
    );
    for way in ways(stepped) {
        for step in way.steps {
            text.push_str(&format!(
                " {} at {}: {} per second, p50 {} ms, p99 {} ms.",
                way.name,
                figure(step.offered_per_second),
                figure(step.answered_per_second),
                step_millis(step, |times| times.p50),
                step_millis(step, |times| times.p99)
            ));
        }
    }
    text
}
