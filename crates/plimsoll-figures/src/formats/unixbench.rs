//! Results and the index of UnixBench.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "unixbench",
    tool: "UnixBench",
    command: "./Run",
    measured: &[
        "higher result,test,copies 1/s, 1/min, KBps, MWIPS: the mean of a test's samples; `lps` is 1/s, and `lpm` 1/min",
        "higher index,test,copies: the last column of `System Benchmarks Index Values`, and `System Benchmarks Index Score` without `test`",
    ],
    main: &["index"],
    checked: Checked::Documented("https://github.com/kdlucas/byte-unixbench"),
    marks: &["of tests", " samples)", "System Benchmarks", "running "],
    start: |line| rules::start(LINES, line),
    reader: Some(|_| {
        Box::new(UnixBench { results: rules::reader(LINES), index: rules::reader(INDEX), of_index: false })
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^{#} CPUs in system; running {^copies} parallel {_} of tests",
    "^{#} CPU in system; running {^copies} parallel {_} of tests",
    "{@test*} {result 1/s} lps ({#} s, {#} samples)",
    "{@test*} {result 1/min} lpm ({#} s, {#} samples)",
    "{@test*} {result KBps} KBps ({#} s, {#} samples)",
    "{@test*} {result MWIPS} MWIPS ({#} s, {#} samples)",
    "System Benchmarks Index Score {index}",
    "System Benchmarks Index Score (Partial Only) {index}",
];

const INDEX: &[&str] = &["-{@test*} {#} {#} {index}", "-{...}========"];

struct UnixBench {
    results: Box<dyn Reader>,
    index: Box<dyn Reader>,
    /// Whether the rows of the index follow.
    of_index: bool,
}

impl Reader for UnixBench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        if words.ends_with(&["BASELINE", "RESULT", "INDEX"]) {
            self.of_index = true;
            return Fit::Mine;
        }
        self.of_index &= !line.text.starts_with("System Benchmarks");
        if self.of_index { self.index.line(line, out) } else { self.results.line(line, out) }
    }
}
