//! A command that fails in every run where the other one never does: a difference, with its errors as evidence.

use std::io::{self, Write};

use plimsoll_assess::Explained;
use plimsoll_judge::compare::Comparison;
use plimsoll_judge::stats::median;
use plimsoll_model::verdict::{Outcome, VERDICT_SCHEMA, Verdict};
use plimsoll_report::escape::terminal;
use plimsoll_report::text::{Explanation, TextOptions};
use serde_json::{Map, Value, json};

use super::cells::Cell;
use super::json::{verdict, why};
use super::text::WORSE_COMMAND;
use crate::amount;
use crate::measure::{Gauge, MeasureError, Meter};

/// Two commands, one of which failed each time.
pub(super) struct Failing {
    /// The one that failed.
    pub(super) which: usize,
    /// How often each of them ran.
    runs: usize,
    /// Why it failed, each reason once.
    errors: Vec<String>,
    /// The figures of the other one.
    figures: Vec<f64>,
}

/// Whether a command ran and did not do what it was to do.
fn is_failure(error: &MeasureError) -> bool {
    matches!(
        error,
        MeasureError::Failed { .. } | MeasureError::NoFigure { .. } | MeasureError::BadFigure { .. }
    )
}

/// The smallest number of runs of each command by which chance alone divides failures like this with a probability of no more than `alpha`
/// (Fisher's exact test, two-sided).
fn runs_needed(alpha: f64) -> usize {
    let mut orders = 1.0;
    for runs in 1_usize.. {
        // (2n)! / (n!)² ways to choose which of all runs fail.
        orders *= 2.0 * (2.0 * runs as f64 - 1.0) / runs as f64;
        if 2.0 / orders <= alpha {
            return runs;
        }
    }
    usize::MAX
}

/// Runs both commands until it is sure that one of them always fails and the other one never does. `first` is what ended the measurement, which it remains
/// if that is not so.
///
/// # Errors
/// `first`, or a run that could not be carried out.
pub(super) fn confirm(
    meter: &mut dyn Meter,
    alpha: f64,
    first: MeasureError,
) -> Result<Failing, MeasureError> {
    if !is_failure(&first) {
        return Err(first);
    }
    let runs = runs_needed(alpha);
    let (mut failing, mut errors, mut figures) = (None, Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut failed = Vec::new();
        for which in 0..2 {
            match meter.measure(which) {
                Ok(figure) => figures.push(figure.value),
                Err(error) if is_failure(&error) => failed.push((which, error.to_string())),
                Err(error) => return Err(error),
            }
        }
        match failed.as_slice() {
            [(which, error)] if failing.is_none_or(|known| known == *which) => {
                failing = Some(*which);
                if !errors.contains(error) {
                    errors.push(error.clone());
                }
            }
            _ => return Err(first),
        }
    }
    failing.map(|which| Failing { which, runs, errors, figures }).ok_or(first)
}

impl Failing {
    /// The verdict on the second command against the first. There is no ratio to a figure that does not exist.
    pub(super) fn comparison(&self, metric: &str, cells: &[Cell]) -> Comparison {
        let outcome = if self.which == 1 { Outcome::Slower } else { Outcome::Faster };
        let verdict = Verdict::bare("difference", metric, outcome, self.runs, self.sentence(cells));
        let p = (1..=self.runs).fold(2.0, |p, run| p * run as f64 / (2.0 * (2.0 * run as f64 - 1.0)));
        Comparison { verdict, p, needed: None }
    }

    fn sentence(&self, cells: &[Cell]) -> String {
        let (worse, better) = (&cells[self.which].name, &cells[1 - self.which].name);
        format!("{worse} fails in each of {} runs, and {better} in none", self.runs)
    }

    pub(super) fn text(
        &self,
        out: &mut dyn Write,
        (cells, gauge): (&[Cell], &Gauge),
        (explained, notes): &(Option<Explained>, Vec<String>),
        options: &TextOptions,
    ) -> io::Result<()> {
        let median = amount::amount(median(&self.figures), gauge.unit());
        writeln!(out, "{} (median {median}).\n", terminal(&self.sentence(cells)))?;
        for error in &self.errors {
            for line in error.lines() {
                writeln!(out, "  {}", terminal(line))?;
            }
        }
        if let Some(Explained { causes, evidence, profile }) = explained {
            let why = Explanation { causes, profile: profile.as_ref(), evidence };
            plimsoll_report::text::why(out, WORSE_COMMAND, &why, options)?;
        }
        notes.iter().try_for_each(|note| writeln!(out, "\n{note}"))
    }

    pub(super) fn document(
        &self,
        cells: &[Cell],
        found: &Comparison,
        (explained, notes): &(Option<Explained>, Vec<String>),
    ) -> Map<String, Value> {
        let mut fields = Map::from_iter([("schema".to_owned(), VERDICT_SCHEMA.into())]);
        fields.extend(verdict(found));
        fields.insert("summary".into(), format!("{}.", self.sentence(cells)).into());
        fields.insert("errors".into(), json!(self.errors));
        fields.extend(explained.iter().flat_map(why));
        fields.insert("notes".into(), json!(notes));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Figure;

    #[test]
    fn as_many_runs_are_made_as_chance_hardly_divides_so() {
        // 2 of C(10, 5) = 252 orders are below 1 %, and 2 of C(8, 4) = 70 are not.
        assert_eq!(runs_needed(0.01), 5);
        assert_eq!(runs_needed(0.05), 4);
    }

    /// Commands of which each fails in these runs.
    struct Fails([Vec<bool>; 2]);

    fn failure() -> MeasureError {
        MeasureError::BadFigure { command: "b".into(), text: "0".into() }
    }

    impl Meter for Fails {
        fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
            if self.0[which].pop().unwrap_or(true) { Err(failure()) } else { Ok(Figure::plain(7.0)) }
        }
    }

    #[test]
    fn only_a_command_that_always_fails_beside_one_that_never_does_is_worse() {
        let of = |a: Vec<bool>, b: Vec<bool>| confirm(&mut Fails([a, b]), 0.01, failure());
        let found = of(vec![false; 5], vec![true; 5]).unwrap();
        assert_eq!((found.which, found.errors.len(), found.figures.len()), (1, 1, 5));
        let cells = ["A", "B"].map(|name| Cell { name: name.into(), command: String::new() });
        let comparison = found.comparison("figure", &cells);
        assert_eq!(comparison.verdict.outcome, Outcome::Slower);
        assert!((comparison.p - 2.0 / 252.0).abs() < 1e-12, "{}", comparison.p);
        assert!(of(vec![true; 5], vec![true; 5]).is_err());
        assert!(of(vec![false; 5], vec![false, true, true, true, true]).is_err());
    }
}
