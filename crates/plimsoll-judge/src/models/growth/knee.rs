//! Where a knee may be, and what that leaves open of doubling, by profiles of the sum of squares: a figure may be what it is in any curve that is
//! not significantly worse than the best, by an F test of one parameter.

use super::curve::{Basis, Curve, PLACES, between, places, with_knee};
use super::{CONFIDENCE, GrowthPoint};
use crate::models::least_squares;
use crate::stats::dist::t_quantile;
use plimsoll_model::verdict::Interval;

/// Between places on both sides of the best one as many more are tried, and around the best of those once more: where times scatter by 1 %, the
/// whole interval may lie between two of the first places.
const FINER: usize = 40;
const FINER_ROUNDS: usize = 2;
const BESIDE: usize = 2;

/// The figures of a line with a knee.
const FIGURES: f64 = 4.0;

/// The line with a knee at each place, with its squares, and the most squares that are not significantly worse than the least.
pub(super) struct Profile {
    curves: Vec<(f64, Curve, f64)>,
    most: f64,
    /// The variance of a point on ln(time), times the square of Student's t.
    width: f64,
}

impl Profile {
    pub(super) fn of(points: &[GrowthPoint], numbers: &[f64]) -> Self {
        let at = |knee| {
            let curve = with_knee(points, knee);
            (knee, curve, curve.squares(points))
        };
        let mut curves: Vec<(f64, Curve, f64)> = places(numbers, PLACES).map(at).collect();
        for _ in 0..FINER_ROUNDS {
            let Some(best) = (0..curves.len()).min_by(|a, b| curves[*a].2.total_cmp(&curves[*b].2)) else {
                break;
            };
            let last = (best + BESIDE).min(curves.len() - 1);
            let (low, high) = (curves[best.saturating_sub(BESIDE)].0, curves[last].0);
            curves.extend(between(low, high, FINER).skip(1).take(FINER - 1).map(at));
            curves.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let least = curves.iter().map(|(_, _, squares)| *squares).fold(f64::INFINITY, f64::min);
        let freedom = (points.len() as f64 - FIGURES).max(1.0);
        let width = least * t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom).powi(2) / freedom;
        Self { curves, most: least + width, width }
    }

    /// The places of the knee. One that may as well be at the last place where it was looked for may be anywhere beyond.
    pub(super) fn knee(&self) -> Interval {
        let good = |(_, _, squares): &(f64, Curve, f64)| *squares <= self.most;
        let end = |inside: Option<usize>, beyond: Option<usize>| match (inside, beyond) {
            (Some(inside), Some(beyond)) => self.crossing(inside, beyond),
            (inside, _) => self.curves[inside.unwrap_or(0)].0,
        };
        let (first, last) = (self.curves.iter().position(good), self.curves.iter().rposition(good));
        let behind = last.map(|last| last + 1).filter(|behind| *behind < self.curves.len());
        Interval(end(first, first.and_then(|first| first.checked_sub(1))), end(last, behind))
    }

    /// Where the squares reach the most between two places.
    fn crossing(&self, inside: usize, beyond: usize) -> f64 {
        let ((inside, _, less), (beyond, _, more)) = (self.curves[inside], self.curves[beyond]);
        inside * (beyond / inside).powf((self.most - less) / (more - less))
    }

    /// The factor of the time for twice as many workers, at the largest number: at each place of the knee, as far as the squares that it leaves allow.
    pub(super) fn doubling(&self, points: &[GrowthPoint], largest: f64) -> Interval {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (_, curve, squares) in &self.curves {
            let slack = self.most - squares;
            if slack < 0.0 {
                continue;
            }
            let ratio = curve.time(largest) / curve.time(largest / 2.0);
            // A place alone allows no more than the whole interval is wide.
            let half = (slack.min(self.width) * squared_error(curve, points, largest)).sqrt();
            low = low.min(ratio - half);
            high = high.max(ratio + half);
        }
        Interval(low, high)
    }
}

/// The variance of the ratio for a variance of 1 of each point on ln(time), by its slopes (the delta method). Terms that are not used stay so.
fn squared_error(curve: &Curve, points: &[GrowthPoint], largest: f64) -> f64 {
    let Curve::Sum { basis, coefficients } = curve else { return 0.0 };
    let [end, half] = [largest, largest / 2.0].map(|n| (curve.time(n), basis.terms(n)));
    let used: Vec<usize> = (0..3).filter(|term| coefficients[*term] > 0.0).collect();
    let slope = |term: usize| end.1[term] / half.0 - end.0 * half.1[term] / (half.0 * half.0);
    let rows = |term: usize| points.iter().map(move |point| relative(curve, *basis, point.n, term));
    match used[..] {
        [a] => least_squares::variance(&rows(a).map(|x| [x]).collect::<Vec<_>>(), [slope(a)]),
        [a, b] => least_squares::variance(
            &rows(a).zip(rows(b)).map(|(x, y)| [x, y]).collect::<Vec<_>>(),
            [slope(a), slope(b)],
        ),
        _ => {
            let columns =
                points.iter().map(|point| [0, 1, 2].map(|term| relative(curve, *basis, point.n, term)));
            least_squares::variance(&columns.collect::<Vec<_>>(), [0, 1, 2].map(slope))
        }
    }
    .unwrap_or(0.0)
}

/// A term beside the time.
fn relative(curve: &Curve, basis: Basis, n: f64, term: usize) -> f64 {
    basis.terms(n)[term] / curve.time(n)
}
