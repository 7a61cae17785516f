//! Rounds of messaging loads, and the memory of their workers.

use plimsoll_model::experiment::load::messaging::{MessagingFacts, WorkersMemory};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::{NONE, count, figure};
use crate::section::{Row, Section, left, right};

impl Shown for MessagingFacts {
    const TITLE: &'static str = "Workers";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [
            left("cell"),
            left("phase"),
            right("workers"),
            right("rounds"),
            right("their memory MB"),
            right("the kernel's MB"),
        ];
        let rows = pooled(found).into_iter().map(|of| {
            let megabytes = |bytes: fn(WorkersMemory) -> u64| {
                let memory = of.facts.memory.map(bytes);
                memory.map_or_else(|| NONE.to_owned(), |bytes| figure(bytes as f64 / 1e6))
            };
            Row::of([
                of.cell.clone(),
                of.phase.to_owned(),
                count(of.facts.workers),
                count(of.facts.rounds),
                megabytes(|memory| memory.own_bytes),
                megabytes(|memory| memory.kernel_bytes),
            ])
        });
        let section = Section::new("Workers, all trials of a phase together").table(columns, rows);
        (!found.is_empty()).then_some(section).into_iter().collect()
    }
}
