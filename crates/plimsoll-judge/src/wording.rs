//! How figures are written in the sentences of verdicts.

use crate::stats::shift::Location;

/// A ratio as a change in per cent with its sign: 1.052 is `+5.2 %`, 0.25 is `-75 %`; far ratios stay factors.
pub(crate) fn change(ratio: f64) -> String {
    if is_far(ratio) {
        return factor(ratio);
    }
    let percent = 100.0 * (ratio - 1.0);
    match percent.abs() {
        p if p >= 9.95 => format!("{percent:+.0} %"),
        p if p >= 0.095 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.2} %"),
    }
}

/// Whether a ratio says more than its change in per cent.
fn is_far(ratio: f64) -> bool {
    !(0.0..3.0).contains(&ratio)
}

fn factor(ratio: f64) -> String {
    format!("{}x", figure(ratio))
}

/// The interval of a log ratio as changes, both ends in the same form, or that there is none: `95 % interval -1.0 % to +2.0 %`.
pub(crate) fn interval(log_ratio: Location, confidence: f64) -> String {
    match log_ratio.ratio_interval() {
        Some(found) => {
            let ends = [found.lo(), found.hi()];
            let [lo, hi] = ends.map(if ends.into_iter().any(is_far) { factor } else { change });
            format!("{} % interval {lo} to {hi}", 100.0 * confidence)
        }
        None => "no interval: too few values to estimate their scatter".into(),
    }
}

/// A share as a per cent without sign: 0.05 is `5 %`, 0.125 is `12.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = (1000.0 * share).round() / 10.0;
    format!("{percent} %")
}

/// A difference of shares, with its sign: 0.052 is `+5.2 percentage points`.
pub(crate) fn points(difference: f64) -> String {
    let points = 100.0 * difference;
    let digits = if points.abs() >= 9.95 { 0 } else { 1 };
    // Zero without a sign, not "-0.0".
    let points = if points.abs() < 0.05 { 0.0 } else { points };
    format!("{points:+.digits$} percentage points")
}

/// A number with three significant digits.
pub(crate) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    if value.abs() >= 1e9 || value.abs() < 1e-9 {
        format!("{value:.2e}")
    } else {
        format!("{value:.digits$}")
    }
}

/// A p-value: `0.013`, or `below 0.0001`.
pub(crate) fn p_value(p: f64) -> String {
    if p < 1e-4 { "below 0.0001".into() } else { figure(p) }
}

/// A count with its noun: `1 pair`, `8 pairs`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits_and_changes_their_sign() {
        assert_eq!(change(1.052), "+5.2 %");
        assert_eq!(change(0.25), "-75 %");
        assert_eq!(change(0.9998), "-0.02 %");
        assert_eq!(change(12.0), "12.0x");
        assert_eq!(figure(219.4), "219");
        assert_eq!(figure(0.012_345), "0.0123");
        assert_eq!(percent(0.05), "5 %");
        assert_eq!(points(0.052), "+5.2 percentage points");
        assert_eq!(points(-0.25), "-25 percentage points");
        assert_eq!(points(-0.0001), "+0.0 percentage points");
        assert_eq!(p_value(0.000_01), "below 0.0001");
        assert_eq!(count(1, "pair"), "1 pair");
    }

    #[test]
    fn both_ends_of_an_interval_have_the_same_form() {
        let words = |lo: f64, hi: f64| interval(Location { estimate: 0.0, lo: lo.ln(), hi: hi.ln() }, 0.95);
        assert_eq!(words(0.9, 1.2), "95 % interval -10 % to +20 %");
        assert_eq!(words(2.69, 3.63), "95 % interval 2.69x to 3.63x");
        assert_eq!(words(3.5, 12.0), "95 % interval 3.50x to 12.0x");
        assert_eq!(words(0.0, f64::INFINITY), "no interval: too few values to estimate their scatter");
    }
}
