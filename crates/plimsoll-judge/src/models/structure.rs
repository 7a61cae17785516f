//! Whether deviations of points from a curve are chance, or have a structure.
//!
//! Where points were measured several times, their own scatter is chance, and the means of the residuals must not be further
//! off than that (the lack-of-fit test of Fisher 1922, as in Draper & Smith, *Applied Regression Analysis*, chapter 2). Where they were not, the
//! residuals must change from one place to the next as much as they would in any other order (von Neumann's ratio of 1941, by permutation).

use serde::Serialize;

use crate::stats::dist::f_upper;
use crate::stats::rng::SmallRng;

/// Degrees of freedom of repeats from which on they say what chance does.
const ENOUGH_REPEATS: usize = 3;
/// Orders that are drawn.
const ORDERS: usize = 4000;
/// Residuals below this are those of the arithmetic.
const EXACT: f64 = 1e-9;

/// LackOfFit of residuals beside chance: the part that a curve leaves unexplained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LackOfFit {
    /// The chance of such residuals where there is no structure.
    pub p: f64,
    /// The part of the residuals that is not scatter, as a root mean square.
    pub size: f64,
    /// The standard deviation of a point around its place: of repeats, or from one place to the next.
    pub scatter: f64,
    /// Whether repeats say so; otherwise the order does.
    pub by_repeats: bool,
}

/// The structure of residuals beyond chance, with their places, for a curve with `parameters` parameters.
pub(super) fn structure(residuals: &[(f64, f64)], parameters: usize) -> LackOfFit {
    let groups = groups(residuals);
    let freedom = residuals.len() - groups.len();
    if freedom >= ENOUGH_REPEATS && groups.len() > parameters {
        by_repeats(&groups, freedom, groups.len() - parameters)
    } else {
        by_order(&groups)
    }
}

/// The residuals at each place, in rising order of places.
fn groups(residuals: &[(f64, f64)]) -> Vec<Vec<f64>> {
    let mut sorted = residuals.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
        .chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq())
        .map(|same| same.iter().map(|(_, r)| *r).collect())
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn by_repeats(groups: &[Vec<f64>], freedom: usize, lacking: usize) -> LackOfFit {
    let inside = |group: &Vec<f64>| group.iter().map(|r| (r - mean(group)).powi(2)).sum::<f64>();
    let variance = groups.iter().map(inside).sum::<f64>() / freedom as f64;
    let between = groups.iter().map(|group| group.len() as f64 * mean(group).powi(2)).sum::<f64>();
    let ratio = between / lacking as f64 / variance.max(EXACT * EXACT);
    // A mean of several points scatters less than one.
    let count = groups.len() as f64;
    let squares = groups.iter().map(|group| mean(group).powi(2) - variance / group.len() as f64).sum::<f64>();
    LackOfFit {
        p: f_upper(ratio, lacking as f64, freedom as f64),
        size: (squares / count).max(0.0).sqrt(),
        scatter: variance.sqrt(),
        by_repeats: true,
    }
}

fn by_order(groups: &[Vec<f64>]) -> LackOfFit {
    let mut means: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
    let all = means.iter().map(|mean| mean * mean).sum::<f64>() / means.len().max(1) as f64;
    let steps = |means: &[f64]| means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f64>();
    let found = steps(&means);
    let variance = found / (2.0 * means.len().saturating_sub(1).max(1) as f64);
    let mut rng = SmallRng::new(means.len() as u64);
    let as_even = (0..ORDERS).filter(|_| {
        rng.shuffle(&mut means);
        // The same order may add up to a little more or less.
        steps(&means) <= found * (1.0 + 1e-9)
    });
    LackOfFit {
        p: (1 + as_even.count()) as f64 / (1 + ORDERS) as f64,
        size: (all - variance).max(0.0).sqrt(),
        scatter: variance.sqrt(),
        by_repeats: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals at twelve places, `repeats` at each, of a curve that is off by `off`.
    fn measured(off: impl Fn(f64) -> f64, scatter: f64, repeats: usize, seed: u64) -> Vec<(f64, f64)> {
        let mut rng = SmallRng::new(seed);
        let places = (0..12).flat_map(|place| std::iter::repeat_n(f64::from(place), repeats));
        places.map(|place| (place, off(place) + scatter * rng.normal())).collect()
    }

    #[test]
    fn chance_is_called_structure_as_seldom_as_it_says() {
        for repeats in [1, 3] {
            let alarms =
                (0..1000).filter(|seed| structure(&measured(|_| 0.0, 0.05, repeats, *seed), 1).p < 0.01);
            assert!(alarms.count() < 25, "{repeats}");
        }
    }

    #[test]
    fn a_wave_is_found_and_reported_by_its_size() {
        for (repeats, by_repeats) in [(1, false), (3, true)] {
            let found = structure(&measured(|place| 0.2 * (place / 2.0).sin(), 0.02, repeats, 1), 1);
            assert_eq!(found.by_repeats, by_repeats);
            assert!(found.p < 0.005, "{found:?}");
            assert!((found.size / 0.14 - 1.0).abs() < 0.25, "{found:?}");
        }
    }

    #[test]
    fn residuals_of_the_arithmetic_and_a_single_place_say_nothing() {
        assert!(structure(&measured(|_| 0.0, 1e-15, 3, 1), 1).p > 0.5);
        assert_eq!(structure(&[(1.0, 0.1), (1.0, -0.1)], 1).p, 1.0);
        assert_eq!(structure(&[], 1).size, 0.0);
    }
}
