//! The summary of YCSB.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "ycsb",
    tool: "YCSB",
    command: "bin/ycsb run basic -P workloads/workloada",
    measured: &[
        "higher operations_per_second 1/s: `Throughput(ops/sec)` of `[OVERALL]`",
        "plain duration ms: `RunTime(ms)`",
        "plain operations,operation,status: `Operations` and `Return` of each operation",
        "lower latency,operation,stat us: `AverageLatency(us)` (mean), `MinLatency(us)`, `MaxLatency(us)`; also in `(ms)`",
        "lower latency,operation,percentile us: `95thPercentileLatency(us)` and the like",
        "plain histogram,operation,bucket_ms: `[READ], 0, 464`: operations by their time in whole milliseconds",
        "higher interval_operations_per_second 1/s: `current ops/sec` of the status lines",
        "lower interval_latency,operation,stat,percentile us: `[READ: Max=..., Avg=..., 99=...]` of the status lines",
        "plain gc,of: `[TOTAL_GC...]`: counts, and milliseconds",
    ],
    main: &["operations_per_second"],
    checked: Checked::Documented("https://github.com/brianfrankcooper/YCSB/wiki/Running-a-Workload"),
    marks: &["[OVERALL],", "AverageLatency(", " current ops/sec"],
    start: |line| status(line.text).map(|_| Start::Within).or_else(|| rules::start(LINES, line)),
    reader: Some(|_| Box::new(Ycsb { summary: rules::reader(LINES), seconds: 0.0, never_done: None })),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "[OVERALL], RunTime(ms), {duration ms}",
    "[OVERALL], Throughput(ops/sec), {operations_per_second 1/s}",
    "-[TOTAL_{@of}], Count, {gc}",
    "-[TOTAL_{@of}], Time(ms), {gc ms}",
    "-[TOTAL_{@of}], Time(%), {gc %}",
    "-[TOTAL_{_}]{...}, {gc}",
    "[{@operation}], Operations, {operations}",
    "-[{@operation}], Return={@status}, {operations}",
    "[{@operation}], AverageLatency(us), {latency,stat=mean us}",
    "[{@operation}], AverageLatency(ms), {latency,stat=mean ms}",
    "[{@operation}], MinLatency(us), {latency,stat=min us}",
    "[{@operation}], MinLatency(ms), {latency,stat=min ms}",
    "[{@operation}], MaxLatency(us), {latency,stat=max us}",
    "[{@operation}], MaxLatency(ms), {latency,stat=max ms}",
    "-[{@operation}], {@percentile}thPercentileLatency(us), {latency us}",
    "-[{@operation}], {@percentile}thPercentileLatency(ms), {latency ms}",
    "-[{@operation}], {@percentile}PercentileLatency(us), {latency us}",
    "-[{@operation}], {@percentile}PercentileLatency(ms), {latency ms}",
    "-[{@operation}], {@bucket_ms#}, {histogram}",
];

/// `2026-11-28 18:55:44:512 10 sec: 376385 operations; 37634.74 current ops/sec; est completion in 2 minutes [READ: Count=1, Avg=5, 99=9]`: the
/// seconds, the rate, and what stands behind it.
fn status(text: &str) -> Option<(f64, f64, &str)> {
    let (before, rest) = text.split_once(" sec: ")?;
    let (_, rest) = rest.split_once(" operations; ")?;
    let (rate, behind) = rest.split_once(" current ops/sec;")?;
    Some((number(before.rsplit(' ').next()?)?, number(rate)?, behind))
}

/// Status lines, and the summary below them.
struct Ycsb {
    summary: Box<dyn Reader>,
    /// When the last status line was, in seconds since the start.
    seconds: f64,
    /// The last operation that was never done: its latencies are initial values.
    never_done: Option<String>,
}

/// `[UPDATE], Operations, 0`: the operation, and what is said of it.
fn said(text: &str) -> Option<(&str, &str)> {
    let (operation, said) = text.strip_prefix('[')?.split_once("],")?;
    Some((operation, said.trim_start()))
}

impl Reader for Ycsb {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some((seconds, rate, behind)) = status(line.text) else {
            if let Some((operation, said)) = said(line.text) {
                if said.split(',').map(str::trim).eq(["Operations", "0"]) {
                    self.never_done = Some(operation.to_owned());
                } else if said.contains("Latency(") && self.never_done.as_deref() == Some(operation) {
                    return out.refuse("the operation was never done");
                }
            }
            return self.summary.line(line, out);
        };
        if seconds < self.seconds {
            return Fit::Next;
        }
        self.seconds = seconds;
        out.put_at(Some(seconds), "interval_operations_per_second", rate, "1/s", &[]);
        for (operation, rest) in behind.split('[').filter_map(|part| part.split_once(": ")) {
            let fields = rest.trim_end_matches(']').split(", ").filter_map(|field| field.split_once('='));
            for (name, word) in fields {
                let Some((value, "" | "]" | "] ")) = leading(word) else { continue };
                let label = match name {
                    "Avg" => ("stat", "mean"),
                    "Min" => ("stat", "min"),
                    "Max" => ("stat", "max"),
                    percent if number(percent).is_some() => ("percentile", percent),
                    _ => continue,
                };
                out.put_at(
                    Some(seconds),
                    "interval_latency",
                    value,
                    "us",
                    &[("operation", operation), label],
                );
            }
        }
        Fit::Mine
    }
}
