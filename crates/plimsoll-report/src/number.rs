//! Figures as text. All of them keep to three significant digits: what is measured here is seldom known better.

/// Placeholder of an absent figure.
pub(crate) const NONE: &str = "–";

/// Three significant digits, no exponent, thousands set apart by commas: `0.0123`, `48.3`, `2,030`. Integers stay integers.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-6) {
        return format!("{value:.2e}");
    }
    if size >= 999.5 || value.fract() == 0.0 {
        return grouped(value.round());
    }
    // The digit before the point counts as one of the three; rounding may carry into it (9.996 is 10.0).
    let places = (2 - size.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.places$}");
    let carried =
        text.parse::<f64>().map_or(0, |v| (2 - v.abs().log10().floor() as i32).clamp(0, 8) as usize);
    if carried < places { format!("{value:.carried$}") } else { text }
}

/// A whole number with commas between thousands.
pub(crate) fn count(n: u64) -> String {
    grouped(n as f64)
}

/// A rounded figure with commas between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio: two decimals, which show a margin of 5 %; three significant digits below 0.1.
pub(crate) fn ratio(value: f64) -> String {
    if !value.is_finite() {
        NONE.into()
    } else if value != 0.0 && value.abs() < 0.1 || value.abs() >= 100.0 {
        figure(value)
    } else {
        without_sign_of_zero(format!("{value:.2}"))
    }
}

/// A rounded figure, `0.0` instead of `-0.0`.
fn without_sign_of_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(size) if size.bytes().all(|byte| matches!(byte, b'0' | b'.')) => size.to_owned(),
        _ => text,
    }
}

/// A share as per cent with one decimal, without the sign: `17.3`.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { without_sign_of_zero(format!("{:.1}", share * 100.0)) } else { NONE.into() }
}

/// Microseconds as milliseconds: `0.483`, `1.23`, `3,010`.
pub(crate) fn millis(us: u64) -> String {
    figure(us as f64 / 1e3)
}

/// A length of time in a sentence: `0.8 s`, `45 ms`, `3 min 20 s`, `2 h 5 min`.
pub fn seconds(s: f64) -> String {
    if !s.is_finite() {
        return NONE.into();
    }
    let whole = s.round() as u64;
    match s {
        s if s <= 0.0 => "0 s".into(),
        s if s < 1e-3 => format!("{} µs", figure((s * 1e6).round())),
        s if s < 0.1 => format!("{} ms", figure(s * 1e3)),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 119.5 => format!("{whole} s"),
        s if s < 7200.0 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// After divided by before: `×5.07`; `new` where there was nothing before, `gone` where there is nothing after.
pub(crate) fn times(before: f64, after: f64) -> String {
    match (before == 0.0, after == 0.0) {
        (true, true) => "×1.00".into(),
        (true, false) => "new".into(),
        (false, true) => "gone".into(),
        (false, false) => format!("×{}", ratio(after / before)),
    }
}

/// A probability in a sentence, with its relation: `= 0.03`, `< 0.001`.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("= {}", figure(p)) }
}

/// A moment, in seconds since 1970, as `2026-11-21 20:42 UTC`; a dash where that is beyond any calendar.
pub fn moment(unix_s: u64) -> String {
    i64::try_from(unix_s)
        .ok()
        .and_then(|s| chrono::DateTime::from_timestamp(s, 0))
        .map_or_else(|| NONE.into(), |t| t.format("%Y-%m-%d %H:%M UTC").to_string())
}

/// The value with half of `sorted` on either side; absent when there is none.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match n {
        0 => None,
        n if n % 2 == 1 => Some(sorted[n / 2]),
        n => Some(f64::midpoint(sorted[n / 2 - 1], sorted[n / 2])),
    }
}

/// The 95 % interval of the median by order statistics: the narrowest pair of ranks, equally far from both ends, that the binomial
/// distribution gives at least that coverage (David and Nagaraja, Order Statistics, 3rd edition, section 7.1). With fewer than six
/// values no pair has it, and the range is given. Absent when there is no value.
pub(crate) fn median_interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len();
    // How many values may be left out at each end: the greatest k with P(Binomial(n, 1/2) < k) <= 2.5 %.
    let left_out = if n > 1000 {
        ((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0).floor() as usize
    } else {
        let (mut k, mut mass, mut tail) = (0, 0.5_f64.powi(n as i32), 0.0);
        while tail + mass <= 0.025 {
            tail += mass;
            mass *= (n - k) as f64 / (k + 1) as f64;
            k += 1;
        }
        k
    };
    let outer = left_out.saturating_sub(1);
    Some((*sorted.get(outer)?, *sorted.get(n - 1 - outer)?))
}

/// Finite values in rising order.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (0.012_345, "0.0123"),
            (0.099_96, "0.100"),
            (1.234, "1.23"),
            (9.996, "10.0"),
            (48.27, "48.3"),
            (99.96, "100"),
            (219.4, "219"),
            (999.7, "1,000"),
            (2030.4, "2,030"),
            (1_234_567.0, "1,234,567"),
            (-12_345.6, "-12,346"),
            (1.5e-9, "1.50e-9"),
            (f64::NAN, NONE),
            (f64::INFINITY, NONE),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text, "{value}");
        }
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!([percent(-0.0), percent(-1e-9), percent(-0.004)], ["0.0", "0.0", "-0.4"]);
        assert_eq!([ratio(-0.0), ratio(-0.5)], ["0.00", "-0.50"]);
    }

    #[test]
    fn a_length_of_time_takes_the_unit_that_fits() {
        let cases = [
            (0.0, "0 s"),
            (0.000_42, "420 µs"),
            (0.045, "45 ms"),
            (0.8, "0.8 s"),
            (12.4, "12 s"),
            (200.0, "3 min 20 s"),
            (7500.0, "2 h 5 min"),
        ];
        for (s, text) in cases {
            assert_eq!(seconds(s), text, "{s}");
        }
    }

    #[test]
    fn something_from_nothing_has_no_ratio() {
        assert_eq!(times(0.0, 3.0), "new");
        assert_eq!(times(3.0, 0.0), "gone");
        assert_eq!(times(12.1, 61.3), "×5.07");
    }

    #[test]
    fn the_interval_of_a_median_has_the_ranks_of_the_tables() {
        // Ranks from the usual tables for the sign test at two-sided 5 %.
        for (n, rank) in [(6, 1), (10, 2), (20, 6), (50, 18), (100, 40)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let expected = (f64::from(rank), f64::from(n + 1 - rank));
            assert_eq!(median_interval(&values), Some(expected), "n = {n}");
        }
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[1.0, 2.0, 3.0]), Some((1.0, 3.0)), "too few: the range");
        let many: Vec<f64> = (0..5000).map(f64::from).collect();
        let (lo, hi) = median_interval(&many).unwrap();
        assert!((2425.0..2435.0).contains(&lo) && (2564.0..2575.0).contains(&hi), "{lo} {hi}");
    }

    #[test]
    fn a_moment_is_in_utc() {
        assert_eq!(moment(1_700_000_000), "2023-11-14 22:13 UTC");
        assert_eq!(moment(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(moment(u64::MAX), NONE);
    }
}
