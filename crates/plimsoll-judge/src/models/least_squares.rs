//! Weighted least squares, and fits by it on relative errors, for sums of up to three terms that may not fall below 0.

/// A measurement at one place: the terms there, and the value that they must add up to; above 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) terms: [f64; 3],
    pub(super) value: f64,
}

/// How often weights follow from the fit before.
const ROUNDS: usize = 3;
/// Where no more than this share of a column is its own, beside what the columns before it describe, rounding has left it there.
const SINGULAR: f64 = 1e-14;

/// The coefficients of the least relative error among those that use one of the `candidates`, each a choice of terms, and are `allowed`. The
/// terms left out have 0. Weights are the inverse squares of the modelled value, so that errors are relative ones.
pub(super) fn fit(
    rows: &[Row],
    candidates: &[&[usize]],
    allowed: impl Fn(&[f64; 3]) -> bool,
) -> Option<[f64; 3]> {
    let fitted = candidates.iter().filter_map(|terms| {
        let mut weights: Vec<f64> = rows.iter().map(|row| row.value.powi(-2)).collect();
        let mut found = solve(rows, &weights, terms)?;
        for _ in 0..ROUNDS {
            weights = rows.iter().map(|row| value(&found, &row.terms).powi(-2)).collect();
            found = solve(rows, &weights, terms)?;
        }
        Some((error(rows, &found), found))
    });
    fitted.filter(|(_, found)| allowed(found)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
}

/// The sum of the terms.
pub(super) fn value(coefficients: &[f64; 3], terms: &[f64; 3]) -> f64 {
    terms.iter().zip(coefficients).map(|(term, coefficient)| term * coefficient).sum()
}

fn error(rows: &[Row], coefficients: &[f64; 3]) -> f64 {
    rows.iter().map(|row| (row.value / value(coefficients, &row.terms) - 1.0).powi(2)).sum()
}

/// The coefficients of the chosen terms; `None` if the rows do not determine them.
fn solve(rows: &[Row], weights: &[f64], terms: &[usize]) -> Option<[f64; 3]> {
    match *terms {
        [a] => solve_for([a], rows, weights),
        [a, b] => solve_for([a, b], rows, weights),
        [a, b, c] => solve_for([a, b, c], rows, weights),
        _ => None,
    }
}

fn solve_for<const K: usize>(terms: [usize; K], rows: &[Row], weights: &[f64]) -> Option<[f64; 3]> {
    let columns: Vec<[f64; K]> = rows.iter().map(|row| terms.map(|term| row.terms[term])).collect();
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let found = weighted(&columns, &values, weights)?;
    let mut coefficients = [0.0; 3];
    terms.into_iter().zip(found).for_each(|(term, found)| coefficients[term] = found);
    Some(coefficients)
}

/// The coefficients of `K` columns that describe `values` with the least sum of weighted squares, by the normal equations; `None` if the
/// columns do not determine them.
pub(super) fn weighted<const K: usize>(
    columns: &[[f64; K]],
    values: &[f64],
    weights: &[f64],
) -> Option<[f64; K]> {
    let scale = lengths(columns, weights);
    let mut right = [0.0; K];
    for ((row, value), weight) in columns.iter().zip(values).zip(weights) {
        (0..K).for_each(|i| right[i] += weight * row[i] / scale[i] * value);
    }
    let solved = eliminate(normal(columns, weights, &scale), right)?;
    let coefficients = std::array::from_fn(|k| solved[k] / scale[k]);
    coefficients.iter().all(|c| c.is_finite()).then_some(coefficients)
}

/// The variance of a figure with these `slopes` by the coefficients of `K` columns, where each value has a variance of 1.
pub(super) fn variance<const K: usize>(columns: &[[f64; K]], slopes: [f64; K]) -> Option<f64> {
    let weights = vec![1.0; columns.len()];
    let scale = lengths(columns, &weights);
    let slopes: [f64; K] = std::array::from_fn(|k| slopes[k] / scale[k]);
    let solved = eliminate(normal(columns, &weights, &scale), slopes)?;
    Some(solved.iter().zip(slopes).map(|(solved, slope)| solved * slope).sum::<f64>().max(0.0))
}

/// The length of each column under its weights: the equations of columns of length 1 lose no digits.
fn lengths<const K: usize>(columns: &[[f64; K]], weights: &[f64]) -> [f64; K] {
    std::array::from_fn(|k| {
        let squares: f64 = columns.iter().zip(weights).map(|(row, weight)| weight * row[k] * row[k]).sum();
        squares.sqrt().max(f64::MIN_POSITIVE)
    })
}

fn normal<const K: usize>(columns: &[[f64; K]], weights: &[f64], scale: &[f64; K]) -> [[f64; K]; K] {
    let mut matrix = [[0.0; K]; K];
    for (row, weight) in columns.iter().zip(weights) {
        let row: [f64; K] = std::array::from_fn(|k| row[k] / scale[k]);
        for i in 0..K {
            let left = weight * row[i];
            for j in 0..K {
                matrix[i][j] += left * row[j];
            }
        }
    }
    matrix
}

/// Gauss' elimination with the largest pivot of each column.
fn eliminate<const K: usize>(mut matrix: [[f64; K]; K], mut right: [f64; K]) -> Option<[f64; K]> {
    for column in 0..K {
        let largest = |&a: &usize, &b: &usize| matrix[a][column].abs().total_cmp(&matrix[b][column].abs());
        let pivot = (column..K).max_by(largest)?;
        if matrix[pivot][column].abs() < SINGULAR {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..K {
            let factor = matrix[row][column] / matrix[column][column];
            let above = matrix[column];
            for (value, above) in matrix[row].iter_mut().zip(above) {
                *value -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    for column in (0..K).rev() {
        let known: f64 = (column + 1..K).map(|place| matrix[column][place] * right[place]).sum();
        right[column] = (right[column] - known) / matrix[column][column];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_rows_give_their_coefficients_and_a_term_that_would_be_negative_is_left_out() {
        let row = |n: f64, value: f64| Row { terms: [1.0, n, n * n], value };
        let rows: Vec<Row> = [1.0, 2.0, 5.0, 9.0].map(|n| row(n, 3.0 + 0.5 * n + 0.01 * n * n)).into();
        let found = fit(&rows, &[&[0, 1, 2]], |_| true).unwrap();
        for (found, expected) in found.iter().zip([3.0, 0.5, 0.01]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        let falling: Vec<Row> = [1.0, 2.0, 5.0, 9.0].map(|n| row(n, 30.0 - n)).into();
        let found = fit(&falling, &[&[0, 1], &[0]], |c| c.iter().all(|c| *c >= 0.0)).unwrap();
        assert_eq!(found[1], 0.0);
    }

    #[test]
    fn the_variance_of_a_line_at_its_middle_and_of_its_slope_is_the_textbooks() {
        let columns = [1.0, 2.0, 3.0, 4.0, 5.0].map(|x| [1.0, x]);
        // 1/n at the mean of x, and 1/Σ(x - mean)² for the slope.
        assert!((variance(&columns, [1.0, 3.0]).unwrap() - 0.2).abs() < 1e-12);
        assert!((variance(&columns, [0.0, 1.0]).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(variance(&[[1.0, 2.0], [2.0, 4.0]], [1.0, 0.0]), None);
    }

    #[test]
    fn terms_are_determined_over_a_wide_range_and_not_where_they_are_the_same() {
        let row = |n: f64| Row { terms: [1.0, n, n * n], value: 2.0 + 0.5 * n + 0.25 * n * n };
        let wide: Vec<Row> = [1.0, 10.0, 1e2, 1e3, 1e4, 1e5].map(row).into();
        let found = fit(&wide, &[&[0, 1, 2]], |_| true).unwrap();
        for (found, expected) in found.iter().zip([2.0, 0.5, 0.25]) {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        }
        let same: Vec<Row> = [1.0, 2.0, 5.0].map(|n| Row { terms: [n, 3.0 * n, 0.0], value: n }).into();
        assert_eq!(fit(&same, &[&[0, 1]], |_| true), None);
        assert_eq!(fit(&same, &[&[0, 2]], |_| true), None);
    }
}
