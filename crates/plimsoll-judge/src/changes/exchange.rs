//! Is the order of values a random one? A test that asks for nothing else: not for normal values, nor for a single mode.
//!
//! The statistic is the largest deviation of a stretch from the whole, over stretches from either end and over those of
//! 4, 8, 16 ... values, of the values' normal scores (van der Waerden 1952). Where the order means nothing, all orders
//! are as likely, so that the same figure of random orders says how rare it is (Pitman 1937, *Significance tests which
//! may be applied to samples from any populations*). Random orders are drawn until enough of them deviate as much for a
//! clear answer (Besag & Clifford 1991, *Sequential Monte Carlo p-values*).

use super::MIN_LEVEL;
use crate::stats::dist::normal_quantile;
use crate::stats::rank::ranks;
use crate::stats::rng::SmallRng;

/// Longer series are judged by block means, of this many blocks at most.
const MOST_BLOCKS: usize = 1_024;
/// The fewest random orders that are drawn.
const LEAST_ORDERS: f64 = 199.0;

/// Whether the order of the values is another than a random one: true for so large a share of randomly ordered series as `alpha` says.
pub(super) fn in_order(values: &[f64], alpha: f64) -> bool {
    let mut scores = normal_scores(values);
    let n = scores.len();
    if n < 2 * MIN_LEVEL {
        return false;
    }
    let seen = deviation(&scores) - 1e-9;
    // From here on the order is forgotten, so that a series read backwards gets the same answer.
    scores.sort_unstable_by(f64::total_cmp);
    if mostly_different(&scores) && seen > beyond_chance(n, alpha) {
        return true;
    }
    let orders = (2.0 / alpha).max(LEAST_ORDERS);
    let most = ((orders + 1.0) * alpha).floor().max(1.0) as usize;
    let mut rng = SmallRng::new(n as u64);
    let mut as_far = 0;
    for _ in 0..orders as usize {
        rng.shuffle(&mut scores);
        as_far += usize::from(deviation(&scores) >= seen);
        if as_far >= most {
            return false;
        }
    }
    true
}

/// A deviation that is rarer than `alpha` without a look at random orders: each stretch is taken for normal, of which normal scores fall
/// short, and all stretches for as improbable as their sum (Bonferroni).
fn beyond_chance(n: usize, alpha: f64) -> f64 {
    let widths = f64::from((n / MIN_LEVEL).ilog2());
    normal_quantile(1.0 - alpha / 2.0 / (n as f64 * (1.0 + widths)))
}

/// Whether at most half of the values have an equal. Scores of a few different values scatter otherwise than normal ones.
fn mostly_different(sorted: &[f64]) -> bool {
    2 * sorted.windows(2).filter(|pair| pair[0] == pair[1]).count() <= sorted.len()
}

/// The scores of the values, or of the means of blocks of them, with mean 0 and variance 1; empty if all are equal.
fn normal_scores(values: &[f64]) -> Vec<f64> {
    let block = values.len().div_ceil(MOST_BLOCKS);
    let means: Vec<f64> = values.chunks_exact(block).map(crate::stats::mean).collect();
    let n = means.len() as f64;
    let scores: Vec<f64> =
        ranks(&means).ranks.into_iter().map(|rank| normal_quantile(rank / (n + 1.0))).collect();
    let variance = scores.iter().map(|s| s * s).sum::<f64>() / n;
    if variance > 0.0 { scores.into_iter().map(|s| s / variance.sqrt()).collect() } else { Vec::new() }
}

fn deviation(scores: &[f64]) -> f64 {
    let n = scores.len();
    let mut sums = Vec::with_capacity(n + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for score in scores {
        sum += score;
        sums.push(sum);
    }
    let error = |len: usize| (len as f64 * (1.0 - len as f64 / n as f64)).sqrt();
    let mut most = 0.0_f64;
    for (at, sum) in sums.iter().enumerate().take(n - MIN_LEVEL + 1).skip(MIN_LEVEL) {
        most = most.max(sum.abs() / error(at));
    }
    let mut width = MIN_LEVEL;
    while 2 * width <= n {
        let widest = (0..=n - width).map(|at| (sums[at + width] - sums[at]).abs()).fold(0.0, f64::max);
        most = most.max(widest / error(width));
        width *= 2;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_orders_are_called_ordered_as_often_as_asked_for_whatever_the_values_are() {
        let two_modes = |rng: &mut SmallRng| if rng.uniform() < 0.3 { 50.0 } else { 10.0 } + rng.normal();
        let two_values = |rng: &mut SmallRng| f64::from(u8::from(rng.uniform() < 0.1));
        let cauchy = |rng: &mut SmallRng| rng.normal() / rng.normal();
        let draws: [&dyn Fn(&mut SmallRng) -> f64; 3] = [&two_modes, &two_values, &cauchy];
        for draw in draws {
            let called = (0..1_000).filter(|&seed| {
                let mut rng = SmallRng::new(seed);
                let values: Vec<f64> = (0..80).map(|_| draw(&mut rng)).collect();
                in_order(&values, 0.05)
            });
            // Ties make the test more cautious.
            let called = called.count();
            assert!((5..=75).contains(&called), "{called}");
        }
    }

    #[test]
    fn a_step_a_drift_and_a_level_that_went_again_are_an_order() {
        let mut rng = SmallRng::new(5);
        let mut called = |level: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..120).map(|i| level(i) + rng.normal()).collect();
            in_order(&values, 0.01)
        };
        assert!(called(&|i| if i < 30 { 0.0 } else { 1.5 }));
        assert!(called(&|i| i as f64 / 50.0));
        assert!(called(&|i| if (50..66).contains(&i) { 2.5 } else { 0.0 }));
        assert!(!in_order(&[1.0; 50], 0.05));
    }
}
