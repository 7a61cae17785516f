//! The report of `boom`, the tool in Python.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "boom",
    tool: "boom (Python)",
    command: "boom -n 10000 -c 100 URL",
    measured: &[
        "higher requests_per_second 1/s: `RPS`",
        "lower latency,stat s: `Average` (mean), `Fastest` (min), `Slowest` (max), `Standard deviation` (stdev)",
        "plain duration s: `Total time`",
        "plain requests: `Successful calls`",
        "plain responses,status: `Code`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Documented("https://pypi.org/project/boom/"),
    marks: &["Successful calls", "RPS "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Successful calls {requests}",
    "Total time {duration s} s",
    "Average {latency,stat=mean s} s",
    "Fastest {latency,stat=min s} s",
    "Slowest {latency,stat=max s} s",
    "-Amplitude {#} s",
    "Standard deviation {latency,stat=stdev s}",
    "RPS {requests_per_second 1/s}",
    "-BSI {...}",
    "-Code {@status} {responses} times.",
    "--------- {...}",
];
