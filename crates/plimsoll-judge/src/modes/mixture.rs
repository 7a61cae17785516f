//! Normal mixtures fitted by expectation and maximisation (Dempster, Laird & Rubin 1977).

use super::clumps;
use crate::stats::{median_in_place, quantile_sorted, sd};

/// Beyond this number of values the fit works on bins, each with its mean and its count.
const EXACT: usize = 4_000;
/// How many bins there are then.
const BINS: usize = 2_000;
/// Rounds of every start before the best goes on.
const TRIAL_ROUNDS: usize = 25;
/// Rounds at most.
const ROUNDS: usize = 500;
/// The fit has settled when a round gains less than this, per value.
const SETTLED: f64 = 1e-7;
/// No component is narrower than this share of the whole spread.
const NARROWEST: f64 = 0.01;

/// No component is narrower than this share of the step of coarse values: two or three neighbouring ticks of a clock are one place.
const TICK: f64 = 0.6;

/// Equal values are spread over no more than this part of the whole range.
const WIDEST_CELL: f64 = 8.0;
/// Distinct values that are usually this many ticks apart are not rounded, but copies of a few.
const COPIES: f64 = 2.5;
/// Two places that hold all values are two places, however few.
const FEWEST_COPIED: f64 = 4.0;

/// One component of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Component {
    pub(super) weight: f64,
    pub(super) mean: f64,
    pub(super) sd: f64,
}

impl Component {
    /// The density without the factor 1/√(2π).
    fn density(&self, x: f64) -> f64 {
        let z = (x - self.mean) / self.sd;
        self.weight / self.sd * (-0.5 * z * z).exp()
    }
}

/// A fitted mixture, its components by rising mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixture {
    pub(super) components: Vec<Component>,
    pub(super) log_likelihood: f64,
}

impl Mixture {
    /// The density at `x`, without the factor 1/√(2π).
    fn density(&self, x: f64) -> f64 {
        self.components.iter().map(|c| c.density(x)).sum()
    }

    /// Where the density is least between each two neighbours: each value lies with the mode on its side.
    pub(super) fn valleys(&self) -> Vec<f64> {
        const STEPS: u32 = 256;
        let least = |pair: &[Component]| {
            let at = |k: u32| pair[0].mean + (pair[1].mean - pair[0].mean) * f64::from(k) / f64::from(STEPS);
            // The middle of the least, where the density is nothing for a while.
            let densities: Vec<f64> = (0..=STEPS).map(|k| self.density(at(k))).collect();
            let bottom = densities.iter().copied().fold(f64::INFINITY, f64::min);
            let mut flat = (0..=STEPS).filter(|k| densities[*k as usize] <= bottom);
            let first = flat.next().unwrap_or(STEPS / 2);
            let last = flat.next_back().unwrap_or(first);
            (at(first) + at(last)) / 2.0
        };
        self.components.windows(2).map(least).collect()
    }

    /// The depth of the shallowest valley between two neighbours: how far the density falls below the lower of both, as a share of it. 0 where
    /// one is a mere shoulder of the other.
    pub(super) fn shallowest_valley(&self) -> f64 {
        const STEPS: u32 = 64;
        let depth = |pair: &[Component]| {
            let at = |k: u32| {
                self.density(pair[0].mean + (pair[1].mean - pair[0].mean) * f64::from(k) / f64::from(STEPS))
            };
            let (low, high) = (at(0), at(STEPS));
            let valley = (1..STEPS).map(at).fold(f64::INFINITY, f64::min);
            1.0 - valley / low.min(high)
        };
        self.components.windows(2).map(depth).fold(f64::INFINITY, f64::min)
    }

    /// Schwarz's criterion; each component has a mean and a spread, and all but one a weight.
    pub(super) fn bic(&self, n: usize) -> f64 {
        let parameters = 3 * self.components.len() - 1;
        parameters as f64 * (n as f64).ln() - 2.0 * self.log_likelihood
    }
}

/// Sample of a mixture: values in rising order with how often each counts.
pub(super) struct Sample {
    points: Vec<(f64, f64)>,
    sorted: Vec<f64>,
    narrowest: f64,
    independent: f64,
}

impl Sample {
    /// `sorted` in rising order, with at least two different values that are multiples of `tick`, or of nothing where that is 0.
    pub(super) fn new(sorted: Vec<f64>, tick: f64) -> Self {
        let (mut sorted, independent) = spread_out(sorted, tick);
        let tick = if tick > 0.0 { tick } else { clumps::spread(&mut sorted) };
        let points =
            if sorted.len() <= EXACT { sorted.iter().map(|&x| (x, 1.0)).collect() } else { binned(&sorted) };
        let narrowest = (NARROWEST * sd(&sorted)).max(TICK * tick).max(f64::MIN_POSITIVE);
        Self { points, sorted, narrowest, independent }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The values in rising order with how often each counts.
    pub(super) fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The share of the values that is evidence of its own: 1, or less where they are copies of a few.
    pub(super) fn independent(&self) -> f64 {
        self.independent
    }

    /// The mixture of a single component.
    pub(super) fn fit_one(&self) -> Mixture {
        self.climb(self.even(1), ROUNDS)
    }

    /// The best mixture of two components from several starts.
    pub(super) fn fit_two(&self) -> Mixture {
        self.best_of(self.halves())
    }

    /// The best mixture that splits one component of a fitted one in two.
    pub(super) fn fit_one_more(&self, mixture: &Mixture) -> Mixture {
        let mut starts = vec![self.even(mixture.components.len() + 1)];
        for k in 0..mixture.components.len() {
            let mut components = mixture.components.clone();
            let whole = components.remove(k);
            let half =
                Component { weight: whole.weight / 2.0, mean: whole.mean - whole.sd, sd: whole.sd / 2.0 };
            components.extend([half, Component { mean: whole.mean + whole.sd, ..half }]);
            starts.push(components);
        }
        self.best_of(starts)
    }

    fn best_of(&self, starts: Vec<Vec<Component>>) -> Mixture {
        let trials = starts.into_iter().map(|start| self.climb(start, TRIAL_ROUNDS));
        let best = trials.max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood));
        self.climb(best.map_or_else(|| self.even(2), |trial| trial.components), ROUNDS)
    }

    /// Starts of two components: the values below and above several quantiles, and the split that explains most variance.
    fn halves(&self) -> Vec<Vec<Component>> {
        let n = self.sorted.len();
        let mut splits: Vec<usize> =
            [0.1, 0.25, 0.5, 0.75, 0.9].iter().map(|q| (q * n as f64) as usize).collect();
        splits.push(self.best_split());
        splits.sort_unstable();
        splits.dedup();
        splits
            .into_iter()
            .filter(|&at| at >= 2 && at + 2 <= n)
            .map(|at| vec![self.component(0, at), self.component(at, n)])
            .collect()
    }

    /// Where the variance between two groups is largest (Otsu 1979).
    fn best_split(&self) -> usize {
        let n = self.sorted.len() as f64;
        let middle = self.sorted[self.sorted.len() / 2];
        let total: f64 = self.sorted.iter().map(|x| x - middle).sum();
        let (mut sum, mut best) = (0.0, (0.0, 0));
        for (i, x) in self.sorted.iter().enumerate().take(self.sorted.len() - 1) {
            sum += x - middle;
            let below = (i + 1) as f64;
            let between = (sum / below - (total - sum) / (n - below)).powi(2) * below * (n - below);
            if between > best.0 {
                best = (between, i + 1);
            }
        }
        best.1
    }

    /// `count` components of equal weight.
    fn even(&self, count: usize) -> Vec<Component> {
        let n = self.sorted.len();
        (0..count).map(|k| self.component(k * n / count, (k + 1) * n / count)).collect()
    }

    fn component(&self, from: usize, to: usize) -> Component {
        let values = &self.sorted[from..to];
        let spread = (quantile_sorted(values, 0.84) - quantile_sorted(values, 0.16)) / 2.0;
        Component {
            weight: values.len() as f64 / self.sorted.len() as f64,
            mean: crate::stats::mean(values),
            sd: spread.max(self.narrowest),
        }
    }

    /// Improves a mixture until it settles, for `rounds` rounds at most.
    fn climb(&self, mut components: Vec<Component>, rounds: usize) -> Mixture {
        let n = self.sorted.len() as f64;
        let mut log_likelihood = f64::NEG_INFINITY;
        for _ in 0..rounds {
            let (next, likelihood) = self.round(&components);
            let gain = likelihood - log_likelihood;
            log_likelihood = likelihood;
            if gain < SETTLED * n {
                break;
            }
            components = next;
        }
        components.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        Mixture { components, log_likelihood }
    }

    /// One round: shares each value out among the components, then refits them. Gives the log-likelihood before.
    fn round(&self, components: &[Component]) -> (Vec<Component>, f64) {
        const ROOT_2_PI: f64 = 2.506_628_274_631_000_5;
        let origin = self.sorted[self.sorted.len() / 2];
        let mut sums = vec![(0.0, 0.0, 0.0); components.len()];
        let mut densities = vec![0.0; components.len()];
        let mut log_likelihood = 0.0;
        for &(x, count) in &self.points {
            let mut total = 0.0;
            for (density, component) in densities.iter_mut().zip(components) {
                *density = component.density(x);
                total += *density;
            }
            let total = total.max(f64::MIN_POSITIVE);
            log_likelihood += count * (total / ROOT_2_PI).ln();
            for (sum, density) in sums.iter_mut().zip(&densities) {
                let share = count * density / total;
                let offset = x - origin;
                sum.0 += share;
                sum.1 += share * offset;
                sum.2 += share * offset * offset;
            }
        }
        let n = self.sorted.len() as f64;
        let refit = |(component, &(weight, first, second)): (&Component, &(f64, f64, f64))| {
            if weight < 1e-6 {
                return Component { weight: 1e-9, ..*component };
            }
            let mean = first / weight;
            let sd = (second / weight - mean * mean).max(0.0).sqrt().max(self.narrowest);
            Component { weight: weight / n, mean: origin + mean, sd }
        };
        (components.iter().zip(&sums).map(refit).collect(), log_likelihood)
    }
}

/// Equal parts of the sorted values, each with its mean: what a fit of millions needs to see.
fn binned(sorted: &[f64]) -> Vec<(f64, f64)> {
    let n = sorted.len();
    (0..BINS)
        .map(|k| &sorted[k * n / BINS..(k + 1) * n / BINS])
        .map(|bin| (crate::stats::mean(bin), bin.len() as f64))
        .collect()
}

/// Coarse values, in rising order, with equal ones spread evenly over the place between them and their neighbours: a
/// mode is where values are many, not where one is repeated. Beside them the share of the values that is evidence of
/// its own. What fills most of a grid is rounded, and each value counts; where the grid is much finer than the values
/// are apart, they are copies of their distinct values.
fn spread_out(mut sorted: Vec<f64>, tick: f64) -> (Vec<f64>, f64) {
    let n = sorted.len();
    let mut gaps: Vec<f64> = sorted.windows(2).map(|w| w[1] - w[0]).filter(|g| *g > 0.0).collect();
    if 2 * (gaps.len() + 1) > n {
        return (sorted, 1.0);
    }
    let different = (gaps.len() + 1) as f64;
    let range = sorted[n - 1] - sorted[0];
    let usual = median_in_place(&mut gaps);
    let copies = usual > COPIES * tick && different > FEWEST_COPIED;
    let cell = usual.min(range / WIDEST_CELL).max(tick);
    for group in sorted.chunk_by_mut(|a, b| a == b) {
        let count = group.len() as f64;
        for (k, value) in group.iter_mut().enumerate() {
            *value += cell * ((k as f64 + 0.5) / count - 0.5);
        }
    }
    sorted.sort_unstable_by(f64::total_cmp);
    (sorted, if copies { different / n as f64 } else { 1.0 })
}

/// The tick of coarse values: what all of them are multiples of, and no more than their smallest distance. 0 where most values are
/// different, for they are not coarse then.
pub(super) fn tick(sorted: &[f64]) -> f64 {
    let steps: Vec<f64> = sorted.windows(2).map(|w| w[1] - w[0]).filter(|&d| d > 0.0).collect();
    if 2 * (steps.len() + 1) > sorted.len() {
        return 0.0;
    }
    let smallest = steps.into_iter().fold(f64::INFINITY, f64::min);
    let largest = sorted.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let divisor = sorted.iter().fold(0.0, |divisor, v| common_divisor(divisor, v.abs(), 1e-9 * largest));
    smallest.min(divisor)
}

/// Euclid's algorithm with remainders of either sign; what is below `least` counts as nothing.
fn common_divisor(mut a: f64, mut b: f64, least: f64) -> f64 {
    while b > least {
        (a, b) = (b, (a - b * (a / b).round()).abs());
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn mixed(n: usize, seed: u64) -> Sample {
        let mut rng = SmallRng::new(seed);
        let values: Vec<f64> = (0..n)
            .map(|_| if rng.uniform() < 0.3 { 10.0 + 2.0 * rng.normal() } else { rng.normal() })
            .collect();
        Sample::new(crate::stats::sorted(&values), 0.0)
    }

    #[test]
    fn the_components_of_a_known_mixture_are_recovered() {
        for n in [1_000, 50_000] {
            let [low, high] = mixed(n, 1).fit_two().components[..] else { panic!("two components") };
            assert!(low.mean.abs() < 0.15 && (low.sd - 1.0).abs() < 0.15, "{low:?}");
            assert!((high.mean - 10.0).abs() < 0.5 && (high.sd - 2.0).abs() < 0.3, "{high:?}");
            assert!((high.weight - 0.3).abs() < 0.04);
        }
    }

    #[test]
    fn the_likelihood_of_one_component_is_that_of_the_normal_distribution() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let variance = 9_999.0 / 12.0;
        let expected = -50.0 * ((std::f64::consts::TAU * variance).ln() + 1.0);
        let found = Sample::new(values, 0.0).fit_one().log_likelihood;
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn coarse_values_have_a_tick_and_fine_ones_have_none() {
        assert_eq!(tick(&[1.0, 1.0, 1.0, 1.5, 1.5, 2.0, 2.0, 2.0]), 0.5);
        assert_eq!(tick(&[1.0, 1.1, 1.3, 1.9]), 0.0);
        assert_eq!(tick(&[10.0, 10.0, 10.0, 200.0, 200.0]), 10.0, "far values do not make a coarse clock");
    }
}
