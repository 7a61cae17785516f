//! Evidence that may be looked at after every pair, without end.
//!
//! A mixture sequential probability ratio test (Robbins 1970): the likelihood of the pairs under effects of all sizes,
//! weighed by a prior, over that under no effect. Under no effect such a ratio exceeds 1/α at any time with a chance of
//! at most α (Ville 1939). Two are averaged, which keeps that property:
//!
//! - the t mixture, for normal differences of unknown spread, with a normal prior of the effect in units of the spread
//!   (Lai 1976; Wang & Ramdas 2025, "Anytime-valid t-tests");
//! - the sign mixture, for the share of positive differences with a uniform prior, which wild pairs cannot carry away.

use crate::stats::shift::Location;
use crate::stats::{mean, sd};
use statrs::function::beta::ln_beta;

/// The variance of the prior of effect over spread: effects of about one standard deviation of a pair.
const PRIOR_VARIANCE: f64 = 1.0;
/// The normal quantile of the chance, nine in ten, to find an effect that is planned for.
const PLANNED_QUANTILE: f64 = 1.2816;

/// How many times better "some difference" explains the log ratios than "none": 100 is evidence at the level 1 %.
#[must_use]
pub fn against_no_difference(d: &[f64]) -> f64 {
    let by_size = log_t_mixture(d).exp();
    let by_sign = log_sign_mixture(d).exp();
    (0.5 * (by_size + by_sign)).min(f64::MAX)
}

fn log_t_mixture(d: &[f64]) -> f64 {
    let n = d.len() as f64;
    let spread = sd(d);
    let centre = mean(d);
    // Differences without spread have no likelihood under the normal model; their signs speak for them.
    if d.len() < 2 || spread <= 1e-9 * centre.abs() {
        return 0.0;
    }
    let per_freedom = n * (centre / spread).powi(2) / (n - 1.0);
    let gain = 1.0 + n * PRIOR_VARIANCE;
    0.5 * (n * (per_freedom.ln_1p() - (per_freedom / gain).ln_1p()) - gain.ln())
}

fn log_sign_mixture(d: &[f64]) -> f64 {
    let positive = d.iter().filter(|v| **v > 0.0).count() as f64;
    let negative = d.iter().filter(|v| **v < 0.0).count() as f64;
    ln_beta(positive + 1.0, negative + 1.0) + (positive + negative) * std::f64::consts::LN_2
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
        assert!((log_t_mixture(&moved).exp() - 20.0).abs() < 1e-6);
    }

    #[test]
    fn an_effect_that_is_detectable_is_found_nine_times_in_ten() {
        let effect = detectable(100, 0.05, 0.01);
        let found = (0..400)
            .filter(|&seed| {
                let mut rng = SmallRng::new(seed);
                let d: Vec<f64> = (0..100).map(|_| effect + 0.05 * rng.normal()).collect();
                let interval = interval(&d, 0.01);
                interval.lo > 0.0
            })
            .count();
        assert!((340..=380).contains(&found), "{found} of 400");
    }

    #[test]
    fn the_sign_mixture_is_the_exact_ratio() {
        // Uniform prior: ∫pⁿdp = 1/(n+1), against 2⁻ⁿ.
        let ratio = log_sign_mixture(&[1.0; 10]).exp();
        assert!((ratio - 1024.0 / 11.0).abs() < 1e-6);
    }

    #[test]
    fn equal_programs_are_rarely_called_different_however_long_one_looks() {
        let alarms = (0..300)
            .filter(|&seed| {
                let mut rng = SmallRng::new(seed);
                let d: Vec<f64> = (0..400).map(|_| 0.011 * rng.normal()).collect();
                (3..400).any(|n| against_no_difference(&d[..n]) >= 100.0)
            })
            .count();
        assert!(alarms <= 6, "{alarms} of 300");
    }
}
