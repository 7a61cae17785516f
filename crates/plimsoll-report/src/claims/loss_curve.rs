//! TCP's rate over the loss of a path, with the formulas fitted to it.

use plimsoll_model::experiment::claim::loss_curve::{LossCurveClaim, LossCurveDetails, LossPointReport};
use plotly::Trace;
use plotly::common::{DashType, Line};
use plotly::layout::AxisType;

use super::{Judged, Shown};
use crate::chart::{self, CONTROL, Drawing, Figure, Plot, SOFT, axis, layout, measured};
use crate::number::figure;
use crate::section::{Row, Section, right};
use crate::wording;

impl Shown for LossCurveClaim {
    type Details = LossCurveDetails;
    const TITLE: &'static str = "Rate over loss";

    /// TCP's rate at each loss, and what the formulas make of it.
    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let curve = found.details;
        let columns = [right("loss %"), right("RTT ms"), right("Mbit/s"), right("Mathis"), right("Padhye")];
        let mega = |rate: Option<f64>| rate.map_or_else(String::new, |rate| figure(rate / 1e6));
        let rows = curve.points.iter().map(|point| {
            Row::of([
                figure(100.0 * point.loss),
                figure(point.rtt_ms),
                mega(Some(point.bits_per_second)),
                mega(point.mathis),
                mega(point.padhye),
            ])
        });
        Some(Section::new(title(curve)).chart(chart(found.number, curve)).table(columns, rows))
    }
}

fn title(curve: &LossCurveDetails) -> String {
    wording::titled(&format!("Rate over loss, {}", curve.phase), &curve.cell)
}

const HEIGHT: usize = 420;

const CAPTION: &str = "Loss: the share of segments at which the sender noticed a loss (fast recoveries and timeouts). Both scales are \
logarithmic, so that Mathis' formula is a straight line that falls by one half of a decade in each decade. Solid: Mathis. Dashed: Padhye, with \
timeouts. Each fitted by one factor.";

/// The chart of one curve.
fn chart(number: usize, curve: &LossCurveDetails) -> Figure {
    let mut traces = vec![
        line(curve, "Mathis", CONTROL, DashType::Solid, |point| point.mathis),
        line(curve, "Padhye", SOFT, DashType::Dash, |point| point.padhye),
    ];
    traces.push(points(curve));
    let layout = layout(HEIGHT)
        .x_axis(axis("loss events per 100 segments").type_(AxisType::Log))
        .y_axis(axis("Mbit/s").type_(AxisType::Log));
    Figure {
        id: format!("loss-curve-{number}"),
        title: title(curve),
        description: description(curve),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    }
}

fn line(
    curve: &LossCurveDetails,
    name: &str,
    color: &'static str,
    dash: DashType,
    rate: fn(&LossPointReport) -> Option<f64>,
) -> Box<dyn Trace> {
    let points = curve.points.iter().filter_map(|point| Some((100.0 * point.loss, rate(point)? / 1e6)));
    chart::curve(name, points, Line::new().color(color).width(1.5).dash(dash))
}

fn points(curve: &LossCurveDetails) -> Box<dyn Trace> {
    measured(
        curve
            .points
            .iter()
            .map(|point| (100.0 * point.loss, point.bits_per_second / 1e6, point_in_words(point))),
    )
}

fn point_in_words(point: &LossPointReport) -> String {
    format!(
        "{} Mbit/s at {} % loss and {} ms",
        figure(point.bits_per_second / 1e6),
        figure(100.0 * point.loss),
        figure(point.rtt_ms)
    )
}

fn description(curve: &LossCurveDetails) -> String {
    let mut text = String::from("The rate of TCP over the loss of the path.");
    for point in &curve.points {
        text.push_str(&format!(" {}.", point_in_words(point)));
    }
    text
}
