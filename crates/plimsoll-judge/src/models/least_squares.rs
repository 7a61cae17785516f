//! Weighted least squares on relative errors, for sums of up to three terms that may not fall below 0.

/// What was measured at one place: the terms there, and the value that they are to add up to; above 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) terms: [f64; 3],
    pub(super) value: f64,
}

/// How often weights follow from the fit before.
const ROUNDS: usize = 3;

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

/// Solves the normal equations by elimination with pivots.
fn solve(rows: &[Row], weights: &[f64], terms: &[usize]) -> Option<[f64; 3]> {
    let k = terms.len();
    // Terms of much the same size, lest the equations lose digits.
    let scale: Vec<f64> = terms
        .iter()
        .map(|&term| rows.iter().map(|row| row.terms[term].abs()).fold(0.0, f64::max))
        .map(|largest| if largest > 0.0 { largest } else { 1.0 })
        .collect();
    let mut equations = vec![vec![0.0; k + 1]; k];
    for (row, weight) in rows.iter().zip(weights) {
        for i in 0..k {
            let left = weight * row.terms[terms[i]] / scale[i];
            for j in 0..k {
                equations[i][j] += left * row.terms[terms[j]] / scale[j];
            }
            equations[i][k] += left * row.value;
        }
    }
    for column in 0..k {
        let largest =
            |&a: &usize, &b: &usize| equations[a][column].abs().total_cmp(&equations[b][column].abs());
        let pivot = (column..k).max_by(largest)?;
        equations.swap(column, pivot);
        if equations[column][column] == 0.0 {
            return None;
        }
        let pivot = equations[column].clone();
        for (_, row) in equations.iter_mut().enumerate().filter(|(r, _)| *r != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let mut coefficients = [0.0; 3];
    for (i, &term) in terms.iter().enumerate() {
        coefficients[term] = equations[i][k] / equations[i][i] / scale[i];
    }
    coefficients.iter().all(|c| c.is_finite()).then_some(coefficients)
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
}
