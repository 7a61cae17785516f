//! Rounds of messaging loads, and the memory of their workers.

use plimsoll_model::experiment::load::messaging::{MessagingFacts, WorkersMemory};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, by_phase};
use crate::number::{NONE, count, figure};
use crate::section::{Section, right};

impl Shown for MessagingFacts {
    const TITLE: &'static str = "Workers";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [right("workers"), right("rounds"), right("their memory MB"), right("the kernel's MB")];
        by_phase(found, columns, |facts| {
            let megabytes = |bytes: fn(WorkersMemory) -> u64| {
                let memory = facts.memory.map(bytes);
                memory.map_or_else(|| NONE.to_owned(), |bytes| figure(bytes as f64 / 1e6))
            };
            vec![
                count(facts.workers),
                count(facts.rounds),
                megabytes(|memory| memory.own_bytes),
                megabytes(|memory| memory.kernel_bytes),
            ]
        })
    }
}
