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

/// The curve of this degree through values at the indices `at`, those far off it pulled in; nothing where there are too few of them.
pub(super) fn smooth(values: &[f64], at: &[usize], degree: usize) -> Option<Smooth> {
    if values.len() < VALUES_PER_COEFFICIENT * (degree + 1) {
        return None;
    }
    let places = Places::of(at);
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

/// Indices on the scale from -1 to 1.
struct Places<'a> {
    at: &'a [usize],
    first: f64,
    half: f64,
}

impl<'a> Places<'a> {
    fn of(at: &'a [usize]) -> Self {
        let (first, last) = (at[0] as f64, at[at.len() - 1] as f64);
        Self { at, first, half: ((last - first) / 2.0).max(0.5) }
    }

    fn columns(&self) -> impl Iterator<Item = [f64; COLUMNS]> {
        self.at.iter().map(|at| legendre((*at as f64 - self.first) / self.half - 1.0))
    }

    /// Least squares by the normal equations and Cholesky's factors.
    fn fitted(&self, values: &[f64], degree: usize) -> Option<Vec<f64>> {
        let used = degree + 1;
        let mut matrix = [[0.0; COLUMNS]; COLUMNS];
        let mut right = [0.0; COLUMNS];
        for (columns, value) in self.columns().zip(values) {
            for i in 0..used {
                right[i] += columns[i] * value;
                for j in 0..=i {
                    matrix[i][j] += columns[i] * columns[j];
                }
            }
        }
        let solved = solved(&mut matrix, right, used)?;
        let sum = |columns: [f64; COLUMNS]| columns.iter().zip(solved).map(|(c, s)| c * s).sum();
        Some(self.columns().map(sum).collect())
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

/// Solves the first `used` equations of a symmetric matrix, of which the lower half is given.
fn solved(
    matrix: &mut [[f64; COLUMNS]; COLUMNS],
    mut right: [f64; COLUMNS],
    used: usize,
) -> Option<[f64; COLUMNS]> {
    for i in 0..used {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let rest = matrix[i][j] - known;
            if i == j && rest <= 0.0 {
                return None;
            }
            matrix[i][j] = if i == j { rest.sqrt() } else { rest / matrix[j][j] };
        }
    }
    for i in 0..used {
        let known: f64 = (0..i).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    for i in (0..used).rev() {
        let known: f64 = (i + 1..used).map(|k| matrix[k][i] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right[used..].fill(0.0);
    Some(right)
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
            let found = smooth(&values, &at, degree).unwrap();
            assert!(at.iter().zip(&found.values).all(|(i, v)| (v - truth(*i)).abs() < 0.03), "{degree}");
        }
        assert!(smooth(&values[..9], &at[..9], 2).is_none());
    }
}
