//! Noise with a long memory: its slow waves look like levels, though nothing changed.
//!
//! The model is fractionally integrated noise, (1 - B)^d x = e (Granger & Joyeux 1980; Hosking 1981): 1/f noise has d = 0.5, a random walk d = 1. It
//! competes with levels in a first-order autoregression by Schwarz's criterion, for a long memory and a change look alike (Berkes et al. 2006).
//! The likelihood is exact, by the recursion of Durbin and Levinson, in which the k-th partial correlation is d / (k - d).

use statrs::function::gamma::ln_gamma;

/// The orders of integration that are tried; noise of a larger one has no mean, and is no noise around a level.
const ORDERS: [f64; 5] = [0.2, 0.3, 0.4, 0.45, 0.49];
/// Advantage of noise with a long memory: levels were looked for at all places, and pay as if theirs had been known.
const SEARCHED: f64 = 12.0;

/// The order of integration that fits values around a mean of zero best, with n times the logarithm of the variance of its innovations and the price
/// of its parameters.
pub(super) fn best_order(values: &[f64]) -> Option<(f64, f64)> {
    let tried = ORDERS.iter().map(|order| (*order, criterion(values, *order) - SEARCHED));
    tried.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// n times the logarithm of the innovations' variance, and what the first values add, of which less is known.
fn criterion(values: &[f64], order: f64) -> f64 {
    let n = values.len() as f64;
    let newest_first: Vec<f64> = values.iter().rev().copied().collect();
    let mut spread = (ln_gamma(1.0 - 2.0 * order) - 2.0 * ln_gamma(1.0 - order)).exp();
    let (mut weights, mut before) = (Vec::with_capacity(values.len()), Vec::with_capacity(values.len()));
    let (mut squares, mut logarithms) = (0.0, 0.0);
    for (k, value) in values.iter().enumerate() {
        let expected = dot(&weights, &newest_first[values.len() - k..]);
        squares += (value - expected).powi(2) / spread;
        logarithms += spread.ln();
        let partial = order / (k as f64 + 1.0 - order);
        before.clone_from(&weights);
        for (weight, mirrored) in weights.iter_mut().zip(before.iter().rev()) {
            *weight -= partial * mirrored;
        }
        weights.push(partial);
        spread *= 1.0 - partial * partial;
    }
    n * (squares / n).max(f64::MIN_POSITIVE).ln() + logarithms
}

/// Sum of products, in as many parts as a processor adds at a time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const PARTS: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<PARTS>(), b.as_chunks::<PARTS>());
    let mut sums = [0.0; PARTS];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean;
    use crate::stats::rng::SmallRng;

    /// Fractional noise as a sum of its innovations, with the weights Γ(k + d) / (Γ(d) k!).
    fn fractional(n: usize, order: f64, rng: &mut SmallRng) -> Vec<f64> {
        let mut weight = 1.0;
        let weights: Vec<f64> = (0..4 * n)
            .map(|k| {
                let now = weight;
                weight *= (k as f64 + order) / (k as f64 + 1.0);
                now
            })
            .collect();
        let innovations: Vec<f64> = (0..5 * n).map(|_| rng.normal()).collect();
        (4 * n..5 * n)
            .map(|i| weights.iter().enumerate().map(|(k, w)| w * innovations[i - k]).sum())
            .collect()
    }

    fn order_of(mut values: Vec<f64>) -> f64 {
        let middle = mean(&values);
        values.iter_mut().for_each(|value| *value -= middle);
        best_order(&values).unwrap().0
    }

    #[test]
    fn the_order_of_integration_is_found() {
        for order in [0.2, 0.4] {
            let found = (0..20).map(|seed| order_of(fractional(300, order, &mut SmallRng::new(seed))));
            let middle = found.sum::<f64>() / 20.0;
            assert!((middle - order).abs() < 0.08, "{middle} for {order}");
        }
    }
}
