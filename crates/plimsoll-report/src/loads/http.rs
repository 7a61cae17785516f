//! How long the TLS handshakes of HTTP loads took, and how many resumed an earlier session.

use plimsoll_model::experiment::load::http::HttpFacts;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::{NONE, count, figure};
use crate::section::{Row, Section, left, right};

impl Shown for HttpFacts {
    const TITLE: &'static str = "TLS handshakes";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [
            left("cell"),
            left("phase"),
            right("handshakes"),
            right("resumed %"),
            right("p50 ms"),
            right("p99 ms"),
        ];
        let rows = pooled(found).into_iter().map(|of| {
            let all = of.facts.handshakes.len();
            let at = |share| figure(of.facts.handshakes.value_at_quantile(share) as f64 / 1e3);
            let resumed = match all {
                0 => NONE.to_owned(),
                all => figure(of.facts.resumed as f64 / all as f64 * 100.0),
            };
            Row::of([of.cell.clone(), of.phase.to_owned(), count(all), resumed, at(0.5), at(0.99)])
        });
        let section = Section::new("TLS handshakes, all trials of a phase together").table(columns, rows);
        (!found.is_empty()).then_some(section).into_iter().collect()
    }
}
