//! The text of `perf bench`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "perf-bench",
    tool: "perf bench",
    command: "perf bench sched messaging",
    measured: &[
        "lower time,benchmark s: `Total time`",
        "lower operation_time,benchmark us: `usecs/op`",
        "higher operations_per_second,benchmark 1/s: `ops/sec`",
        "higher throughput,benchmark GiB/s: `GB/sec` and the like of `mem`",
    ],
    main: &["time", "operations_per_second", "throughput"],
    checked: Checked::Kept("6.1"),
    marks: &["benchmark:", "Total time:"],
    lines: LINES,
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
