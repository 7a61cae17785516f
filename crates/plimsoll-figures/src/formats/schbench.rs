//! The report of `schbench`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "schbench",
    tool: "schbench",
    command: "schbench -m 2 -t 16 -r 30",
    measured: &[
        "lower latency,of,percentile us: percentiles of `Wakeup Latencies` and `Request Latencies`; of older versions those of `Latency`",
        "lower latency,of,stat us: min and max below the percentiles",
        "higher requests_per_second,percentile,stat 1/s: `RPS percentiles`, `average rps`",
    ],
    main: &["requests_per_second,stat=mean", "latency,percentile=99.0"],
    checked: Checked::Documented("https://git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git"),
    marks: &["ercentiles (usec)", "percentiles (requests)", "rps:"],
    start: |line| rules::start(LINES, line),
    reader: Some(|_| {
        Box::new(Schbench { times: rules::reader(LINES), rates: rules::reader(RATES), of_rates: false })
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Latency percentiles (usec){^of=}{...}",
    "^Wakeup Latencies percentiles (usec){^of=wakeup}{...}",
    "-Request Latencies percentiles (usec){^of=request}{...}",
    "-* {@percentile}th: {latency us} ({...} samples)",
    "-{@percentile}th: {latency us} ({...} samples)",
    "-*{@percentile}th: {latency us}",
    "-{@percentile}th: {latency us}",
    "-min={latency,stat=min us}, max={latency,stat=max us}",
    "average rps: {requests_per_second,stat=mean 1/s}",
];

const RATES: &[&str] = &[
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
}

impl Reader for Schbench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.contains("percentiles (") {
            self.of_rates = line.text.starts_with("RPS ");
        }
        if self.of_rates && !line.text.starts_with("average rps") {
            self.rates.line(line, out)
        } else {
            self.times.line(line, out)
        }
    }
}
