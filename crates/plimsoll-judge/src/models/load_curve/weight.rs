//! How much each point counts, and what a model is off by.

use super::LoadPoint;
use crate::models::aicc;

/// The uncertainty that all points share, as the utilisation at which that of the queue's own is as large.
const EVEN: f64 = 0.5;

/// The weight of a point: 1 at an idle machine, and the less the nearer it is to saturation.
pub(super) fn weight(point: &LoadPoint) -> f64 {
    let uncertainty = |u: f64| u * (1.0 + u) / (1.0 - u).powi(2);
    let shared = uncertainty(EVEN);
    shared / (shared + uncertainty(point.utilisation))
}

/// The weighed sum of the squares of residuals, in the order of the points.
pub(super) fn squares(residuals: &[f64], points: &[LoadPoint]) -> f64 {
    residuals.iter().zip(points).map(|(residual, point)| weight(point) * residual * residual).sum()
}

/// The weighed root mean square.
pub(super) fn spread(residuals: &[f64], points: &[LoadPoint]) -> f64 {
    (squares(residuals, points) / points.iter().map(weight).sum::<f64>()).sqrt()
}

/// Akaike's criterion of weighed residuals.
pub(super) fn criterion(residuals: &[f64], points: &[LoadPoint], parameters: usize) -> f64 {
    aicc(squares(residuals, points), points.len(), parameters)
}

/// Residuals beside the utilisation at which they are, those at busy points as much smaller as they are more uncertain.
pub(super) fn by_utilisation(points: &[LoadPoint], residuals: &[f64]) -> Vec<(f64, f64)> {
    points
        .iter()
        .zip(residuals)
        .map(|(point, residual)| (point.utilisation, weight(point).sqrt() * residual))
        .collect()
}
