//! The posterior over the culprit, with both levels and the noise integrated over a grid.
//!
//! Log figures scatter around their level like a normal distribution of which one in twenty comes from one six times as
//! wide (Tukey's contaminated normal, 1960), so that a wild measurement shifts belief a little and not for good. Both levels
//! have flat priors, the spread one that is flat on the log scale.

use super::Observation;
use crate::stats::{mad, median, sd};

/// The share of wild measurements.
const WILD: f64 = 0.05;
/// How much wider they scatter.
const WIDER: f64 = 6.0;
/// Points of the fine part of the grid around each level, and of the coarse part over the whole range.
const FINE: usize = 17;
const COARSE: usize = 15;
/// Points of the grid over the spread.
const SPREADS: usize = 7;
/// No figure repeats better than this.
const LEAST_SPREAD: f64 = 1e-6;

/// The posterior over the culprits.
pub(super) struct Posterior {
    /// For each version, how probable it is that it is the first with the new level.
    pub(super) probabilities: Vec<f64>,
    /// New level over old, at the most probable culprit.
    pub(super) ratio: f64,
}

/// The log figures of one version.
struct Measured {
    version: usize,
    logs: Vec<f64>,
}

pub(super) fn posterior(versions: usize, observations: &[Observation]) -> Posterior {
    let measured = by_version(observations);
    let uniform = |p: f64| (0..versions).map(|v| if v == 0 { 0.0 } else { p }).collect::<Vec<_>>();
    let both_ends = measured.first().is_some_and(|m| m.version == 0)
        && measured.last().is_some_and(|m| m.version + 1 == versions);
    if !both_ends {
        return Posterior { probabilities: uniform(1.0 / (versions - 1) as f64), ratio: 1.0 };
    }
    // Where nothing was measured in between, versions share their likelihood: one for each gap.
    let gaps = measured.len() - 1;
    let grid = Grid::new(&measured);
    let mut log_likelihood = vec![f64::NEG_INFINITY; gaps];
    for spread in &grid.spreads {
        let table = grid.table(&measured, *spread);
        for (gap, slot) in log_likelihood.iter_mut().enumerate() {
            *slot = log_add(*slot, grid.evidence(&table, gap));
        }
    }
    let highest = log_likelihood.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut probabilities = uniform(0.0);
    for (gap, log) in log_likelihood.iter().enumerate() {
        for p in &mut probabilities[measured[gap].version + 1..=measured[gap + 1].version] {
            *p = (log - highest).exp();
        }
    }
    let total: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|p| *p /= total);
    let best = (0..gaps).max_by(|a, b| log_likelihood[*a].total_cmp(&log_likelihood[*b])).unwrap_or(0);
    let (old, new) = sides(&measured, best);
    Posterior { probabilities, ratio: (median(&new) - median(&old)).exp() }
}

/// Whether two samples of log figures lie three standard errors apart: then their levels are known well enough to search.
pub(super) fn are_distinct(old: &[f64], new: &[f64]) -> bool {
    let error = pooled_spread(old, new) * (1.0 / old.len() as f64 + 1.0 / new.len() as f64).sqrt();
    (median(new) - median(old)).abs() >= 3.0 * error
}

fn by_version(observations: &[Observation]) -> Vec<Measured> {
    let mut sorted: Vec<(usize, f64)> = observations.iter().map(|o| (o.version, o.value.ln())).collect();
    sorted.sort_by_key(|(version, _)| *version);
    sorted
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| Measured { version: same[0].0, logs: same.iter().map(|s| s.1).collect() })
        .collect()
}

/// All log figures before and after a gap.
fn sides(measured: &[Measured], gap: usize) -> (Vec<f64>, Vec<f64>) {
    let join = |part: &[Measured]| part.iter().flat_map(|m| m.logs.iter().copied()).collect();
    (join(&measured[..=gap]), join(&measured[gap + 1..]))
}

/// The grid over levels, with the log of the stretch that each point stands for, and over spreads.
struct Grid {
    levels: Vec<f64>,
    log_widths: Vec<f64>,
    spreads: Vec<f64>,
}

impl Grid {
    /// Levels are dense around both sides of the split that fits best, and coarse over all that was measured, so that a
    /// split elsewhere finds its levels too.
    fn new(measured: &[Measured]) -> Self {
        let gaps = measured.len() - 1;
        let misfit = |gap: usize| {
            let (old, new) = sides(measured, gap);
            let from = |side: &[f64]| {
                let centre = median(side);
                side.iter().map(|v| (v - centre).abs()).sum::<f64>()
            };
            from(&old) + from(&new)
        };
        let best = (0..gaps)
            .map(|gap| (gap, misfit(gap)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |(gap, _)| gap);
        let (old, new) = sides(measured, best);
        let spread = pooled_spread(&old, &new);
        let all: Vec<f64> = measured.iter().flat_map(|m| m.logs.iter().copied()).collect();
        let lowest = all.iter().copied().fold(f64::INFINITY, f64::min) - 2.0 * spread;
        let highest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 2.0 * spread;
        let mut levels: Vec<f64> =
            (0..COARSE).map(|i| lowest + (highest - lowest) * i as f64 / (COARSE - 1) as f64).collect();
        for side in [&old, &new] {
            let error = spread / (side.len() as f64).sqrt();
            let around = |i: usize| median(side) + 5.0 * error * (2.0 * i as f64 / (FINE - 1) as f64 - 1.0);
            levels.extend((0..FINE).map(around));
        }
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        // The spread of few figures may be three times off, that of many is known to some 5/√n.
        let reach = (5.0 / (all.len() as f64).sqrt()).min(3.0_f64.ln());
        let place = |i: usize| 2.0 * i as f64 / (SPREADS - 1) as f64 - 1.0;
        let spreads = (0..SPREADS).map(|i| spread * (reach * place(i)).exp()).collect();
        Self { log_widths: log_widths(&levels), levels, spreads }
    }

    /// For each measured version and level, the log likelihood of its figures, added up from the first version on.
    fn table(&self, measured: &[Measured], spread: f64) -> Vec<Vec<f64>> {
        let mut sums = vec![vec![0.0; self.levels.len()]];
        for (i, version) in measured.iter().enumerate() {
            let add = |(level, sum): (&f64, &f64)| sum + log_densities(&version.logs, *level, spread);
            sums.push(self.levels.iter().zip(&sums[i]).map(add).collect());
        }
        sums
    }

    /// The log of the likelihood that the change came in a gap, both levels integrated out.
    fn evidence(&self, table: &[Vec<f64>], gap: usize) -> f64 {
        let (old, all) = (&table[gap + 1], &table[table.len() - 1]);
        let integral = |at: &dyn Fn(usize) -> f64| {
            let terms: Vec<f64> = (0..self.levels.len()).map(|l| at(l) + self.log_widths[l]).collect();
            let highest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // A term below the precision of a float is not worth an exponential.
            let near = terms.iter().map(|t| t - highest).filter(|t| *t > -37.0);
            highest + near.map(f64::exp).sum::<f64>().ln()
        };
        integral(&|l| old[l]) + integral(&|l| all[l] - old[l])
    }
}

/// The spread of figures around the median of their side: robust, but not below a third of the plain one, which keeps
/// the grid open when half of the figures are equal.
fn pooled_spread(old: &[f64], new: &[f64]) -> f64 {
    let (a, b) = (median(old), median(new));
    let left: Vec<f64> = old.iter().map(|v| v - a).chain(new.iter().map(|v| v - b)).collect();
    mad(&left).max(sd(&left) / 3.0).max(LEAST_SPREAD)
}

/// The trapezoid weights of sorted points.
fn log_widths(points: &[f64]) -> Vec<f64> {
    let last = points.len() - 1;
    let width = |i: usize| (points[(i + 1).min(last)] - points[i.saturating_sub(1)]) / 2.0;
    (0..=last).map(|i| width(i).max(f64::MIN_POSITIVE).ln()).collect()
}

/// The log density of figures under the contaminated normal around a level, up to a constant.
///
/// Of each density the wide part's exponential is taken out, so that none is too small for a float; what is left is
/// multiplied up, and the logarithm taken once for some figures together.
fn log_densities(logs: &[f64], level: f64, spread: f64) -> f64 {
    const TOGETHER: usize = 64;
    let mut sum = -(logs.len() as f64) * spread.ln();
    for some in logs.chunks(TOGETHER) {
        let mut product = 1.0;
        for v in some {
            let square = -0.5 * ((v - level) / spread).powi(2);
            let wide = square / (WIDER * WIDER);
            sum += wide;
            product *= (1.0 - WILD) * (square - wide).exp() + WILD / WIDER;
        }
        sum += product.ln();
    }
    sum
}

fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_density_is_that_of_the_contaminated_normal() {
        let expected = |z: f64| {
            let wide = WILD / WIDER * (-0.5 * (z / WIDER).powi(2)).exp();
            ((1.0 - WILD) * (-0.5 * z * z).exp() + wide).ln()
        };
        let zs = [0.0, 1.0, 3.0, 10.0];
        let sum: f64 = zs.iter().map(|z| expected(*z) - 2.0_f64.ln()).sum();
        let figures = zs.map(|z| 5.0 + 2.0 * z);
        assert!((log_densities(&figures, 5.0, 2.0) - sum).abs() < 1e-12);
        assert!(log_densities(&[1e6; 1000], 0.0, 1.0).is_finite());
    }

    #[test]
    fn versions_without_a_difference_share_their_probability() {
        let seen = [(0, 100.0), (0, 101.0), (5, 100.5), (9, 150.0), (9, 151.0)];
        let observations: Vec<Observation> =
            seen.map(|(version, value)| Observation { version, value }).to_vec();
        let found = posterior(10, &observations).probabilities;
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(found[0], 0.0);
        assert!((found[6] - found[9]).abs() < 1e-12);
        assert!(found[6] > 5.0 * found[5], "{found:?}");
    }
}
