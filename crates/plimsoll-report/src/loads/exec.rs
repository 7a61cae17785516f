//! The runs of programs, and how those ended that did not end well.

use plimsoll_model::experiment::load::exec::{ExecFacts, ExecRun};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Pooled, Shown, pooled};
use crate::number::{count, figure};
use crate::section::{Row, Section, left, right};

impl Shown for ExecFacts {
    const TITLE: &'static str = "Programs";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = [left("cell"), left("phase"), right("runs"), right("ended well"), right("s in all")];
        let all = pooled(found);
        let section = Section::new("Runs of programs, all trials of a phase together")
            .table(columns, all.iter().map(row));
        let failed = all.iter().filter_map(|of| {
            let first = of.facts.runs.iter().find(|run| !run.ended.is_empty())?;
            let said = first.stderr.lines().next_back().map_or_else(String::new, |line| format!(": {line}"));
            Some(format!("The first in {} that did not end well: {}{said}", of.phase, first.ended))
        });
        (!found.is_empty()).then(|| section.say_all(failed)).into_iter().collect()
    }
}

fn row(of: &Pooled<'_, ExecFacts>) -> Row {
    let runs = &of.facts.runs;
    let well = |run: &&ExecRun| run.ended.is_empty();
    Row::of([
        of.cell.clone(),
        of.phase.to_owned(),
        count(runs.len() as u64),
        count(runs.iter().filter(well).count() as u64),
        figure(runs.iter().map(|run| run.elapsed_ns).sum::<u64>() as f64 / 1e9),
    ])
}
