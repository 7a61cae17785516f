//! Tables of what was named.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Rows;
use super::cases::{Case, Grade, Measured};

/// Ranges of the confidence in a cause, from and below.
const BANDS: [(f64, f64); 5] = [(0.0, 0.5), (0.5, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 1.01)];

/// Origins of cases, and how far the explainer knew them.
const KINDS: [&str; 4] = ["own, tuned", "own, held back", "outside, tuned", "outside, unseen"];

const HEAD: &str = "\
# Which causes are named

Each case is a fault or an innocent change whose truth is known, and what Plimsoll says is the cause. Own cases are faults that are injected over
workloads (`faults/injected`, `faults/workloads`, `faults/truth.txt`). Outside cases were made by authors who had not read the catalogue (`faults/outside`). What counts as right
there was decided from the author's truth alone (`faults/outside.tsv`). No experiment sees a truth.

*Tuned* are cases that were looked at while the explainer was changed. *Held back* ones were not, before their first run. Of *unseen* ones the row is
the first look, and is not measured again. Made by (as root, some two hours on two CPUs beside builds; `faults/measured.jsonl` has the rows):

    cargo xtask faults
";

/// The whole report.
pub(super) fn report(tables: &str, notes: &str) -> String {
    format!("{HEAD}\n{tables}\n{notes}")
}

/// Origin of a case, and whether the explainer was changed with it in view.
pub(super) fn kind(case: &Case) -> &'static str {
    KINDS[2 * usize::from(case.is_outside()) + usize::from(!case.is_tuned)]
}

/// Names of the first causes.
pub(super) fn list(measured: &Measured) -> String {
    let ids: Vec<&str> = measured.causes.iter().map(|it| it.id.as_str()).collect();
    if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
}

/// All tables: the summary, the confidence, and each case.
pub(super) fn tables(rows: &Rows<'_>) -> Result<String, String> {
    let mut out = String::new();
    [summary, confidence, each]
        .into_iter()
        .try_for_each(|part| part(&mut out, rows))
        .map_err(|error| error.to_string())?;
    Ok(out)
}

fn summary(out: &mut String, rows: &Rows<'_>) -> std::fmt::Result {
    let workloads: BTreeSet<&str> = rows.iter().map(|(case, _)| case.workload()).collect();
    writeln!(out, "{} cases over {} workloads were run.\n", rows.len(), workloads.len())?;
    writeln!(
        out,
        "| cases | faults | made a difference | right first | among three | named another | silent | two at once: both among three | innocents | accused |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")?;
    for title in KINDS {
        let of_kind = || rows.iter().filter(|(case, _)| kind(case) == title);
        let faults = || of_kind().filter(|(case, _)| !case.truth.is_innocent());
        let graded = |grade| of_kind().filter(|(case, it)| case.grade(it) == grade).count();
        let all = faults().count();
        let differ = faults().filter(|(_, it)| it.made_a_difference()).count();
        let first = faults().filter(|(case, it)| case.grade(it) == Grade::Right).count();
        let three = faults().filter(|(case, it)| case.truth.are_all_among(&it.causes)).count();
        let pairs = || faults().filter(|(case, _)| case.truth.is_of_several());
        let both = pairs().filter(|(case, it)| case.truth.are_all_among(&it.causes)).count();
        writeln!(
            out,
            "| {title} | {all} | {differ} | {} | {} | {} | {} | {both} of {} | {} | {} |",
            part(first, all),
            part(three, all),
            graded(Grade::Missed),
            graded(Grade::Silent),
            pairs().count(),
            of_kind().count() - all,
            graded(Grade::Accused),
        )?;
    }
    writeln!(out)
}

/// A count, with its share of all.
fn part(count: usize, all: usize) -> String {
    if all == 0 { "0".to_owned() } else { format!("{count} ({:.0} %)", 100.0 * count as f64 / all as f64) }
}

/// How sure the first cause was said to be, and whether it was right.
fn confidence(out: &mut String, rows: &Rows<'_>) -> std::fmt::Result {
    let answer = |(case, it): &(&Case, Measured)| {
        let sure = it.causes.first()?.confidence;
        Some((sure, case.grade(it) == Grade::Right))
    };
    let all: Vec<(f64, bool)> = rows.iter().filter_map(answer).collect();
    writeln!(out, "How sure the first cause is said to be, and how often it is right:\n")?;
    writeln!(out, "| said to be sure by | cases | said on average | right |\n| --- | --- | --- | --- |")?;
    for (low, high) in BANDS {
        let within: Vec<(f64, bool)> =
            all.iter().copied().filter(|(sure, _)| (low..high).contains(sure)).collect();
        let right = within.iter().filter(|(_, right)| *right).count();
        if let Some(mean) = mean(within.iter().map(|(sure, _)| *sure)) {
            let (from, to) = (100.0 * low, 100.0 * high.min(1.0));
            writeln!(
                out,
                "| {from:.0} to {to:.0} % | {} | {:.0} % | {} |",
                within.len(),
                100.0 * mean,
                part(right, within.len())
            )?;
        }
    }
    writeln!(out)?;
    for title in KINDS {
        let of_kind: Vec<(f64, bool)> =
            rows.iter().filter(|(case, _)| kind(case) == title).filter_map(answer).collect();
        // Brier, Monthly Weather Review 78, 1950: 0 for who is always sure and right, 0.25 for who always says 50 %.
        let error = of_kind.iter().map(|(sure, right)| (f64::from(u8::from(*right)) - sure).powi(2));
        if let Some(score) = mean(error) {
            writeln!(out, "- {title}: the Brier score of {} answers is {score:.3}.", of_kind.len())?;
        }
    }
    writeln!(out)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

fn each(out: &mut String, rows: &Rows<'_>) -> std::fmt::Result {
    let is_there = |title: &&str| rows.iter().any(|(case, _)| kind(case) == *title);
    for title in KINDS.into_iter().filter(is_there) {
        writeln!(out, "## Cases: {title}\n\n| case | truth | outcome | named first | second | third | |")?;
        writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |")?;
        for (case, measured) in rows.iter().filter(|(case, _)| kind(case) == title) {
            let named = |place: usize| {
                let cause = measured.causes.get(place);
                cause.map_or_else(String::new, |it| format!("{}, {:.0} %", it.id, 100.0 * it.confidence))
            };
            let grade = match case.grade(measured) {
                grade @ (Grade::Right | Grade::AmongThree | Grade::NoDifference) => grade.name().to_owned(),
                grade => format!("**{}**", grade.name()),
            };
            let (name, truth) = (&case.name, case.truth.text());
            let [first, second, third] = [0, 1, 2].map(named);
            writeln!(
                out,
                "| {name} | {truth} | {} | {first} | {second} | {third} | {grade} |",
                measured.outcome
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
