//! Pooling trials: a random-effects average that stays honest with few of them.

use super::Step;
use crate::stats::dist::{normal_cdf, t_quantile};
use crate::stats::shift::Location;

/// Least variance of a step: windows without any spread.
const LEAST: f64 = 1e-18;
/// Points of the grid over the standard deviation between trials.
const GRID: usize = 120;
/// Degrees of freedom of the prior's tail with one trial, which says nothing of how trials differ.
const ALONE_DF: f64 = 4.0;
/// With two trials: a half-Cauchy prior, whose tail gives way to trials that do differ (Gelman 2006).
const TWO_DF: f64 = 1.0;

/// Averages steps of several trials, each known with its own error, whose true values differ from trial to trial by an
/// unknown standard deviation τ.
///
/// From three trials on, the interval is Student's, by Hartung & Knapp (2001) as Röver, Knapp & Friede (2015) modify it for few studies: it is never
/// narrower than that of the steps' own errors. One or two trials do not show τ: it is integrated over, with a half-t prior of the given `scale`, and
/// the mean has a flat prior (Friede, Röver, Wandel & Neuenschwander 2017). With one trial, τ is the prior's alone.
///
/// Steps whose error is infinite carry nothing; without any other the interval is unbounded.
pub fn pool(steps: &[Step], scale: f64, confidence: f64) -> Location {
    let usable: Vec<Step> = steps.iter().copied().filter(|s| s.standard_error.is_finite()).collect();
    if usable.is_empty() {
        let estimate = crate::stats::mean(&steps.iter().map(|s| s.log_ratio).collect::<Vec<_>>());
        return Location { estimate, lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    }
    if usable.len() >= 3 {
        return student(&usable, confidence);
    }
    let parts = posterior(&usable, scale);
    let tail = (1.0 - confidence) / 2.0;
    Location { estimate: quantile(&parts, 0.5), lo: quantile(&parts, tail), hi: quantile(&parts, 1.0 - tail) }
}

/// The modified interval of Hartung & Knapp, with τ² by the moments of DerSimonian & Laird (1986).
fn student(steps: &[Step], confidence: f64) -> Location {
    let k = steps.len() as f64;
    let weights = |squared: f64| {
        steps.iter().map(|s| 1.0 / (s.standard_error.powi(2) + squared).max(LEAST)).collect::<Vec<_>>()
    };
    let average = |weights: &[f64]| {
        let sum: f64 = weights.iter().sum();
        let mean = steps.iter().zip(weights).map(|(s, w)| w * s.log_ratio).sum::<f64>() / sum;
        let misfit: f64 = steps.iter().zip(weights).map(|(s, w)| w * (s.log_ratio - mean).powi(2)).sum();
        (mean, misfit, sum)
    };
    let fixed = weights(0.0);
    let (_, misfit, sum) = average(&fixed);
    let spare = sum - fixed.iter().map(|w| w * w).sum::<f64>() / sum;
    let (estimate, misfit, sum) = average(&weights(((misfit - (k - 1.0)) / spare).max(0.0)));
    let error = ((misfit / (k - 1.0)).max(1.0) / sum).sqrt();
    let half = t_quantile(f64::midpoint(1.0, confidence), k - 1.0) * error;
    Location { estimate, lo: estimate - half, hi: estimate + half }
}

/// One normal part of the posterior of the mean.
struct Part {
    weight: f64,
    mean: f64,
    sd: f64,
}

fn posterior(steps: &[Step], scale: f64) -> Vec<Part> {
    let spread = steps.iter().map(|s| (s.log_ratio - steps[0].log_ratio).abs()).fold(0.0, f64::max);
    let freedom = if steps.len() > 1 { TWO_DF } else { ALONE_DF };
    let widest = 20.0 * scale + 6.0 * spread;
    // Dense near zero, where the prior has its mass; the density of the grid (2u) goes into the weights.
    let places = (0..GRID).map(|i| (i as f64 + 0.5) / GRID as f64);
    let logged: Vec<(f64, Part)> = places
        .map(|u| {
            let tau = widest * u * u;
            let prior = -(freedom + 1.0) / 2.0 * ((tau / scale).powi(2) / freedom).ln_1p();
            let (likelihood, mean, sd) = given_tau(steps, tau);
            (prior + u.ln() + likelihood, Part { weight: 0.0, mean, sd })
        })
        .collect();
    let highest = logged.iter().map(|(l, _)| *l).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logged.iter().map(|(l, _)| (l - highest).exp()).sum();
    logged.into_iter().map(|(l, part)| Part { weight: (l - highest).exp() / total, ..part }).collect()
}

/// The log likelihood of τ with the mean integrated out, and the mean with its standard deviation, given τ.
fn given_tau(steps: &[Step], tau: f64) -> (f64, f64, f64) {
    // Windows without any spread still leave τ's own grid step.
    let variance = |s: &Step| (s.standard_error.powi(2) + tau * tau).max(LEAST);
    let precision: f64 = steps.iter().map(|s| 1.0 / variance(s)).sum();
    let mean = steps.iter().map(|s| s.log_ratio / variance(s)).sum::<f64>() / precision;
    let misfit: f64 =
        steps.iter().map(|s| (s.log_ratio - mean).powi(2) / variance(s) + variance(s).ln()).sum();
    (-0.5 * (misfit + precision.ln()), mean, precision.sqrt().recip())
}

fn quantile(parts: &[Part], q: f64) -> f64 {
    let below = |x: f64| parts.iter().map(|p| p.weight * normal_cdf((x - p.mean) / p.sd)).sum::<f64>();
    let mut lo = parts.iter().map(|p| p.mean - 10.0 * p.sd).fold(f64::INFINITY, f64::min);
    let mut hi = parts.iter().map(|p| p.mean + 10.0 * p.sd).fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..60 {
        let middle = crate::stats::midpoint(lo, hi);
        if below(middle) < q {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    crate::stats::midpoint(lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(log_ratio: f64, standard_error: f64) -> Step {
        Step { log_ratio, standard_error }
    }

    #[test]
    fn trials_that_differ_more_than_their_windows_widen_the_interval() {
        let alike: Vec<Step> = [0.0, 0.001, -0.001, 0.002].map(|l| step(l, 0.001)).to_vec();
        let apart: Vec<Step> = [0.0, 0.1, -0.1, 0.2].map(|l| step(l, 0.001)).to_vec();
        let width = |steps: &[Step]| {
            let l = pool(steps, 0.01, 0.95);
            l.hi - l.lo
        };
        assert!(width(&alike) < 0.01);
        // Student's interval of the four means is 0.41 wide.
        assert!((0.2..0.5).contains(&width(&apart)), "{}", width(&apart));
    }

    #[test]
    fn intervals_of_trials_that_differ_by_five_percent_hold_the_truth() {
        use crate::stats::rng::SmallRng;
        for (trials, least) in [(2, 0.82), (3, 0.93), (5, 0.93)] {
            let mut rng = SmallRng::new(45);
            let held = (0..1000).filter(|_| {
                let steps: Vec<Step> =
                    (0..trials).map(|_| step(0.05 * rng.normal() + 0.008 * rng.normal(), 0.008)).collect();
                let found = pool(&steps, 0.01, 0.95);
                found.lo <= 0.0 && 0.0 <= found.hi
            });
            let share = held.count() as f64 / 1000.0;
            assert!(share >= least, "{trials} trials: {share}");
        }
    }

    #[test]
    fn one_trial_keeps_the_doubt_of_the_prior() {
        let one = pool(&[step(0.0, 1e-6)], 0.01, 0.95);
        assert!((0.02..0.04).contains(&one.hi), "{one:?}");
    }

    #[test]
    fn a_trial_that_knows_little_weighs_little() {
        let pooled = pool(&[step(0.0, 0.005), step(0.0, 0.005), step(-1.0, 5.0)], 0.01, 0.95);
        assert!(pooled.estimate.abs() < 0.01, "{pooled:?}");
    }

    #[test]
    fn nothing_known_gives_an_open_interval() {
        let open = pool(&[step(0.1, f64::INFINITY)], 0.01, 0.95);
        assert_eq!((open.estimate, open.lo), (0.1, f64::NEG_INFINITY));
    }
}
