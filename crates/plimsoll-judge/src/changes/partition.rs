//! Over-segmentation: the cheapest division of a series into levels, with more boundaries than will survive.
//!
//! The sum of squares around the levels plus a penalty per level is minimised by optimal partitioning with pruning (Killick, Fearnhead &
//! Eckley 2012, PELT). Short series try every index. Long ones try the peaks of sliding windows of doubling width,
//! where the means on both sides differ most.

use super::MIN_LEVEL;

/// Up to this length every index is tried.
const TRY_ALL: usize = 1_500;
/// How many starts of the last level are kept at most; reached only by series that never settle.
const MAX_STARTS: usize = 2_048;

/// Divides `series` into levels and gives the index at which each level but the first begins.
///
/// `spread` is the standard deviation of the noise and `penalty` the price of a level, in squared standard deviations.
pub(super) fn levels(series: &[f64], spread: f64, penalty: f64) -> Vec<usize> {
    let n = series.len();
    let scaled = Sums::new(series, spread);
    let candidates = if n <= TRY_ALL {
        (MIN_LEVEL..=n.saturating_sub(MIN_LEVEL)).collect()
    } else {
        window_peaks(&scaled, penalty.sqrt())
    };
    cheapest(&scaled, &candidates, penalty)
}

/// Running sums of values and squares, in units of the noise.
struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn new(series: &[f64], spread: f64) -> Self {
        let mut sums = Self {
            values: Vec::with_capacity(series.len() + 1),
            squares: Vec::with_capacity(series.len() + 1),
        };
        let (mut value, mut square) = (0.0, 0.0);
        sums.values.push(value);
        sums.squares.push(square);
        for x in series {
            let scaled = x / spread;
            value += scaled;
            square += scaled * scaled;
            sums.values.push(value);
            sums.squares.push(square);
        }
        sums
    }

    fn len(&self) -> usize {
        self.values.len() - 1
    }

    /// The sum of squares of `from..to` around its mean.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let total = self.values[to] - self.values[from];
        self.squares[to] - self.squares[from] - total * total / (to - from) as f64
    }

    /// The difference of the means of the `width` values on each side of `at`, in its standard errors.
    fn contrast(&self, at: usize, width: usize) -> f64 {
        let sum = &self.values;
        (sum[at + width] - 2.0 * sum[at] + sum[at - width]).abs() / (2.0 * width as f64).sqrt()
    }
}

/// The best split of each stretch, for windows of doubling width, where it reaches `threshold` standard errors.
fn window_peaks(sums: &Sums, threshold: f64) -> Vec<usize> {
    let n = sums.len();
    let mut peaks = Vec::new();
    let mut width = MIN_LEVEL;
    while 2 * width <= n {
        for stretch in (width..=n - width).step_by(width) {
            let end = (stretch + width).min(n - width + 1);
            let mut best = (threshold, None);
            for at in stretch..end {
                let contrast = sums.contrast(at, width);
                if contrast >= best.0 {
                    best = (contrast, Some(at));
                }
            }
            peaks.extend(best.1);
        }
        width *= 2;
    }
    peaks.sort_unstable();
    peaks.dedup();
    peaks
}

/// A place where the last level may have begun, and what everything before it costs.
struct Start {
    at: usize,
    before: f64,
    total: f64,
}

/// Optimal partitioning over the candidates, which rise strictly and keep [`MIN_LEVEL`] from both ends.
fn cheapest(sums: &Sums, candidates: &[usize], penalty: f64) -> Vec<usize> {
    let n = sums.len();
    let mut previous = vec![0; candidates.len() + 1];
    let mut starts = vec![Start { at: 0, before: -penalty, total: 0.0 }];
    let mut place_of_start = vec![usize::MAX];
    let mut waiting = 0;
    let mut costs = Vec::with_capacity(candidates.len());
    for (place, &end) in candidates.iter().chain([&n]).enumerate() {
        while waiting < place && candidates[waiting] + MIN_LEVEL <= end {
            starts.push(Start { at: candidates[waiting], before: costs[waiting], total: 0.0 });
            place_of_start.push(waiting);
            waiting += 1;
        }
        let mut best = (f64::INFINITY, usize::MAX);
        for (start, &from) in starts.iter_mut().zip(&place_of_start) {
            start.total = start.before + sums.cost(start.at, end);
            if start.total < best.0 {
                best = (start.total, from);
            }
        }
        let cost = best.0 + penalty;
        previous[place] = best.1;
        costs.push(cost);
        keep_the_promising(&mut starts, &mut place_of_start, cost);
    }
    trace_back(&previous, candidates)
}

/// Drops every start that can no longer win, and the more expensive half if too many remain.
fn keep_the_promising(starts: &mut Vec<Start>, places: &mut Vec<usize>, cost: f64) {
    let mut limit = cost;
    if starts.len() > MAX_STARTS {
        let mut totals: Vec<f64> = starts.iter().map(|s| s.total).collect();
        let (_, middle, _) = totals.select_nth_unstable_by(MAX_STARTS / 2, f64::total_cmp);
        limit = limit.min(*middle);
    }
    let mut kept = starts.iter().map(|s| s.total <= limit).collect::<Vec<_>>().into_iter();
    places.retain(|_| kept.next().unwrap_or(false));
    starts.retain(|s| s.total <= limit);
}

fn trace_back(previous: &[usize], candidates: &[usize]) -> Vec<usize> {
    let mut boundaries = Vec::new();
    let mut place = candidates.len();
    while previous[place] != usize::MAX {
        place = previous[place];
        boundaries.push(candidates[place]);
    }
    boundaries.reverse();
    boundaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn steps(levels: &[(usize, f64)], sd: f64, seed: u64) -> Vec<f64> {
        let mut rng = SmallRng::new(seed);
        let level = levels.iter().flat_map(|&(len, level)| std::iter::repeat_n(level, len));
        level.map(|l| l + sd * rng.normal()).collect()
    }

    /// The cheapest division by brute force: every set of boundaries of a short series.
    fn brute_force(series: &[f64], penalty: f64) -> f64 {
        let sums = Sums::new(series, 1.0);
        let n = series.len();
        let mut best = vec![f64::INFINITY; n + 1];
        best[0] = -penalty;
        for end in MIN_LEVEL..=n {
            for from in 0..=end - MIN_LEVEL {
                best[end] = best[end].min(best[from] + sums.cost(from, end) + penalty);
            }
        }
        best[n]
    }

    #[test]
    fn the_division_costs_no_more_than_the_best_of_all() {
        for seed in 0..20 {
            let series = steps(&[(17, 0.0), (9, 3.0), (14, 1.0)], 1.0, seed);
            let boundaries = levels(&series, 1.0, 5.0);
            let sums = Sums::new(&series, 1.0);
            let edges: Vec<usize> = [0].into_iter().chain(boundaries).chain([series.len()]).collect();
            let cost: f64 = edges.windows(2).map(|w| sums.cost(w[0], w[1]) + 5.0).sum::<f64>() - 5.0;
            assert!((cost - brute_force(&series, 5.0)).abs() < 1e-9, "{edges:?}");
            assert!(edges.windows(2).all(|w| w[1] - w[0] >= MIN_LEVEL));
        }
    }

    #[test]
    fn windows_offer_the_true_index_of_a_long_series() {
        let series = steps(&[(40_000, 0.0), (60_000, 6.0)], 1.0, 1);
        let peaks = window_peaks(&Sums::new(&series, 1.0), 3.7);
        assert!(peaks.contains(&40_000));
        assert!(peaks.len() < 2_000, "{}", peaks.len());
    }
}
