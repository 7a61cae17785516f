//! The text of `perf bench`.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "perf-bench",
    tool: "perf bench",
    command: "perf bench sched messaging",
    measured: &[
        Measured::lower("time", "s", &["benchmark"], "`Total time`"),
        Measured::lower("operation_time", "us", &["benchmark"], "`usecs/op`"),
        Measured::higher("operations_per_second", "1/s", &["benchmark"], "`ops/sec`"),
        Measured::higher("throughput", "GiB/s", &["benchmark"], "`GB/sec` and the like of `mem`"),
    ],
    main: &["time", "operations_per_second", "throughput"],
    checked: Checked::Kept("6.1"),
    text: Some(Text {
        marks: &["benchmark:", "Total time:"],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^# Running '{^benchmark}' benchmark:",
    "^# Running {^benchmark} benchmark...",
    "Total time: {time s} [sec]",
    "-{operation_time us} usecs/op",
    "-{operations_per_second 1/s} ops/sec",
    "-{throughput GiB/s} GB/sec",
    "-{throughput MiB/s} MB/sec",
    "-# {...}",
    "-Averaged {operations_per_second 1/s} operations/sec {...}",
];
