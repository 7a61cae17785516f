//! Throughput over the number of workers: the universal scalability law.
//!
//! X(N) = γN / (1 + α(N-1) + βN(N-1)) (Gunther 2007, *Guerrilla Capacity Planning*): γ is what one worker does, α the share that must wait
//! for others (contention), β the cost of keeping all consistent (coherency). Throughput peaks at N = √((1-α)/β). N/X is linear in its
//! coefficients, so the fit is a weighted least squares on relative errors with α, β ≥ 0, and needs no starting values.

use super::least_squares::{self, Row};
use super::{aicc, without};
use crate::input::JudgeError;
use crate::stats::{bootstrap::widening, dist::f_upper, middle, rng::SmallRng};
use crate::wording::figure;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 1_000;
/// By how much a further term must lower the criterion (Burnham & Anderson 2002).
const EARNS: f64 = 4.0;
/// The fewest points: three coefficients, and one to see an error by.
const LEAST_POINTS: usize = 4;
/// From this number of points on, the criterion for few points is defined for all three coefficients.
const ENOUGH_POINTS: usize = 6;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// The number of workers, clients or processors; above 0.
    pub n: f64,
    /// Their throughput together, per second or any other unit of time; above 0.
    pub throughput: f64,
}

/// The coefficients of the law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    /// The throughput of one worker, in the unit of the points.
    pub gamma: f64,
    /// Contention, 0 or more.
    pub alpha: f64,
    /// Coherency, 0 or more.
    pub beta: f64,
}

impl Law {
    /// The throughput of `n` workers.
    pub fn throughput(&self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0))
    }

    /// The number of workers beyond which throughput falls; absent when it never does.
    pub fn peak(&self) -> Option<f64> {
        (self.beta > 0.0).then(|| ((1.0 - self.alpha).max(0.0) / self.beta).sqrt().max(1.0))
    }
}

/// The fitted law and its intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The coefficients.
    pub law: Law,
    /// The interval of each coefficient, by a bootstrap of the residuals.
    pub gamma_interval: Interval,
    /// As above.
    pub alpha_interval: Interval,
    /// As above.
    pub beta_interval: Interval,
    /// Where throughput is largest; absent where it grows without end.
    pub peak: Option<f64>,
    /// The interval of the peak; absent where more than one resample in forty has none.
    pub peak_interval: Option<Interval>,
    /// The throughput at the peak.
    pub peak_throughput: Option<f64>,
    /// The simplest law that the points support: `linear`, `contention` or `coherency`.
    pub shape: Shape,
    /// Measured over modelled throughput, minus 1, in the order of the points.
    pub residuals: Vec<f64>,
    /// The leave-one-out error, a root mean square of such ratios.
    pub left_out_error: f64,
    /// The largest measured number of workers.
    pub largest: f64,
    /// The number of workers behind which throughput only fell; absent where it did not fall.
    pub falls_after: Option<f64>,
    /// How many points there are.
    pub n: usize,
}

/// Which terms of the law the points support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every worker adds as much as the first.
    Linear,
    /// Amdahl's law: throughput levels off.
    Contention,
    /// Throughput falls again.
    Coherency,
}

impl Shape {
    const ALL: [Self; 3] = [Self::Linear, Self::Contention, Self::Coherency];

    fn terms(self) -> &'static [usize] {
        match self {
            Self::Linear => &[0],
            Self::Contention => &[0, 1],
            Self::Coherency => &[0, 1, 2],
        }
    }
}

/// Fits the law to points with at least three different numbers of workers.
///
/// # Errors
/// Too few points or numbers of workers, or a number or throughput that is not above 0.
pub fn fit_scaling(points: &[ScalingPoint]) -> Result<Scaling, JudgeError> {
    check(points)?;
    let law = fit(points, Shape::Coherency.terms());
    let residuals: Vec<f64> = points.iter().map(|p| p.throughput / law.throughput(p.n) - 1.0).collect();
    let shape = simplest(points);
    let laws = resampled(points, &law, &residuals);
    let interval = |of: &dyn Fn(&Law) -> f64| middle(&laws.iter().map(of).collect::<Vec<f64>>(), CONFIDENCE);
    let peaks: Vec<f64> = laws.iter().filter_map(Law::peak).collect();
    let peak_interval = (40 * (laws.len() - peaks.len()) <= laws.len())
        .then(|| interval(&|l| l.peak().unwrap_or(f64::MAX)))
        .filter(|i| i.hi() < f64::MAX);
    let left_out = (0..points.len()).map(|i| {
        let law = fit(&without(points, i), shape.terms());
        points[i].throughput / law.throughput(points[i].n) - 1.0
    });
    let left_out: Vec<f64> = left_out.collect();
    Ok(Scaling {
        gamma_interval: interval(&|l| l.gamma),
        alpha_interval: interval(&|l| l.alpha),
        beta_interval: interval(&|l| l.beta),
        peak: law.peak(),
        peak_interval,
        peak_throughput: law.peak().map(|n| law.throughput(n)),
        shape,
        residuals,
        left_out_error: super::rms(&left_out),
        falls_after: falls_after(points),
        largest: points.iter().map(|p| p.n).fold(0.0, f64::max),
        n: points.len(),
        law,
    })
}

fn check(points: &[ScalingPoint]) -> Result<(), JudgeError> {
    if points.len() < LEAST_POINTS {
        return Err(JudgeError::TooFew { what: "rows".into(), got: points.len(), needed: LEAST_POINTS });
    }
    for (name, values) in [
        ("n", points.iter().map(|p| p.n).collect::<Vec<f64>>()),
        ("throughput", points.iter().map(|p| p.throughput).collect()),
    ] {
        crate::input::positive(name, &values)?;
    }
    let mut sizes: Vec<f64> = points.iter().map(|p| p.n).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 3 {
        return Err(JudgeError::Table(format!("{} different `n`: expected three or more", sizes.len())));
    }
    Ok(())
}

/// The number of workers with the best mean throughput, if the largest number of workers has a lower one.
fn falls_after(points: &[ScalingPoint]) -> Option<f64> {
    let mean_at = |n: f64| {
        let there: Vec<f64> = points.iter().filter(|p| p.n == n).map(|p| p.throughput).collect();
        (n, crate::stats::mean(&there))
    };
    let means = || points.iter().map(|p| mean_at(p.n));
    let best = means().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let last = means().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (last.1 < best.1).then_some(best.0)
}

/// The simplest shape that the points support; a curve that falls is never linear.
fn simplest(points: &[ScalingPoint]) -> Shape {
    let squares = Shape::ALL.map(|shape| {
        let law = fit(points, shape.terms());
        points.iter().map(|p| (p.throughput / law.throughput(p.n) - 1.0).powi(2)).sum::<f64>()
    });
    let shape = if points.len() < ENOUGH_POINTS {
        by_f(squares, points.len())
    } else {
        by_aicc(squares, points.len())
    };
    if shape == Shape::Linear && falls_after(points).is_some() { Shape::Contention } else { shape }
}

/// The shape whose last term passes an F test: for the few points from which [`aicc`] cannot choose.
fn by_f(squares: [f64; 3], points: usize) -> Shape {
    let earns = |simple: f64, full: f64, terms: usize| {
        let free = points.saturating_sub(terms) as f64;
        simple > full && f_upper((simple - full) / (full / free), 1.0, free) <= 1.0 - CONFIDENCE
    };
    let [linear, contention, coherency] = squares;
    if earns(contention, coherency, 3) {
        Shape::Coherency
    } else if earns(linear, contention, 2) {
        Shape::Contention
    } else {
        Shape::Linear
    }
}

/// The simplest shape whose criterion is near the best: a further term must earn its place.
fn by_aicc(squares: [f64; 3], points: usize) -> Shape {
    let criterion = |shape: Shape| aicc(squares[shape as usize], points, shape.terms().len() + 1);
    let criteria = Shape::ALL.map(criterion);
    let best = criteria.into_iter().fold(f64::INFINITY, f64::min);
    Shape::ALL
        .into_iter()
        .zip(criteria)
        .find(|(_, c)| *c <= best + EARNS)
        .map_or(Shape::Coherency, |(shape, _)| shape)
}

/// Least squares of N/X on 1, N-1 and N(N-1), the last two kept from going below 0 by leaving them out.
fn fit(points: &[ScalingPoint], terms: &[usize]) -> Law {
    let candidates: &[&[usize]] = match terms.len() {
        1 => &[&[0]],
        2 => &[&[0, 1], &[0]],
        _ => &[&[0, 1, 2], &[0, 2], &[0, 1], &[0]],
    };
    let allowed = |c: &[f64; 3]| c[0] > 0.0 && c[1] >= 0.0 && c[2] >= 0.0;
    let row =
        |p: &ScalingPoint| Row { terms: [1.0, p.n - 1.0, p.n * (p.n - 1.0)], value: p.n / p.throughput };
    let rows: Vec<Row> = points.iter().map(row).collect();
    let rate = points.iter().map(|p| p.throughput / p.n).sum::<f64>() / points.len() as f64;
    let [c0, c1, c2] = least_squares::fit(&rows, candidates, allowed).unwrap_or([1.0 / rate, 0.0, 0.0]);
    Law { gamma: 1.0 / c0, alpha: c1 / c0, beta: c2 / c0 }
}

/// Fits to points made of the law and residuals drawn with replacement (Efron 1979).
fn resampled(points: &[ScalingPoint], law: &Law, residuals: &[f64]) -> Vec<Law> {
    let mut rng = SmallRng::new(points.len() as u64);
    let widened = widening(points.len(), 3, CONFIDENCE);
    (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<ScalingPoint> = points
                .iter()
                .map(|p| {
                    let residual = (widened * residuals[rng.below(residuals.len())]).max(-0.9);
                    ScalingPoint { n: p.n, throughput: law.throughput(p.n) * (1.0 + residual) }
                })
                .collect();
            fit(&drawn, Shape::Coherency.terms())
        })
        .collect()
}

impl Scaling {
    /// The verdict: `estimated`, with the number of workers at the peak where there is one.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let law = &self.law;
        let shape = match (self.shape, self.peak) {
            (Shape::Coherency, Some(peak)) if peak > self.largest => {
                format!(
                    "throughput would peak near {} workers, beyond the {} measured",
                    figure(peak),
                    figure(self.largest)
                )
            }
            (Shape::Coherency, Some(peak)) => {
                format!("throughput peaks at {} near {} workers", figure(law.throughput(peak)), figure(peak))
            }
            (Shape::Linear, _) => "throughput grows in proportion: no contention is seen".into(),
            (Shape::Contention, _) if self.falls_after.is_some() => format!(
                "throughput is lower at {} workers than at {}; the points cannot tell a fall from noise",
                figure(self.largest),
                figure(self.falls_after.unwrap_or(self.largest))
            ),
            _ => "throughput levels off, and no fall is seen".into(),
        };
        let few = if self.n < ENOUGH_POINTS && self.shape != Shape::Coherency {
            format!(
                "; {} points show only a large bend or fall, and {ENOUGH_POINTS} or more show smaller ones",
                self.n
            )
        } else {
            String::new()
        };
        let reason =
            format!("{shape} (contention {}, coherency {}){few}", figure(law.alpha), figure(law.beta));
        let bare = Verdict::bare("scaling", metric, Outcome::Estimated, self.n, reason);
        if self.shape == Shape::Coherency {
            return Verdict {
                estimate: self.peak,
                interval: self.peak_interval,
                confidence: CONFIDENCE,
                ..bare
            };
        }
        bare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law { gamma: 1_000.0, alpha: 0.05, beta: 0.001 };

    fn measured(law: Law, noise: f64, seed: u64) -> Vec<ScalingPoint> {
        let mut rng = SmallRng::new(seed);
        [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0]
            .map(|n| ScalingPoint { n, throughput: law.throughput(n) * (1.0 + noise * rng.normal()) })
            .to_vec()
    }

    #[test]
    fn exact_points_give_the_coefficients_and_the_peak() {
        let found = fit_scaling(&measured(LAW, 0.0, 1)).unwrap();
        assert!((found.law.gamma - 1_000.0).abs() < 1e-6);
        assert!((found.law.alpha - 0.05).abs() < 1e-9 && (found.law.beta - 0.001).abs() < 1e-12);
        // √((1 - 0.05) / 0.001)
        assert!((found.peak.unwrap() - 30.822_070).abs() < 1e-5);
    }

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        let held = (0..60).filter(|&seed| {
            let found = fit_scaling(&measured(LAW, 0.02, seed)).unwrap();
            let interval = found.peak_interval.unwrap();
            interval.lo() <= 30.822 && 30.822 <= interval.hi()
        });
        assert!(held.count() >= 51);
    }

    #[test]
    fn the_simplest_shape_that_fits_is_named() {
        let shape =
            |alpha, beta| fit_scaling(&measured(Law { gamma: 10.0, alpha, beta }, 0.005, 3)).unwrap().shape;
        assert_eq!(shape(0.0, 0.0), Shape::Linear);
        assert_eq!(shape(0.1, 0.0), Shape::Contention);
        assert_eq!(shape(0.1, 0.002), Shape::Coherency);
    }

    #[test]
    fn a_fall_is_never_linear_and_few_points_say_what_they_cannot_show() {
        let judge = |throughputs: [f64; 4]| {
            let points: Vec<ScalingPoint> = [1.0, 3.0, 6.0, 12.0]
                .into_iter()
                .zip(throughputs)
                .map(|(n, throughput)| ScalingPoint { n, throughput })
                .collect();
            let found = fit_scaling(&points).unwrap();
            (found.shape, found.verdict("rate").reason)
        };
        let exact = [1.0, 3.0, 6.0, 12.0]
            .map(|n| Law { gamma: 90.0, alpha: 0.05, beta: 0.03 }.throughput(n) + n / 50.0);
        assert_eq!(judge(exact).0, Shape::Coherency);
        let (shape, reason) = judge([100.0, 300.0, 600.0, 590.0]);
        assert_ne!(shape, Shape::Linear, "{reason}");
        let (shape, reason) = judge([100.0, 305.0, 590.0, 1_210.0]);
        assert_eq!(shape, Shape::Linear);
        assert!(reason.contains("4 points show only a large bend"), "{reason}");
    }

    #[test]
    fn impossible_rows_are_errors() {
        let point = |n, throughput| ScalingPoint { n, throughput };
        assert!(fit_scaling(&[point(1.0, 1.0); 3]).is_err());
        assert!(fit_scaling(&[point(1.0, 1.0); 9]).is_err(), "one number of workers");
        for bad in [point(0.0, 1.0), point(2.0, 0.0), point(f64::NAN, 1.0), point(2.0, f64::INFINITY)] {
            assert!(
                fit_scaling(&[point(1.0, 1.0), point(2.0, 2.0), point(3.0, 3.0), bad]).is_err(),
                "{bad:?}"
            );
        }
    }
}
