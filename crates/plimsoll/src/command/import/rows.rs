//! Imported figures for other programs: a row for each, in the forms that `export` has for them.

use std::collections::BTreeSet;
use std::io;

use plimsoll_report::export::{self, Cell, Table};

use super::Import;
use crate::args::{ExportArgs, ExportFormat, ExportRows};
use crate::failure::Failure;
use crate::output;

/// Writes the figures of an import.
pub(crate) fn export(import: &Import, args: &ExportArgs) -> Result<(), Failure> {
    let refused = |what: &str| {
        Err(Failure::Usage(format!("{what} belong to measured runs; an imported run has figures only")))
    };
    if args.rows != ExportRows::Figures {
        return refused("--rows other than figures");
    }
    if !args.phase.is_empty() {
        return refused("phases");
    }
    let table = Figures::of(import, &args.metric);
    match args.format {
        ExportFormat::Csv => output::document(|out| export::csv(out, &table)),
        ExportFormat::Jsonl => output::document(|out| export::jsonl_of(out, &table)),
        ExportFormat::Parquet => {
            output::bytes("Parquet", "figures.parquet", |out| export::parquet(out, &table))
        }
        ExportFormat::Openmetrics => output::document(|out| export::openmetrics_of(out, &table)),
        ExportFormat::Folded | ExportFormat::Pprof => refused("stacks"),
        ExportFormat::Hdr => refused("latencies one by one"),
    }
}

/// The figures of an import as a table, with a column for each label.
struct Figures<'i> {
    import: &'i Import,
    run: &'i str,
    metrics: &'i [String],
    labels: Vec<&'static str>,
}

impl<'i> Figures<'i> {
    fn of(import: &'i Import, metrics: &'i [String]) -> Self {
        let series = || import.files.iter().flat_map(|file| &file.found.series);
        let labels: BTreeSet<&'static str> =
            series().flat_map(|series| series.labels.iter().map(|(name, _)| *name)).collect();
        let run = import.run.as_ref().map_or("", |run| run.id.as_str());
        Self { import, run, metrics, labels: labels.into_iter().collect() }
    }
}

impl Table for Figures<'_> {
    fn columns(&self) -> Vec<(&str, Cell<'static>)> {
        let (text, count, number) = (Cell::Text(None), Cell::Count(None), Cell::Number(None));
        let before = [
            ("run", text.clone()),
            ("file", text.clone()),
            ("format", text.clone()),
            ("call", count.clone()),
        ];
        let labels = self.labels.iter().map(|label| (*label, text.clone()));
        let behind = [
            ("line", count.clone()),
            ("at_s", number.clone()),
            ("metric", text.clone()),
            ("unit", text.clone()),
            ("value", number.clone()),
        ];
        before.into_iter().chain(labels).chain(behind).collect()
    }

    fn rows(&self, each: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for file in &self.import.files {
            let wanted = file.found.series.iter().filter(|series| {
                self.metrics.is_empty() || self.metrics.iter().any(|wanted| series.is(wanted))
            });
            for series in wanted {
                for point in &series.points {
                    let mut cells = vec![
                        Cell::Text(Some(self.run)),
                        Cell::Text(Some(&file.name)),
                        Cell::Text(Some(series.format)),
                        Cell::Count(Some(u64::from(point.run))),
                    ];
                    cells.extend(self.labels.iter().map(|label| {
                        let own = series.labels.iter().find(|(name, _)| name == label);
                        Cell::Text(own.map(|(_, value)| value.as_str()))
                    }));
                    cells.extend([
                        Cell::Count(Some(point.line)),
                        Cell::Number(point.at_s),
                        Cell::Text(Some(&series.metric)),
                        Cell::Text(Some(&series.unit)),
                        Cell::Number(Some(point.value)),
                    ]);
                    each(&cells)?;
                }
            }
        }
        Ok(())
    }
}
