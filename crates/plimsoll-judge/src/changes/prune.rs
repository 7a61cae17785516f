//! Deletes the weakest boundary between two levels, again and again, until every one that is left is beyond doubt.
//!
//! A boundary must pass two tests. The difference of its levels, in standard errors that allow for correlation, has full power also
//! for short levels; the rank-sum test (Wilcoxon 1945) does not believe a few odd values. Both thresholds grow with √(2 ln n), as
//! does the largest of n tests on pure noise, and were set by simulation.

use super::noise::Noise;
use crate::stats::rank::ranks;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The longest excursion that is no change when the level comes back: one odd day, not a new state.
const EXCURSION: usize = 6;
/// Long levels are ranked by blocks, so that the shorter one has at most this many.
const MAX_BLOCKS: usize = 128;
/// No more than this many blocks of the longer level are ranked, the nearest ones.
const MAX_REACH: usize = 512;
/// The smallest standard deviation believed, as a share of half the range of the series.
const LEAST_SD: f64 = 1e-12;

/// Surviving boundaries, and the noise around the levels between them.
pub(super) struct Pruned {
    pub(super) boundaries: Vec<usize>,
    pub(super) noise: Noise,
}

/// One level: its values are `start..start + len`.
#[derive(Clone, Copy)]
struct Level {
    start: usize,
    len: usize,
    mean: f64,
    /// Σ(y - mean)².
    squares: f64,
    /// Σ(yₜ - mean)(yₜ₋₁ - mean) within the level.
    products: f64,
    first: f64,
    last: f64,
}

impl Level {
    fn of(series: &[f64], start: usize, end: usize) -> Self {
        let values = &series[start..end];
        let mean = crate::stats::mean(values);
        Self {
            start,
            len: values.len(),
            mean,
            squares: values.iter().map(|v| (v - mean).powi(2)).sum(),
            products: values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum(),
            first: values[0],
            last: values[values.len() - 1],
        }
    }

    fn end(&self) -> usize {
        self.start + self.len
    }

    /// The product sum around another centre.
    fn products_around(&self, centre: f64) -> f64 {
        let shift = self.mean - centre;
        self.products - shift * (self.first + self.last - 2.0 * self.mean)
            + (self.len - 1) as f64 * shift * shift
    }

    fn joined(&self, right: &Self) -> Self {
        let (n, m) = (self.len as f64, right.len as f64);
        let step = right.mean - self.mean;
        let mean = self.mean + step * m / (n + m);
        Self {
            start: self.start,
            len: self.len + right.len,
            mean,
            squares: self.squares + right.squares + step * step * n * m / (n + m),
            products: self.products_around(mean)
                + right.products_around(mean)
                + (self.last - mean) * (right.first - mean),
            first: self.first,
            last: right.last,
        }
    }
}

/// How sure a boundary must be.
#[derive(Clone, Copy)]
struct Thresholds {
    /// Standard errors between two levels.
    step: f64,
    /// Normal deviate of the rank sum.
    rank: f64,
}

impl Thresholds {
    fn for_length(n: usize) -> Self {
        let largest_of_noise = (2.0 * (n as f64).ln()).sqrt();
        Self { step: largest_of_noise + 0.33, rank: largest_of_noise + 0.35 }
    }
}

/// The levels as a list in which neighbours can be joined; a boundary is named by the level on its right.
struct Pruner<'a> {
    series: &'a [f64],
    sums: Vec<f64>,
    levels: Vec<Level>,
    previous: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
    alive: Vec<bool>,
    /// The rank test of each boundary, as a share of what it must reach.
    ranked: Vec<f64>,
    /// Counts the changes of each boundary, so that an outdated entry of the queue is known.
    version: Vec<u32>,
    thresholds: Thresholds,
}

/// Prunes `boundaries` of `series`, and drops excursions that went away again.
pub(super) fn prune(series: &[f64], boundaries: &[usize]) -> Pruned {
    let mut pruner = Pruner::new(series, boundaries);
    let noise = pruner.delete_the_weakest();
    let noise = if pruner.drop_excursions(noise) { pruner.delete_the_weakest() } else { noise };
    let boundaries = pruner.boundaries().map(|i| pruner.levels[i].start).collect();
    Pruned { boundaries, noise }
}

/// The noise of `series` around the levels between `boundaries`.
pub(super) fn noise_around(series: &[f64], boundaries: &[usize]) -> Noise {
    Pruner::new(series, boundaries).noise()
}

impl<'a> Pruner<'a> {
    fn new(series: &'a [f64], boundaries: &[usize]) -> Self {
        let edges: Vec<usize> =
            [0].into_iter().chain(boundaries.iter().copied()).chain([series.len()]).collect();
        let levels: Vec<Level> = edges.windows(2).map(|w| Level::of(series, w[0], w[1])).collect();
        let count = levels.len();
        let mut sum = 0.0;
        let sums = [0.0]
            .into_iter()
            .chain(series.iter().map(|v| {
                sum += v;
                sum
            }))
            .collect();
        let mut pruner = Self {
            series,
            sums,
            levels,
            previous: (0..count).map(|i| i.checked_sub(1)).collect(),
            next: (1..=count).map(|i| (i < count).then_some(i)).collect(),
            alive: vec![true; count],
            ranked: vec![f64::INFINITY; count],
            version: vec![0; count],
            thresholds: Thresholds::for_length(series.len()),
        };
        for right in 1..count {
            pruner.ranked[right] = pruner.rank_test(right - 1, right);
        }
        pruner
    }

    /// The boundaries left, each by the level on its right.
    fn boundaries(&self) -> impl Iterator<Item = usize> {
        (1..self.levels.len()).filter(|&i| self.alive[i])
    }

    /// Deletes until all pass, re-estimates the noise, and so on until both agree.
    fn delete_the_weakest(&mut self) -> Noise {
        loop {
            let noise = self.noise();
            let mut queue: BinaryHeap<_> = self.boundaries().map(|i| self.entry(i, noise)).collect();
            let mut deleted = false;
            while let Some(Reverse((bits, right, version))) = queue.pop() {
                if !self.alive[right] || self.version[right] != version {
                    continue;
                }
                if f64::from_bits(bits) >= 1.0 {
                    break;
                }
                queue.extend(self.delete(right).into_iter().flatten().map(|i| self.entry(i, noise)));
                deleted = true;
            }
            if !deleted {
                return noise;
            }
        }
    }

    /// The place of a boundary in the queue. Scores are never negative, so that their bits sort as they do.
    fn entry(&self, right: usize, noise: Noise) -> Reverse<(u64, usize, u32)> {
        Reverse((self.score(right, noise).to_bits(), right, self.version[right]))
    }

    /// How sure a boundary is: 1 passes, less does not.
    fn score(&self, right: usize, noise: Noise) -> f64 {
        match self.previous[right] {
            Some(left) => self.step_test(left, right, noise).min(self.ranked[right]),
            None => f64::INFINITY,
        }
    }

    fn step_test(&self, left: usize, right: usize, noise: Noise) -> f64 {
        let (a, b) = (&self.levels[left], &self.levels[right]);
        let error = noise.sd * noise.inflation() * (1.0 / a.len as f64 + 1.0 / b.len as f64).sqrt();
        (b.mean - a.mean).abs() / error / self.thresholds.step
    }

    /// The rank-sum test as a share of what it must reach. A level too short to reach the threshold at all must lie wholly to one side.
    fn rank_test(&self, left: usize, right: usize) -> f64 {
        let (a, b) = (&self.levels[left], &self.levels[right]);
        let block = a.len.min(b.len).div_ceil(MAX_BLOCKS);
        let mut values: Vec<f64> = (1..=(a.len / block).min(MAX_REACH))
            .map(|k| self.block_mean(a.end() - k * block, block))
            .collect();
        let n = values.len() as f64;
        values
            .extend((0..(b.len / block).min(MAX_REACH)).map(|k| self.block_mean(b.start + k * block, block)));
        let total = values.len() as f64;
        let m = total - n;
        let ranked = ranks(&values);
        let variance = n * m / 12.0 * (total + 1.0 - ranked.ties / (total * (total - 1.0)));
        if variance <= 0.0 {
            return 0.0;
        }
        let sum: f64 = ranked.ranks[..n as usize].iter().sum();
        let deviation = (sum - n * (total + 1.0) / 2.0).abs();
        let largest = n * m / 2.0 / (n * m * (total + 1.0) / 12.0).sqrt();
        deviation / variance.sqrt() / self.thresholds.rank.min(largest)
    }

    fn block_mean(&self, start: usize, len: usize) -> f64 {
        if len == 1 { self.series[start] } else { (self.sums[start + len] - self.sums[start]) / len as f64 }
    }

    /// Joins the levels on both sides of a boundary; gives the two boundaries whose tests changed.
    fn delete(&mut self, right: usize) -> [Option<usize>; 2] {
        let Some(left) = self.previous[right] else { return [None, None] };
        self.levels[left] = self.levels[left].joined(&self.levels[right]);
        self.alive[right] = false;
        self.next[left] = self.next[right];
        if let Some(after) = self.next[left] {
            self.previous[after] = Some(left);
        }
        let changed = [self.previous[left].map(|_| left), self.next[left]];
        for boundary in changed.into_iter().flatten() {
            self.version[boundary] += 1;
            if let Some(before) = self.previous[boundary] {
                self.ranked[boundary] = self.rank_test(before, boundary);
            }
        }
        changed
    }

    /// Deletes both ends of a short level whose neighbours do not differ. True where there was one.
    fn drop_excursions(&mut self, noise: Noise) -> bool {
        let mut dropped = false;
        let boundaries: Vec<usize> = self.boundaries().collect();
        for middle in boundaries {
            let (true, Some(left), Some(right)) =
                (self.alive[middle], self.previous[middle], self.next[middle])
            else {
                continue;
            };
            let back = self.step_test(left, right, noise).min(self.rank_test(left, right)) < 1.0;
            if self.levels[middle].len <= EXCURSION && back {
                self.delete(right);
                self.delete(middle);
                dropped = true;
            }
        }
        dropped
    }

    /// The noise around the levels that are left. The correlation is corrected for the means taken out (Kendall 1954,
    /// *Note on bias in the estimation of autocorrelation*), once per level.
    fn noise(&self) -> Noise {
        let n = self.series.len() as f64;
        let (mut squares, mut products, mut count) = (0.0, 0.0, 0.0);
        let mut at = Some(0);
        while let Some(i) = at {
            let level = &self.levels[i];
            squares += level.squares;
            products += level.products;
            count += 1.0;
            at = self.next[i];
            if let Some(after) = at.map(|j| &self.levels[j]) {
                products += (level.last - level.mean) * (after.first - after.mean);
            }
        }
        let r = if squares > 0.0 { products / squares } else { 0.0 };
        Noise {
            sd: (squares / (n - count).max(1.0)).sqrt().max(LEAST_SD),
            rho: (r + (1.0 + 3.0 * r) * count / n).clamp(0.0, 0.9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn noisy(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut rng = SmallRng::new(seed);
        levels
            .iter()
            .flat_map(|&(n, level)| std::iter::repeat_n(level, n))
            .map(|l| l + rng.normal())
            .collect()
    }

    #[test]
    fn joined_levels_equal_a_level_made_from_all_values() {
        let series = noisy(&[(5, 0.0), (9, 4.0)], 1);
        let joined = Level::of(&series, 0, 5).joined(&Level::of(&series, 5, 14));
        let whole = Level::of(&series, 0, 14);
        for (a, b) in
            [(joined.mean, whole.mean), (joined.squares, whole.squares), (joined.products, whole.products)]
        {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn false_boundaries_go_and_true_ones_stay() {
        let series = noisy(&[(50, 0.0), (50, 4.0)], 2);
        let pruned = prune(&series, &[10, 25, 50, 70, 96]);
        assert_eq!(pruned.boundaries, [50]);
        assert!((pruned.noise.sd - 1.0).abs() < 0.2);
    }

    #[test]
    fn what_went_away_again_is_dropped_and_what_stayed_is_not() {
        let gone = noisy(&[(40, 0.0), (5, 12.0), (40, 0.0)], 3);
        assert!(prune(&gone, &[40, 45]).boundaries.is_empty());
        let stayed = noisy(&[(40, 0.0), (5, 12.0), (40, 6.0)], 3);
        assert_eq!(prune(&stayed, &[40, 45]).boundaries, [40, 45]);
    }
}
