//! Objects that paths through the kernel led past.

use plimsoll_model::experiment::load::kernel::KernelFacts;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::count;
use crate::section::{Row, Section, left, right};

impl Shown for KernelFacts {
    const TITLE: &'static str = "Paths through the kernel";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [left("cell"), left("phase"), right("led past")];
        let past: Vec<_> = pooled(found).into_iter().filter(|of| of.facts.among > 0).collect();
        let rows =
            past.iter().map(|of| Row::of([of.cell.clone(), of.phase.to_owned(), count(of.facts.among)]));
        let section = Section::new("Paths through the kernel: what they led past").table(columns, rows);
        (!past.is_empty()).then_some(section).into_iter().collect()
    }
}
