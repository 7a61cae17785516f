//! Fate of transactions on PostgreSQL.

use plimsoll_model::experiment::load::postgres::PostgresFacts;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::count;
use crate::section::{Row, Section, left, right};

impl Shown for PostgresFacts {
    const TITLE: &'static str = "Transactions";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [
            left("cell"),
            left("phase"),
            right("transactions"),
            right("serialization failures"),
            right("deadlocks"),
            right("other errors"),
        ];
        let rows = pooled(found).into_iter().map(|of| {
            let serialization = of.facts.with(PostgresFacts::SERIALIZATION_FAILURE);
            let deadlocks = of.facts.with(PostgresFacts::DEADLOCK);
            let others = of.facts.all_aborted() - serialization - deadlocks;
            let numbers = [of.facts.transactions, serialization, deadlocks, others];
            let [transactions, serialization, deadlocks, others] = numbers.map(count);
            Row::of([of.cell, of.phase.to_owned(), transactions, serialization, deadlocks, others])
        });
        let section = Section::new("Transactions, all trials of a phase together").table(columns, rows);
        (!found.is_empty()).then_some(section).into_iter().collect()
    }
}
