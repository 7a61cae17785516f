//! How long the TLS handshakes of HTTP loads took, and how many resumed an earlier session.

use plimsoll_model::experiment::load::http::HttpFacts;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, by_phase};
use crate::number::{NONE, count, figure};
use crate::section::{Section, right};

impl Shown for HttpFacts {
    const TITLE: &'static str = "TLS handshakes";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [right("handshakes"), right("resumed %"), right("p50 ms"), right("p99 ms")];
        by_phase(found, columns, |facts| {
            let all = facts.handshakes.len();
            let at = |share| figure(facts.handshakes.value_at_quantile(share) as f64 / 1e3);
            let resumed = match all {
                0 => NONE.to_owned(),
                all => figure(facts.resumed as f64 / all as f64 * 100.0),
            };
            vec![count(all), resumed, at(0.5), at(0.99)]
        })
    }
}
