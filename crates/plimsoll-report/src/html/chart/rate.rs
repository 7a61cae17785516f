//! The rate by phase and cycle, treatment against control, with intervals.

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, TrialRecord};
use plotly::Trace;
use plotly::common::{DashType, Line, Marker, Mode};
use plotly::layout::RangeMode;

use super::places::{ASIDE, Places, hover};
use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, hovered, reach, whiskers};
use crate::number::{figure, sorted};
use crate::summary::{self, CellRows, Figures, Row};
use crate::wording;

const HEIGHT: usize = 380;

const CAPTION: &str = "Points are the figures of the table. Whiskers are 95 % intervals of the median over slices of the load (by \
order statistics; the range where there are fewer than six). They show the spread within trials: the verdict rests on whole \
trials, and has an interval of its own.";

/// A rig and how it is drawn.
struct Rig {
    name: &'static str,
    color: &'static str,
    dash: DashType,
    aside: f64,
    arm: Arm,
    figures: fn(&Row) -> Option<&Figures>,
}

/// The chart of one cell; absent when fewer than two phases were measured: one point says no more than its row of the table.
pub(in crate::html) fn chart(
    id: String,
    cell: &CellRows,
    metric: Metric,
    records: &[TrialRecord],
) -> Option<Figure> {
    let places = Places::new(&cell.rows);
    if places.rows.len() < 2 {
        return None;
    }
    let records: Vec<&TrialRecord> = records.iter().filter(|r| r.cell == cell.cell).collect();
    let rigs = [
        Rig {
            name: summary::measured(cell.rows.iter().any(|row| row.control.is_some())),
            color: TREATMENT,
            dash: DashType::Solid,
            aside: -ASIDE,
            arm: Arm::Treatment,
            figures: |r| r.main.as_ref(),
        },
        Rig {
            name: summary::CONTROL,
            color: CONTROL,
            dash: DashType::Dash,
            aside: ASIDE,
            arm: Arm::Control,
            figures: |r| r.control.as_ref(),
        },
    ];
    let traces = rigs.iter().filter_map(|rig| trace(rig, &places, metric, &records)).collect();
    let y_axis = axis(&wording::metric(metric.name())).range_mode(RangeMode::ToZero);
    Some(Figure {
        id,
        title: wording::titled("Rate by phase and cycle", &cell.cell),
        description: description(&places, metric),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, places.layout(HEIGHT).y_axis(y_axis))),
    })
}

/// The points of a rig; absent when it never ran.
fn trace(rig: &Rig, places: &Places<'_>, metric: Metric, records: &[&TrialRecord]) -> Option<Box<dyn Trace>> {
    let points: Vec<_> =
        places.iter().filter_map(|(x, row)| Some((x + rig.aside, row, (rig.figures)(row)?.rate?))).collect();
    if points.is_empty() {
        return None;
    }
    let reached: Vec<_> =
        points.iter().map(|(_, row, rate)| reach(*rate, &slices(records, row, rig.arm, metric))).collect();
    let text = |rate: f64| format!("{} {}", figure(rate), metric.unit().name());
    let points = points.iter().map(|(x, row, rate)| (*x, *rate, hover(row, rig.name, &text(*rate))));
    let trace = hovered(points)
        .name(rig.name)
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(rig.color).width(1.5).dash(rig.dash.clone()))
        .marker(Marker::new().color(rig.color).size(9))
        .error_y(whiskers(&reached, rig.color));
    Some(trace)
}

/// The rates of all slices that went into a point, in rising order.
fn slices(records: &[&TrialRecord], row: &Row, arm: Arm, metric: Metric) -> Vec<f64> {
    let phases = records.iter().flat_map(|r| &r.phases).filter(|p| row.is_of(&p.name, p.cycle, p.rung));
    let slices = phases.flat_map(|p| &p.slices).filter(|s| s.arm == arm);
    sorted(slices.filter_map(|s| s.result.figure(metric)))
}

fn description(places: &Places<'_>, metric: Metric) -> String {
    let mut text = String::from("Line chart with one point per measured phase.");
    for (_, row) in places.iter() {
        let rigs: Vec<String> =
            row.rigs().filter_map(|(rig, f)| Some(format!("{rig} {}", figure(f.rate?)))).collect();
        if !rigs.is_empty() {
            text.push_str(&format!(
                " {}: {} {}.",
                summary::place(row),
                rigs.join(", "),
                metric.unit().name()
            ));
        }
    }
    text
}
