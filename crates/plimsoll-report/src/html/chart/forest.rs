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
const EDGE: f64 = 12.0;
/// Ticks closer together than this stand below each other, in per cent.
const CLOSE: f64 = 24.0;

/// What is drawn on one line.
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
        div .strip .large[large] role="img" aria-label=(label(scale, point)) {
            @if let Some((lo, hi)) = scale.zone() { span .zone style=(between(lo, hi)) {} }
            span .axis {}
            span .mark style=(left(1.0)) {}
            @for limit in &scale.limits { span .mark .limit style=(left(*limit)) {} }
            @if let Some(i) = point.interval {
                span .whisker style=(between(scale.place(i.lo()), scale.place(i.hi()))) {}
            }
            @if let Some(e) = point.estimate.filter(|e| e.is_finite()) { span .dot style=(left(e)) {} }
            @if large { (ticks(scale, point)) }
        }
    }
}

/// The names of the marks, kept from covering each other.
fn ticks(scale: &Scale, point: Point) -> Markup {
    let mut ticks = vec![(scale.place(1.0), "1 as before".to_owned())];
    ticks.extend(scale.limits.iter().map(|l| (scale.place(*l), format!("{} margin", ratio(*l)))));
    ticks.extend(
        point.estimate.filter(|e| e.is_finite()).map(|e| (scale.place(e), format!("{} measured", ratio(e)))),
    );
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lower = false;
    let mut last = f64::NEG_INFINITY;
    html! {
        @for (place, text) in ticks {
            @let () = { lower = !lower && place - last < CLOSE; last = place; };
            @let edge = if place < EDGE { " start" } else if place > 100.0 - EDGE { " end" } else { "" };
            @let row = if lower { " lower" } else { "" };
            span class={ "tick" (edge) (row) } style=(format!("left:{place:.2}%")) { (text) }
        }
    }
}

fn label(scale: &Scale, point: Point) -> String {
    let mut label = format!("Ratio {}", ratio_and_interval(point.estimate, point.interval));
    if !scale.limits.is_empty() {
        let limits: Vec<String> = scale.limits.iter().map(|l| ratio(*l)).collect();
        label.push_str(&format!(", margin {}", limits.join(" to ")));
    }
    label
}
