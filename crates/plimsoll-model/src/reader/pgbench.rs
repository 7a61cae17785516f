//! `pgbench` of PostgreSQL 10 and later.

use super::{Better, Figures, NamedMetric, ReadError, labelled, metric};

const PROGRAM: &str = "pgbench";
pub(super) const METRICS: &[NamedMetric] = &[
    metric("rate", "per second", Better::Higher),
    metric("latency_mean", "ms", Better::Lower),
    metric("failed", "transactions", Better::Lower),
];

pub(super) fn read(text: &str) -> Result<Figures, ReadError> {
    let of = |label: &str| labelled(text, label).map(|(figure, _)| figure);
    // Before version 14 there are two, the second without the time that connections take.
    let mut rates = text.lines().filter(|line| line.starts_with("tps = ") && !line.contains("(including"));
    let rate = rates.next_back().and_then(|line| labelled(line, "tps = ")).map(|(rate, _)| rate);
    let missing = || ReadError::Missing { program: PROGRAM, what: "`tps =`".into() };
    let found = [
        ("rate", Some(rate.ok_or_else(missing)?)),
        ("latency_mean", of("latency average = ").or_else(|| of("latency average: "))),
        ("failed", of("number of failed transactions: ")),
    ];
    Ok(found.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?))).collect())
}
