//! Models of queues, scaling and lossy paths, fitted to measured points, with the residuals that say where reality leaves them.

pub mod diagnosis;
pub mod growth;
pub mod hops;
pub mod knee;
mod least_squares;
pub mod load_curve;
pub mod loss;
pub mod queueing;
pub mod scaling;
mod structure;

/// Akaike's criterion with the correction for few points (Hurvich & Tsai 1989), up to a constant. Infinite where there are not enough points for the
/// parameters; `parameters` counts the variance.
fn aicc(squares: f64, points: usize, parameters: usize) -> f64 {
    if points <= parameters + 1 {
        return f64::INFINITY;
    }
    let (n, k) = (points as f64, parameters as f64);
    n * (squares / n).max(f64::MIN_POSITIVE).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0)
}

/// The root of the mean square.
fn rms(residuals: &[f64]) -> f64 {
    (residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len().max(1) as f64).sqrt()
}

/// Splits one point off, for leave-one-out errors.
fn without<T: Clone>(points: &[T], left_out: usize) -> Vec<T> {
    points.iter().enumerate().filter(|&(i, _)| i != left_out).map(|(_, p)| p.clone()).collect()
}
