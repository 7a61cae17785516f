//! Samples too small for an exact test: the smallest that can decide, and Student's t below it.
//!
//! The signs of n pairs have 2ⁿ orders, so their two-sided p is 2/2ⁿ at least; the ranks of n against m values have C(n+m, n) orders. Where even the
//! most extreme order does not reach the level, only an assumption about the distribution can decide: Student's t (1908) for pairs and Welch's t
//! (1947) for two samples take normal values.

use crate::stats::shift::Location;
use crate::stats::{dist, mean, sorted, variance};

/// Smallest number of pairs whose signs alone can reach a two-sided level: 8 at 1 %, 6 at 5 %.
pub fn exact_pairs(alpha: f64) -> usize {
    (1.0 - alpha.log2()).ceil().max(1.0) as usize
}

/// Smallest number of values on each side whose ranks alone can reach a two-sided level: 5 at 1 %, 4 at 5 %.
pub fn exact_values(alpha: f64) -> usize {
    (1..).find(|&n| rank_sum_floor(n, n) <= alpha).unwrap_or(usize::MAX)
}

/// Smallest two-sided p-value that the ranks of `n` against `m` values can reach: 2/C(n+m, n).
pub(super) fn rank_sum_floor(n: usize, m: usize) -> f64 {
    let (few, many) = (n.min(m), n.max(m));
    2.0 * (1..=few).fold(1.0, |p, k| p * k as f64 / (many + k) as f64)
}

/// A centre with its interval, and the p-value of no difference.
pub(super) struct TTest {
    pub(super) location: Location,
    pub(super) p: f64,
}

impl TTest {
    /// An estimate without scatter to judge it by: the interval is open.
    fn open(estimate: f64) -> Self {
        Self { location: Location { estimate, lo: f64::NEG_INFINITY, hi: f64::INFINITY }, p: 1.0 }
    }

    pub(super) fn new(estimate: f64, error: f64, freedom: f64, confidence: f64) -> Self {
        if !(error > 0.0 && freedom > 0.0) {
            return Self::open(estimate);
        }
        let half = dist::t_quantile(f64::midpoint(1.0, confidence), freedom) * error;
        Self {
            location: Location { estimate, lo: estimate - half, hi: estimate + half },
            p: dist::t_two_sided(estimate / error, freedom),
        }
    }
}

/// Student's t on differences. `rounding` is the variance that the resolution of the values gives a difference: the scatter cannot be below it.
pub(super) fn student(d: &[f64], rounding: f64, confidence: f64) -> TTest {
    let n = d.len() as f64;
    TTest::new(mean(d), (variance(d).max(rounding) / n).sqrt(), n - 1.0, confidence)
}

/// Welch's t on two samples, b - a, with the variances that their resolution gives them.
pub(super) fn welch(a: &[f64], b: &[f64], rounding: [f64; 2], confidence: f64) -> TTest {
    let shift = mean(b) - mean(a);
    if a.len().min(b.len()) < 2 {
        return TTest::open(shift);
    }
    let of = |side: &[f64], rounding: f64| {
        let squared = variance(side).max(rounding) / side.len() as f64;
        (squared, squared * squared / (side.len() as f64 - 1.0))
    };
    let ((va, fa), (vb, fb)) = (of(a, rounding[0]), of(b, rounding[1]));
    TTest::new(shift, (va + vb).sqrt(), (va + vb).powi(2) / (fa + fb), confidence)
}

/// Step of the clock or the printout that values come from: the greatest common divisor of their distances; 0 for values without a common step.
pub(super) fn resolution(a: &[f64], b: &[f64]) -> f64 {
    let values = sorted(&[a, b].concat());
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let noise = 1e-9 * largest;
    let divisor = |mut x: f64, mut y: f64| {
        while y > noise {
            let rest = x % y;
            // A rest just below the divisor is one of rounding.
            (x, y) = (y, if y - rest < noise { 0.0 } else { rest });
        }
        x
    };
    values.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > noise).fold(0.0, divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_exact_samples_are_those_of_the_tables() {
        assert_eq!([0.05, 0.01, 0.001].map(exact_pairs), [6, 8, 11]);
        assert_eq!([0.05, 0.01, 0.001].map(exact_values), [4, 5, 7]);
        assert!((rank_sum_floor(4, 4) - 2.0 / 70.0).abs() < 1e-12);
        assert!((rank_sum_floor(3, 6) - 2.0 / 84.0).abs() < 1e-12);
    }

    #[test]
    fn t_tests_agree_with_scipy() {
        // scipy.stats.ttest_ind([1.1, 1.9, 3.2, 4.4], [5.0, 5.5, 7.1, 6.2], equal_var=False)
        let found = welch(&[1.1, 1.9, 3.2, 4.4], &[5.0, 5.5, 7.1, 6.2], [0.0; 2], 0.95);
        assert!((found.p - 0.011_812).abs() < 1e-5, "{}", found.p);
        // scipy.stats.ttest_1samp([0.3, 0.1, 0.4, 0.2, 0.6], 0)
        let found = student(&[0.3, 0.1, 0.4, 0.2, 0.6], 0.0, 0.95);
        assert!((found.p - 0.020_476).abs() < 1e-5, "{}", found.p);
        assert!((found.location.lo - 0.081_161).abs() < 1e-5, "{:?}", found.location);
    }

    #[test]
    fn a_resolution_is_found_in_rounded_values_only() {
        assert!((resolution(&[100.0, 101.5], &[104.5, 103.0]) - 1.5).abs() < 1e-9);
        assert!((resolution(&[0.12, 0.13], &[0.17, 0.2]) - 0.01).abs() < 1e-9);
        assert!(resolution(&[0.123_456_7, 0.987_654_3], &[0.543_217_7, 0.777_777_1]) < 1e-6);
        assert_eq!(resolution(&[5.0; 3], &[5.0; 3]), 0.0);
    }
}
