//! `redis-benchmark --csv`: a row for each test; since version 6.2 with a head and with latencies in milliseconds.

use super::{Better, Figures, NamedMetric, ReadError, metric};

const PROGRAM: &str = "redis-benchmark";
pub(super) const METRICS: &[NamedMetric] = &[
    metric("rate", "per second", Better::Higher),
    metric("latency_mean", "ms", Better::Lower),
    metric("latency_p50", "ms", Better::Lower),
    metric("latency_p95", "ms", Better::Lower),
    metric("latency_p99", "ms", Better::Lower),
    metric("latency_max", "ms", Better::Lower),
];

/// The names of the columns, from the second on.
const COLUMNS: [&str; 7] =
    ["rate", "latency_mean", "latency_min", "latency_p50", "latency_p95", "latency_p99", "latency_max"];

pub(super) fn read(text: &str) -> Result<Figures, ReadError> {
    let rows: Vec<Vec<f64>> = text.lines().filter_map(row).collect();
    let [row] = rows.as_slice() else {
        return Err(match rows.len() {
            0 => {
                ReadError::Missing { program: PROGRAM, what: "row of a test; is it run with `--csv`?".into() }
            }
            number => ReadError::Several {
                program: PROGRAM,
                found: format!("{number} tests"),
                expected: "one test, such as `-t set`, or `metrics` that pick what is meant",
            },
        });
    };
    let named =
        COLUMNS.iter().zip(row).filter(|(name, _)| METRICS.iter().any(|metric| metric.name == **name));
    Ok(named.map(|(name, figure)| ((*name).to_owned(), *figure)).collect())
}

/// The figures of a row `"SET","29498.53",...`; nothing for any other line.
fn row(line: &str) -> Option<Vec<f64>> {
    let cells = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut cells = cells.split("\",\"").skip(1).peekable();
    cells.peek()?;
    cells.map(|cell| cell.parse().ok()).collect()
}
