//! The table of STREAM.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "stream",
    tool: "STREAM",
    command: "stream_c.exe",
    measured: &[
        "higher throughput,kernel MB/s: `Best Rate MB/s` of `Copy`, `Scale`, `Add` and `Triad`",
        "lower time,kernel,stat s: `Avg time`, `Min time`, `Max time`",
    ],
    main: &["throughput,kernel=Triad"],
    checked: Checked::Documented("https://www.cs.virginia.edu/stream/ref.html"),
    marks: &["Best Rate MB/s", "Rate (MB/s)"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Function Best Rate MB/s Avg time Min time Max time",
    "^Function Rate (MB/s) Avg time Min time Max time",
    "-{@kernel}: {throughput MB/s} {time,stat=mean s} {time,stat=min s} {time,stat=max s}",
];
