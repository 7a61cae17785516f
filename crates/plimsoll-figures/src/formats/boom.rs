//! The report of `boom`, the tool in Python.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "boom",
    tool: "boom (Python)",
    command: "boom -n 10000 -c 100 URL",
    measured: &[
        Measured::higher("requests_per_second", "1/s", &[], "`RPS`"),
        Measured::lower(
            "latency",
            "s",
            &["stat"],
            "`Average` (mean), `Fastest` (min), `Slowest` (max), `Standard deviation` (stdev)",
        ),
        Measured::plain("duration", "s", &[], "`Total time`"),
        Measured::plain("requests", "", &[], "`Successful calls`"),
        Measured::plain("responses", "", &["status"], "`Code`"),
    ],
    main: &["requests_per_second"],
    checked: Checked::Documented("https://pypi.org/project/boom/"),
    text: Some(Text {
        marks: &["Successful calls", "RPS "],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
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
