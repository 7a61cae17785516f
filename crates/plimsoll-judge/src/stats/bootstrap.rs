//! Bootstrap intervals, plain and hierarchical.

use super::dist::{normal_quantile, t_quantile};
use super::rng::SmallRng;
use super::shift::Location;
use super::{mean, middle};

/// Values in nested groups, such as boots that hold processes that hold windows.
#[derive(Clone, Debug, PartialEq)]
pub enum Nested {
    /// The lowest level: single measurements.
    Values(Vec<f64>),
    /// A level of groups.
    Groups(Vec<Self>),
}

impl Nested {
    /// The mean of the means of all groups, down to the values: every group weighs the same, however many values it
    /// has. Empty groups are passed over; NaN when there is nothing at all.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Values(values) => mean(values),
            Self::Groups(groups) => {
                let means: Vec<f64> = groups.iter().map(Self::mean).filter(|m| !m.is_nan()).collect();
                mean(&means)
            }
        }
    }

    /// The mean of one resample: groups are drawn with replacement at every level, then values inside of them.
    fn resampled_mean(&self, rng: &mut SmallRng) -> f64 {
        match self {
            Self::Values(values) => {
                let n = values.len();
                (0..n).map(|_| values[rng.below(n)]).sum::<f64>() / n as f64
            }
            Self::Groups(groups) => {
                let n = groups.len();
                let drawn: Vec<f64> = (0..n)
                    .map(|_| groups[rng.below(n)].resampled_mean(rng))
                    .filter(|m| !m.is_nan())
                    .collect();
                mean(&drawn)
            }
        }
    }
}

/// The mean of nested values with its percentile interval, every level resampled (Kalibera & Jones 2013, section 7).
///
/// With few groups at the top the interval is too narrow, as every bootstrap's is: below five, prefer a test that
/// counts out its permutations. NaN when there is nothing to resample.
pub fn hierarchical(values: &Nested, confidence: f64, resamples: usize, seed: u64) -> Location {
    let mut rng = SmallRng::new(seed);
    interval(values.mean(), (0..resamples).map(|_| values.resampled_mean(&mut rng)), confidence)
}

/// Any statistic of plain values with its percentile interval (Efron 1979).
pub fn percentile(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Location {
    let mut rng = SmallRng::new(seed);
    let mut drawn = vec![0.0; values.len()];
    let replicates = (0..resamples).map(|_| {
        for slot in &mut drawn {
            *slot = values[rng.below(values.len())];
        }
        statistic(&drawn)
    });
    interval(statistic(values), replicates, confidence)
}

/// By how much the residuals of a curve through `points` points are widened before they are drawn with replacement: for
/// the coefficients that were fitted, and for percentiles of few residuals, which are too narrow, by Student's t.
pub fn widening(points: usize, coefficients: usize, confidence: f64) -> f64 {
    let points = points as f64;
    let freedom = (points - coefficients as f64).max(1.0);
    let upper = f64::midpoint(1.0, confidence);
    (points / freedom).sqrt() * t_quantile(upper, freedom) / normal_quantile(upper)
}

fn interval(estimate: f64, replicates: impl Iterator<Item = f64>, confidence: f64) -> Location {
    let replicates: Vec<f64> = replicates.filter(|r| !r.is_nan()).collect();
    let interval = middle(&replicates, confidence);
    Location { estimate, lo: interval.lo(), hi: interval.hi() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_residuals_are_widened_and_many_are_left_as_they_are() {
        // t(0.975, 4) = 2.776 and z = 1.960, by the tables.
        assert!((widening(6, 2, 0.95) - 1.5_f64.sqrt() * 2.776 / 1.960).abs() < 1e-3);
        assert!((widening(1_000_000, 3, 0.95) - 1.0).abs() < 1e-5);
    }

    /// The standard error of the mean of `groups` groups of `size` values, with spreads between and within.
    fn simulated_half_width(between: f64, within: f64, groups: usize, size: usize) -> f64 {
        let mut rng = SmallRng::new(5);
        let nested = Nested::Groups(
            (0..groups)
                .map(|_| {
                    let level = between * rng.normal();
                    Nested::Values((0..size).map(|_| level + within * rng.normal()).collect())
                })
                .collect(),
        );
        let result = hierarchical(&nested, 0.95, 2000, 9);
        (result.hi - result.lo) / 2.0
    }

    #[test]
    fn the_spread_between_groups_is_not_averaged_away_by_more_values() {
        // 20 groups with SD 1 between them: 1.96 / sqrt(20) = 0.44, whatever the number of values inside.
        let half = simulated_half_width(1.0, 0.1, 20, 200);
        assert!((0.25..0.65).contains(&half), "{half}");
        let without = simulated_half_width(0.0, 0.1, 20, 200);
        assert!(without < 0.01, "{without}");
    }

    #[test]
    fn the_percentile_interval_of_a_mean_has_the_width_that_theory_gives() {
        let mut rng = SmallRng::new(2);
        let values: Vec<f64> = (0..400).map(|_| rng.normal()).collect();
        let result = percentile(&values, mean, 0.95, 4000, 1);
        assert!(((result.hi - result.lo) / 2.0 - 1.96 / 20.0).abs() < 0.015, "{result:?}");
    }

    #[test]
    fn empty_levels_give_no_panic() {
        let empty = Nested::Groups(vec![Nested::Values(vec![]), Nested::Groups(vec![])]);
        assert!(hierarchical(&empty, 0.95, 10, 0).estimate.is_nan());
        assert!(percentile(&[], mean, 0.95, 10, 0).lo.is_nan());
    }
}
