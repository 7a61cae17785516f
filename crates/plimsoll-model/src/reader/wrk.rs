//! `wrk`: requests per second, and latencies in units of their own; percentiles where it was run with `--latency`.

use super::{Better, Figures, NamedMetric, ReadError, labelled, leading_number, metric};

const PROGRAM: &str = "wrk";
pub(super) const METRICS: &[NamedMetric] = &[
    metric("rate", "per second", Better::Higher),
    metric("transfer", "MB/s", Better::Higher),
    metric("latency_mean", "ms", Better::Lower),
    metric("latency_p50", "ms", Better::Lower),
    metric("latency_p90", "ms", Better::Lower),
    metric("latency_p99", "ms", Better::Lower),
    metric("latency_max", "ms", Better::Lower),
    metric("errors", "requests", Better::Lower),
];

pub(super) fn read(text: &str) -> Result<Figures, ReadError> {
    let missing = || ReadError::Missing { program: PROGRAM, what: "`Requests/sec:`".into() };
    let (rate, _) = labelled(text, "Requests/sec:").ok_or_else(missing)?;
    // Latency, average, standard deviation, maximum and the share within one standard deviation.
    let latency = |place: usize| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix("Latency  "))?;
        milliseconds(line.split_whitespace().nth(place)?)
    };
    let percentile = |label: &str| {
        let distribution = text.split_once("Latency Distribution")?.1;
        milliseconds(distribution.lines().find_map(|line| line.trim().strip_prefix(label))?.trim())
    };
    let refused = labelled(text, "Non-2xx or 3xx responses:").map_or(0.0, |(number, _)| number);
    let found = [
        ("rate", Some(rate)),
        (
            "transfer",
            labelled(text, "Transfer/sec:").and_then(|(size, unit)| Some(size * factor(unit)? / 1e6)),
        ),
        ("latency_mean", latency(0)),
        ("latency_max", latency(2)),
        ("latency_p50", percentile("50%")),
        ("latency_p90", percentile("90%")),
        ("latency_p99", percentile("99%")),
        ("errors", Some(refused + socket_errors(text))),
    ];
    Ok(found.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?))).collect())
}

/// All in `Socket errors: connect 0, read 2, write 0, timeout 4`; the line is there where any is.
fn socket_errors(text: &str) -> f64 {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("Socket errors:"));
    line.unwrap_or("").split([' ', ',']).filter_map(|word| word.parse::<f64>().ok()).sum()
}

/// A time such as `963.00us`, `1.80ms`, `1.20s` or `1.50m` in milliseconds.
fn milliseconds(text: &str) -> Option<f64> {
    let (number, unit) = leading_number(text)?;
    let factor = match unit {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3.6e6,
        _ => return None,
    };
    Some((number * factor * 1e9).round() / 1e9)
}

/// The bytes of a unit, which are powers of 1024 (`units.c` in wrk).
fn factor(unit: &str) -> Option<f64> {
    let place = ["B", "KB", "MB", "GB", "TB"].iter().position(|known| *known == unit)?;
    Some(1024_f64.powi(i32::try_from(place).ok()?))
}
