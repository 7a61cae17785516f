//! A figure of an experiment over its runs, with the levels between its changes.

use plimsoll_model::verdict::Interval;
use plotly::common::{DashType, HoverInfo, Line, Marker, Mode};
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, layout, whiskers};
use crate::chart::{band, date, dates, within};
use crate::number::{figure, moment};

const HEIGHT: usize = 360;

const CAPTION: &str = "A point is a run, with its interval where it has one; lines are the levels between changes. Shaded: when the change may have \
been, at 95 %. Runs stand at their dates; changes are looked for in their order.";

/// A run in a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its id.
    pub run: String,
    /// When it started, in seconds since 1970 (UTC).
    pub at_unix_s: u64,
    /// The figure.
    pub value: f64,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
}

/// A change between runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The first run of the new level, counted from 0.
    pub index: usize,
    /// The level before.
    pub before: f64,
    /// The level since.
    pub after: f64,
    /// The first and the last run that may be the first of the new level.
    pub between: (usize, usize),
}

/// The chart of a figure; absent where there are no points. `id` is unique in the page.
pub(in crate::html) fn chart(
    id: String,
    name: &str,
    unit: &str,
    points: &[Point],
    changes: &[Change],
) -> Option<Figure> {
    let (first, last) = points.first().zip(points.last())?;
    let mut traces: Vec<Box<dyn Trace>> = vec![runs(unit, points)];
    // A level reaches from its first run to the first of the next, so that lines meet.
    let starts = [0].into_iter().chain(changes.iter().map(|change| change.index));
    let ends = changes.iter().map(|change| change.index).chain([points.len() - 1]);
    let levels = changes.first().map(|change| change.before).into_iter();
    for ((from, to), level) in starts.zip(ends).zip(levels.chain(changes.iter().map(|change| change.after))) {
        let at = [from, to].map(|n| date(points[n].at_unix_s)).to_vec();
        let line = Scatter::new(at, vec![drawn(level); 2]).mode(Mode::Lines).show_legend(false);
        traces.push(line.line(Line::new().color(TREATMENT).width(2.0)).hover_info(HoverInfo::Skip));
    }
    let shades = changes.iter().filter_map(|change| {
        let from = points.get(change.between.0.saturating_sub(1))?;
        let to = points.get(change.between.1)?;
        Some(band("var(--band-flood)").x0(date(from.at_unix_s)).x1(date(to.at_unix_s)))
    });
    let layout = layout(HEIGHT)
        .show_legend(false)
        .x_axis(dates(first.at_unix_s, last.at_unix_s))
        .y_axis(axis(unit))
        .shapes(shades.collect());
    Some(Figure {
        id,
        title: name.to_owned(),
        description: format!(
            "{name} of {} runs from {} to {}, with {} changes. The last is {} {unit}.",
            points.len(),
            moment(first.at_unix_s),
            moment(last.at_unix_s),
            changes.len(),
            figure(last.value)
        ),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}

fn runs(unit: &str, points: &[Point]) -> Box<dyn Trace> {
    let interval = |point: &Point| point.interval.map(|(lo, hi)| Interval(lo, hi));
    let reach: Vec<_> = points.iter().map(|point| within(point.value, interval(point))).collect();
    let texts = points.iter().map(|point| {
        format!("{}: {} {unit}, run {}", moment(point.at_unix_s), figure(point.value), point.run)
    });
    let at: Vec<String> = points.iter().map(|point| date(point.at_unix_s)).collect();
    Scatter::new(at, points.iter().map(|point| drawn(point.value)).collect())
        .mode(Mode::LinesMarkers)
        .marker(Marker::new().color(CONTROL).size(7))
        .line(Line::new().color(CONTROL).width(0.75).dash(DashType::Dot))
        .error_y(whiskers(&reach, CONTROL).thickness(1.0).width(0))
        .hover_text_array(texts.collect())
        .hover_info(HoverInfo::Text)
}
