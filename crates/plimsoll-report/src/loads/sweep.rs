//! Storage over a factor of numbers, such as threads: rate, latency and CPU, a line for each combination of the other factors' levels.

use std::collections::BTreeMap;

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, PhaseKind, StorageFacts, TrialRecord};
use plotly::common::{DashType, ErrorData, ErrorType, HoverInfo, Line, Marker, Mode};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Scatter, Trace};

use crate::chart::{CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, layout};
use crate::number::{figure, median, median_interval, sorted};
use crate::wording;

const HEIGHT: usize = 360;
/// Lines beyond these colours begin again with another dash.
const COLORS: [&str; 6] = [CONTROL, TREATMENT, "var(--holds)", "var(--softirq)", "var(--system)", SOFT];

const CAPTION: &str = "Medians over trials; whiskers are 95 % intervals of the median (by order statistics; the range where there are \
fewer than six).";

/// Charts: the metric and the title of each.
const FIGURES: [(Metric, &str); 4] = [
    (Metric::MegabytesPerSecond, "Rate"),
    (Metric::MeanMs, "Mean time of an operation"),
    (Metric::MaxMs, "Longest time of an operation"),
    (Metric::CpuUsPerRequest, "CPU time of an operation"),
];

/// The charts of every phase that measures storage; none where no factor is one of numbers.
pub(super) fn charts(records: &[TrialRecord]) -> Vec<Figure> {
    let Some(factor) = numbers(records) else { return Vec::new() };
    let mut phases: Vec<&str> = Vec::new();
    for phase in records.iter().flat_map(|trial| &trial.phases) {
        let of_storage = phase.slices.iter().any(|slice| slice.result.found::<StorageFacts>().is_some());
        if phase.kind == PhaseKind::Measure && of_storage && !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let each = phases.iter().enumerate().flat_map(|(n, phase)| {
        FIGURES.iter().enumerate().filter_map({
            let factor = factor.clone();
            move |(m, of)| chart(&format!("sweep-{}-{}", n + 1, m + 1), phase, &factor, *of, records)
        })
    });
    each.collect()
}

/// The factor whose levels are numbers, of several the one with the most levels.
fn numbers(records: &[TrialRecord]) -> Option<String> {
    let mut levels: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for (factor, level) in records.iter().flat_map(|trial| &trial.cell) {
        let known = levels.entry(factor).or_default();
        if !known.contains(&level) {
            known.push(level);
        }
    }
    let of_numbers = levels
        .into_iter()
        .filter(|(_, levels)| levels.len() > 1 && levels.iter().all(|level| level.parse::<f64>().is_ok()));
    of_numbers.max_by_key(|(_, levels)| levels.len()).map(|(factor, _)| factor.clone())
}

/// Figures by the other factors' levels, then by this factor's.
type Lines = BTreeMap<BTreeMap<String, String>, Vec<(f64, Vec<f64>)>>;

fn lines(phase: &str, factor: &str, metric: Metric, records: &[TrialRecord]) -> Lines {
    let mut lines = Lines::new();
    for trial in records.iter().filter(|trial| trial.faults.is_empty()) {
        let Some(x) = trial.cell.get(factor).and_then(|level| level.parse::<f64>().ok()) else { continue };
        let slices = trial
            .phases
            .iter()
            .filter(|of| of.name == phase && of.kind == PhaseKind::Measure)
            .flat_map(|of| &of.slices)
            .filter(|slice| slice.arm == Arm::Treatment);
        let Some(value) = median(&sorted(slices.filter_map(|slice| slice.result.figure(metric)))) else {
            continue;
        };
        let mut others = trial.cell.clone();
        others.remove(factor);
        let line = lines.entry(others).or_default();
        match line.iter_mut().find(|(at, _)| *at == x) {
            Some((_, values)) => values.push(value),
            None => line.push((x, vec![value])),
        }
    }
    for line in lines.values_mut() {
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

fn chart(
    id: &str,
    phase: &str,
    factor: &str,
    (metric, title): (Metric, &str),
    records: &[TrialRecord],
) -> Option<Figure> {
    let unit = metric.unit().name();
    let lines = lines(phase, factor, metric, records);
    if lines.is_empty() {
        return None;
    }
    let traces =
        lines.iter().enumerate().map(|(n, (others, points))| trace(n, others, points, unit)).collect();
    let mut description = format!("{title} of {phase} over {factor}.");
    for (others, points) in &lines {
        let told: Vec<String> = points
            .iter()
            .map(|(x, values)| {
                let middle = median(&sorted(values.iter().copied())).unwrap_or(f64::NAN);
                format!("{} at {}", figure(middle), figure(*x))
            })
            .collect();
        description.push_str(&format!(" {}: {} {unit}.", wording::cell_title(others), told.join(", ")));
    }
    let xs = axis(factor).type_(AxisType::Category);
    let ys = axis(unit).range_mode(RangeMode::ToZero);
    Some(Figure {
        id: id.to_owned(),
        title: format!("{title}, {phase}"),
        description,
        caption: CAPTION.into(),
        height: HEIGHT,
        drawing: Drawing::One(Plot::new(traces, layout(HEIGHT).x_axis(xs).y_axis(ys))),
    })
}

fn trace(
    nth: usize,
    others: &BTreeMap<String, String>,
    points: &[(f64, Vec<f64>)],
    unit: &str,
) -> Box<dyn Trace> {
    let name = if others.is_empty() { "all".to_owned() } else { wording::cell_title(others) };
    let color = COLORS[nth % COLORS.len()];
    let dash = if nth < COLORS.len() { DashType::Solid } else { DashType::Dash };
    let told: Vec<(String, f64, (f64, f64))> = points
        .iter()
        .map(|(x, values)| {
            let values = sorted(values.iter().copied());
            let middle = median(&values).unwrap_or(f64::NAN);
            let (lo, hi) = median_interval(&values).unwrap_or((middle, middle));
            (figure(*x), middle, ((middle - lo).max(0.0), (hi - middle).max(0.0)))
        })
        .collect();
    let error = ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(told.iter().map(|(.., (_, above))| drawn(*above)).collect())
        .array_minus(told.iter().map(|(.., (below, _))| drawn(*below)).collect())
        .thickness(1.5)
        .width(4)
        .color(color);
    let text = told.iter().map(|(x, y, _)| format!("{name}, {x}: {} {unit}", figure(*y)));
    Scatter::new(
        told.iter().map(|(x, ..)| x.clone()).collect(),
        told.iter().map(|(_, y, _)| drawn(*y)).collect(),
    )
    .name(name.clone())
    .mode(Mode::LinesMarkers)
    .line(Line::new().color(color).width(1.5).dash(dash))
    .marker(Marker::new().color(color).size(8))
    .error_y(error)
    .hover_text_array(text.collect())
    .hover_info(HoverInfo::Text)
}
