//! The text of `perf report --stdio`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "perf-report",
    tool: "perf report",
    command: "perf report --stdio",
    measured: &[
        "plain overhead,command,object,mode,symbol %: the share of the samples in a symbol itself",
        "plain children,command,object,mode,symbol %: the share with what it calls, with `--children`",
        "plain samples,command,object,mode,symbol: `Samples`, with `--show-nr-samples`",
    ],
    main: &["overhead"],
    checked: Checked::Kept("6.1"),
    marks: &["Overhead", "[k]", "[.]"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^# Overhead {...}",
    "^# Children {...}",
    "^Overhead Samples Command {...}",
    "^Overhead Command {...}",
    "+{children %}% {overhead %}% {samples} {@command} {@object} [{@mode}] {@symbol*}",
    "+{children %}% {overhead %}% {@command} {@object} [{@mode}] {@symbol*}",
    "+{overhead %}% {samples} {@command} {@object} [{@mode}] {@symbol*}",
    "+{overhead %}% {@command} {@object} [{@mode}] {@symbol*}",
    "-# {...}",
    "-#",
];
