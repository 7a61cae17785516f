//! Fate of transactions on PostgreSQL.

use plimsoll_model::experiment::load::postgres::PostgresFacts;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, by_phase};
use crate::number::count;
use crate::section::{Section, columns};

impl Shown for PostgresFacts {
    const TITLE: &'static str = "Transactions";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = columns![
            right "transactions", right "serialization failures", right "deadlocks", right "other errors",
        ];
        by_phase(found, columns, |facts| {
            let serialization = facts.with(PostgresFacts::SERIALIZATION_FAILURE);
            let deadlocks = facts.with(PostgresFacts::DEADLOCK);
            let others = facts.all_aborted() - serialization - deadlocks;
            [facts.transactions, serialization, deadlocks, others].map(count).to_vec()
        })
    }
}
