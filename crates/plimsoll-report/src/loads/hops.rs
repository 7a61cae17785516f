//! Hops of a path that answered its probes.

use plimsoll_model::observation::{ProbedHop, ProbedPath};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, pooled};
use crate::number::{NONE, count, figure};
use crate::section::{Row, Section, columns};

impl Shown for ProbedPath {
    const TITLE: &'static str = "Probes of paths";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = columns![
            left "cell", left "phase", right "hop", left "address", right "probes", right "answers",
            right "least ms",
        ];
        let rows = pooled(found).into_iter().flat_map(|of| {
            let hops = (1_u64..).zip(of.facts.hops);
            hops.map(move |(number, hop)| row(of.cell.clone(), of.phase, number, &hop))
        });
        let section = Section::new("Probes of a path, in the first trial of a phase").table(columns, rows);
        (!found.is_empty()).then_some(section).into_iter().collect()
    }
}

fn row(cell: String, phase: &str, number: u64, hop: &ProbedHop) -> Row {
    let sent: u64 = hop.sizes.iter().map(|size| u64::from(size.sent)).sum();
    let answers: u64 = hop.sizes.iter().map(|size| size.rtt_ns.len() as u64).sum();
    let least = hop.sizes.iter().flat_map(|size| &size.rtt_ns).min();
    Row::of([
        cell,
        phase.to_owned(),
        number.to_string(),
        hop.address.clone().unwrap_or_else(|| "silent".to_owned()),
        count(sent),
        count(answers),
        least.map_or_else(|| NONE.to_owned(), |ns| figure(*ns as f64 / 1e6)),
    ])
}
