//! The report of `schbench`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "schbench",
    tool: "schbench",
    command: "schbench -m 2 -t 16 -r 30",
    measured: &[
        "lower latency,of,percentile,runtime us: percentiles of `Wakeup Latencies` and `Request Latencies` after `runtime` seconds; of older versions those of `Latency`",
        "lower latency,of,stat,runtime us: min and max below the percentiles",
        "higher requests_per_second,percentile,stat,runtime,of 1/s: `RPS percentiles`, `average rps`, `current rps`",
    ],
    main: &["requests_per_second,stat=mean", "latency,percentile=99.0"],
    checked: Checked::Documented("https://git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git"),
    marks: &["ercentiles (usec)", "percentiles (requests)", "rps:"],
    start: |line| rules::start(LINES, line),
    reader: Some(|_| {
        Box::new(Schbench {
            times: rules::reader(LINES),
            rates: rules::reader(RATES),
            of_rates: false,
            runtimes: Vec::new(),
        })
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Latency percentiles (usec){^of=}{...}",
    "^Wakeup Latencies percentiles (usec) runtime {^runtime} (s){^of=wakeup}{...}",
    "^Wakeup Latencies percentiles (usec){^of=wakeup}{...}",
    "-Request Latencies percentiles (usec) runtime {^runtime} (s){^of=request}{...}",
    "-Request Latencies percentiles (usec){^of=request}{...}",
    "-current rps: {requests_per_second,of=current 1/s}",
    "-* {@percentile}th: {latency us} ({...} samples)",
    "-{@percentile}th: {latency us} ({...} samples)",
    "-*{@percentile}th: {latency us}",
    "-{@percentile}th: {latency us}",
    "-min={latency,stat=min us}, max={latency,stat=max us}",
    "average rps: {requests_per_second,stat=mean 1/s}",
];

const RATES: &[&str] = &[
    "-RPS percentiles (requests) runtime {^runtime} (s){...}",
    "-RPS percentiles (requests){...}",
    "-* {@percentile}th: {requests_per_second 1/s} ({...} samples)",
    "-{@percentile}th: {requests_per_second 1/s} ({...} samples)",
    "-min={requests_per_second,stat=min 1/s}, max={requests_per_second,stat=max 1/s}",
];

struct Schbench {
    times: Box<dyn Reader>,
    rates: Box<dyn Reader>,
    /// Whether the percentiles are those of the rate, not of a time.
    of_rates: bool,
    /// Seconds that the reports of this call are of: each report is of all seconds so far.
    runtimes: Vec<String>,
}

/// The seconds in `percentiles (usec) runtime 30 (s)`.
fn runtime(text: &str) -> Option<&str> {
    text.split_once(" runtime ")?.1.split_whitespace().next()
}

impl Reader for Schbench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.contains("percentiles (") {
            self.of_rates = line.text.starts_with("RPS ");
            self.runtimes.extend(runtime(line.text).map(str::to_owned));
        }
        if self.of_rates && !line.text.contains(" rps: ") {
            self.rates.line(line, out)
        } else {
            self.times.line(line, out)
        }
    }

    fn goes_on(&self, line: &Line<'_>) -> bool {
        runtime(line.text).is_some_and(|seconds| !self.runtimes.iter().any(|before| before == seconds))
    }
}
