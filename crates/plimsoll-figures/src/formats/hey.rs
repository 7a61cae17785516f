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
    // The first versions, and boom, wrote `secs.` or `sec`.
    "Total: {duration s} secs",
    "Total: {duration s} sec",
    "Total: {duration s} secs.",
    "Slowest: {latency,stat=max s} secs",
    "Slowest: {latency,stat=max s} sec",
    "Slowest: {latency,stat=max s} secs.",
    "Fastest: {latency,stat=min s} secs",
    "Fastest: {latency,stat=min s} sec",
    "Fastest: {latency,stat=min s} secs.",
    "Average: {latency,stat=mean s} secs",
    "Average: {latency,stat=mean s} sec",
    "Average: {latency,stat=mean s} secs.",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;
    use crate::rules::start;

    #[test]
    fn a_total_of_something_else_than_seconds_begins_no_report() {
        let begins = |text: &str| start(LINES, &Line::new(1, text)).is_some();
        assert!(begins("Total: 0.1080 secs") && begins("Slowest: 0.1493 secs."));
        assert!(!begins("Total: 12 sectors") && !begins("Total: 3 seconds"));
    }
}
