//! The summary and the JSON (`-j`, `--output-format json`) of `oha`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "oha",
    tool: "oha",
    command: "oha -n 2000 -c 8 URL, with --output-format json",
    measured: &[
        "higher requests_per_second 1/s: `Requests/sec`, `requestsPerSec`",
        "higher success %: `Success rate`; in JSON `successRate`, which is a share of 1 there",
        "lower latency,stat s: `Average` (mean), `Fastest` (min), `Slowest` (max)",
        "lower latency,percentile s: `Response time distribution`, `latencyPercentiles`",
        "lower first_byte_time,percentile s: `firstBytePercentiles`, in JSON only",
        "plain duration s: `Total`",
        "plain responses,status: `Status code distribution`",
        "lower errors,kind: `Error distribution`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Kept("1.16.0"),
    marks: &["Success rate:"],
    lines: LINES,
    json: Some(Document::whole(
        |json| json.get("summary").is_some_and(|summary| summary.has(&["requestsPerSec", "successRate"])),
        document,
    )),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Success rate: {success %}%",
    "^Success rate: {_}",
    "-Total: {duration ?}",
    "-Slowest: {latency,stat=max ?}",
    "-Fastest: {latency,stat=min ?}",
    "-Average: {latency,stat=mean ?}",
    "-{_}: NaN {_}",
    "-{_}: inf {_}",
    "-{_}: -inf {_}",
    "-Requests/sec: {requests_per_second 1/s}",
    "-Total data: {...}",
    "-Size/{...}",
    "-[{@status}] {responses} responses",
    "-[{errors}] {@kind*}",
    "-{...} histogram:",
    "-{...} [{#}] {...}",
    "-{...} distribution:",
    "-{@percentile#}% in {latency ?}",
    "-{#}% in NaN {_}",
    "-Details (average{...}",
    "-DNS+dialup: {...}",
    "-DNS-lookup: {...}",
];

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let Some(summary) = json.get("summary") else { return };
    out.json("requests_per_second", summary.get("requestsPerSec"), "1/s", &[]);
    out.json("success", summary.get("successRate"), "", &[]);
    out.json("duration", summary.get("total"), "s", &[]);
    for (field, stat) in [("average", "mean"), ("fastest", "min"), ("slowest", "max")] {
        out.json("latency", summary.get(field), "s", &[("stat", stat)]);
    }
    for (field, metric) in [("latencyPercentiles", "latency"), ("firstBytePercentiles", "first_byte_time")] {
        for (name, value) in json.get(field).map(|all| all.fields()).unwrap_or_default() {
            out.json(metric, Some(value), "s", &[("percentile", name.trim_start_matches('p'))]);
        }
    }
    for (status, count) in json.get("statusCodeDistribution").map(|all| all.fields()).unwrap_or_default() {
        out.json("responses", Some(count), "", &[("status", &status)]);
    }
    for (kind, count) in json.get("errorDistribution").map(|all| all.fields()).unwrap_or_default() {
        out.json("errors", Some(count), "", &[("kind", &kind)]);
    }
}
