//! The report of `schbench`.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "schbench",
    tool: "schbench",
    command: "schbench -m 2 -t 16 -r 30",
    measured: &[
        Measured::lower(
            "latency",
            "us",
            &["of", "percentile"],
            "percentiles of `Wakeup Latencies` and `Request Latencies`; of older versions those of `Latency`",
        ),
        Measured::lower("latency", "us", &["of", "stat"], "min and max below the percentiles"),
        Measured::higher(
            "requests_per_second",
            "1/s",
            &["percentile", "stat"],
            "`RPS percentiles`, `average rps`",
        ),
    ],
    main: &["requests_per_second,stat=mean", "latency,percentile=99.0"],
    checked: Checked::Documented("https://git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git"),
    text: Some(Text {
        marks: &["ercentiles (usec)", "percentiles (requests)", "rps:"],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Latency percentiles (usec){^of=}{...}",
    "^Wakeup Latencies percentiles (usec){^of=wakeup}{...}",
    "-Request Latencies percentiles (usec){^of=request}{...}",
    "-RPS percentiles (requests){^of=rps}{...}",
    "-* {@percentile}th: {latency us} ({...} samples)",
    "-{@percentile}th: {latency us} ({...} samples)",
    "-*{@percentile}th: {latency us}",
    "-{@percentile}th: {latency us}",
    "-min={latency,stat=min us}, max={latency,stat=max us}",
    "average rps: {requests_per_second,stat=mean 1/s}",
];
