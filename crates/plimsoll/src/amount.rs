//! How figures and changes are written in the answers to comparisons.

use plimsoll_model::verdict::Interval;

/// A change is given as a factor from this factor on.
const FACTOR: f64 = 3.0;

/// A figure with its unit, to three digits: 0.0512 s is `51.2 ms`, 12,345,678 bytes are `12.3 MB`.
pub(crate) fn amount(value: f64, unit: Option<&str>) -> String {
    match unit {
        Some("s") => scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]),
        Some("bytes") => scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]),
        _ => three_digits(value),
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fitting = units.iter().find(|(size, _)| value >= *size).or(units.last());
    fitting
        .map_or_else(|| three_digits(value), |(size, name)| format!("{} {name}", three_digits(value / size)))
}

fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let digits = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// How far a ratio is from 1, without its sign: 1.051 and 0.949 are `5.1 %`.
pub(crate) fn size(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0).abs();
    if percent < 0.095 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// A ratio as a change with its sign, or as a factor where it is far: `+5.1 %`, `-0.02 %`, `4.2x`.
pub(crate) fn change(ratio: f64) -> String {
    if ratio >= FACTOR {
        return format!("{}x", three_digits(ratio));
    }
    format!("{}{}", if ratio < 1.0 { '-' } else { '+' }, size(ratio))
}

/// An interval of ratios: `95 % interval +4.2 % to +6.0 %`.
pub(crate) fn interval(interval: Interval, confidence: f64) -> String {
    let percent = (1000.0 * confidence).round() / 10.0;
    format!("{percent} % interval {} to {}", change(interval.lo()), change(interval.hi()))
}

/// B against A in words that fit the metric: `5.1 % slower`, `2.0 % less memory`, `3.4 times the CPU time`.
pub(crate) fn comparative(metric: &str, ratio: f64) -> String {
    let far = ratio >= FACTOR;
    let more = ratio >= 1.0;
    match (metric, far) {
        ("wall_time" | "elapsed_time", false) => {
            format!("is {} {}", size(ratio), if more { "slower" } else { "faster" })
        }
        ("wall_time" | "elapsed_time", true) => format!("takes {} times as long", three_digits(ratio)),
        ("cpu_time", false) => {
            format!("uses {} {} CPU time", size(ratio), if more { "more" } else { "less" })
        }
        ("cpu_time", true) => format!("uses {} times the CPU time", three_digits(ratio)),
        ("peak_memory", false) => {
            format!("needs {} {} memory", size(ratio), if more { "more" } else { "less" })
        }
        ("peak_memory", true) => format!("needs {} times the memory", three_digits(ratio)),
        ("instructions" | "page_faults" | "system_calls" | "allocations", false) => {
            format!(
                "has {} {} {}",
                size(ratio),
                if more { "more" } else { "fewer" },
                metric.replace('_', " ")
            )
        }
        (_, false) => format!("is {} {}", size(ratio), if more { "higher" } else { "lower" }),
        (_, true) => format!("is {} times as high", three_digits(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit_that_fits() {
        assert_eq!(amount(0.0512, Some("s")), "51.2 ms");
        assert_eq!(amount(2.0, Some("s")), "2.00 s");
        assert_eq!(amount(0.000_000_5, Some("s")), "0.500 us");
        assert_eq!(amount(12_345_678.0, Some("bytes")), "12.3 MB");
        assert_eq!(amount(104.26, None), "104");
        assert_eq!(amount(2.5e12, None), "2.50e12");
    }

    #[test]
    fn changes_have_a_sign_and_become_factors_when_they_are_large() {
        assert_eq!(change(1.051), "+5.1 %");
        assert_eq!(change(0.9998), "-0.02 %");
        assert_eq!(change(4.2), "4.20x");
        assert_eq!(comparative("wall_time", 1.051), "is 5.1 % slower");
        assert_eq!(comparative("wall_time", 0.9), "is 10.0 % faster");
        assert_eq!(comparative("peak_memory", 5.0), "needs 5.00 times the memory");
        assert_eq!(comparative("figure", 0.5), "is 50.0 % lower");
    }
}
