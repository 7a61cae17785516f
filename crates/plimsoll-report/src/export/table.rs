//! Tables: rows with the same columns for all of them.

use std::collections::BTreeSet;
use std::io;

use super::{Exported, rows};

/// The value of a row in a column; absent where it has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'r> {
    /// Words.
    Text(Option<&'r str>),
    /// A whole number.
    Count(Option<u64>),
    /// A number.
    Number(Option<f64>),
}

/// Rows that can be written.
pub trait Table {
    /// The names of the columns, each with what a row without anything has there.
    fn columns(&self) -> Vec<(&str, Cell<'static>)>;

    /// Hands on the values of each row, in the order of the columns.
    ///
    /// # Errors
    /// Those of `each`.
    fn rows(&self, each: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()>;
}

/// The values of a run, with a column for each factor.
#[derive(Debug)]
pub struct RunTable<'t> {
    exported: Exported<'t>,
    factors: BTreeSet<&'t str>,
}

impl<'t> RunTable<'t> {
    /// With a column for each factor that a trial has a level of.
    #[must_use]
    pub fn of(exported: Exported<'t>) -> Self {
        let factors =
            exported.trials.iter().flat_map(|trial| trial.cell.keys()).map(String::as_str).collect();
        Self { exported, factors }
    }
}

impl Table for RunTable<'_> {
    fn columns(&self) -> Vec<(&str, Cell<'static>)> {
        let (text, count, number) = (Cell::Text(None), Cell::Count(None), Cell::Number(None));
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

    fn rows(&self, each: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        rows(&self.exported, &mut |row| {
            let count = |count: Option<u32>| Cell::Count(count.map(u64::from));
            let mut cells = vec![
                Cell::Text(Some(row.run)),
                Cell::Text(Some(row.experiment)),
                count(Some(row.trial)),
                count(Some(row.block)),
            ];
            cells.extend(
                self.factors.iter().map(|factor| Cell::Text(row.cell.get(*factor).map(String::as_str))),
            );
            cells.extend([
                Cell::Text(row.arm),
                Cell::Text(row.phase),
                count(row.cycle),
                count(row.slice),
                Cell::Text(row.host),
                Cell::Number(Some(row.at_s)),
                Cell::Text(Some(row.metric)),
                Cell::Number(Some(row.value)),
            ]);
            each(&cells)
        })
    }
}
