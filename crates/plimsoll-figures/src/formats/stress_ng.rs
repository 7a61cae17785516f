//! The metrics of `stress-ng`.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "stress-ng",
    tool: "stress-ng",
    command: "stress-ng --matrix 1 -t 3 --metrics",
    measured: &[
        Measured::plain("operations", "", &["stressor"], "`bogo ops`"),
        Measured::plain("time", "s", &["stressor"], "`real time`"),
        Measured::plain("cpu", "s", &["stressor", "mode"], "`usr time` and `sys time`"),
        Measured::higher(
            "operations_per_second",
            "1/s",
            &["stressor", "of"],
            "`bogo ops/s`, of real time and of processor time",
        ),
    ],
    main: &["operations_per_second,of=real"],
    checked: Checked::Kept("0.15.06"),
    text: Some(Text {
        marks: &["bogo ops"],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^{...}stressor bogo ops real time usr time sys time bogo ops/s bogo ops/s{...}",
    "-{...}(secs) (secs) (secs) (real time) (usr+sys time){...}",
    "!{...}({_}) ({_}) ({_}) (real time) (usr+sys time){...}",
    "-{@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s}",
    "-{@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s} {#} {#}",
    "-stress-ng: {_} [{_}] {@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s}",
    "-stress-ng: {_} [{_}] {@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s} {#} {#}",
];
