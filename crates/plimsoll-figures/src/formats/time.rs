//! Output of a shell's `time`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "time",
    tool: "time (of a shell)",
    command: "time COMMAND",
    measured: &["lower time,of s: `real`, `user` and `sys`"],
    main: &["time,of=real"],
    checked: Checked::Rule("bash(1), dash(1) and POSIX `time -p`"),
    marks: &["real", "user", "sys"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &["real {time,of=real dur}", "-user {time,of=user dur}", "-sys {time,of=sys dur}"];
