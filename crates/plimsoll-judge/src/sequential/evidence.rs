//! Evidence that may be looked at after every pair, without end.
//!
//! Whoever bets on the signs of pairs, which random order makes coins if nothing differs, has no more than the stake on average. The capital then
//! exceeds 1/α at any time with a chance of at most α (Ville 1939), whatever the sizes are and however they follow from each other. A stake is
//! shared out among bettors, and all of them together are the evidence:
//!
//! - half of it bets on the share of positive signs, which wild pairs cannot carry away (a mixture over that share, Robbins 1970);
//! - half of it bets more on a large difference than on a small one, by its rank among those so far (sequential signed ranks, Reynolds 1975).
//!
//! The interval is that of the t mixture: the pairs' likelihood under effects of all sizes over that under no effect, for normal differences of unknown spread
//! (Lai 1976; Wang & Ramdas 2025, "Anytime-valid t-tests").

use crate::stats::shift::Location;
use crate::stats::{mean, sd};
use statrs::function::beta::ln_beta;

/// The variance of the prior of effect over spread: effects of about one standard deviation of a pair.
const PRIOR_VARIANCE: f64 = 1.0;
/// The normal quantile of the chance, nine in ten, to find an effect that is planned for.
const PLANNED_QUANTILE: f64 = 1.2816;
/// Both parameters of the beta prior of the share of positive signs: most weight is on effects that all signs agree on.
const SIGN_PRIOR: f64 = 0.25;
/// The log odds at which a bettor takes the largest difference so far, for small effects to large ones. One bets on each side.
const LOG_ODDS: [f64; 4] = [0.4, 1.2, 4.0, 12.0];

/// Winnings of bets on the signs of differences.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The sizes so far, in order.
    sizes: Vec<f64>,
    positive: f64,
    negative: f64,
    /// The logarithm of each bettor's capital over its stake: on positive signs, and on negative ones.
    by_rank: [[f64; LOG_ODDS.len()]; 2],
}

impl Evidence {
    /// Takes a difference.
    pub fn push(&mut self, d: f64) {
        let size = d.abs();
        let below = self.sizes.partition_point(|known| *known < size);
        let equal = self.sizes[below..].partition_point(|known| *known <= size);
        self.sizes.insert(below, size);
        // Without a sign there is nothing to bet on.
        if size == 0.0 {
            return;
        }
        if d > 0.0 {
            self.positive += 1.0;
        } else {
            self.negative += 1.0;
        }
        let rank = (below as f64 + 0.5 * equal as f64 + 1.0) / self.sizes.len() as f64;
        for (side, capitals) in [d.signum(), -d.signum()].into_iter().zip(&mut self.by_rank) {
            for (capital, odds) in capitals.iter_mut().zip(LOG_ODDS) {
                *capital += std::f64::consts::LN_2 - (-side * odds * rank).exp().ln_1p();
            }
        }
    }

    /// How many times better "some difference" explains the pairs than "none": 100 is evidence at the level 1 %.
    #[must_use]
    pub fn against_no_difference(&self) -> f64 {
        let prior = ln_beta(SIGN_PRIOR, SIGN_PRIOR);
        let by_sign = ln_beta(self.positive + SIGN_PRIOR, self.negative + SIGN_PRIOR) - prior
            + (self.positive + self.negative) * std::f64::consts::LN_2;
        let by_rank: Vec<f64> = self.by_rank.as_flattened().iter().map(|capital| capital.exp()).collect();
        (0.5 * (by_sign.exp() + mean(&by_rank))).min(f64::MAX)
    }
}

/// An interval of the mean log ratio that holds at all times together with probability 1 − `alpha`: the values that the
/// t mixture does not reject. Unbounded while there are too few pairs for any.
pub fn interval(d: &[f64], alpha: f64) -> Location {
    let estimate = mean(d);
    let half = half_width(d.len(), sd(d), alpha);
    Location { estimate, lo: estimate - half, hi: estimate + half }
}

/// How far [`interval`] reaches to either side after `n` pairs of a standard deviation.
pub fn half_width(n: usize, spread: f64, alpha: f64) -> f64 {
    let pairs = n as f64;
    let gain = 1.0 + pairs * PRIOR_VARIANCE;
    let ratio = (gain.sqrt() / alpha).powf(-2.0 / pairs);
    if n < 2 || ratio <= 1.0 / gain {
        return f64::INFINITY;
    }
    let per_freedom = (1.0 - ratio) / (ratio - 1.0 / gain);
    (per_freedom * (pairs - 1.0) / pairs).sqrt() * spread
}

/// The effect that `n` pairs of a standard deviation find nine times in ten, on the scale of the pairs.
pub fn detectable(n: usize, spread: f64, alpha: f64) -> f64 {
    half_width(n, spread, alpha) + PLANNED_QUANTILE * spread / (n.max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    #[test]
    fn the_interval_ends_where_the_evidence_reaches_its_limit() {
        let mut rng = SmallRng::new(1);
        let d: Vec<f64> = (0..15).map(|_| rng.normal()).collect();
        let end = interval(&d, 0.05).hi;
        let moved: Vec<f64> = d.iter().map(|v| v - end).collect();
        let (n, t_squared) = (15.0, 15.0 * (mean(&moved) / sd(&moved)).powi(2));
        // The ratio as Wang & Ramdas state it (2025, theorem 4.9), for a prior of variance 1.
        let gain = 1.0 + n;
        let ratio = ((n - 1.0 + t_squared) / (n - 1.0 + t_squared / gain)).powf(n / 2.0) / f64::sqrt(gain);
        assert!((ratio - 20.0).abs() < 1e-6, "{ratio}");
    }

    fn after(d: impl IntoIterator<Item = f64>) -> Evidence {
        let mut evidence = Evidence::default();
        d.into_iter().for_each(|d| evidence.push(d));
        evidence
    }

    /// Whether the evidence reaches the level at any look from the eighth on.
    fn is_found(d: impl IntoIterator<Item = f64>, alpha: f64) -> bool {
        let mut evidence = Evidence::default();
        d.into_iter().enumerate().any(|(at, d)| {
            evidence.push(d);
            at >= 7 && evidence.against_no_difference() >= 1.0 / alpha
        })
    }

    #[test]
    fn an_effect_that_is_detectable_is_found_about_nine_times_in_ten() {
        let effect = detectable(100, 0.05, 0.01);
        let found = (0..400)
            .filter(|&seed| {
                let mut rng = SmallRng::new(seed);
                is_found((0..100).map(|_| effect + 0.05 * rng.normal()), 0.01)
            })
            .count();
        assert!((340..=390).contains(&found), "{found} of 400");
    }

    #[test]
    fn the_mean_of_the_evidence_over_all_signs_is_one() {
        let sizes = [3.0_f64, 0.2, 1.0, 1.0, 50.0, 0.7, 0.0, 2.0];
        let patterns = 1_u32 << sizes.len();
        let sum: f64 = (0..patterns)
            .map(|bits| {
                let signed = |(at, size): (usize, &f64)| if bits >> at & 1 == 1 { -size } else { *size };
                after(sizes.iter().enumerate().map(signed)).against_no_difference()
            })
            .sum();
        assert!((sum / f64::from(patterns) - 1.0).abs() < 1e-12, "{}", sum / f64::from(patterns));
    }

    #[test]
    fn ten_equal_signs_are_evidence_of_one_percent_and_wild_pairs_do_not_hide_them() {
        assert!(after([1.0; 10]).against_no_difference() > 100.0);
        assert!(after([1.0; 8]).against_no_difference() < 100.0);
        let wild = [-1e6, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(after(wild).against_no_difference() > 100.0);
    }

    /// Logarithms of times, in the order in which they are measured: a run that follows another is slower, a throttled CPU makes each run slower
    /// than the last, a neighbour comes and goes, and bursts have no mean.
    fn disturbed(kind: usize, at: usize, burst: &mut f64, rng: &mut SmallRng) -> f64 {
        let small = 1e-4 * rng.normal();
        match kind {
            0 => small + if at.is_multiple_of(2) { 0.05 } else { 0.0 },
            1 => small + 0.02 * at as f64,
            2 => {
                if rng.below(20) == 0 {
                    *burst = 0.7 - *burst;
                }
                small + *burst
            }
            _ => {
                if rng.below(12) == 0 {
                    *burst = if rng.coin() { 0.0 } else { 0.02 / (1.0 - rng.uniform()) };
                }
                small + burst.ln_1p()
            }
        }
    }

    #[test]
    fn random_order_alone_keeps_the_level_in_noise_of_any_kind() {
        const GATES: u64 = 4000;
        // The level of one of ten benchmarks.
        const ALPHA: f64 = 0.001;
        for kind in 0..4 {
            let alarms = (0..GATES)
                .filter(|&seed| {
                    let mut rng = SmallRng::new(seed);
                    let mut burst = 0.0;
                    let blocks = (0..25).flat_map(|block| {
                        let runs: [f64; 4] =
                            std::array::from_fn(|at| disturbed(kind, 4 * block + at, &mut burst, &mut rng));
                        let mut order = [0, 1, 2, 3];
                        rng.shuffle(&mut order);
                        [[0, 2], [1, 3]].map(|[base, head]| runs[order[head]] - runs[order[base]])
                    });
                    is_found(blocks, ALPHA)
                })
                .count();
            // More than 9 of 4,000 have a chance of 1 % at the level of 0.1 %.
            assert!(alarms <= 9, "{alarms} of {GATES} in noise {kind}");
        }
    }
}
