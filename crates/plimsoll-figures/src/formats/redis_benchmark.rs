//! The output of `redis-benchmark`: text, quiet text and CSV.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "redis-benchmark",
    tool: "redis-benchmark",
    command: "redis-benchmark -t set,get",
    measured: &[
        "higher requests_per_second,operation 1/s: `requests per second`",
        "lower latency,operation,stat ms: `latency summary`, and the columns of `--csv`: mean, min, max",
        "lower latency,operation,percentile ms: `latency summary`, `p50=` of `-q`, and the columns of `--csv`",
        "lower distribution,operation,percentile ms: `Latency by percentile distribution`, and the cumulative one",
        "plain requests,operation: `requests completed in`",
        "plain duration,operation s: `requests completed in`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("7.0"),
    marks: &["====== ", " requests per second", "\"test\",\"rps\""],
    start: |line| {
        if line.text.starts_with("\"test\",\"rps\"") {
            return Some(Start::Head);
        }
        let within =
            heading(line.text).is_some() || quiet(line.text).is_some() || summary(line.text).is_some();
        within.then_some(Start::Within)
    },
    reader: Some(|_| Box::<Redis>::default()),
    ..Format::EMPTY
};

/// `====== SET ======`.
fn heading(text: &str) -> Option<&str> {
    text.strip_prefix("====== ")?.strip_suffix(" ======").map(str::trim)
}

/// `SET: 52083.33 requests per second, p50=0.543 msec`.
fn quiet(text: &str) -> Option<(&str, f64, Option<f64>)> {
    let (rate, rest) = text.split_once(" requests per second")?;
    let (operation, rate) = rate.rsplit_once(": ")?;
    let median = rest.strip_prefix(", p50=").and_then(|rest| {
        let (median, unit) = rest.split_once(' ')?;
        (unit.trim() == "msec").then(|| number(median))?
    });
    let operation =
        Some(operation).filter(|operation| !operation.is_empty() && *operation != "throughput summary")?;
    Some((operation, number(rate)?, median))
}

/// `throughput summary: 38910.51 requests per second`, or the same without its first words, before version 6.2.
fn summary(text: &str) -> Option<f64> {
    let rate = text.strip_suffix(" requests per second")?;
    number(rate.strip_prefix("throughput summary: ").unwrap_or(rate))
}

#[derive(Default)]
struct Redis {
    operation: String,
    /// Operations whose rate has been read.
    seen: Vec<String>,
    /// The names of the columns of the latency summary, or of the CSV.
    columns: Vec<String>,
    csv: bool,
    /// The unit that the heading of the latency summary stated.
    heading: HeadingTime,
    /// Whether a heading has named the operation of the following lines.
    within: bool,
}

impl Reader for Redis {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let text = line.text;
        if text.starts_with("\"test\",\"rps\"") {
            self.csv = true;
            self.columns = cells(text).map(str::to_owned).collect();
            return Fit::Mine;
        }
        if text.starts_with('"') {
            return if self.csv { self.row(line, out) } else { row_of_old(text, out) };
        }
        if let Some(operation) = heading(text) {
            if self.seen.iter().any(|seen| seen == operation) {
                return Fit::Next;
            }
            self.within = true;
            operation.clone_into(&mut self.operation);
            return Fit::Mine;
        }
        if let Some((operation, rate, median)) = quiet(text) {
            if self.seen.iter().any(|seen| seen == operation) {
                return Fit::Next;
            }
            self.seen.push(operation.to_owned());
            out.put("requests_per_second", rate, "1/s", &[("operation", operation)]);
            out.put("latency", median, "ms", &[("operation", operation), ("percentile", "50")]);
            return Fit::Mine;
        }
        if let Some(rate) = summary(text) {
            if self.within && !self.seen.contains(&self.operation) {
                self.seen.push(self.operation.clone());
            }
            out.put("requests_per_second", rate, "1/s", &self.label());
            return Fit::Mine;
        }
        self.other(line, out)
    }
}

/// `"SET","84745.77"`: a row of the CSV before version 6.2, which had no head and no latencies.
fn row_of_old(text: &str, out: &mut Out<'_>) -> Fit {
    let row = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')?.rsplit_once("\",\""));
    let Some((name, Some(rate))) = row.map(|(name, rate)| (name, number(rate))) else { return Fit::Foreign };
    out.put("requests_per_second", rate, "1/s", &[("operation", name)]);
    Fit::Mine
}

fn cells(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(|cell| cell.trim().trim_matches('"'))
}

impl Redis {
    fn label(&self) -> Vec<(&'static str, &str)> {
        if self.within { vec![("operation", self.operation.as_str())] } else { Vec::new() }
    }

    /// A row of the CSV.
    fn row(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        // The name of a test may have commas in it: the numbers are the last cells.
        let Some((name, numbers)) = line.text.strip_prefix('"').and_then(|rest| rest.split_once("\","))
        else {
            return Fit::Foreign;
        };
        if cells(numbers).count() + 1 != self.columns.len() {
            return Fit::Foreign;
        }
        for (column, cell) in self.columns.iter().skip(1).zip(cells(numbers)) {
            let Some(value) = number(cell) else { continue };
            if column == "rps" {
                out.put("requests_per_second", value, "1/s", &[("operation", name)]);
            } else if let Some(stat) = column.strip_suffix("_latency_ms") {
                latency(stat, (value, "ms"), name, out);
            }
        }
        Fit::Mine
    }

    fn other(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        match words.as_slice() {
            [requests, "requests", "completed", "in", time, "seconds"] => {
                let (Some(requests), Some(time)) = (number(requests), number(time)) else {
                    return Fit::Foreign;
                };
                out.put("requests", requests, "", &self.label());
                out.put("duration", time, "s", &self.label());
                Fit::Mine
            }
            ["avg", "min", ..] => {
                self.columns = words.iter().map(|word| (*word).to_owned()).collect();
                Fit::Mine
            }
            [first, ..] if self.columns.len() == words.len() && !self.csv && number(first).is_some() => {
                let values: Option<Vec<f64>> = words.iter().map(|word| number(word)).collect();
                let Some(values) = values else { return Fit::Foreign };
                let columns = std::mem::take(&mut self.columns);
                let Some(its_unit) = out.time_unit(self.heading, "ms") else { return Fit::Mine };
                for (column, value) in columns.iter().zip(values) {
                    latency(column, (value, its_unit), &self.operation, out);
                }
                Fit::Mine
            }
            // `50.000% <= 0.231 milliseconds (cumulative count 51123)`, and without the last part before version 6.2.
            [share, "<=", time, "milliseconds", ..] => {
                let (Some((share, "%")), Some(time)) = (leading(share), number(time)) else {
                    return Fit::Foreign;
                };
                let share = share.to_string();
                let labels: Vec<_> =
                    self.label().into_iter().chain([("percentile", share.as_str())]).collect();
                out.put("distribution", time, "ms", &labels);
                Fit::Mine
            }
            [share, "<=", ..] if share.ends_with('%') => Fit::Mine,
            [_, "parallel", "clients"] | [_, "bytes", "payload"] => Fit::Mine,
            ["keep", "alive:", ..] | ["host", "configuration", ..] | ["multi-thread:", ..] => Fit::Mine,
            ["latency", "summary", unit] => {
                self.heading = HeadingTime::stated(unit.trim_matches(['(', ')', ':']));
                Fit::Mine
            }
            ["Latency", "by", ..] | ["Cumulative", "distribution", ..] | ["Summary:"] => Fit::Mine,
            _ if line.text.contains("rps=") && line.text.contains("overall:") => Fit::Mine,
            [share, "<=", _] if leading(share).is_some() => Fit::Mine,
            _ => Fit::Foreign,
        }
    }
}

fn latency(column: &str, (value, its_unit): (f64, &str), operation: &str, out: &mut Out<'_>) {
    let kind = match column {
        "avg" => ("stat", "mean"),
        "min" | "max" => ("stat", column),
        column => match column.strip_prefix('p') {
            Some(percentile) => ("percentile", percentile),
            None => return,
        },
    };
    out.put("latency", value, its_unit, &[("operation", operation), kind]);
}
