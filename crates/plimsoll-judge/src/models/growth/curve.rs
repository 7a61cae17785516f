//! The curve of each kind, fitted by least squares on relative errors.

use super::{GrowthPoint, Kind};
use crate::models::least_squares::{self, Row};

/// Places at which a knee is looked for.
pub(super) const PLACES: usize = 120;

/// Steps of each refinement around the best knee. Precise times locate a knee more exactly than the first grid does.
const FINER: usize = 8;
/// Number of refinements.
const FINER_ROUNDS: usize = 2;

/// The terms whose sum a curve is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Basis {
    /// 1, n and what n is above the knee.
    Lines { knee: f64 },
    /// 1, n and n².
    Square,
    /// 1 and ln n.
    Logarithm,
    /// 1 and n·ln n.
    Linearithm,
}

impl Basis {
    pub(super) fn terms(self, n: f64) -> [f64; 3] {
        match self {
            Self::Lines { knee } => [1.0, n, (n - knee).max(0.0)],
            Self::Square => [1.0, n, n * n],
            Self::Logarithm => [1.0, n.ln(), 0.0],
            Self::Linearithm => [1.0, n * n.ln(), 0.0],
        }
    }

    fn rows(self, points: &[GrowthPoint]) -> Vec<Row> {
        points.iter().map(|point| Row { terms: self.terms(point.n), value: point.time }).collect()
    }
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Curve {
    /// The sum of some terms.
    Sum { basis: Basis, coefficients: [f64; 3] },
    /// `factor · n^exponent`.
    Power { factor: f64, exponent: f64 },
}

impl Curve {
    pub(super) fn time(&self, n: f64) -> f64 {
        match self {
            Self::Sum { basis, coefficients } => least_squares::value(coefficients, &basis.terms(n)),
            Self::Power { factor, exponent } => factor * n.powf(*exponent),
        }
    }

    /// The power of the number, for a curve that is one.
    pub(super) fn exponent(&self) -> f64 {
        match self {
            Self::Power { exponent, .. } => *exponent,
            Self::Sum { .. } => f64::NAN,
        }
    }

    pub(super) fn residuals(&self, points: &[GrowthPoint]) -> Vec<f64> {
        points.iter().map(|point| (point.time / self.time(point.n)).ln()).collect()
    }

    pub(super) fn squares(&self, points: &[GrowthPoint]) -> f64 {
        self.residuals(points).iter().map(|residual| residual * residual).sum()
    }
}

/// The curve of a kind that describes the points best. The search tries `count` places of a knee between these
/// `numbers`.
pub(super) fn fitted(kind: Kind, points: &[GrowthPoint], (numbers, count): (&[f64], usize)) -> Curve {
    match kind {
        Kind::Constant => broken(points, &[&[0]], f64::INFINITY),
        Kind::Linear => broken(points, &[&[0, 1], &[1], &[0]], f64::INFINITY),
        Kind::Logarithmic => logarithm(points),
        Kind::Linearithmic => sum(Basis::Linearithm, points, &[&[0, 1], &[1], &[0]]),
        Kind::Power => power(points),
        Kind::Quadratic => square(points),
        Kind::Knee => {
            let tried = |places: &mut dyn Iterator<Item = f64>| {
                let curves = places.map(|knee| (knee, with_knee(points, knee)));
                curves.min_by(|a, b| a.1.squares(points).total_cmp(&b.1.squares(points)))
            };
            let mut best = tried(&mut places(numbers, count))
                .unwrap_or_else(|| (numbers[0], with_knee(points, numbers[0])));
            let [low, high] = ends(numbers);
            let mut step = (high / low).powf(1.0 / count as f64);
            for _ in 0..FINER_ROUNDS {
                let near = (best.0 / step).max(low)..(best.0 * step).min(high);
                let finer = tried(&mut between(near.start, near.end, FINER));
                best =
                    finer.filter(|(_, curve)| curve.squares(points) < best.1.squares(points)).unwrap_or(best);
                step = step.powf(2.0 / FINER as f64);
            }
            best.1
        }
    }
}

/// Where a knee may be: between the second and the last but one number of workers.
pub(super) fn places(numbers: &[f64], count: usize) -> impl Iterator<Item = f64> + use<> {
    let [low, high] = ends(numbers);
    between(low, high, count)
}

fn ends(numbers: &[f64]) -> [f64; 2] {
    let last = numbers.len() - 1;
    [numbers[1.min(last)], numbers[last.saturating_sub(1)]]
}

/// Places from `low` to `high` in `count` steps of equal ratio, both ends included.
pub(super) fn between(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> + use<> {
    let (low, high) = (low.ln(), high.ln());
    (0..=count).map(move |i| (low + (high - low) * i as f64 / count as f64).exp())
}

/// The line that breaks at a knee. Where all three terms may stay, none of them is better left out.
pub(super) fn with_knee(points: &[GrowthPoint], knee: f64) -> Curve {
    whole_or_part(Basis::Lines { knee }, points, is_rising, &[&[1, 2], &[0, 2], &[0, 1], &[1], &[0]])
}

/// Whether no term falls, and the first two are above 0 together.
fn is_rising(coefficients: &[f64; 3]) -> bool {
    coefficients.iter().all(|c| *c >= 0.0) && coefficients[0] + coefficients[1] > 0.0
}

fn broken(points: &[GrowthPoint], candidates: &[&[usize]], knee: f64) -> Curve {
    let basis = Basis::Lines { knee };
    of_terms(basis, points, least_squares::fit(&basis.rows(points), candidates, is_rising))
}

/// Terms none of which falls.
fn sum(basis: Basis, points: &[GrowthPoint], candidates: &[&[usize]]) -> Curve {
    of_terms(basis, points, least_squares::fit(&basis.rows(points), candidates, none_falls))
}

fn none_falls(coefficients: &[f64; 3]) -> bool {
    coefficients.iter().all(|c| *c >= 0.0) && coefficients.iter().sum::<f64>() > 0.0
}

/// A line and a square. Where all three terms may stay, none of them is better left out.
fn square(points: &[GrowthPoint]) -> Curve {
    whole_or_part(Basis::Square, points, none_falls, &[&[1, 2], &[0, 2], &[2], &[0, 1], &[1], &[0]])
}

/// A curve of all three terms, or else of some of them.
fn whole_or_part(
    basis: Basis,
    points: &[GrowthPoint],
    allowed: fn(&[f64; 3]) -> bool,
    parts: &[&[usize]],
) -> Curve {
    let rows = basis.rows(points);
    let whole = least_squares::fit(&rows, &[&[0, 1, 2]], allowed);
    of_terms(basis, points, whole.or_else(|| least_squares::fit(&rows, parts, allowed)))
}

/// A logarithm that rises, and is above 0 from the smallest number on; its level may lie below.
fn logarithm(points: &[GrowthPoint]) -> Curve {
    let basis = Basis::Logarithm;
    let smallest = points.iter().map(|point| point.n).fold(f64::INFINITY, f64::min);
    let allowed = |c: &[f64; 3]| c[1] >= 0.0 && least_squares::value(c, &basis.terms(smallest)) > 0.0;
    of_terms(basis, points, least_squares::fit(&basis.rows(points), &[&[0, 1], &[0]], allowed))
}

/// One value for all always fits, since times are above 0.
fn of_terms(basis: Basis, points: &[GrowthPoint], coefficients: Option<[f64; 3]>) -> Curve {
    Curve::Sum { basis, coefficients: coefficients.unwrap_or([points[0].time, 0.0, 0.0]) }
}

/// Least squares of ln(time) on ln(n).
fn power(points: &[GrowthPoint]) -> Curve {
    let count = points.len() as f64;
    let middle = |of: fn(&GrowthPoint) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (middle(|point| point.n.ln()), middle(|point| point.time.ln()));
    let products = points.iter().map(|point| (point.n.ln() - x) * (point.time.ln() - y)).sum::<f64>();
    let squares = points.iter().map(|point| (point.n.ln() - x).powi(2)).sum::<f64>();
    let exponent = if squares > 0.0 { products / squares } else { 0.0 };
    Curve::Power { factor: (y - exponent * x).exp(), exponent }
}
