//! The summary of YCSB.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "ycsb",
    tool: "YCSB",
    command: "bin/ycsb run basic -P workloads/workloada",
    measured: &[
        Measured::higher("operations_per_second", "1/s", &[], "`Throughput(ops/sec)` of `[OVERALL]`"),
        Measured::plain("duration", "ms", &[], "`RunTime(ms)`"),
        Measured::plain(
            "operations",
            "",
            &["operation", "status"],
            "`Operations` and `Return` of each operation",
        ),
        Measured::lower(
            "latency",
            "us",
            &["operation", "stat"],
            "`AverageLatency(us)` (mean), `MinLatency(us)`, `MaxLatency(us)`",
        ),
        Measured::lower(
            "latency",
            "us",
            &["operation", "percentile"],
            "`95thPercentileLatency(us)` and the like",
        ),
        Measured::plain("gc", "", &["of"], "`[TOTAL_GC...]`: counts, and milliseconds"),
    ],
    main: &["operations_per_second"],
    checked: Checked::Documented("https://github.com/brianfrankcooper/YCSB/wiki/Running-a-Workload"),
    text: Some(Text {
        marks: &["[OVERALL], ", "AverageLatency(us)"],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "[OVERALL], RunTime(ms), {duration ms}",
    "[OVERALL], Throughput(ops/sec), {operations_per_second 1/s}",
    "-[TOTAL_{@of}], Count, {gc}",
    "-[TOTAL_{@of}], Time(ms), {gc ms}",
    "-[TOTAL_{@of}], Time(%), {gc %}",
    "-[TOTAL_{_}]{...}, {gc}",
    "[{@operation}], Operations, {operations}",
    "-[{@operation}], Return={@status}, {operations}",
    "[{@operation}], AverageLatency(us), {latency,stat=mean us}",
    "[{@operation}], MinLatency(us), {latency,stat=min us}",
    "[{@operation}], MaxLatency(us), {latency,stat=max us}",
    "-[{@operation}], {@percentile}thPercentileLatency(us), {latency us}",
    "-[{@operation}], {@percentile}PercentileLatency(us), {latency us}",
];
