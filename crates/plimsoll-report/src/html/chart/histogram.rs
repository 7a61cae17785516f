//! How often each request time came, by phase and rig.

use plimsoll_model::observation::{Arm, Histogram, PhaseKind, TrialRecord};
use plotly::common::{DashType, Line, LineShape, Mode};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, layout, legend, shortened};
use crate::escape::chart as safe;
use crate::number::millis;
use crate::summary;
use crate::wording::{self, Cell};

const HEIGHT: usize = 380;
/// Bars for each tenfold time.
const BARS: f64 = 20.0;
/// Steps for each tenfold time where shares are added up.
const FINE_BARS: f64 = 100.0;
/// The longest name of a phase, in characters.
const LABEL_LENGTH: usize = 16;
/// The line styles of different phases. More phases than these share styles.
const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::Dot, DashType::DashDot];

/// The chart of one cell; absent when no request time was recorded.
pub(in crate::html) fn chart(id: String, cell: &Cell, records: &[TrialRecord]) -> Option<Figure> {
    let trials: Vec<&TrialRecord> = records.iter().filter(|trial| trial.cell == *cell).collect();
    let phases =
        || trials.iter().flat_map(|trial| &trial.phases).filter(|phase| phase.kind == PhaseKind::Measure);
    let mut names: Vec<&str> = Vec::new();
    for phase in phases() {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    let with_control = phases().flat_map(|phase| &phase.slices).any(|slice| slice.arm == Arm::Control);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut description = String::from("How often each request time came, on a logarithmic scale.");
    for (name, dash) in names.iter().zip(DASHES) {
        let rigs = [
            (Arm::Treatment, summary::measured(with_control), TREATMENT),
            (Arm::Control, summary::CONTROL, CONTROL),
        ];
        for (arm, rig, color) in rigs {
            let slices = phases().filter(|phase| phase.name == **name).flat_map(|phase| &phase.slices);
            let mut times = Histogram::default();
            slices.filter(|slice| slice.arm == arm).for_each(|slice| times.add(&slice.result.latency.total));
            if times.is_empty() {
                continue;
            }
            let title = if with_control { format!("{name}, {rig}") } else { (*name).to_owned() };
            let p = times.percentiles();
            description.push_str(&format!(" {title}: p50 {} ms, p99 {} ms.", millis(p.p50), millis(p.p99)));
            traces.push(line(&times, &title, color, dash.clone()));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let lines = traces.len();
    Some(Figure {
        id,
        title: wording::titled("How often each request time came", cell),
        description,
        caption: "The share of the requests of a phase at each request time, all trials and cycles together; a step is a twentieth of a power of ten wide. Two \
                  hills are two ways that requests take."
            .into(),
        drawing: Drawing::One(Plot::new(
            traces,
            layout(HEIGHT + 20 * (lines / 3))
                .show_legend(lines > 1)
                .legend(legend())
                .x_axis(axis("request time, ms").type_(AxisType::Log).zero_line(false))
                .y_axis(axis("% of the requests").range_mode(RangeMode::ToZero)),
        )),
    })
}

/// How many requests fell into each bar, from the first bar with any to the last, and the number of the first.
fn counts(times: &Histogram, bars: f64) -> (i32, Vec<u64>) {
    let bar = |us: u64| (us.max(1) as f64).log10() * bars;
    let (first, last) = (bar(times.min()).floor() as i32, bar(times.max()).floor() as i32);
    let mut counts = vec![0_u64; usize::try_from(last - first).unwrap_or_default() + 1];
    let end = counts.len() - 1;
    for value in times.iter_recorded() {
        let place = bar(value.value_iterated_to()).floor() as i32 - first;
        counts[usize::try_from(place).unwrap_or_default().min(end)] += value.count_since_last_iteration();
    }
    (first, counts)
}

/// Where a bar begins, in milliseconds.
fn edge(bar: i32, bars: f64) -> f64 {
    drawn(10_f64.powf(f64::from(bar) / bars) / 1e3)
}

/// Steps from the first bar with requests to the last.
fn line(times: &Histogram, name: &str, color: &'static str, dash: DashType) -> Box<dyn Trace> {
    let (first, counts) = counts(times, BARS);
    let all = times.len() as f64;
    let share = |count: &u64| drawn(100.0 * *count as f64 / all);
    // From nothing, and back to it.
    let xs = std::iter::once(first).chain(first..).map(|bar| edge(bar, BARS)).take(counts.len() + 2);
    let ys = counts.iter().map(share).chain([0.0]);
    Scatter::new(xs.collect(), std::iter::once(0.0).chain(ys).collect())
        .name(safe(&shortened(name, 2 * LABEL_LENGTH)))
        .mode(Mode::Lines)
        .line(Line::new().color(color).width(1.5).dash(dash).shape(LineShape::Hv))
        .hover_template("%{y} % from %{x} ms on")
}

/// The share of the requests that took at most each time: the empirical distribution, in steps of a hundredth of a power of ten.
pub(super) fn cumulative(times: &Histogram, name: &str, line: Line) -> Box<dyn Trace> {
    let (first, counts) = counts(times, FINE_BARS);
    let all = times.len() as f64;
    let mut below = 0;
    let mut points = vec![(edge(first, FINE_BARS), 0.0)];
    for (bar, count) in (first..).zip(counts).filter(|(_, count)| *count > 0) {
        below += count;
        points.push((edge(bar + 1, FINE_BARS), drawn(100.0 * below as f64 / all)));
    }
    let (xs, ys) = points.into_iter().unzip();
    Scatter::new(xs, ys)
        .name(safe(name))
        .mode(Mode::Lines)
        .line(line.width(1.5).shape(LineShape::Hv))
        .hover_template("%{y} % within %{x} ms")
}
