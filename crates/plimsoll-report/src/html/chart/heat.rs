//! Request time over the time of a trial, as a heat map (Gregg 2010, *Visualizing system latency*, Communications of the ACM 53): a column for each slice of
//! a load, and in it the share of its requests in each range of times. The distribution is known of a slice as a whole; the mean also of the intervals in which
//! a load counts, and goes through its column as a line, since a slice may be long.

use plimsoll_model::observation::{Arm, Histogram, TrialRecord};
use plotly::common::{ColorScale, ColorScaleElement, Line, LineShape, Mode};
use plotly::layout::AxisType;
use plotly::{HeatMap, Scatter, Trace};

use super::{Drawing, Figure, Plot, axis, drawn, drawn_s, spans};
use crate::html::TRIAL_PICKER;
use crate::html::timeline;
use crate::summary;

const HEIGHT: usize = 420;
/// How many cells there are at most over all trials, which keeps the page small.
const CELLS: usize = 60_000;
/// Points of the means of one rig of one trial.
const MEANS: usize = 300;
/// Columns of one rig of one trial.
const COLUMNS: (usize, usize) = (20, 300);
/// Rows for each tenfold time.
const ROWS: f64 = 8.0;
/// Where the colours stand, as shares of the requests of a column.
const COLOURS: [(f64, &str); 5] = [
    (0.0, "var(--heat-1)"),
    (0.01, "var(--heat-2)"),
    (0.1, "var(--heat-3)"),
    (0.3, "var(--heat-4)"),
    (1.0, "var(--heat-5)"),
];
/// Where the axes of two rigs stand, from the bottom.
const BOTH: [[f64; 2]; 2] = [[0.54, 1.0], [0.0, 0.46]];

/// A column: when it begins and ends, in seconds, and the times of its requests.
struct Column {
    start: f64,
    end: f64,
    times: Histogram,
}

/// The chart, a drawing for each trial; absent when no request time was recorded.
pub(in crate::html) fn chart(trials: &[&TrialRecord]) -> Option<Figure> {
    let slices = || trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.slices);
    let times = || slices().map(|slice| &slice.result.latency.total).filter(|times| !times.is_empty());
    let least = times().map(|times| times.min()).min()?;
    let most = times().map(|times| times.max()).max()?;
    let rows = Rows::new(least, most);
    let with_control = slices().any(|slice| slice.arm == Arm::Control);
    let all = trials.len() * rows.count() * (1 + usize::from(with_control));
    let columns = (CELLS / all.max(1)).clamp(COLUMNS.0, COLUMNS.1);
    let plots =
        trials.iter().map(|trial| (trial.number.to_string(), plot(trial, &rows, columns, with_control)));
    let rigs = if with_control { ", the treatment above its control" } else { "" };
    Some(Figure {
        id: "latency-over-time".into(),
        title: "Request time over time".into(),
        description: format!(
            "Heat map of request times over the time of a trial{rigs}, on a logarithmic scale from {} to {} ms, with the phases named.",
            drawn(least as f64 / 1e3),
            drawn(most as f64 / 1e3)
        ),
        caption: format!(
            "A column is a slice of a load{rigs}; the darker a field, the larger the share of its requests in its range of times, from under 1 % to all. The \
             scale is logarithmic. Two bands in a column are two ways that requests take. The line is the mean over time, where a slice is long enough to have one."
        ),
        drawing: Drawing::Picked { picker: TRIAL_PICKER, plots: plots.collect() },
    })
}

/// The rows, evenly on a logarithmic scale.
struct Rows {
    /// The lower end of each row and the upper end of the last, in microseconds.
    edges: Vec<f64>,
}

impl Rows {
    fn new(least: u64, most: u64) -> Self {
        let step = |us: u64| us.max(1) as f64;
        let first = (step(least).log10() * ROWS).floor();
        let last = (step(most).log10() * ROWS).floor() + 1.0;
        let count = (last - first) as usize;
        Self { edges: (0..=count).map(|n| 10_f64.powf((first + n as f64) / ROWS)).collect() }
    }

    fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// The share of times in each row; empty if there is none.
    fn shares(&self, times: &Histogram) -> Vec<Option<f64>> {
        let mut counts = vec![0_u64; self.count()];
        for value in times.iter_recorded() {
            let us = value.value_iterated_to().max(1) as f64;
            let row = self.edges.partition_point(|edge| *edge <= us).saturating_sub(1);
            counts[row.min(self.count() - 1)] += value.count_since_last_iteration();
        }
        let all = times.len().max(1) as f64;
        counts.into_iter().map(|count| (count > 0).then(|| drawn(count as f64 / all))).collect()
    }
}

fn plot(trial: &TrialRecord, rows: &Rows, most: usize, with_control: bool) -> Plot {
    let range = (0.0, timeline::length_s(trial).max(1e-3));
    let layout = spans::layout(HEIGHT, &timeline::spans(trial), range);
    let x_axis = axis("seconds after the trial's start").range(vec![range.0, range.1]).zero_line(false);
    let ends = [rows.edges[0], rows.edges[rows.count()]].map(|us| (us / 1e3).log10()).to_vec();
    let scale = |title: &str| axis(title).type_(AxisType::Log).range(ends.clone());
    let names = if with_control { ["treatment, ms", "control, ms"] } else { ["request time, ms", ""] };
    let mut traces = Vec::new();
    let mut layout = if with_control {
        let x_axis = x_axis.anchor("y2");
        layout
            .x_axis(x_axis)
            .y_axis(scale(names[0]).domain(&BOTH[0]))
            .y_axis2(scale(names[1]).domain(&BOTH[1]))
    } else {
        layout.x_axis(x_axis).y_axis(scale(names[0]))
    };
    for (arm, name, y_axis) in
        [(Arm::Treatment, summary::measured(with_control), "y"), (Arm::Control, summary::CONTROL, "y2")]
    {
        let columns = together(columns(trial, arm), most);
        if !columns.is_empty() {
            traces.push(trace(&columns, rows, name, y_axis));
        }
        let means = means(trial, arm, MEANS);
        if !means.is_empty() {
            traces.push(line(&means, name, y_axis));
        }
    }
    layout = layout.show_legend(false);
    Plot::new(traces, layout)
}

/// The slices of a rig in order of time. Where loads run at once, the later one begins where the one before has ended.
fn columns(trial: &TrialRecord, arm: Arm) -> Vec<Column> {
    let slices = trial.phases.iter().flat_map(|phase| &phase.slices);
    let mut slices: Vec<_> =
        slices.filter(|slice| slice.arm == arm && !slice.result.latency.total.is_empty()).collect();
    slices.sort_by_key(|slice| slice.at_ns);
    let mut columns: Vec<Column> = Vec::with_capacity(slices.len());
    for slice in slices {
        let begins = slice.at_ns as f64 / 1e9;
        let end = begins + slice.result.elapsed_ns as f64 / 1e9;
        let start = columns.last().map_or(begins, |before| before.end.max(begins));
        let times = &slice.result.latency.total;
        match columns.last_mut() {
            Some(before) if end <= start => before.times.add(times),
            _ => columns.push(Column { start, end, times: times.clone() }),
        }
    }
    columns
}

/// The mean of a stretch of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mean {
    /// When it begins and ends, in seconds.
    start: f64,
    end: f64,
    ms: f64,
    /// Whether the slice goes on after it.
    goes_on: bool,
}

/// The mean request time over the intervals of each slice of a rig that counts in several; neighbours in a slice are
/// merged until about `most` are left.
fn means(trial: &TrialRecord, arm: Arm, most: usize) -> Vec<Mean> {
    let slices = trial.phases.iter().flat_map(|phase| &phase.slices).filter(|slice| slice.arm == arm);
    let slices: Vec<_> = slices
        .filter(|slice| slice.result.intervals.iter().filter(|it| it.latency_us > 0).count() > 1)
        .collect();
    let all: usize = slices.iter().map(|slice| slice.result.intervals.len()).sum();
    let together = all.div_ceil(most.max(1)).max(1);
    let mut means = Vec::new();
    for slice in slices {
        let begins = slice.at_ns as f64 / 1e9;
        let (mut start, intervals) = (begins, &slice.result.intervals);
        for (place, part) in intervals.chunks(together).enumerate() {
            let end = begins + part.last().map_or(0, |it| it.end_ns) as f64 / 1e9;
            let us = part.iter().map(|it| it.latency_us).sum::<u64>() as f64;
            let requests = part.iter().map(|it| it.requests).sum::<u64>() as f64;
            if us > 0.0 && requests > 0.0 {
                let goes_on = (place + 1) * together < intervals.len();
                means.push(Mean { start, end, ms: us / requests / 1e3, goes_on });
            }
            start = end;
        }
    }
    means.sort_by(|a, b| a.start.total_cmp(&b.start));
    means
}

fn line(means: &[Mean], name: &'static str, y_axis: &'static str) -> Box<dyn Trace> {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for mean in means {
        xs.push(drawn_s(mean.start));
        ys.push(Some(drawn(mean.ms)));
        if !mean.goes_on {
            let end = drawn_s(mean.end);
            xs.extend([end, end]);
            ys.extend([Some(drawn(mean.ms)), None]);
        }
    }
    Scatter::new(xs, ys)
        .name(name)
        .mode(Mode::Lines)
        .y_axis(y_axis)
        .line(Line::new().color("var(--treatment)").width(1.2).shape(LineShape::Hv))
        .connect_gaps(false)
        .hover_template("mean %{y} ms")
}

/// Merges neighbouring columns to at most `most`, but not over a pause that is longer than they are.
fn together(columns: Vec<Column>, most: usize) -> Vec<Column> {
    let every = columns.len().div_ceil(most.max(1)).max(1);
    let mut put: Vec<Column> = Vec::new();
    let mut held = 0;
    for column in columns {
        match put.last_mut() {
            Some(last) if held < every && column.start - last.end <= column.end - column.start => {
                last.times.add(&column.times);
                (last.end, held) = (column.end, held + 1);
            }
            _ => {
                put.push(column);
                held = 1;
            }
        }
    }
    put
}

fn trace(columns: &[Column], rows: &Rows, name: &'static str, y_axis: &'static str) -> Box<dyn Trace> {
    // Between columns lies a pause, which has no field.
    let mut edges: Vec<f64> = Vec::new();
    let mut fields: Vec<Vec<Option<f64>>> = vec![Vec::new(); rows.count()];
    for column in columns {
        if edges.last().is_some_and(|end| *end < drawn_s(column.start)) {
            fields.iter_mut().for_each(|row| row.push(None));
        } else {
            edges.pop();
        }
        edges.extend([drawn_s(column.start), drawn_s(column.end)]);
        for (row, share) in fields.iter_mut().zip(rows.shares(&column.times)) {
            row.push(share);
        }
    }
    let colours = COLOURS.map(|(at, colour)| ColorScaleElement(at, colour.to_owned()));
    HeatMap::new(edges, rows.edges.iter().map(|us| drawn(us / 1e3)).collect(), fields)
        .name(name)
        .y_axis(y_axis)
        .color_scale(ColorScale::Vector(colours.to_vec()))
        .zauto(false)
        .zmin(0.0)
        .zmax(1.0)
        .show_scale(false)
        .hover_on_gaps(false)
        .hover_template("%{z:.1%} of the requests about %{y} ms, at %{x} s")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::observation::{Interval, LoadResult, PhaseKind, PhaseRecord, Slice};

    use super::*;

    #[test]
    fn every_request_is_in_one_field_and_shares_add_up() {
        let times = Histogram::of([(1, 2), (999, 3), (1000, 5), (250_000, 10)]);
        let rows = Rows::new(times.min(), times.max());
        let shares = rows.shares(&times);
        let sum: f64 = shares.iter().flatten().sum();
        assert!((sum - 1.0).abs() < 1e-3, "{shares:?}");
        assert_eq!(shares[0], Some(0.1), "a microsecond is the lowest row");
        assert!(shares.last().unwrap().is_some());
    }

    #[test]
    fn neighbours_are_put_together_until_they_are_few_enough_but_not_over_a_pause() {
        let column = |start: f64| Column { start, end: start + 1.0, times: Histogram::of([(10, 1)]) };
        let put = together([0.0, 1.0, 2.0, 3.0, 40.0].map(column).into_iter().collect(), 2);
        let ends: Vec<(f64, f64, u64)> = put.iter().map(|it| (it.start, it.end, it.times.len())).collect();
        assert_eq!(ends, [(0.0, 3.0, 3), (3.0, 4.0, 1), (40.0, 41.0, 1)]);
    }

    #[test]
    fn a_long_slice_has_its_means_over_time_and_a_short_one_none() {
        let slice = |at_s: u64, means_us: &[u64]| {
            let intervals = means_us.iter().zip(1..).map(|(us, n)| Interval {
                end_ns: n * 100_000_000,
                requests: 10,
                latency_us: 10 * us,
                ..Interval::default()
            });
            Slice {
                arm: Arm::Treatment,
                number: 0,
                at_ns: at_s * 1_000_000_000,
                load: String::new(),
                result: LoadResult { intervals: intervals.collect(), ..LoadResult::default() },
                counters: BTreeMap::new(),
                background: Vec::new(),
                flushes: BTreeMap::new(),
            }
        };
        let phase = PhaseRecord {
            name: "flood".into(),
            kind: PhaseKind::Measure,
            cycle: 0,
            rung: None,
            start_ns: 0,
            end_ns: 0,
            slices: vec![slice(1, &[1000, 3000, 2000, 4000, 9000]), slice(5, &[700])],
            events: Vec::new(),
            notes: Vec::new(),
            captures: Vec::new(),
            profiles: Vec::new(),
        };
        let trial = TrialRecord { phases: vec![phase], ..TrialRecord::default() };
        let spans = |most| {
            let means = means(&trial, Arm::Treatment, most);
            means.iter().map(|it| (drawn_s(it.start), drawn_s(it.end), it.ms, it.goes_on)).collect::<Vec<_>>()
        };
        assert_eq!(spans(3), [(1.0, 1.2, 2.0, true), (1.2, 1.4, 3.0, true), (1.4, 1.5, 9.0, false)]);
        assert_eq!(spans(100).len(), 5);
        assert_eq!(means(&trial, Arm::Control, 3), []);
    }
}
