//! The page: the verdicts, the pairs of each benchmark as a chart, and why one is worse.

use std::io::{self, Write};

use plimsoll_model::numbers::{Numbers, Side};
use plimsoll_report::html::bundle::Bundle;
use plimsoll_report::html::{self, NumbersPage, Rows};

use super::text::{HEADINGS, Report, WHY};
use super::trial::Judged;

/// The most benchmarks that have a chart.
const CHARTS: usize = 12;

/// Writes the page.
pub(super) fn write(out: &mut dyn Write, answer: &Report<'_>) -> io::Result<()> {
    let order = answer.worst_first();
    let numbers: Vec<(String, Numbers)> = order
        .iter()
        .filter(|_| answer.trial.blocks > 0)
        .take(CHARTS)
        .map(|one| (answer.series[one.series].name.clone(), sides(answer, one)))
        .collect();
    let verdicts = Rows {
        name: "Verdicts".to_owned(),
        columns: HEADINGS.map(|heading| (heading, false)).to_vec(),
        rows: order.iter().map(|one| answer.row(one).to_vec()).collect(),
    };
    let functions = answer.why.iter().flatten().filter(|why| !why.functions.is_empty()).map(|why| Rows {
        name: why.sentence(),
        columns: WHY.map(|heading| (heading, false)).to_vec(),
        rows: why.functions.iter().map(|grown| grown.cells(why).to_vec()).collect(),
    });
    let page = NumbersPage {
        title: &answer.headline(),
        asked: "Did the change make a benchmark slower?",
        verdict: match order.as_slice() {
            [only] => Some(&only.found.verdict),
            _ => None,
        },
        numbers: &numbers,
        facts: &[("measured".to_owned(), answer.limits())],
        tables: &std::iter::once(verdicts).chain(functions).collect::<Vec<_>>(),
        again: &answer.again,
    };
    html::judged(out, &page, Bundle::Inside)
}

/// All pairs of a benchmark.
fn sides(answer: &Report<'_>, one: &Judged) -> Numbers {
    let side = |which: usize| Side {
        name: answer.side(which),
        beside: which == 0,
        values: answer.trial.pairs[one.series].iter().map(|pair| pair[which]).collect(),
    };
    Numbers::Sides(vec![side(0), side(1)])
}
