//! Time over the number of workers: constant, linear, or worse?
//!
//! Seven kinds of growth are fitted on relative errors: none, `a + b·n`, `a + b·ln n`, `a + b·n·ln n`, `c·n^k`, `a + b·n + c·n²`, and
//! `a + b·n + d·(n - m)` from a knee `m` on (a broken line, Muggeo, "Estimating regression models with unknown break-points", 2003). The simplest
//! whose corrected criterion of Akaike is within 4 of the best is chosen: none, then the line, then the better of logarithm, n·ln n and power, then
//! the better of square and knee. The intervals of a knee and of its doubling are what curves give that are not significantly worse than the
//! best (profiles of the sum of squares); all other intervals are by a bootstrap of the residuals.
//!
//! None of the kinds is claimed where even the best is off by far more than the scatter: where repeats of a number agree among themselves and
//! not with the curve, or where residuals keep their signs from one number to the next. A logarithm is claimed only where the points exclude
//! powers and climbs to a level.

mod curve;
mod kind;
mod knee;
mod levels_off;
#[cfg(test)]
mod tests;
mod verdict;

pub use kind::Kind;

pub use super::structure::LackOfFit;
use super::structure::structure;
use super::{aicc, rms, without};
use crate::input::{JudgeError, positive};
use crate::stats::{bootstrap::widening, median, middle, rng::SmallRng};
use curve::{Basis, Curve, PLACES, fitted};
use knee::Profile;
use plimsoll_model::verdict::Interval;
use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator;

const CONFIDENCE: f64 = 0.95;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 500;
/// By how much a less simple kind must lower the criterion (Burnham & Anderson 2002).
const EARNS: f64 = 4.0;
/// The fewest different numbers of workers: with fewer a knee has no line on either side.
const LEAST_NUMBERS: usize = 5;
/// Residuals below this, on ln(time), are those of the arithmetic, and do not show the kind.
const EXACT: f64 = 1e-6;
/// A fit is believed when its residuals, on ln(time), stay below this.
const BELIEVED: f64 = 0.3;
/// A structure of the residuals is believed where chance makes one in fewer cases than this, ...
const STRUCTURED: f64 = 0.005;
/// ... or than this, where no number was measured twice, ...
const ORDERED: f64 = 0.01;
/// ... and reported if it is this large, on ln(time), ...
const LARGE: f64 = 0.02;
/// ... and this large beside the scatter.
const BESIDE_SCATTER: f64 = 0.5;
/// Without repeats, and with fewer different numbers than these, residuals above this, on ln(time), may be scatter or not.
const UNREPEATED: (usize, f64) = (12, 0.1);
/// Places at which a knee is looked for with one point left out.
const LEFT_OUT_PLACES: usize = 24;
/// A kind that describes the points nearly as well is reported if its forecast differs by this factor for doubling, ...
const DIFFERS: f64 = 1.15;
/// ... or for the time at this many times the largest number.
const AHEAD: f64 = 10.0;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthPoint {
    /// The number of workers; above 0.
    pub n: f64,
    /// The time that they took, in any unit; above 0.
    pub time: f64,
}

/// One kind of growth fitted to the points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GrowthFit {
    /// The kind.
    pub kind: Kind,
    /// Akaike's corrected criterion; lower is better. Null where there are too few points for it.
    pub aicc: f64,
    /// The leave-one-out error, a root mean square on ln(time).
    pub left_out_error: f64,
    /// The factor of the time when the number of workers is doubled, at the largest number measured.
    pub doubling: f64,
    /// The time at ten times the largest number measured.
    #[serde(skip)]
    ahead: f64,
    /// The sum of its squared residuals on ln(time).
    #[serde(skip)]
    squares: f64,
}

impl LackOfFit {
    /// Whether it is far beyond the scatter.
    fn is_far(&self) -> bool {
        let seldom = if self.by_repeats { STRUCTURED } else { ORDERED };
        self.p < seldom && self.size > LARGE && self.size > BESIDE_SCATTER * self.scatter
    }
}

/// How time grows with the number of workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The simplest kind that the points support.
    pub kind: Kind,
    /// Whether it describes them; where it does not, no kind does.
    pub is_described: bool,
    /// Whether the points leave open if the time goes with the logarithm, with a small power, or towards a level.
    pub may_level_off: bool,
    /// Unexplained part.
    pub lack_of_fit: LackOfFit,
    /// The factor of the time when the number of workers is doubled, at the largest number measured.
    pub doubling: f64,
    /// Its interval.
    pub doubling_interval: Interval,
    /// The power of the number of workers that the time goes with over the whole range, whatever the kind.
    pub exponent: f64,
    /// Its interval.
    pub exponent_interval: Interval,
    /// Time for each further worker, up to the knee where there is one, or the part of it that is linear; absent for other kinds.
    pub each: Option<f64>,
    /// Time for each ln n, or each n·ln n; absent for other kinds.
    pub logarithm: Option<f64>,
    /// Time for each further pair of workers, the coefficient of n²; absent for other kinds.
    pub squared: Option<f64>,
    /// Where it grows faster from; absent for other kinds.
    pub knee: Option<f64>,
    /// The interval of the knee.
    pub knee_interval: Option<Interval>,
    /// By how much faster from there on.
    pub steeper: Option<f64>,
    /// All kinds, in the order of their simplicity.
    pub fits: Vec<GrowthFit>,
    /// Measured less modelled ln(time), in the order of the points.
    pub residuals: Vec<f64>,
    /// The smallest number of workers that was measured.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// How many points there are.
    pub n: usize,
    #[serde(skip)]
    curve: Curve,
    /// Where the time grows most steeply from one number to the next: both numbers, and the power of the number that it goes with there.
    steepest: Steepest,
}

/// Where medians of the time grow most steeply.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Steepest {
    /// The number of workers where it begins.
    pub from: f64,
    /// The next number that was measured.
    pub to: f64,
    /// The power of the number of workers that the time goes with between them.
    pub exponent: f64,
}

/// Fits all kinds of growth to points with at least five different numbers of workers.
///
/// # Errors
/// Too few different numbers, or a number or time that is not above 0.
pub fn fit_growth(points: &[GrowthPoint]) -> Result<Growth, JudgeError> {
    let numbers = check(points)?;
    let curves: Vec<(Kind, Curve)> =
        Kind::iter().map(|kind| (kind, fitted(kind, points, (&numbers, PLACES)))).collect();
    let (smallest, largest) = (numbers[0], numbers[numbers.len() - 1]);
    let doubling = |curve: &Curve| curve.time(largest) / curve.time(largest / 2.0);
    let exact = points.len() as f64 * EXACT * EXACT;
    let fit = |&(kind, ref curve): &(Kind, Curve)| GrowthFit {
        kind,
        aicc: if kind.spans(smallest, largest) {
            aicc(curve.squares(points).max(exact), points.len(), kind.parameters())
        } else {
            f64::INFINITY
        },
        left_out_error: left_out(kind, points),
        doubling: doubling(curve),
        ahead: curve.time(AHEAD * largest),
        squares: curve.squares(points).max(exact),
    };
    let fits: Vec<GrowthFit> = curves.iter().map(fit).collect();
    let kind = chosen(&fits);
    let curve = curves[kind as usize].1;
    let resampled = |kind: Kind, of: &dyn Fn(&Curve) -> f64| bootstrap(kind, points, &curves, of);
    let profile = (kind == Kind::Knee).then(|| Profile::of(points, &numbers));
    // A constant has no curve of its own that could scatter: the power scatters.
    let scattering = if kind == Kind::Constant { Kind::Power } else { kind };
    let residuals = curve.residuals(points);
    let beside: Vec<(f64, f64)> = points.iter().map(|point| point.n).zip(residuals.iter().copied()).collect();
    let lack_of_fit = structure(&beside, kind.figures());
    let may_level_off = kind == Kind::Logarithmic
        && curve.squares(points) > exact
        && !levels_off::is_logarithm(&curve, points, [smallest, largest]);
    let near = rms(&residuals) <= believed(lack_of_fit, numbers.len()) && !lack_of_fit.is_far();
    let parts = parts(&curve);
    Ok(Growth {
        kind,
        is_described: near && !may_level_off,
        may_level_off,
        lack_of_fit,
        doubling: doubling(&curve),
        doubling_interval: profile
            .as_ref()
            .map_or_else(|| resampled(scattering, &doubling), |profile| profile.doubling(points, largest)),
        exponent: curves[Kind::Power as usize].1.exponent(),
        exponent_interval: resampled(Kind::Power, &Curve::exponent),
        each: parts.each,
        logarithm: parts.logarithm,
        squared: parts.squared,
        knee: parts.knee,
        knee_interval: profile.map(|profile| profile.knee()),
        steeper: parts.steeper,
        fits,
        residuals,
        smallest,
        largest,
        n: points.len(),
        curve,
        steepest: steepest(points, &numbers),
    })
}

/// The coefficients of a curve that its kind has.
#[derive(Default)]
struct Parts {
    each: Option<f64>,
    logarithm: Option<f64>,
    squared: Option<f64>,
    knee: Option<f64>,
    steeper: Option<f64>,
}

fn parts(curve: &Curve) -> Parts {
    let Curve::Sum { basis, coefficients: [_, second, third] } = *curve else { return Parts::default() };
    let each = Parts { each: Some(second), ..Parts::default() };
    match basis {
        Basis::Lines { knee } if knee.is_finite() => {
            Parts { knee: Some(knee), steeper: (second > 0.0).then(|| (second + third) / second), ..each }
        }
        Basis::Lines { .. } => each,
        Basis::Square => Parts { squared: Some(third), ..each },
        Basis::Logarithm | Basis::Linearithm => Parts { logarithm: Some(second), ..Parts::default() },
    }
}

/// The best kind of the simplest class that has one whose criterion is near the best.
fn chosen(fits: &[GrowthFit]) -> Kind {
    let best = fits.iter().map(|fit| fit.aicc).fold(f64::INFINITY, f64::min);
    let near = fits.iter().filter(|fit| fit.aicc <= best + EARNS);
    let simplest = near.min_by(|a, b| a.kind.class().cmp(&b.kind.class()).then(a.aicc.total_cmp(&b.aicc)));
    simplest.map_or(Kind::Constant, |fit| fit.kind)
}

/// Up to which residuals, on ln(time), a kind can be believed.
fn believed(lack_of_fit: LackOfFit, numbers: usize) -> f64 {
    let (few, unrepeated) = UNREPEATED;
    if lack_of_fit.by_repeats || numbers >= few { BELIEVED } else { unrepeated }
}

/// Where medians of the time grow most steeply from one number to the next, on a logarithmic scale.
fn steepest(points: &[GrowthPoint], numbers: &[f64]) -> Steepest {
    let at = |n: f64| {
        let same = points.iter().filter(|point| point.n.total_cmp(&n).is_eq());
        median(&same.map(|point| point.time).collect::<Vec<f64>>())
    };
    let between = numbers.windows(2).map(|pair| {
        let exponent = (at(pair[1]) / at(pair[0])).ln() / (pair[1] / pair[0]).ln();
        Steepest { from: pair[0], to: pair[1], exponent }
    });
    let none = Steepest { from: numbers[0], to: numbers[0], exponent: 0.0 };
    between.max_by(|a, b| a.exponent.total_cmp(&b.exponent)).unwrap_or(none)
}

/// The different numbers of workers, in rising order.
fn check(points: &[GrowthPoint]) -> Result<Vec<f64>, JudgeError> {
    let column = |of: fn(&GrowthPoint) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    positive("n", &column(|point| point.n))?;
    positive("time", &column(|point| point.time))?;
    let numbers = different(points);
    if numbers.len() < LEAST_NUMBERS {
        let message = format!("{} different `n`: expected {LEAST_NUMBERS} or more", numbers.len());
        return Err(JudgeError::Table(message));
    }
    Ok(numbers)
}

fn different(points: &[GrowthPoint]) -> Vec<f64> {
    let mut numbers: Vec<f64> = points.iter().map(|point| point.n).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

fn left_out(kind: Kind, points: &[GrowthPoint]) -> f64 {
    let error = |i: usize| {
        let rest = without(points, i);
        fitted(kind, &rest, (&different(&rest), LEFT_OUT_PLACES)).residuals(&points[i..=i])[0]
    };
    rms(&(0..points.len()).map(error).collect::<Vec<f64>>())
}

/// The interval of a figure of a curve, from fits to points made of the curve and residuals drawn with replacement (Efron 1979).
/// Without a knee, which such fits would have to look for each time.
fn bootstrap(
    kind: Kind,
    points: &[GrowthPoint],
    curves: &[(Kind, Curve)],
    of: &dyn Fn(&Curve) -> f64,
) -> Interval {
    let curve = curves[kind as usize].1;
    let residuals = curve.residuals(points);
    let mut rng = SmallRng::new(points.len() as u64);
    let widened = widening(points.len(), kind.figures(), CONFIDENCE);
    let figures: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<GrowthPoint> = points
                .iter()
                .map(|point| {
                    let residual = widened * residuals[rng.below(residuals.len())];
                    GrowthPoint { n: point.n, time: curve.time(point.n) * residual.exp() }
                })
                .collect();
            of(&fitted(kind, &drawn, (&[], 0)))
        })
        .collect();
    middle(&figures, CONFIDENCE)
}

impl Growth {
    /// Pairs of workers and time on the curve, to be drawn: evenly on a logarithmic scale.
    pub fn drawn(&self) -> Vec<[f64; 2]> {
        const POINTS: u32 = 60;
        let (low, high) = (self.smallest.ln(), self.largest.ln());
        let at = |i: u32| (low + (high - low) * f64::from(i) / f64::from(POINTS)).exp();
        (0..=POINTS).map(at).map(|n| [n, self.time(n)]).collect()
    }

    /// The time that the chosen kind gives for a number of workers.
    pub fn time(&self, n: f64) -> f64 {
        self.curve.time(n)
    }
}
