//! Lines through points of which some are far off.

use crate::models::least_squares::weighted;
use crate::stats::median_in_place;

/// How often the weights are updated; they have settled long before.
const ROUNDS: usize = 12;
/// A residual of this many standard deviations has no weight at all; chosen for 95 % efficiency on normal residuals
/// (Beaton & Tukey 1974).
const BISQUARE: f64 = 4.685;
/// The median of absolute residuals, times this, estimates the standard deviation of normal ones.
const NORMAL: f64 = 1.4826;

/// The coefficients of `K` columns that describe `y`: least absolute deviations first, which no outlier moves far, then least squares with
/// Tukey's weights around them.
///
/// Zeros where the columns do not determine them.
pub(super) fn robust_fit<const K: usize>(columns: &[[f64; K]], y: &[f64]) -> [f64; K] {
    let weighted = |weights: &[f64]| weighted(columns, y, weights).unwrap_or([0.0; K]);
    let mut weights = vec![1.0; y.len()];
    let mut fit = weighted(&weights);
    for round in 0..2 * ROUNDS {
        let residuals: Vec<f64> = columns.iter().zip(y).map(|(row, y)| (y - dot(row, &fit)).abs()).collect();
        let scale = NORMAL * median_in_place(&mut residuals.clone());
        if scale <= f64::MIN_POSITIVE {
            // More than half of the points lie on the line.
            return fit;
        }
        for (weight, residual) in weights.iter_mut().zip(&residuals) {
            *weight = if round < ROUNDS {
                1.0 / residual.max(1e-3 * scale)
            } else {
                let share = residual / (BISQUARE * scale);
                if share < 1.0 { (1.0 - share * share).powi(2) } else { 0.0 }
            };
        }
        fit = weighted(&weights);
    }
    fit
}

fn dot<const K: usize>(row: &[f64; K], fit: &[f64; K]) -> f64 {
    row.iter().zip(fit).map(|(x, b)| x * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_through_points_of_which_a_third_is_far_off() {
        let columns: Vec<[f64; 3]> = (0..12).map(|n| [1.0, f64::from(n), f64::from(n % 5)]).collect();
        let mut y: Vec<f64> = columns.iter().map(|[_, a, b]| 3.0 + 0.5 * a - 2.0 * b).collect();
        for (n, y) in y.iter_mut().enumerate() {
            *y += if n % 3 == 1 { 40.0 + n as f64 } else { 1e-3 * (n % 2) as f64 };
        }
        let fit = robust_fit(&columns, &y);
        for (found, known) in fit.into_iter().zip([3.0, 0.5, -2.0]) {
            assert!((found - known).abs() < 0.01, "{fit:?}");
        }
    }

    #[test]
    fn points_on_a_line_give_the_line() {
        let columns: Vec<[f64; 2]> = (0..5).map(|n| [1.0, f64::from(n)]).collect();
        let y: Vec<f64> = (0..5).map(|n| 7.0 - 2.0 * f64::from(n)).collect();
        let fit = robust_fit(&columns, &y);
        assert!((fit[0] - 7.0).abs() < 1e-9 && (fit[1] + 2.0).abs() < 1e-9, "{fit:?}");
    }

    #[test]
    fn columns_that_do_not_determine_coefficients_give_none() {
        assert_eq!(robust_fit(&[[1.0, 2.0]; 4], &[1.0, 2.0, 3.0, 4.0]), [0.0, 0.0]);
    }
}
