//! The tables of the kernel test robot, and its `stats.json`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "lkp",
    tool: "the kernel test robot (lkp-tests)",
    command: "lkp compare",
    measured: &[
        "plain mean,metric,side: the means of both kernels",
        "plain deviation,metric,side %: `%stddev`: the relative standard deviation, where it is not below 2 %",
        "plain change,metric %: `%change`, as the robot has it",
        "plain change,metric points: the change of shares, in points",
        "plain value,metric: each value of `stats.json`",
    ],
    main: &["value"],
    checked: Checked::Documented("https://github.com/intel/lkp-tests"),
    marks: &["%stddev", "stats.json:"],
    start: |line| rules::start(LINES, line),
    reader: Some(|_| rules::reader(LINES)),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^%stddev %change %stddev",
    "-\\ | \\",
    "-%stddev %change %stddev",
    "+{_}stats.json: \"{@metric}\": {value},",
    "-{mean,side=before} ± {deviation,side=before %}% {change %}% {mean,side=after} ± {deviation,side=after %}% {@metric}",
    "-{mean,side=before} ± {deviation,side=before %}% {change %}% {mean,side=after} {@metric}",
    "-{mean,side=before} {change %}% {mean,side=after} ± {deviation,side=after %}% {@metric}",
    "-{mean,side=before} {change %}% {mean,side=after} {@metric}",
    "-{mean,side=before} ± {deviation,side=before %}% {change points} {mean,side=after} ± {deviation,side=after %}% {@metric}",
    "-{mean,side=before} ± {deviation,side=before %}% {change points} {mean,side=after} {@metric}",
    "-{mean,side=before} {change points} {mean,side=after} ± {deviation,side=after %}% {@metric}",
    "-{mean,side=before} {change points} {mean,side=after} {@metric}",
];
