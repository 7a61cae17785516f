//! Smooth curves: what rises, bends or comes to a level has no steps, however well a staircase follows it.
//!
//! A curve is a polynomial in the index of degree 2 to 6, as a sum of Legendre's polynomials, which lose no digits. It competes with the staircase
//! by Schwarz's criterion on the same noise, a first-order autoregression.

use super::noise::{Noise, without_outliers};

/// The degrees that are tried; a line is a trend of its own.
pub(super) const DEGREES: std::ops::RangeInclusive<usize> = 2..=6;
const COLUMNS: usize = *DEGREES.end() + 1;
/// Fewer values for each coefficient follow any level, so that a curve through them says nothing.
const VALUES_PER_COEFFICIENT: usize = 8;
/// Rounds in which values far off the curve are pulled in.
const ROUNDS: usize = 2;

/// A polynomial fitted to a series.
#[derive(Clone, Debug)]
pub(super) struct Smooth {
    /// Its value at each place.
    pub(super) values: Vec<f64>,
    pub(super) degree: usize,
}

/// The curve of this degree through values at these places, those far off it pulled in; `None` if there are too few of them.
pub(super) fn smooth(values: &[f64], places: &Places, degree: usize) -> Option<Smooth> {
    if values.len() < VALUES_PER_COEFFICIENT * (degree + 1) {
        return None;
    }
    let mut pulled = without_outliers(values, Noise::from_differences(values).sd);
    let mut curve = places.fitted(&pulled, degree)?;
    for _ in 0..ROUNDS {
        let left: Vec<f64> = values.iter().zip(&curve).map(|(value, curve)| value - curve).collect();
        let usual = without_outliers(&left, Noise::from_differences(&left).sd);
        for ((pulled, usual), curve) in pulled.iter_mut().zip(usual).zip(&curve) {
            *pulled = usual + curve;
        }
        curve = places.fitted(&pulled, degree)?;
    }
    Some(Smooth { values: curve, degree })
}

/// Legendre's polynomials at the indices of a series on the scale from -1 to 1, and Cholesky's factor of their normal equations. The
/// factor for a lower degree is the upper left part of it.
pub(super) struct Places {
    columns: Vec<[f64; COLUMNS]>,
    factor: [[f64; COLUMNS]; COLUMNS],
    /// How many rows of the factor could be had: fewer where there are fewer places than coefficients.
    rank: usize,
}

impl Places {
    pub(super) fn of(at: &[usize]) -> Self {
        let (first, last) = (at[0] as f64, at[at.len() - 1] as f64);
        let half = ((last - first) / 2.0).max(0.5);
        let columns: Vec<_> = at.iter().map(|at| legendre((*at as f64 - first) / half - 1.0)).collect();
        let mut factor = [[0.0; COLUMNS]; COLUMNS];
        for columns in &columns {
            for i in 0..COLUMNS {
                for j in 0..=i {
                    factor[i][j] += columns[i] * columns[j];
                }
            }
        }
        let rank = factorise(&mut factor);
        Self { columns, factor, rank }
    }

    /// Least squares by the normal equations.
    fn fitted(&self, values: &[f64], degree: usize) -> Option<Vec<f64>> {
        let used = degree + 1;
        if used > self.rank {
            return None;
        }
        let mut right = [0.0; COLUMNS];
        for (columns, value) in self.columns.iter().zip(values) {
            for (right, column) in right.iter_mut().zip(columns) {
                *right += column * value;
            }
        }
        let solved = solved(&self.factor, right, used);
        let sum = |columns: &[f64; COLUMNS]| columns.iter().zip(solved).map(|(c, s)| c * s).sum();
        Some(self.columns.iter().map(sum).collect())
    }
}

/// Legendre's polynomials by Bonnet's recursion.
fn legendre(x: f64) -> [f64; COLUMNS] {
    let mut columns = [1.0; COLUMNS];
    columns[1] = x;
    for k in 2..COLUMNS {
        let n = k as f64;
        columns[k] = ((2.0 * n - 1.0) * x * columns[k - 1] - (n - 1.0) * columns[k - 2]) / n;
    }
    columns
}

/// Replaces the lower half of a symmetric matrix by Cholesky's factor. Gives how many of its rows are positive definite.
fn factorise(matrix: &mut [[f64; COLUMNS]; COLUMNS]) -> usize {
    for i in 0..COLUMNS {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let rest = matrix[i][j] - known;
            if i == j && rest <= 0.0 {
                return i;
            }
            matrix[i][j] = if i == j { rest.sqrt() } else { rest / matrix[j][j] };
        }
    }
    COLUMNS
}

/// Solves the first `used` equations of a matrix of which the factor is given.
fn solved(factor: &[[f64; COLUMNS]; COLUMNS], mut right: [f64; COLUMNS], used: usize) -> [f64; COLUMNS] {
    for i in 0..used {
        let known: f64 = (0..i).map(|k| factor[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / factor[i][i];
    }
    for i in (0..used).rev() {
        let known: f64 = (i + 1..used).map(|k| factor[k][i] * right[k]).sum();
        right[i] = (right[i] - known) / factor[i][i];
    }
    right[used..].fill(0.0);
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_is_found_beside_gaps_and_an_outlier() {
        let at: Vec<usize> = (0..120).filter(|i| i % 7 != 3).collect();
        let truth = |i: usize| 5.0 + 0.3 * i as f64 - 0.002 * (i as f64).powi(2);
        let mut values: Vec<f64> = at.iter().map(|i| truth(*i) + 0.01 * (*i as f64 * 1.7).sin()).collect();
        values[20] += 50.0;
        for degree in 2..=5 {
            let found = smooth(&values, &Places::of(&at), degree).unwrap();
            assert!(at.iter().zip(&found.values).all(|(i, v)| (v - truth(*i)).abs() < 0.03), "{degree}");
        }
        assert!(smooth(&values[..9], &Places::of(&at[..9]), 2).is_none());
    }
}
