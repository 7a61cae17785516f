//! Load over the CPU time that is used, with the curves of the queueing models.

use plimsoll_model::experiment::claim::load_curve::{LoadCurveClaim, LoadCurveDetails, LoadFit};
use plotly::Trace;
use plotly::common::{DashType, Line};
use plotly::layout::{AxisType, RangeMode};

use super::{Judged, Shown};
use crate::chart::{self, BEST_FIRST, Drawing, Figure, Plot, axis, layout, measured};
use crate::number::figure;
use crate::section::{Row, Section, right};
use crate::wording;

impl Shown for LoadCurveClaim {
    type Details = LoadCurveDetails;
    const TITLE: &'static str = "Load against CPU";

    /// The load of a host's CPUs at each step, and what each model makes of it.
    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let curve = found.details;
        let columns = [right("offered/s"), right("CPU %"), right("load"), right("best model")];
        let best = curve.fits.first();
        let rows = curve.points.iter().enumerate().map(|(n, point)| {
            let residual = best.and_then(|fit| fit.residuals.get(n)).copied();
            let modelled = residual.map(|residual| figure((point.load.ln_1p() - residual).exp_m1()));
            let measured = [point.offered_per_second, 100.0 * point.utilisation, point.load].map(figure);
            Row::of(measured.into_iter().chain([modelled.unwrap_or_default()]).collect::<Vec<_>>())
        });
        let fit = |fit: &LoadFit| format!("{} {} %", fit.model, figure(100.0 * fit.left_out_error));
        let errors: Vec<String> = curve.fits.iter().map(fit).collect();
        Some(
            Section::new(title(curve))
                .chart(chart(found.number, curve))
                .table(columns, rows)
                .say(format!("Error at points left out of the fit, of 1 + load: {}.", errors.join(", "))),
        )
    }
}

fn title(curve: &LoadCurveDetails) -> String {
    wording::titled(&format!("Load against CPU, {}", curve.phase), &curve.cell)
}

const HEIGHT: usize = 440;

const CAPTION: &str = "Load: tasks that run or wait for a CPU, sampled; the beginning of each step, in which the queue settles, is not \
counted. Solid: the model that describes the points best. The scale of the load is logarithmic: near 100 % a small change of CPU time is a \
large one of load.";

/// The chart of one cell.
fn chart(number: usize, curve: &LoadCurveDetails) -> Figure {
    let lines = curve.fits.iter().zip(BEST_FIRST).map(|(fit, (color, dash))| line(fit, color, dash));
    let traces = lines.chain([points(curve)]).collect();
    let layout = layout(HEIGHT)
        .x_axis(axis("CPU time used, %").range_mode(RangeMode::ToZero))
        .y_axis(axis("load").type_(AxisType::Log));
    Figure {
        id: format!("load-curve-{number}"),
        title: title(curve),
        description: description(curve),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    }
}

fn line(fit: &LoadFit, color: &'static str, dash: DashType) -> Box<dyn Trace> {
    // A load of 0 has no place on a logarithmic scale.
    let shown = fit.curve.iter().filter(|[_, load]| *load > 0.0);
    let points = shown.map(|[utilisation, load]| (100.0 * utilisation, *load));
    chart::curve(&fit.model, points, Line::new().color(color).width(1.5).dash(dash))
}

fn points(curve: &LoadCurveDetails) -> Box<dyn Trace> {
    measured(curve.points.iter().filter(|point| point.load > 0.0).map(|point| {
        let text = format!(
            "{} offered per second: {} % CPU, load {}",
            figure(point.offered_per_second),
            figure(100.0 * point.utilisation),
            figure(point.load)
        );
        (100.0 * point.utilisation, point.load, text)
    }))
}

fn description(curve: &LoadCurveDetails) -> String {
    let mut text = format!("The load of {} CPUs over the share of their time that was used.", curve.cpus);
    for point in &curve.points {
        let (used, load) = (figure(100.0 * point.utilisation), figure(point.load));
        text.push_str(&format!(" At {used} %: {load}."));
    }
    if let Some(best) = curve.fits.first() {
        text.push_str(&format!(" {} describes it best.", best.model));
    }
    text
}
