//! Rows as a table with the same columns for all of them, one of them for each factor.

use std::collections::BTreeSet;

use plimsoll_model::observation::TrialRecord;

use super::Row;

/// The value of a row in a column; absent where it has none.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'r> {
    Text(Option<&'r str>),
    Count(Option<u32>),
    Number(f64),
}

/// The columns.
pub(super) struct Table<'t> {
    factors: BTreeSet<&'t str>,
}

impl<'t> Table<'t> {
    /// With a column for each factor that a trial has a level of.
    pub(super) fn of(trials: &'t [TrialRecord]) -> Self {
        Self { factors: trials.iter().flat_map(|trial| trial.cell.keys()).map(String::as_str).collect() }
    }

    /// The names of the columns, each with what a row without anything has there.
    pub(super) fn columns(&self) -> Vec<(&'t str, Cell<'static>)> {
        let (text, count, number) = (Cell::Text(None), Cell::Count(None), Cell::Number(0.0));
        let before = [("run", &text), ("experiment", &text), ("trial", &count), ("block", &count)];
        let levels = self.factors.iter().map(|factor| (*factor, &text));
        let behind = [
            ("arm", &text),
            ("phase", &text),
            ("cycle", &count),
            ("slice", &count),
            ("host", &text),
            ("at_s", &number),
            ("metric", &text),
            ("value", &number),
        ];
        before.into_iter().chain(levels).chain(behind).map(|(name, cell)| (name, cell.clone())).collect()
    }

    /// The values of a row, in the order of the columns.
    pub(super) fn cells<'r>(&'r self, row: &'r Row<'_>) -> impl Iterator<Item = Cell<'r>> {
        let before = [
            Cell::Text(Some(row.run)),
            Cell::Text(Some(row.experiment)),
            Cell::Count(Some(row.trial)),
            Cell::Count(Some(row.block)),
        ];
        let levels = self.factors.iter().map(|factor| Cell::Text(row.cell.get(*factor).map(String::as_str)));
        let behind = [
            Cell::Text(row.arm),
            Cell::Text(row.phase),
            Cell::Count(row.cycle),
            Cell::Count(row.slice),
            Cell::Text(row.host),
            Cell::Number(row.at_s),
            Cell::Text(Some(row.metric)),
            Cell::Number(row.value),
        ];
        before.into_iter().chain(levels).chain(behind)
    }
}
