//! Fate of datagrams.

use plimsoll_model::observation::Datagrams;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::{count, figure};
use crate::section::{Row, Section, left, right};

impl Shown for Datagrams {
    const TITLE: &'static str = "Datagrams";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [
            left("cell"),
            left("phase"),
            right("to send").expendable(2),
            right("sent"),
            right("arrived"),
            right("lost"),
            right("twice").expendable(3),
            right("out of order").expendable(1),
            right("jitter ms"),
        ];
        let rows = pooled(found).into_iter().map(|of| {
            let facts = of.facts;
            Row::of([
                of.cell,
                of.phase.to_owned(),
                count(facts.intended),
                count(facts.sent),
                count(facts.received),
                count(facts.lost()),
                count(facts.duplicates),
                count(facts.reordered),
                figure(facts.jitter_us / 1e3),
            ])
        });
        let section = Section::new("Datagrams, all trials of a phase together").table(columns, rows);
        (!found.is_empty()).then_some(section).into_iter().collect()
    }
}
