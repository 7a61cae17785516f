//! The output of `sysbench` (1.0, and 0.4 and 0.5 before): cpu, memory, threads, mutex, fileio and the OLTP scripts.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "sysbench",
    tool: "sysbench",
    command: "sysbench cpu --time=10 run",
    measured: &[
        "higher events_per_second 1/s: `events per second` of the cpu test",
        "higher operations_per_second,operation 1/s: `Total operations` of memory; `reads/s`, `writes/s`, `fsyncs/s` of fileio",
        "higher throughput,operation MiB/s: `MiB transferred` of memory; `read, MiB/s` and `written, MiB/s` of fileio",
        "higher transactions_per_second,threads 1/s: `transactions` of the OLTP scripts; with the number before it, where a table of several calls was made by hand",
        "higher queries_per_second 1/s: `queries` of the OLTP scripts",
        "higher read_write_requests_per_second 1/s: `read/write requests` before 1.0: queries without the other operations",
        "plain other_operations_per_second 1/s: `other operations` before 1.0",
        "lower latency,stat ms: `Latency`: min, mean, max",
        "lower latency,percentile ms: `Latency`: the percentile of `--percentile`",
        "lower errors: `ignored errors` of the OLTP scripts",
        "plain events: `total number of events`",
        "plain duration s: `total time`",
        "higher interval_events_per_second 1/s: `eps` or `tps`, with `--report-interval`",
        "higher interval_queries_per_second 1/s: `qps`, with `--report-interval`",
        "higher interval_operations_per_second,operation 1/s: `r/w/o`, with `--report-interval`",
        "lower interval_errors_per_second 1/s: `err/s`, with `--report-interval`",
        "lower interval_reconnects_per_second 1/s: `reconn/s`, with `--report-interval`",
        "lower interval_latency,percentile ms: `lat`, with `--report-interval`",
    ],
    main: &["events_per_second", "transactions_per_second", "throughput", "latency,stat=mean"],
    checked: Checked::Run("1.0.20"),
    marks: &[
        "sysbench ",
        "events per second:",
        "General statistics:",
        "] thds: ",
        "] threads: ",
        "OLTP test statistics:",
        "Test execution summary:",
        "transactions:",
        "Number of threads:",
        "Total operations:",
        " transferred (",
    ],
    start: |line| {
        if line.text.starts_with("sysbench 1.") || line.text.starts_with("sysbench 0.") {
            return Some(Start::Head);
        }
        let within =
            ["events per second:", "General statistics:", "OLTP test statistics:", "Test execution summary:"]
                .iter()
                .any(|key| line.text.starts_with(key))
                || interval(line.text).is_some()
                || transactions(line.text).is_some()
                || memory(line.text).is_some()
                || transferred(line.text).is_some();
        within.then_some(Start::Within)
    },
    reader: Some(|_| Box::<Sysbench>::default()),
    ..Format::EMPTY
};

/// `transactions:  89778  (1496.01 per sec.)`, perhaps behind the number of threads: the threads, the count and the rate.
fn transactions(text: &str) -> Option<(Option<&str>, f64, f64)> {
    let (threads, rest) = text.split_once("transactions:")?;
    let (threads, rest) = (threads.trim(), rest.trim());
    let (count, rate) = rest.split_once('(')?;
    let rate = rate.trim().strip_suffix("per sec.)")?;
    let threads = if threads.is_empty() { None } else { Some(threads).filter(|word| number(word).is_some()) };
    let fits = threads.is_some() || text.starts_with("transactions:");
    fits.then(|| Some((threads, number(count.trim())?, number(rate.trim())?)))?
}

/// `Total operations: 1310720 (1315434.24 per second)`: the rate.
fn memory(text: &str) -> Option<f64> {
    let (_, rate) = text.strip_prefix("Total operations:")?.split_once('(')?;
    number(rate.strip_suffix(" per second)")?.trim())
}

/// `10240.00 MiB transferred (10276.83 MiB/sec)`: the rate.
fn transferred(text: &str) -> Option<f64> {
    let (_, rate) = text.split_once(" MiB transferred (")?;
    number(rate.strip_suffix(" MiB/sec)")?)
}

/// `[ 1s ] thds: 2 eps: 1666.60 lat (ms,95%): 8.28`: the second, and the rest.
fn interval(text: &str) -> Option<(f64, &str)> {
    let (at, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (at, behind) = leading(at.trim())?;
    let rest = rest.trim();
    (behind == "s" && (rest.starts_with("thds:") || rest.starts_with("threads:"))).then_some((at, rest))
}

const KNOWN: [&str; 44] = [
    "reconnects:",
    "sysbench 1.",
    "Running the test",
    "Running memory",
    "Number of threads:",
    "Report intermediate",
    "Initializing",
    "Prime numbers",
    "Threads started",
    "CPU speed:",
    "General statistics:",
    "Latency (ms):",
    "Threads fairness:",
    "events (avg/stddev):",
    "execution time (avg/stddev):",
    "Extra file open",
    "Number of IO",
    "Read/Write ratio",
    "Periodic FSYNC",
    "Calling fsync",
    "Using ",
    "Doing ",
    "File operations:",
    "Throughput:",
    "Block size",
    "block size:",
    "total size:",
    "operation:",
    "scope:",
    "SQL statistics:",
    "queries performed:",
    "read:",
    "write:",
    "other:",
    "total:",
    "sum:",
    "Target transaction rate",
    "OLTP test statistics:",
    "Test execution summary:",
    "response time:",
    "per-request statistics:",
    "total time taken by event execution:",
    "Threads",
    "Done.",
];

#[derive(Default)]
struct Sysbench {
    /// Whether the lines below `Latency (ms):` are read.
    latency: bool,
    transactions: bool,
    /// Whether the operations of the memory test have been read.
    memory: bool,
    /// Whether nothing was done: its latencies are initial values.
    did_nothing: bool,
}

impl Reader for Sysbench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some((at, rest)) = interval(line.text) {
            return progress(at, rest, out);
        }
        // Without the lines before, transactions that come again are of the next call.
        if let Some((threads, _, rate)) = transactions(line.text) {
            if std::mem::replace(&mut self.transactions, true) {
                return Fit::Next;
            }
            let threads = threads.map(|threads| ("threads", threads));
            out.put("transactions_per_second", rate, "1/s", threads.as_slice());
            return Fit::Mine;
        }
        if let Some(rate) = memory(line.text) {
            if std::mem::replace(&mut self.memory, true) {
                return Fit::Next;
            }
            out.put("operations_per_second", rate, "1/s", &[("operation", "memory")]);
            return Fit::Mine;
        }
        if let Some((key, rest)) = line.text.split_once(':')
            && self.key(key.trim(), rest.trim(), out)
        {
            return Fit::Mine;
        }
        if let Some(rate) = transferred(line.text) {
            out.put("throughput", rate, "MiB/s", &[("operation", "memory")]);
            return Fit::Mine;
        }
        if line.text.starts_with("Latency (ms)") || is_response_time(line.text) {
            self.latency = true;
        }
        let sizes = line.text.contains("total file size") || line.text.contains(" files, ");
        if sizes || KNOWN.iter().any(|known| line.text.starts_with(known)) { Fit::Mine } else { Fit::Foreign }
    }
}

impl Sysbench {
    /// Reads `key: value`, if it is one of those that are figures.
    fn key(&mut self, key: &str, rest: &str, out: &mut Out<'_>) -> bool {
        let first = rest.split_whitespace().next().unwrap_or_default();
        // `48 (47.90 per sec.)`
        let rate = || rest.split_once('(').and_then(|(_, rate)| number(rate.split_whitespace().next()?));
        let operation = |name| [("operation", name)];
        match key {
            "events per second" => put(out, "events_per_second", number(first), "1/s", &[]),
            "queries" => put(out, "queries_per_second", rate(), "1/s", &[]),
            "reads/s" => put(out, "operations_per_second", number(first), "1/s", &operation("read")),
            "writes/s" => put(out, "operations_per_second", number(first), "1/s", &operation("write")),
            "fsyncs/s" => put(out, "operations_per_second", number(first), "1/s", &operation("fsync")),
            "read, MiB/s" => put(out, "throughput", number(first), "MiB/s", &operation("read")),
            "written, MiB/s" => put(out, "throughput", number(first), "MiB/s", &operation("write")),
            "read/write requests" => put(out, "read_write_requests_per_second", rate(), "1/s", &[]),
            "other operations" => put(out, "other_operations_per_second", rate(), "1/s", &[]),
            "ignored errors" | "deadlocks" => put(out, "errors", number(first), "", &[]),
            "total number of events" => {
                self.did_nothing = number(first) == Some(0.0);
                put(out, "events", number(first), "", &[])
            }
            "total time" => {
                let time = leading(first).filter(|(_, behind)| *behind == "s").map(|(value, _)| value);
                put(out, "duration", time, "s", &[])
            }
            _ if self.did_nothing => false,
            "min" | "max" if self.latency => put(out, "latency", of_ms(first), "ms", &[("stat", key)]),
            "avg" if self.latency => put(out, "latency", of_ms(first), "ms", &[("stat", "mean")]),
            // Versions before 1.0: `approx.  95 percentile: 1.82ms`.
            _ => match key
                .strip_suffix("th percentile")
                .or_else(|| key.strip_prefix("approx.")?.strip_suffix("percentile"))
            {
                Some(percent) if self.latency => {
                    put(out, "latency", of_ms(first), "ms", &[("percentile", percent.trim())])
                }
                _ => false,
            },
        }
    }
}

/// Rates above this are of a counter that wrapped around.
const MOST_PER_SECOND: f64 = 1e12;

/// The heading of latencies before version 1.0.
fn is_response_time(text: &str) -> bool {
    text.starts_with("response time:") || text.starts_with("per-request statistics:")
}

/// A time in milliseconds, which versions before 1.0 write with their unit.
fn of_ms(word: &str) -> Option<f64> {
    number(word.strip_suffix("ms").unwrap_or(word))
}

fn put(
    out: &mut Out<'_>,
    metric: &str,
    value: Option<f64>,
    unit: &str,
    labels: &[(&'static str, &str)],
) -> bool {
    out.put(metric, value, unit, labels);
    value.is_some()
}

/// `thds: 2 eps: 1666.60 lat (ms,95%): 8.28`, or `tps: 47.90 qps: ...`; before 1.0 `threads: 2, tps: 47.90, response time: 9.1ms (95%)`.
fn progress(at: f64, rest: &str, out: &mut Out<'_>) -> Fit {
    let words: Vec<&str> = rest.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
    if words.iter().filter_map(|word| number(word)).any(|value| value > MOST_PER_SECOND) {
        return out.refuse("impossible: more events in a second than a machine has cycles");
    }
    for pair in words.windows(2) {
        let percent = || pair[1].strip_prefix('(')?.strip_suffix("%)");
        if let (Some(time), Some(percent)) = (pair[0].strip_suffix("ms").and_then(number), percent()) {
            out.put_at(Some(at), "interval_latency", time, "ms", &[("percentile", percent)]);
        }
        if pair[0] == "(r/w/o:" {
            for (operation, value) in ["read", "write", "other"].iter().zip(pair[1].split('/')) {
                if let Some(value) = number(value.trim_end_matches(')')) {
                    let labels = [("operation", *operation)];
                    out.put_at(Some(at), "interval_operations_per_second", value, "1/s", &labels);
                }
            }
        }
        let Some(value) = number(pair[1]) else { continue };
        match pair[0] {
            "reconn/s:" => out.put_at(Some(at), "interval_reconnects_per_second", value, "1/s", &[]),
            "eps:" | "tps:" => out.put_at(Some(at), "interval_events_per_second", value, "1/s", &[]),
            "qps:" => out.put_at(Some(at), "interval_queries_per_second", value, "1/s", &[]),
            "err/s" | "err/s:" | "errors:" => {
                out.put_at(Some(at), "interval_errors_per_second", value, "1/s", &[]);
            }
            name => {
                if let Some(percent) = name.strip_prefix("(ms,").and_then(|name| name.strip_suffix("%):")) {
                    out.put_at(Some(at), "interval_latency", value, "ms", &[("percentile", percent)]);
                }
            }
        }
    }
    Fit::Mine
}
