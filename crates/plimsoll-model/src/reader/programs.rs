//! The programs whose output is known: what their figures are called here, and which of those that are read of their output each is.

use std::borrow::Cow;

use plimsoll_figures::{Figures as Printed, Options, Series, factor};

use super::{Better, Figures, NamedMetric, ReadError};

/// A program whose output is known.
pub(super) struct Program {
    /// Its name, which is that of the format of its output, too.
    name: &'static str,
    /// The figure without which there is no result.
    always: &'static str,
    /// Text in its output where it has that figure.
    looked_for: &'static str,
    /// The series of which a run has one value, where several would be those of several tests.
    once: Option<&'static str>,
    /// Its figures; the first is the main one.
    figures: &'static [PrintedFigure],
}

/// A figure of a program.
struct PrintedFigure {
    name: &'static str,
    unit: &'static str,
    better: Better,
    /// Finds it among what was read.
    of: fn(&Printed) -> Option<f64>,
}

const fn higher(name: &'static str, unit: &'static str, of: fn(&Printed) -> Option<f64>) -> PrintedFigure {
    PrintedFigure { name, unit, better: Better::Higher, of }
}

const fn lower(name: &'static str, unit: &'static str, of: fn(&Printed) -> Option<f64>) -> PrintedFigure {
    PrintedFigure { name, unit, better: Better::Lower, of }
}

impl Program {
    /// The figures that its output may have.
    pub(super) fn metrics(&self) -> impl Iterator<Item = NamedMetric> {
        self.figures.iter().map(|known| NamedMetric {
            name: Cow::Borrowed(known.name),
            unit: Cow::Borrowed(known.unit),
            better: known.better,
        })
    }

    /// The figures in what it printed.
    pub(super) fn read(&self, text: &str) -> Result<Figures, ReadError> {
        let options = Options { only: Some(self.name.to_owned()), ..Options::default() };
        let printed = plimsoll_figures::read(text, &options)
            .map_err(|why| ReadError::Unreadable { program: self.name, why: why.to_string() })?;
        let tests = self.once.map_or(1, |series| values(&printed, series).len());
        if tests > 1 {
            return Err(ReadError::Several { program: self.name, tests });
        }
        let found: Figures = self
            .figures
            .iter()
            .filter_map(|known| Some((known.name.to_owned(), (known.of)(&printed)?)))
            .collect();
        if found.contains_key(self.always) {
            Ok(found)
        } else {
            Err(ReadError::Missing { program: self.name, what: self.looked_for })
        }
    }
}

/// The values of all series that are what is asked for, in the order of the text.
fn values(printed: &Printed, wanted: &str) -> Vec<f64> {
    printed.all(wanted).into_iter().flat_map(Series::values).collect()
}

/// The first value of a series.
fn first(printed: &Printed, wanted: &str) -> Option<f64> {
    values(printed, wanted).first().copied()
}

/// Sum of all values; 0 where there are none.
fn sum(printed: &Printed, wanted: &str) -> f64 {
    values(printed, wanted).iter().fold(0.0, |sum, value| sum + value)
}

/// The first value of a series of times, in milliseconds.
fn ms(printed: &Printed, wanted: &str) -> Option<f64> {
    let series = printed.all(wanted).into_iter().next()?;
    let ms = series.points.first()?.value * factor(&series.unit, "ms")?;
    // A figure with a few decimals keeps a few decimals in another unit, too.
    Some((ms * 1e9).round() / 1e9)
}

/// The first value of a series of rates, in MB/s.
fn mb_per_second(printed: &Printed, wanted: &str) -> Option<f64> {
    let series = printed.all(wanted).into_iter().next()?;
    Some(series.points.first()?.value * factor(&series.unit, "B/s")? / 1e6)
}

/// Figures that several programs have.
const LATENCY_MEAN: PrintedFigure = lower("latency_mean", "ms", |printed| ms(printed, "latency,stat=mean"));
const LATENCY_P50: PrintedFigure = lower("latency_p50", "ms", |printed| ms(printed, "latency,percentile=50"));
const LATENCY_P95: PrintedFigure = lower("latency_p95", "ms", |printed| ms(printed, "latency,percentile=95"));
const LATENCY_P99: PrintedFigure = lower("latency_p99", "ms", |printed| ms(printed, "latency,percentile=99"));
const LATENCY_MAX: PrintedFigure = lower("latency_max", "ms", |printed| ms(printed, "latency,stat=max"));
const REQUESTS: PrintedFigure = higher("rate", "per second", |printed| first(printed, "requests_per_second"));
const TRANSFER: PrintedFigure = higher("transfer", "MB/s", |printed| mb_per_second(printed, "throughput"));

pub(super) const AB: Program = Program {
    name: "ab",
    always: "rate",
    looked_for: "`Requests per second:`",
    once: None,
    figures: &[
        REQUESTS,
        TRANSFER,
        LATENCY_MEAN,
        LATENCY_P50,
        LATENCY_P95,
        LATENCY_P99,
        lower("latency_max", "ms", |printed| ms(printed, "latency,percentile=100")),
        // It counts replies other than 2xx apart from those that broke off or had another length.
        lower("errors", "requests", |printed| Some(sum(printed, "errors") + sum(printed, "errors_not_2xx"))),
    ],
};

pub(super) const PGBENCH: Program = Program {
    name: "pgbench",
    always: "rate",
    looked_for: "`tps =`",
    once: None,
    figures: &[
        higher("rate", "per second", |printed| first(printed, "transactions_per_second")),
        LATENCY_MEAN,
        lower("failed", "transactions", |printed| first(printed, "errors")),
    ],
};

pub(super) const POSTAL: Program = Program {
    name: "postal",
    always: "messages",
    looked_for: "row of a minute; it ran for too short a time",
    once: None,
    figures: &[
        // It prints a row at the end of each minute of the clock, so that the first is a part of one.
        higher("rate", "per minute", |printed| {
            let minutes = values(printed, "messages_per_minute");
            let whole = minutes.get(1..).filter(|whole| !whole.is_empty())?;
            Some(whole.iter().sum::<f64>() / whole.len() as f64)
        }),
        higher("messages", "messages", |printed| {
            let minutes = values(printed, "messages_per_minute");
            (!minutes.is_empty()).then(|| minutes.iter().sum())
        }),
        lower("errors", "messages", |printed| Some(sum(printed, "errors_per_minute"))),
    ],
};

pub(super) const REDIS_BENCHMARK: Program = Program {
    name: "redis-benchmark",
    always: "rate",
    looked_for: "row of a test; is it run with `--csv`?",
    once: Some("requests_per_second"),
    figures: &[REQUESTS, LATENCY_MEAN, LATENCY_P50, LATENCY_P95, LATENCY_P99, LATENCY_MAX],
};

pub(super) const SYSBENCH: Program = Program {
    name: "sysbench",
    always: "rate",
    looked_for: "`total time:` and `total number of events:`",
    once: None,
    figures: &[
        higher("rate", "per second", |printed| {
            let seconds = first(printed, "duration").filter(|seconds| *seconds > 0.0)?;
            Some(first(printed, "events")? / seconds)
        }),
        LATENCY_MEAN,
        LATENCY_P95,
        LATENCY_P99,
        LATENCY_MAX,
    ],
};

pub(super) const WRK: Program = Program {
    name: "wrk",
    always: "rate",
    looked_for: "`Requests/sec:`",
    once: None,
    figures: &[
        REQUESTS,
        TRANSFER,
        LATENCY_MEAN,
        LATENCY_P50,
        lower("latency_p90", "ms", |printed| ms(printed, "latency,percentile=90")),
        LATENCY_P99,
        LATENCY_MAX,
        // All kinds; absent ones did not happen.
        lower("errors", "requests", |printed| Some(sum(printed, "errors"))),
    ],
};
