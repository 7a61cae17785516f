//! The text of `perf report --stdio`.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "perf-report",
    tool: "perf report",
    command: "perf report --stdio",
    measured: &[
        Measured::plain(
            "overhead",
            "%",
            &["command", "object", "mode", "symbol"],
            "the share of the samples in a symbol itself",
        ),
        Measured::plain(
            "children",
            "%",
            &["command", "object", "mode", "symbol"],
            "the share with what it calls, with `--children`",
        ),
    ],
    main: &["overhead"],
    checked: Checked::Kept("6.1"),
    text: Some(Text {
        marks: &["Overhead", "[k]", "[.]"],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^# Overhead {...}",
    "^# Children {...}",
    "{children %}% {overhead %}% {@command} {@object} [{@mode}] {@symbol*}",
    "{overhead %}% {@command} {@object} [{@mode}] {@symbol*}",
    "-# {...}",
    "-#",
];
