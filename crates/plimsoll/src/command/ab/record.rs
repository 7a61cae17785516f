//! The ratios of a comparison in the store, for `history --changes`. What runs on machines of different speed have in common is the ratio to a
//! reference that was measured beside.

use std::fmt::Write as _;

use plimsoll_store::{Figure, Packing};

use super::text::Report;
use super::trial::Judged;
use crate::args::{AbArgs, Reading};
use crate::command::import::stored;
use crate::failure::Failure;
use crate::state;

/// Stores the pairs as a table, and the ratio of each benchmark as a figure that is followed.
pub(super) fn put(args: &AbArgs, name: &str, answer: &Report<'_>) -> Result<(), Failure> {
    let store = state::open(args.store.store.as_deref())?;
    let reading = Reading { format_name: Some("csv".to_owned()), ..Reading::default() };
    let text = Packing::new(table(answer).as_bytes())
        .finish("pairs.csv")
        .map_err(|error| Failure::could_not(format!("cannot store the pairs: {error}")))?;
    let entry = stored::put_texts(&store, name.to_owned(), &reading, &[text])?;
    let figure = |one: &Judged| {
        let series = &answer.series[one.series];
        Some(Figure {
            name: format!("{}: {}", series.name, series.metric.replace('_', " ")),
            unit: "ratio".to_owned(),
            value: one.found.verdict.estimate?,
            interval: one.found.verdict.interval.map(|interval| (interval.lo(), interval.hi())),
        })
    };
    store.put_figures(&entry.id, &answer.judged.iter().filter_map(figure).collect::<Vec<_>>())?;
    let outcomes: Vec<_> = answer.judged.iter().map(|one| state::in_short(&one.found.verdict)).collect();
    store.put_outcomes(&entry.id, &outcomes)?;
    Ok(store.put_remark(&entry.id, &remark(answer))?)
}

/// Which versions they were.
fn remark(answer: &Report<'_>) -> String {
    let [base, head] = answer.sides;
    match &head.commit {
        Some(commit) => format!("{} {}, against {}", commit.short, commit.subject, base.name),
        None => format!("{}, against {}", head.name, base.name),
    }
}

/// The pairs as CSV, with the benchmark in front.
fn table(answer: &Report<'_>) -> String {
    let mut text = "benchmark,base,head\n".to_owned();
    for one in &answer.judged {
        let name =
            answer.series[one.series].name.replace(|c: char| c.is_control() || "\",;".contains(c), " ");
        for [base, head] in &answer.trial.pairs[one.series] {
            // Writing to a string cannot fail.
            writeln!(text, "{name},{base},{head}").ok();
        }
    }
    text
}
