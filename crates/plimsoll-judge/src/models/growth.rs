//! Time over the number of workers: constant, linear, or worse?
//!
//! Four kinds of growth are fitted on relative errors: none, `a + b·n`, `c·n^k`, and `a + b·n + d·(n - m)` from a knee `m` on (a broken line,
//! Muggeo, "Estimating regression models with unknown break-points", 2003). The simplest whose corrected criterion of Akaike is near the
//! best is chosen, so that a knee or a power must earn its place. The interval of a knee are the places at which the fit is not
//! significantly worse than at the best (a profile of the sum of squares); all other intervals are by a bootstrap of the residuals.

use super::least_squares::{self, Row};
use super::{aicc, rms, without};
use crate::input::{JudgeError, positive};
use crate::stats::dist::t_quantile;
use crate::stats::{bootstrap::widening, middle, rng::SmallRng};
use crate::wording::figure;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
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
    /// Linear, and steeper from a knee on.
    Knee,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Constant, Self::Linear, Self::Power, Self::Knee];

    /// The public name, as in the JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Power => "power",
            Self::Knee => "knee",
        }
    }

    /// What is fitted, the variance among it. The place of a knee, which is looked for all along the line, counts as three parameters
    /// (Hall, Osborn & Sakkas, "Inference on structural breaks using information criteria", 2013).
    fn parameters(self) -> usize {
        match self {
            Self::Constant => 2,
            Self::Linear | Self::Power => 3,
            Self::Knee => 7,
        }
    }
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Curve {
    /// Coefficients of 1, n and what n is above the knee.
    Lines { coefficients: [f64; 3], knee: f64 },
    /// `factor · n^exponent`.
    Power { factor: f64, exponent: f64 },
}

impl Curve {
    fn time(&self, n: f64) -> f64 {
        match self {
            Self::Lines { coefficients, knee } => least_squares::value(coefficients, &terms(n, *knee)),
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
}

/// How time grows with the number of workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The simplest kind that the points support.
    pub kind: Kind,
    /// By what the time is multiplied when the number of workers is doubled, at the largest number measured.
    pub doubling: f64,
    /// Its interval.
    pub doubling_interval: Interval,
    /// The power of the number of workers that the time goes with over the whole range, whatever the kind.
    pub exponent: f64,
    /// Its interval.
    pub exponent_interval: Interval,
    /// Time for each further worker, up to the knee where there is one; absent where it grows by a power.
    pub each: Option<f64>,
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
}

/// Fits all kinds of growth to points with at least five different numbers of workers.
///
/// # Errors
/// Too few different numbers, or a number or time that is not above 0.
pub fn fit_growth(points: &[GrowthPoint]) -> Result<Growth, JudgeError> {
    let numbers = check(points)?;
    let curves = Kind::ALL.map(|kind| (kind, fitted(kind, points, &numbers)));
    let fits = curves.map(|(kind, curve)| GrowthFit {
        kind,
        aicc: aicc(
            curve.squares(points).max(points.len() as f64 * EXACT * EXACT),
            points.len(),
            kind.parameters(),
        ),
        left_out_error: left_out(kind, points),
    });
    let best = fits.iter().map(|fit| fit.aicc).fold(f64::INFINITY, f64::min);
    let simplest = fits.iter().position(|fit| fit.aicc <= best + EARNS).unwrap_or(0);
    let (kind, curve) = curves[simplest];
    let (smallest, largest) = (numbers[0], numbers[numbers.len() - 1]);
    let doubling = |curve: &Curve| curve.time(largest) / curve.time(largest / 2.0);
    let exponent = |curve: &Curve| match curve {
        Curve::Power { exponent, .. } => *exponent,
        Curve::Lines { .. } => f64::NAN,
    };
    // What does not grow has no curve of its own that could scatter: it is the power that does.
    let scattering = if kind == Kind::Constant { Kind::Power } else { kind };
    let resampled = |kind: Kind, of: &dyn Fn(&Curve) -> f64| bootstrap(kind, points, &curves, of);
    let (knee, coefficients) = match curve {
        Curve::Lines { coefficients, knee } => {
            (Some(knee).filter(|_| kind == Kind::Knee), Some(coefficients))
        }
        Curve::Power { .. } => (None, None),
    };
    Ok(Growth {
        kind,
        doubling: doubling(&curve),
        doubling_interval: resampled(scattering, &doubling),
        exponent: exponent(&curves[Kind::Power as usize].1),
        exponent_interval: resampled(Kind::Power, &exponent),
        each: coefficients.map(|c| c[1]),
        knee,
        knee_interval: knee.map(|_| profile(points, &numbers)),
        steeper: coefficients.filter(|c| knee.is_some() && c[1] > 0.0).map(|c| (c[1] + c[2]) / c[1]),
        fits: fits.to_vec(),
        residuals: curve.residuals(points),
        smallest,
        largest,
        n: points.len(),
        curve,
    })
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
    let used = match kind {
        Kind::Constant => 1,
        Kind::Linear | Kind::Power => 2,
        Kind::Knee => 3,
    };
    let widened = widening(points.len(), used, CONFIDENCE);
    let refitted = |points: &[GrowthPoint]| match curve {
        Curve::Power { .. } => power(points),
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
    /// The time that the chosen kind gives for a number of workers.
    #[must_use]
    pub fn time(&self, n: f64) -> f64 {
        self.curve.time(n)
    }

    /// The verdict: `estimated`, with what the time is multiplied by when the workers are doubled; `undecided` when no kind describes the points.
    #[must_use]
    pub fn verdict(&self, metric: &str) -> Verdict {
        let error = rms(&self.residuals);
        if error > BELIEVED {
            let reason = format!(
                "no kind of growth describes {} points: the best is off by a factor of {}",
                self.n,
                figure(error.exp())
            );
            return Verdict::bare("growth", metric, Outcome::Undecided, self.n, reason);
        }
        let range = format!("from {} to {} workers", self.smallest, self.largest);
        let told = match (self.kind, self.each) {
            (Kind::Constant, _) => format!("constant {range}"),
            (Kind::Linear, each) => {
                format!("linear {range}: each further one adds {}", figure(each.unwrap_or(0.0)))
            }
            (Kind::Power, _) => format!(
                "{} than linear {range}: it goes with their number to the power {} ({} to {})",
                if self.exponent > 1.0 { "worse" } else { "better" },
                figure(self.exponent),
                figure(self.exponent_interval.lo()),
                figure(self.exponent_interval.hi())
            ),
            (Kind::Knee, _) => self.of_knee(),
        };
        Verdict {
            claim: "growth".into(),
            metric: metric.into(),
            outcome: Outcome::Estimated,
            estimate: Some(self.doubling),
            interval: Some(self.doubling_interval),
            confidence: CONFIDENCE,
            n: self.n,
            reason: format!("{told}; twice as many take {} times as long at the end", figure(self.doubling)),
            expected: None,
            holds: None,
        }
    }

    fn of_knee(&self) -> String {
        let (knee, interval) = (self.knee.unwrap_or(0.0), self.knee_interval.unwrap_or(Interval(0.0, 0.0)));
        let faster =
            self.steeper.map_or_else(String::new, |ratio| format!("{} times as steep ", figure(ratio)));
        format!(
            "linear up to a knee near {} workers ({} to {}), worse beyond: {faster}from there to {}",
            figure(knee),
            figure(interval.lo()),
            figure(interval.hi()),
            self.largest
        )
    }
}

#[cfg(test)]
mod tests {
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
