//! The summary of `hey`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "hey",
    tool: "hey",
    command: "hey -n 2000 -c 8 URL",
    measured: &[
        "higher requests_per_second 1/s: `Requests/sec`",
        "lower latency,stat s: `Average` (mean), `Fastest` (min), `Slowest` (max)",
        "lower latency,percentile s: `Latency distribution`",
        "lower phase_latency,phase,stat s: `Details`: the mean, the fastest and the slowest of each phase",
        "plain duration s: `Total`",
        "plain transfer B: `Total data`",
        "plain responses,status: `Status code distribution`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("0.1.4"),
    marks: &["Total:", "Slowest:", "Fastest:", "Average:"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "Total: {duration s} sec{...}",
    "Slowest: {latency,stat=max s} sec{...}",
    "Fastest: {latency,stat=min s} sec{...}",
    "Average: {latency,stat=mean s} sec{...}",
    "-Requests/sec: {requests_per_second 1/s}",
    "-Total data: {transfer B} bytes",
    "-Size/request: {...}",
    "-Response time histogram:",
    "-{#} [{#}] {...}",
    "-Latency distribution:",
    "-{@percentile#}% in {latency s} sec{...}",
    "-{@percentile#}%% in {latency s} sec{...}",
    "-Details (average{...}",
    "-{@phase*}: {phase_latency,stat=mean s} secs, {phase_latency,stat=min s} secs, {phase_latency,stat=max s} secs",
    "-Status code distribution:",
    "-[{@status}] {responses} responses",
    "-Error distribution:",
];
