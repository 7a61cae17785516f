//! `sysbench ... run`, whatever it tests: its general statistics, and latencies in milliseconds.

use super::{Better, Figures, NamedMetric, ReadError, labelled, metric};

const PROGRAM: &str = "sysbench";
pub(super) const METRICS: &[NamedMetric] = &[
    metric("rate", "per second", Better::Higher),
    metric("latency_mean", "ms", Better::Lower),
    metric("latency_p95", "ms", Better::Lower),
    metric("latency_p99", "ms", Better::Lower),
    metric("latency_max", "ms", Better::Lower),
];

pub(super) fn read(text: &str) -> Result<Figures, ReadError> {
    let of = |label: &str| labelled(text, label).map(|(figure, _)| figure);
    let missing = |what: &str| ReadError::Missing { program: PROGRAM, what: format!("`{what}`") };
    let seconds = of("total time:").filter(|seconds| *seconds > 0.0).ok_or_else(|| missing("total time:"))?;
    let events = of("total number of events:").ok_or_else(|| missing("total number of events:"))?;
    let latencies = text.split_once("Latency (ms):").map_or("", |(_, after)| after);
    let latency = |label: &str| labelled(latencies, label).map(|(figure, _)| figure);
    let found = [
        ("rate", Some(events / seconds)),
        ("latency_mean", latency("avg:")),
        ("latency_p95", latency("95th percentile:")),
        ("latency_p99", latency("99th percentile:")),
        ("latency_max", latency("max:")),
    ];
    Ok(found.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?))).collect())
}
