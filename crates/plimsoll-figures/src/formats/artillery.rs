//! The report of artillery.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "artillery",
    tool: "artillery",
    command: "artillery run script.yml",
    measured: &[
        "higher requests_per_second 1/s: `http.request_rate`",
        "plain requests: `http.requests`",
        "plain responses,status: `http.responses`, and `http.codes` by status",
        "lower errors,kind: `errors`, by kind",
        "lower latency,of,stat ms: below `http.response_time` and `vusers.session_length`: min, max, median, mean",
        "lower latency,of,percentile ms: `p95`, `p99` and the like",
        "plain users,of: `vusers`: created, completed, failed",
    ],
    main: &["requests_per_second"],
    checked: Checked::Documented("https://www.artillery.io/docs/get-started/first-test"),
    marks: &["Summary report @", "Metrics for period to", "http.request", "http.codes", "http.response"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Summary report @ {...}",
    "^Metrics for period to: {...}",
    "errors.{@kind}: ..{_} {errors}{^of=}",
    "http.codes.{@status}: ..{_} {responses}{^of=}",
    "http.request_rate: ..{_} {requests_per_second 1/s}/sec{^of=}",
    "http.requests: ..{_} {requests}{^of=}",
    "http.responses: ..{_} {responses}{^of=}",
    "-http.response_time:{^of=response}{...}",
    "-http.response_time.{_}:{^of=}{...}",
    "-vusers.session_length:{^of=session}{...}",
    "-vusers.{@of}: ..{_} {users}{^of=}",
    "-vusers.created_by_name.{...}",
    "-min: ..{_} {latency,stat=min ms}",
    "-max: ..{_} {latency,stat=max ms}",
    "-median: ..{_} {latency,stat=median ms}",
    "-mean: ..{_} {latency,stat=mean ms}",
    "-p{@percentile}: ..{_} {latency ms}",
];
