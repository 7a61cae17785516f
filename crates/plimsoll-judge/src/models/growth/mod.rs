//! Time over the number of workers: constant, linear, or worse?
//!
//! Five kinds of growth are fitted on relative errors: none, `a + b·n`, `c·n^k`, `a + b·n + c·n²`, and `a + b·n + d·(n - m)` from a knee `m` on (a
//! broken line, Muggeo, "Estimating regression models with unknown break-points", 2003). The simplest whose corrected criterion of Akaike is
//! near the best is chosen, so that a knee, a square or a power must earn its place. The interval of a knee are the places at which the fit is
//! not significantly worse than at the best (a profile of the sum of squares); all other intervals are by a bootstrap of the residuals.
//!
//! None of the kinds is claimed where even the best is off by far more than the scatter: where repeats of a number agree among themselves and
//! not with the curve, or where residuals keep their signs from one number to the next.

mod told;

use super::least_squares::{self, Row};
use super::structure::{Structure, structure};
use super::{aicc, rms, without};
use crate::input::{JudgeError, positive};
use crate::stats::dist::t_quantile;
use crate::stats::{bootstrap::widening, median, middle, rng::SmallRng};
use plimsoll_model::verdict::Interval;
use serde::{Deserialize, Serialize};

const CONFIDENCE: f64 = 0.95;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 500;
/// By how much a less simple kind must lower the criterion (Burnham & Anderson 2002).
const EARNS: f64 = 4.0;
/// The fewest different numbers of workers: with fewer a knee has no line on either side.
const LEAST_NUMBERS: usize = 5;
/// Places at which a knee is looked for.
const PLACES: usize = 120;
/// Residuals below this, on ln(time), are those of the arithmetic, and tell nothing of the kind.
const EXACT: f64 = 1e-6;
/// A fit is believed when its residuals, on ln(time), stay below this.
const BELIEVED: f64 = 0.3;
/// A structure of the residuals is believed where chance makes one in fewer cases than this, ...
const STRUCTURED: f64 = 0.005;
/// ... or than this, where no number was measured twice, ...
const ORDERED: f64 = 0.01;
/// ... and told where it is this large, on ln(time), ...
const LARGE: f64 = 0.02;
/// ... and this large beside the scatter.
const BESIDE_SCATTER: f64 = 0.5;
/// Without repeats, and with fewer different numbers than these, residuals above this, on ln(time), may be scatter or not.
const UNREPEATED: (usize, f64) = (12, 0.1);
/// A kind that describes the points nearly as well is told where it says of doubling what differs by this factor.
const DIFFERS: f64 = 1.15;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthPoint {
    /// The number of workers; above 0.
    pub n: f64,
    /// The time that they took, in any unit; above 0.
    pub time: f64,
}

/// A kind of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The time does not depend on the number of workers.
    Constant,
    /// Every further worker adds as much as the one before.
    Linear,
    /// A power of the number: worse than linear above 1, better below.
    Power,
    /// Every further worker adds more than the one before, by the same amount each time: a linear part, and one by the square.
    Quadratic,
    /// Linear, and steeper from a knee on.
    Knee,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Constant, Self::Linear, Self::Power, Self::Quadratic, Self::Knee];

    /// The public name, as in the JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Power => "power",
            Self::Quadratic => "quadratic",
            Self::Knee => "knee",
        }
    }

    /// What is fitted, the variance among it. The place of a knee, which is looked for all along the line, counts as three parameters
    /// (Hall, Osborn & Sakkas, "Inference on structural breaks using information criteria", 2013).
    fn parameters(self) -> usize {
        match self {
            Self::Constant => 2,
            Self::Linear | Self::Power => 3,
            Self::Quadratic => 4,
            Self::Knee => 7,
        }
    }

    /// The figures of the curve that are fitted, the place of a knee among them.
    fn figures(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Linear | Self::Power => 2,
            Self::Quadratic => 3,
            Self::Knee => 4,
        }
    }
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Curve {
    /// Coefficients of 1, n and what n is above the knee.
    Lines { coefficients: [f64; 3], knee: f64 },
    /// Coefficients of 1, n and n².
    Square { coefficients: [f64; 3] },
    /// `factor · n^exponent`.
    Power { factor: f64, exponent: f64 },
}

impl Curve {
    fn time(&self, n: f64) -> f64 {
        match self {
            Self::Lines { coefficients, knee } => least_squares::value(coefficients, &terms(n, *knee)),
            Self::Square { coefficients } => least_squares::value(coefficients, &[1.0, n, n * n]),
            Self::Power { factor, exponent } => factor * n.powf(*exponent),
        }
    }

    fn residuals(&self, points: &[GrowthPoint]) -> Vec<f64> {
        points.iter().map(|point| (point.time / self.time(point.n)).ln()).collect()
    }

    fn squares(&self, points: &[GrowthPoint]) -> f64 {
        self.residuals(points).iter().map(|residual| residual * residual).sum()
    }
}

fn terms(n: f64, knee: f64) -> [f64; 3] {
    [1.0, n, (n - knee).max(0.0)]
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
    /// By what it multiplies the time when the number of workers is doubled, at the largest number measured.
    pub doubling: f64,
}

/// What the chosen kind leaves unexplained, beside chance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LackOfFit {
    /// The chance of such residuals where the kind is right.
    pub p: f64,
    /// How far the kind is off, without scatter: a root mean square on ln(time).
    pub size: f64,
    /// The scatter on ln(time): of repeats of the same number, or from one number to the next where there are too few repeats.
    pub scatter: f64,
    /// Whether repeats say so; otherwise the order of the residuals does.
    pub by_repeats: bool,
}

impl LackOfFit {
    fn of(Structure { p, size, scatter, by_repeats }: Structure) -> Self {
        Self { p, size, scatter, by_repeats }
    }

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
    /// What it leaves unexplained.
    pub lack_of_fit: LackOfFit,
    /// By what the time is multiplied when the number of workers is doubled, at the largest number measured.
    pub doubling: f64,
    /// Its interval.
    pub doubling_interval: Interval,
    /// The power of the number of workers that the time goes with over the whole range, whatever the kind.
    pub exponent: f64,
    /// Its interval.
    pub exponent_interval: Interval,
    /// Time for each further worker, up to the knee where there is one, or the part of it that is linear; absent where it grows by a power.
    pub each: Option<f64>,
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
    let curves = Kind::ALL.map(|kind| (kind, fitted(kind, points, &numbers)));
    let (smallest, largest) = (numbers[0], numbers[numbers.len() - 1]);
    let doubling = |curve: &Curve| curve.time(largest) / curve.time(largest / 2.0);
    let fits = curves.map(|(kind, curve)| GrowthFit {
        kind,
        aicc: aicc(
            curve.squares(points).max(points.len() as f64 * EXACT * EXACT),
            points.len(),
            kind.parameters(),
        ),
        left_out_error: left_out(kind, points),
        doubling: doubling(&curve),
    });
    let (kind, curve) = curves[chosen(&fits) as usize];
    let exponent = |curve: &Curve| match curve {
        Curve::Power { exponent, .. } => *exponent,
        Curve::Lines { .. } | Curve::Square { .. } => f64::NAN,
    };
    // What does not grow has no curve of its own that could scatter: it is the power that does.
    let scattering = if kind == Kind::Constant { Kind::Power } else { kind };
    let resampled = |kind: Kind, of: &dyn Fn(&Curve) -> f64| bootstrap(kind, points, &curves, of);
    let (knee, coefficients) = match curve {
        Curve::Lines { coefficients, knee } => {
            (Some(knee).filter(|_| kind == Kind::Knee), Some(coefficients))
        }
        Curve::Square { coefficients } => (None, Some(coefficients)),
        Curve::Power { .. } => (None, None),
    };
    let residuals = curve.residuals(points);
    let beside: Vec<(f64, f64)> = points.iter().map(|point| point.n).zip(residuals.iter().copied()).collect();
    let lack_of_fit = LackOfFit::of(structure(&beside, kind.figures()));
    Ok(Growth {
        kind,
        is_described: rms(&residuals) <= believed(lack_of_fit, numbers.len()) && !lack_of_fit.is_far(),
        lack_of_fit,
        doubling: doubling(&curve),
        doubling_interval: resampled(scattering, &doubling),
        exponent: exponent(&curves[Kind::Power as usize].1),
        exponent_interval: resampled(Kind::Power, &exponent),
        each: coefficients.map(|c| c[1]),
        squared: coefficients.filter(|_| kind == Kind::Quadratic).map(|c| c[2]),
        knee,
        knee_interval: knee.map(|_| profile(points, &numbers)),
        steeper: coefficients.filter(|c| knee.is_some() && c[1] > 0.0).map(|c| (c[1] + c[2]) / c[1]),
        fits: fits.to_vec(),
        residuals,
        smallest,
        largest,
        n: points.len(),
        curve,
        steepest: steepest(points, &numbers),
    })
}

/// The simplest kind whose criterion is near the best. A square and a knee bend in ways of their own, so that neither is the simpler: the better
/// of the two.
fn chosen(fits: &[GrowthFit]) -> Kind {
    let best = fits.iter().map(|fit| fit.aicc).fold(f64::INFINITY, f64::min);
    let bends = |fit: &&GrowthFit| matches!(fit.kind, Kind::Quadratic | Kind::Knee);
    let near = fits.iter().filter(|fit| !bends(fit)).find(|fit| fit.aicc <= best + EARNS);
    let bent = || fits.iter().filter(bends).min_by(|a, b| a.aicc.total_cmp(&b.aicc));
    near.or_else(bent).map_or(Kind::Constant, |fit| fit.kind)
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
        let told = format!("{} different `n`: expected {LEAST_NUMBERS} or more", numbers.len());
        return Err(JudgeError::Table(told));
    }
    Ok(numbers)
}

fn different(points: &[GrowthPoint]) -> Vec<f64> {
    let mut numbers: Vec<f64> = points.iter().map(|point| point.n).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

fn fitted(kind: Kind, points: &[GrowthPoint], numbers: &[f64]) -> Curve {
    match kind {
        Kind::Constant => lines(points, &[&[0]], f64::INFINITY),
        Kind::Linear => lines(points, &[&[0, 1], &[1], &[0]], f64::INFINITY),
        Kind::Power => power(points),
        Kind::Quadratic => square(points),
        Kind::Knee => {
            let all = places(numbers).map(|knee| broken(points, knee));
            let least = all.min_by(|a, b| a.squares(points).total_cmp(&b.squares(points)));
            least.unwrap_or_else(|| broken(points, numbers[0]))
        }
    }
}

/// The line that breaks at a knee.
fn broken(points: &[GrowthPoint], knee: f64) -> Curve {
    lines(points, &[&[0, 1, 2], &[1, 2], &[0, 2], &[0, 1], &[1], &[0]], knee)
}

/// A line and a square, none of which falls.
fn square(points: &[GrowthPoint]) -> Curve {
    let row = |point: &GrowthPoint| Row { terms: [1.0, point.n, point.n * point.n], value: point.time };
    let rows: Vec<Row> = points.iter().map(row).collect();
    let allowed = |c: &[f64; 3]| c.iter().all(|c| *c >= 0.0) && c.iter().sum::<f64>() > 0.0;
    let fit = |candidates: &[&[usize]]| least_squares::fit(&rows, candidates, allowed);
    // Where all three terms may stay, none of them is better left out.
    let coefficients = fit(&[&[0, 1, 2]]).or_else(|| fit(&[&[1, 2], &[0, 2], &[2], &[0, 1], &[1], &[0]]));
    let coefficients = coefficients.unwrap_or([points[0].time, 0.0, 0.0]);
    Curve::Square { coefficients }
}

fn lines(points: &[GrowthPoint], candidates: &[&[usize]], knee: f64) -> Curve {
    let rows: Vec<Row> =
        points.iter().map(|point| Row { terms: terms(point.n, knee), value: point.time }).collect();
    let allowed = |c: &[f64; 3]| c.iter().all(|c| *c >= 0.0) && c[0] + c[1] > 0.0;
    // One value for all always fits, since times are above 0.
    let coefficients = least_squares::fit(&rows, candidates, allowed).unwrap_or([points[0].time, 0.0, 0.0]);
    Curve::Lines { coefficients, knee }
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

/// Where a knee may be: between the second and the last but one number of workers.
fn places(numbers: &[f64]) -> impl Iterator<Item = f64> + use<> {
    let last = numbers.len() - 1;
    let (low, high) = (numbers[1.min(last)].ln(), numbers[last.saturating_sub(1)].ln());
    (0..=PLACES).map(move |i| (low + (high - low) * i as f64 / PLACES as f64).exp())
}

/// The places of a knee at which the fit is not significantly worse than at the best, by an F test of one parameter. A knee that may as well be
/// at the last place where it was looked for may be anywhere beyond.
fn profile(points: &[GrowthPoint], numbers: &[f64]) -> Interval {
    let squares: Vec<(f64, f64)> =
        places(numbers).map(|knee| (knee, broken(points, knee).squares(points))).collect();
    let least = squares.iter().map(|(_, squares)| *squares).fold(f64::INFINITY, f64::min);
    let freedom = (points.len() as f64 - 4.0).max(1.0);
    let most = least * (1.0 + t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom).powi(2) / freedom);
    let good = |(_, squares): &(f64, f64)| *squares <= most;
    let end = |inside: Option<usize>, beyond: Option<usize>| match (inside, beyond) {
        (Some(inside), Some(beyond)) => crossing(squares[inside], squares[beyond], most),
        (inside, _) => squares[inside.unwrap_or(0)].0,
    };
    let (first, last) = (squares.iter().position(good), squares.iter().rposition(good));
    let behind = last.map(|last| last + 1).filter(|behind| *behind < squares.len());
    Interval(end(first, first.and_then(|first| first.checked_sub(1))), end(last, behind))
}

/// Where the squares reach `most` between two places.
fn crossing(inside: (f64, f64), beyond: (f64, f64), most: f64) -> f64 {
    let share = (most - inside.1) / (beyond.1 - inside.1);
    inside.0 * (beyond.0 / inside.0).powf(share)
}

fn left_out(kind: Kind, points: &[GrowthPoint]) -> f64 {
    let error = |i: usize| {
        let rest = without(points, i);
        fitted(kind, &rest, &different(&rest)).residuals(&points[i..=i])[0]
    };
    rms(&(0..points.len()).map(error).collect::<Vec<f64>>())
}

/// The interval of a figure of a curve, from fits to points made of the curve and residuals drawn with replacement (Efron 1979). A knee
/// stays where it is.
fn bootstrap(
    kind: Kind,
    points: &[GrowthPoint],
    curves: &[(Kind, Curve); Kind::ALL.len()],
    of: &dyn Fn(&Curve) -> f64,
) -> Interval {
    let curve = curves[kind as usize].1;
    let residuals = curve.residuals(points);
    let mut rng = SmallRng::new(points.len() as u64);
    // A knee stays where it is.
    let used = if kind == Kind::Knee { kind.figures() - 1 } else { kind.figures() };
    let widened = widening(points.len(), used, CONFIDENCE);
    let refitted = |points: &[GrowthPoint]| match curve {
        Curve::Power { .. } => power(points),
        Curve::Square { .. } => square(points),
        Curve::Lines { knee, .. } if kind == Kind::Knee => broken(points, knee),
        Curve::Lines { .. } => fitted(kind, points, &[]),
    };
    let figures: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<GrowthPoint> = points
                .iter()
                .map(|point| {
                    let residual = widened * residuals[rng.below(residuals.len())];
                    GrowthPoint { n: point.n, time: curve.time(point.n) * residual.exp() }
                })
                .collect();
            of(&refitted(&drawn))
        })
        .collect();
    middle(&figures, CONFIDENCE)
}

impl Growth {
    /// Pairs of workers and time on the curve, to be drawn: evenly on a logarithmic scale.
    #[must_use]
    pub fn drawn(&self) -> Vec<[f64; 2]> {
        const POINTS: u32 = 60;
        let (low, high) = (self.smallest.ln(), self.largest.ln());
        let at = |i: u32| (low + (high - low) * f64::from(i) / f64::from(POINTS)).exp();
        (0..=POINTS).map(at).map(|n| [n, self.time(n)]).collect()
    }

    /// The time that the chosen kind gives for a number of workers.
    #[must_use]
    pub fn time(&self, n: f64) -> f64 {
        self.curve.time(n)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::verdict::Outcome;

    use super::*;

    const NUMBERS: [f64; 7] = [40.0, 80.0, 200.0, 400.0, 800.0, 2_000.0, 4_000.0];

    fn measured(time: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Vec<GrowthPoint> {
        let mut rng = SmallRng::new(seed);
        let each = NUMBERS.iter().flat_map(|n| [*n; 3]);
        each.map(|n| GrowthPoint { n, time: time(n) * (noise * rng.normal()).exp() }).collect()
    }

    #[test]
    fn each_kind_is_told_from_the_others() {
        for seed in 0..5 {
            let kind = |time: &dyn Fn(f64) -> f64| {
                let found = fit_growth(&measured(time, 0.05, seed)).unwrap();
                assert_eq!(found.verdict("time").outcome, Outcome::Estimated);
                found.kind
            };
            assert_eq!(kind(&|_| 7.0), Kind::Constant);
            assert_eq!(kind(&|n| 3.0 + 0.2 * n), Kind::Linear);
            assert_eq!(kind(&|n| 0.01 * n.powf(1.4)), Kind::Power);
            assert_eq!(kind(&|n| 0.2 * n + 0.6 * (n - 700.0_f64).max(0.0)), Kind::Knee);
        }
    }

    /// So many repeats at numbers that double, each off by a factor that has heavy tails.
    fn repeated(time: impl Fn(f64) -> f64, scatter: f64, repeats: usize, seed: u64) -> Vec<GrowthPoint> {
        let mut rng = SmallRng::new(seed);
        let numbers = (0..8).map(|i| f64::from(1 << i)).flat_map(|n| std::iter::repeat_n(n, repeats));
        let mut off = || (scatter * rng.normal() / (0.3 + rng.uniform())).exp();
        numbers.map(|n| GrowthPoint { n, time: time(n) * off() }).collect()
    }

    #[test]
    fn a_linear_and_a_quadratic_part_are_no_knee_and_doubling_is_theirs() {
        // From 64 to 128: (50 + 128 + 0.5·128²) / (50 + 64 + 0.5·64²) = 3.87.
        let time = |n: f64| 50.0 + n + 0.5 * n * n;
        for seed in 0..10 {
            let found = fit_growth(&repeated(time, 0.01, 3, seed)).unwrap();
            assert_eq!(found.kind, Kind::Quadratic, "{found:?}");
            let truth = time(128.0) / time(64.0);
            assert!((found.doubling / truth - 1.0).abs() < 0.02, "{found:?}");
            assert!((found.squared.unwrap() / 0.5 - 1.0).abs() < 0.1, "{found:?}");
            let verdict = found.verdict("time");
            assert!(verdict.reason.starts_with("linear and quadratic from 1 to 128"), "{}", verdict.reason);
        }
    }

    #[test]
    fn a_curve_that_is_of_no_kind_is_refused_with_what_is_sure() {
        let shapes: [(&str, &dyn Fn(f64) -> f64); 3] = [
            ("a step", &|n| if n < 10.0 { 10.0 } else { 25.0 }),
            ("a level that is reached", &|n| 100.0 * n / (n + 8.0) + 0.2 * n),
            ("a wave", &|n| (5.0 + n) * (1.0 + 0.25 * (2.0 * n.ln()).sin())),
        ];
        for (name, time) in shapes {
            for repeats in [1, 4] {
                let verdict = fit_growth(&repeated(time, 0.005, repeats, 7)).unwrap().verdict("time");
                assert_eq!(
                    (verdict.outcome, verdict.estimate),
                    (Outcome::Undecided, None),
                    "{name} {repeats}"
                );
                assert!(verdict.reason.contains("no kind of growth describes"), "{}", verdict.reason);
                assert!(verdict.reason.contains("steepest from"), "{}", verdict.reason);
            }
        }
    }

    #[test]
    fn a_kind_that_is_right_is_seldom_refused() {
        let kinds: [&dyn Fn(f64) -> f64; 4] =
            [&|_| 3.0, &|n| 5.0 + n, &|n| 2.0 * n.powf(1.5), &|n| 5.0 + n + 0.05 * n * n];
        // Without repeats the scatter has to be guessed from the residuals, and one kind in ten is refused (77 of 800 such series).
        for (repeats, most) in [(1, 8), (3, 1)] {
            let refused = (0..40).filter(|seed| {
                let points = repeated(kinds[*seed as usize % 4], 0.05, repeats, *seed);
                !fit_growth(&points).unwrap().is_described
            });
            let refused = refused.count();
            assert!(refused <= most, "{repeats}: {refused}");
        }
    }

    #[test]
    fn exact_points_are_of_the_simplest_kind_that_fits() {
        let kind = |time: &dyn Fn(f64) -> f64| fit_growth(&measured(time, 0.0, 1)).unwrap().kind;
        assert_eq!(kind(&|_| 9.0), Kind::Constant);
        assert_eq!(kind(&|n| 0.1 * n), Kind::Linear);
        assert_eq!(kind(&|n| 0.1 * n.powf(1.2)), Kind::Power);
    }

    #[test]
    fn a_knee_is_found_where_it_is_and_doubling_is_told_at_the_end() {
        let found = fit_growth(&measured(|n| 0.2 * n + 0.4 * (n - 700.0).max(0.0), 0.0, 1)).unwrap();
        assert!((found.knee.unwrap() / 700.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.steeper.unwrap() - 3.0).abs() < 0.1, "{found:?}");
        // (800 + 0.4·3300) / (400 + 0.4·1300)
        assert!((found.doubling - 2.304).abs() < 0.02, "{found:?}");
        let reason = found.verdict("time").reason;
        assert!(reason.contains("linear up to a knee near"), "{reason}");
    }

    #[test]
    fn what_is_linear_doubles_within_its_interval() {
        let found = fit_growth(&measured(|n| 0.2 * n, 0.05, 3)).unwrap();
        let Interval(low, high) = found.doubling_interval;
        assert!(low < 2.0 && high > 1.95 && high - low < 0.3, "{found:?}");
        assert!(found.verdict("time").reason.starts_with("linear from 40"), "{found:?}");
    }

    #[test]
    fn points_without_any_order_are_undecided_and_impossible_ones_errors() {
        let wild = measured(|n| if (n as u64 / 40).is_multiple_of(2) { 1.0 } else { 50.0 }, 0.0, 1);
        assert_eq!(fit_growth(&wild).unwrap().verdict("time").outcome, Outcome::Undecided);
        let point = |n, time| GrowthPoint { n, time };
        assert!(fit_growth(&[point(1.0, 1.0); 9]).is_err());
        let good = [1.0, 2.0, 3.0, 4.0, 5.0].map(|n| point(n, 1.0));
        assert!(fit_growth(&good).is_ok());
        for bad in [point(0.0, 1.0), point(2.0, 0.0), point(f64::NAN, 1.0), point(2.0, f64::INFINITY)] {
            assert!(fit_growth(&[&good[..], &[bad]].concat()).is_err(), "{bad:?}");
        }
    }
}
