//! The metrics of `stress-ng`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "stress-ng",
    tool: "stress-ng",
    command: "stress-ng --matrix 1 -t 3 --metrics",
    measured: &[
        "plain operations,stressor: `bogo ops`",
        "plain time,stressor s: `real time`",
        "plain cpu,stressor,mode s: `usr time` and `sys time`",
        "higher operations_per_second,stressor,of 1/s: `bogo ops/s`, of real time and of processor time",
        "plain value,stressor,of: miscellaneous metrics: the number, with the words behind it as `of`",
    ],
    main: &["operations_per_second,of=real"],
    checked: Checked::Kept("0.15.06"),
    marks: &["bogo ops", "mean of "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "stress-ng: {_} [{_}] {@stressor} {value} {@of*} ({_} mean of {#} instance{...}",
    "stress-ng: {_} {_} [{_}] {@stressor} {value} {@of*} ({_} mean of {#} instance{...}",
    "^{...}stressor bogo ops real time usr time sys time bogo ops/s bogo ops/s{...}",
    "-{...}(secs) (secs) (secs) (real time) (usr+sys time){...}",
    "!{...}({_}) ({_}) ({_}) (real time) (usr+sys time){...}",
    "-{@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s}",
    "-{@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s} {#} {#}",
    "-stress-ng: {_} [{_}] {@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s}",
    "-stress-ng: {_} [{_}] {@stressor} {operations} {time s} {cpu,mode=user s} {cpu,mode=system s} {operations_per_second,of=real 1/s} {operations_per_second,of=cpu 1/s} {#} {#}",
];
