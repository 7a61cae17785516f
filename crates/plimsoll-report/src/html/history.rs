//! Charts beyond one run: an experiment over its runs, a machine over its weeks.

use maud::Markup;

use super::chart;

pub use super::chart::history::{Change, Point};
pub use super::chart::weeks::Point as Stretch;

/// A figure of an experiment over its runs, with the levels between its changes; absent where there are no runs. `id` is unique in the page.
pub fn chart(id: String, name: &str, unit: &str, points: &[Point], changes: &[Change]) -> Option<Markup> {
    chart::history::chart(id, name, unit, points, changes).map(|figure| figure.markup())
}

/// A figure of a machine over time, with the moments at which something changed (seconds since 1970); absent where nothing was measured. `id` is
/// unique in the page.
pub fn of_machine(id: String, name: &str, unit: &str, points: &[Stretch], changes: &[u64]) -> Option<Markup> {
    chart::weeks::chart(id, name, unit, points, changes).map(|figure| figure.markup())
}
