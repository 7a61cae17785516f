//! Series that other monitors kept over weeks: archives of RRDtool, CSV files of collectd, and what sysstat's sar prints.

mod collectd;
mod names;
mod rrd;
mod sysstat;

use std::path::Path;

use thiserror::Error;

/// A series that a monitor kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitored {
    /// Its name: that of `plimsoll watch` where it measures the same, else the monitor's own.
    pub name: String,
    /// Its unit; empty where it is unknown.
    pub unit: &'static str,
    /// Seconds since 1970 (UTC), each with a value, in order of time.
    pub points: Vec<(u64, f64)>,
}

/// A file that cannot be read.
#[derive(Debug, Error, PartialEq)]
pub enum MonitoringError {
    /// No known format.
    #[error(
        "this is no format of a monitor: expected the output of `rrdtool dump` or `rrdtool fetch`, a CSV file of collectd, `sadf -d` or `sar -f`"
    )]
    Unknown,
    /// A line has another form than expected.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The expected form.
        what: &'static str,
    },
    /// A file describes more values than memory should hold.
    #[error("it describes more than {MOST_VALUES} values; expected fewer, or shorter archives")]
    TooMany,
    /// The file is whole, and no value in it can be used.
    #[error("there is no value with a time in it")]
    Empty,
}

/// Reads a file. Its path names the series, which no format but sysstat's does itself; `name` replaces that.
///
/// # Errors
/// When the format is unknown, or a line has another form.
pub fn read(path: &Path, name: Option<&str>, text: &str) -> Result<Vec<Monitored>, MonitoringError> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut all = if text.contains("<rrd>") {
        named(path, name, rrd::dump(text)?)
    } else if first.starts_with("epoch,") {
        named(path, name, collectd::csv(text)?)
    } else if first.starts_with("# hostname;") {
        sysstat::sadf(text)?
    } else if first.starts_with("Linux ") && first.contains('(') {
        sysstat::sar(text)?
    } else {
        named(path, name, rrd::fetch(text)?)
    };
    for series in &mut all {
        series.points.retain(|(_, value)| value.is_finite());
        series.points.sort_by_key(|(at, _)| *at);
    }
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() { Err(MonitoringError::Empty) } else { Ok(all) }
}

/// The most values of an archive: each hour of 150 years for a few series. A row of a few bytes may claim to stand for any time.
const MOST_VALUES: u64 = 5_000_000;

/// Columns of a file, each with its times and values.
type Columns = Vec<(String, Vec<(u64, f64)>)>;

fn named(path: &Path, name: Option<&str>, columns: Columns) -> Vec<Monitored> {
    let alone = columns.len() == 1;
    let series = columns.into_iter().map(|(column, points)| match name {
        Some(name) => {
            let name = if alone { name.to_owned() } else { format!("{name}.{column}") };
            Monitored { unit: names::unit(&name), name, points }
        }
        None => names::of_file(path, &column, points),
    });
    series.collect()
}

#[cfg(test)]
mod tests;
