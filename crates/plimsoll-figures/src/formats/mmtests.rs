//! The comparisons of mmtests.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "mmtests",
    tool: "mmtests",
    command: "compare-kernels.sh",
    measured: &[
        "plain value,statistic,subject,side: the values of both kernels, by the statistic (`Hmean`, `Amean`, `Stddev` ...) at the beginning of the row",
        "plain change,statistic,subject,marked %: the change of the second, with `marked=yes` where mmtests marks it as significant; better is positive",
    ],
    main: &["value"],
    checked: Checked::Documented("https://github.com/gormanm/mmtests"),
    marks: &["mean ", "Min ", "Max ", "Stddev ", "CoeffVar ", "Percentile"],
    start: |line| rules::start(LINES, line),
    reader: Some(|_| rules::reader(LINES)),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "{@statistic} {@subject} {value,side=before} ( 0.00%) {value,side=after} ( {change %}%)",
    "{@statistic} {@subject} {value,side=before} ( 0.00%) {value,side=after} * {change,marked=yes %}%*",
    "{@statistic} {value,side=before} ( 0.00%) {value,side=after} ( {change %}%)",
    "{@statistic} {value,side=before} ( 0.00%) {value,side=after} * {change,marked=yes %}%*",
];
