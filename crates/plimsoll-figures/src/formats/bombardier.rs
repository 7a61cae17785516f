//! The summary of `bombardier`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "bombardier",
    tool: "bombardier",
    command: "bombardier -c 125 -n 100000 -l URL",
    measured: &[
        "higher requests_per_second,stat 1/s: `Reqs/sec`: mean, stdev, max of samples",
        "lower latency,stat ms: `Latency`: mean, stdev, max",
        "lower latency,percentile,of ms: `Latency Distribution`, with `-l`; `of` where it is of some answers only",
        "higher throughput MiB/s: `Throughput`",
        "plain responses,status: `HTTP codes`",
    ],
    main: &["requests_per_second,stat=mean"],
    checked: Checked::Documented("https://github.com/codesenberg/bombardier#examples"),
    marks: &["Bombarding ", "Statistics ", "Reqs/sec"],
    lines: LINES,
    start: |line| line.words().eq(["Statistics", "Avg", "Stdev", "Max"]).then_some(Start::Within),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Bombarding {...}",
    "-Statistics Avg Stdev Max",
    "Reqs/sec {requests_per_second,stat=mean 1/s} {requests_per_second,stat=stdev 1/s} {requests_per_second,stat=max 1/s}",
    "-Latency {latency,stat=mean ?} {latency,stat=stdev ?} {latency,stat=max ?}",
    "-Latency Distribution",
    "-Latency Distribution (Total)",
    "-Latency Distribution ({^of*})",
    "-{@percentile#}% {latency ?}",
    "-HTTP codes:{^of=}",
    "-1xx - {responses,status=1xx}, 2xx - {responses,status=2xx}, 3xx - {responses,status=3xx}, 4xx - {responses,status=4xx}, 5xx - {responses,status=5xx}",
    "-others - {responses,status=others}",
    "-Errors:",
    "-Throughput: {throughput ?}",
];
