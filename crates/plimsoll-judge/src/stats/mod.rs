//! The basics that all tests share.
//!
//! Everything here expects finite values: the public judges check their input first (see [`crate::input`]), and these
//! functions then need no error of their own. An empty slice gives NaN where there is no sensible answer.

pub mod bootstrap;
pub mod dist;
pub mod rank;
pub mod rng;
pub mod shift;

use plimsoll_model::verdict::Interval;

/// The arithmetic mean; NaN for an empty slice. Summed around the first value, so that a large offset costs no digits.
pub fn mean(values: &[f64]) -> f64 {
    let Some(&origin) = values.first() else { return f64::NAN };
    origin + values.iter().map(|v| v - origin).sum::<f64>() / values.len() as f64
}

/// The sample variance (divided by n - 1); 0 for a single value, NaN for none.
pub fn variance(values: &[f64]) -> f64 {
    match values.len() {
        0 => f64::NAN,
        1 => 0.0,
        n => {
            let m = mean(values);
            values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / (n - 1) as f64
        }
    }
}

/// The sample standard deviation: the root of [`variance`].
pub fn sd(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// The median; NaN for an empty slice.
pub fn median(values: &[f64]) -> f64 {
    median_in_place(&mut values.to_vec())
}

/// The median, found by selection; leaves `values` in another order. NaN for an empty slice.
pub fn median_in_place(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return f64::NAN;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    midpoint(lower, upper)
}

/// The median of the slopes between all pairs of points with different x (Theil 1950, Sen 1968); `None` if there is no such pair.
pub fn median_slope(points: &[(f64, f64)]) -> Option<f64> {
    let pairs = points.iter().enumerate().flat_map(|(i, a)| points[i + 1..].iter().map(move |b| (a, b)));
    let mut slopes: Vec<f64> =
        pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect();
    (!slopes.is_empty()).then(|| median_in_place(&mut slopes))
}

/// The `q` quantile of values that are sorted already, interpolated between neighbours (type 7 of Hyndman & Fan 1996,
/// the default of R and NumPy). `q` is clamped to 0..=1; NaN for an empty slice.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// The `q` quantile of values in any order; see [`quantile_sorted`].
pub fn quantile(values: &[f64], q: f64) -> f64 {
    quantile_sorted(&sorted(values), q)
}

/// The interval that holds the middle of values in any order, so large a share of them as `confidence` says; NaN at both ends for an
/// empty slice. Of figures of resamples it is the percentile interval (Efron 1979).
pub fn middle(values: &[f64], confidence: f64) -> Interval {
    let values = sorted(values);
    let tail = (1.0 - confidence) / 2.0;
    Interval(quantile_sorted(&values, tail), quantile_sorted(&values, 1.0 - tail))
}

/// The values in rising order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// The median absolute deviation from the median, times 1.4826 so that it estimates the standard deviation of normal
/// values. 0 when more than half of the values are equal.
pub fn mad(values: &[f64]) -> f64 {
    let centre = median(values);
    let mut distances: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    1.482_602_218_505_602 * median_in_place(&mut distances)
}

/// The correlation of each value with the next one, around the mean; 0 for fewer than three values or no spread.
pub fn lag1_autocorrelation(values: &[f64]) -> f64 {
    if values.len() < 3 {
        return 0.0;
    }
    let m = mean(values);
    let spread: f64 = values.iter().map(|v| (v - m).powi(2)).sum();
    if spread <= 0.0 {
        return 0.0;
    }
    values.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum::<f64>() / spread
}

/// The point halfway between two values, without overflow.
pub(crate) fn midpoint(a: f64, b: f64) -> f64 {
    a / 2.0 + b / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_numpy() {
        // numpy.quantile([7, 1, 3, 9, 4], [0.1, 0.25, 0.5, 0.9])
        let values = [7.0, 1.0, 3.0, 9.0, 4.0];
        for (q, expected) in [(0.1, 1.8), (0.25, 3.0), (0.5, 4.0), (0.9, 8.2)] {
            assert!((quantile(&values, q) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_halfway() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[f64::MAX, f64::MAX]), f64::MAX);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn variance_keeps_its_digits_under_a_large_offset() {
        let values = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        assert!((variance(&values) - 30.0).abs() < 1e-9);
    }

    #[test]
    fn the_spread_of_equal_values_is_zero() {
        assert_eq!(mad(&[2.0; 5]), 0.0);
        assert_eq!(sd(&[2.0]), 0.0);
        assert_eq!(lag1_autocorrelation(&[2.0; 5]), 0.0);
    }
}
