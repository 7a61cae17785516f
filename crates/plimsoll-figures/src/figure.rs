//! One figure, as a tool wrote it.

use serde::Serialize;

/// One figure: what it is, how much, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure<'t> {
    /// The name of the format that it was read as.
    pub format: &'static str,
    /// Which call of the tool it belongs to, from 1, for each format.
    pub run: u32,
    /// Name of the metric, such as `requests_per_second`; for tables of counters, the name that the tool gives its column.
    pub metric: &'t str,
    /// Labels that set it apart from others of the same name, such as `percentile` or `device`.
    pub labels: &'t [(&'static str, &'t str)],
    /// How much, in `unit`.
    pub value: f64,
    /// The unit, as the tool has it; empty for counts and numbers without unit.
    pub unit: &'t str,
    /// When, in seconds: the end of an interval since the start, or the time of day since midnight.
    pub at_s: Option<f64>,
    /// The line that it stands in, from 1.
    pub line: u64,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times, errors.
    Lower,
    /// The better direction depends on the question.
    Unknown,
}
