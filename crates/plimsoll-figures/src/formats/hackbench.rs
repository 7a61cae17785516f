//! The output of `hackbench`, of rt-tests and that of 2001, which was the number alone.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "hackbench",
    tool: "hackbench (rt-tests)",
    command: "hackbench -g 10 -l 1000",
    measured: &[
        "lower time,groups,mode s: `Time`; the groups and whether they were processes or threads, where the line above says so",
    ],
    main: &["time"],
    checked: Checked::Run("2.4"),
    marks: &["Running in ", "Running with ", "Time: "],
    lines: LINES,
    start: |line| {
        let is_heading = line.text.contains(" groups ") || line.text.contains("*40 (==");
        (line.text.starts_with("Running ") && is_heading).then_some(Start::Within)
    },
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "-Running in process mode with {^groups#} groups {...}{^mode=process}",
    "-Running in threaded mode with {^groups#} groups {...}{^mode=thread}",
    "-Running with {^groups#} groups {...}{^mode=}",
    "-Running with {^groups#}*40 (== {...}{^mode=}",
    "-Each sender will pass {...}",
    "+Time: {time s}",
    "+Time: {time s}s",
    "+Time: {time s} s",
];
