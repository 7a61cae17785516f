//! Fate of datagrams.

use plimsoll_model::observation::Datagrams;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, by_phase};
use crate::number::{count, figure};
use crate::section::{Section, columns};

impl Shown for Datagrams {
    const TITLE: &'static str = "Datagrams";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = columns![
            right "to send" => 2, right "sent", right "arrived", right "lost", right "twice" => 3,
            right "out of order" => 1, right "jitter ms",
        ];
        by_phase(found, columns, |facts| {
            vec![
                count(facts.intended),
                count(facts.sent),
                count(facts.received),
                count(facts.lost()),
                count(facts.duplicates),
                count(facts.reordered),
                figure(facts.jitter_us / 1e3),
            ]
        })
    }
}
