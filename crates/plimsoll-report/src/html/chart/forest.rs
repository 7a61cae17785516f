//! Ratios with their intervals, against no change and against the margin, as plain elements.

use maud::{Markup, html};
use plimsoll_model::verdict::Interval;

use crate::number::ratio;
use crate::wording::ratio_and_interval;

/// Of the widest extent, how much is left free on either side.
const PAD: f64 = 0.08;
/// From this ratio of the largest value to the smallest on, the scale is logarithmic.
const LOGARITHMIC_FROM: f64 = 8.0;
/// Ticks closer than this to an edge are set inwards, in per cent.
const EDGE: f64 = NAME / 2.0;
/// How much of the width the name of a tick may take, in per cent, where the page is as narrow as a telephone.
const NAME: f64 = 34.0;
/// Where the first row of names begins, and how far the next lies below it, in rem.
const ROWS: (f64, f64) = (2.25, 1.25);

/// One line of the chart.
#[derive(Clone, Copy)]
pub(in crate::html) struct Point {
    pub(in crate::html) estimate: Option<f64>,
    pub(in crate::html) interval: Option<Interval>,
}

/// Where ratios stand on a strip: what all strips of a table share.
pub(in crate::html) struct Scale {
    lo: f64,
    hi: f64,
    logarithmic: bool,
    /// Where "as good" ends, on one side or on both.
    limits: Vec<f64>,
}

impl Scale {
    /// A scale with room for all points, for 1 and for the limits.
    pub(in crate::html) fn new(points: &[Point], limits: Vec<f64>) -> Self {
        let ends = points.iter().flat_map(|p| {
            let interval = p.interval.map_or([None; 2], |i| [Some(i.lo()), Some(i.hi())]);
            [p.estimate, interval[0], interval[1]].into_iter().flatten()
        });
        let drawn = |v: &f64| v.is_finite() && *v >= 0.0 && *v < 1e6;
        let all: Vec<f64> = ends.chain(limits.iter().copied()).chain([1.0]).filter(drawn).collect();
        let lo = all.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = all.iter().copied().fold(0.0, f64::max);
        let logarithmic = lo > 0.0 && hi > 1.5 && hi / lo > LOGARITHMIC_FROM;
        let (lo, hi) = if logarithmic { (lo.ln(), hi.ln()) } else { (lo, hi) };
        let pad = ((hi - lo) * PAD).max(0.01);
        let floor = if logarithmic { f64::NEG_INFINITY } else { 0.0 };
        Self { lo: (lo - pad).max(floor), hi: hi + pad, logarithmic, limits }
    }

    /// Where a ratio stands, in per cent of the width; beyond the ends, at the end.
    fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.ln() } else { value };
        let place = (value - self.lo) / (self.hi - self.lo) * 100.0;
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 100.0) }
    }

    /// The stretch that counts as good: from the limit on, or between the limits.
    fn zone(&self) -> Option<(f64, f64)> {
        match *self.limits.as_slice() {
            [limit] if limit < 1.0 => Some((self.place(limit), 100.0)),
            [limit] => Some((0.0, self.place(limit))),
            [lower, upper] => Some((self.place(lower), self.place(upper))),
            _ => None,
        }
    }
}

/// One line: the zone that counts as good, the mark for no change, the interval, the estimate.
pub(in crate::html) fn strip(scale: &Scale, point: Point, large: bool) -> Markup {
    let left = |v: f64| format!("left:{:.2}%", scale.place(v));
    let between = |lo: f64, hi: f64| format!("left:{lo:.2}%;width:{:.2}%", hi - lo);
    html! {
        @let names = if large { names(scale, point) } else { Vec::new() };
        @let height = names.iter().map(|name| name.row + 1).max().map(|rows| format!("height:{}rem", ROWS.0 + ROWS.1 * rows as f64));
        div .strip .large[large] style=[height] role="img" aria-label=(label(scale, point)) {
            @if let Some((lo, hi)) = scale.zone() { span .zone style=(between(lo, hi)) {} }
            span .axis {}
            span .mark style=(left(1.0)) {}
            @for limit in &scale.limits { span .mark .limit style=(left(*limit)) {} }
            @if let Some(i) = point.interval {
                span .whisker style=(between(scale.place(i.lo()), scale.place(i.hi()))) {}
            }
            @if let Some(e) = point.estimate.filter(|e| e.is_finite()) { span .dot style=(left(e)) {} }
            @for name in &names {
                span class={ "tick" (name.edge) } style=(format!("left:{:.2}%;top:{}rem", name.place, ROWS.0 + ROWS.1 * name.row as f64)) {
                    (name.text)
                }
            }
        }
    }
}

/// The name of a mark.
struct Name {
    place: f64,
    text: String,
    /// The class that keeps it inside the strip.
    edge: &'static str,
    /// How many rows it stands below the first.
    row: usize,
}

/// The names of the marks, each in the first row in which it covers no other.
fn names(scale: &Scale, point: Point) -> Vec<Name> {
    let mut ticks = vec![(scale.place(1.0), "1 no change".to_owned())];
    ticks.extend(scale.limits.iter().map(|l| (scale.place(*l), format!("{} margin", ratio(*l)))));
    ticks.extend(
        point.estimate.filter(|e| e.is_finite()).map(|e| (scale.place(e), format!("{} measured", ratio(e)))),
    );
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Where the last name of each row ends.
    let mut ends: Vec<f64> = Vec::new();
    let name = |(place, text)| {
        let (edge, start) = match place {
            place if place < EDGE => (" start", place),
            place if place > 100.0 - EDGE => (" end", place - NAME),
            place => ("", place - NAME / 2.0),
        };
        let row = ends.iter().position(|end| *end <= start).unwrap_or(ends.len());
        if row == ends.len() {
            ends.push(f64::NEG_INFINITY);
        }
        ends[row] = start + NAME;
        Name { place, text, edge, row }
    };
    ticks.into_iter().map(name).collect()
}

fn label(scale: &Scale, point: Point) -> String {
    let mut label = format!("Ratio {}", ratio_and_interval(point.estimate, point.interval));
    if !scale.limits.is_empty() {
        let limits: Vec<String> = scale.limits.iter().map(|l| ratio(*l)).collect();
        label.push_str(&format!(", margin {}", limits.join(" to ")));
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_covers_another_wherever_the_marks_are() {
        for estimate in [0.001, 0.2, 0.94, 0.99, 1.0, 1.01, 1.06, 5.9, 80.0, 5000.0] {
            let point = Point { estimate: Some(estimate), interval: None };
            let scale = Scale::new(&[point], vec![1.0 / 1.05, 1.05]);
            let names = names(&scale, point);
            assert_eq!(names.len(), 4);
            let extent = |name: &Name| match name.edge {
                " start" => (name.place, name.place + NAME),
                " end" => (name.place - NAME, name.place),
                _ => (name.place - NAME / 2.0, name.place + NAME / 2.0),
            };
            for (i, a) in names.iter().enumerate() {
                for b in names[i + 1..].iter().filter(|b| b.row == a.row) {
                    let ((a0, a1), (b0, b1)) = (extent(a), extent(b));
                    assert!(a1 <= b0 || b1 <= a0, "{} and {} at {estimate}", a.text, b.text);
                }
            }
        }
    }
}
