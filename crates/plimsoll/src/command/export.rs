//! `plimsoll export`: a stored run for other programs.

use plimsoll_report::export::{self, Exported, Rows, Selection};

use crate::args::{ExportArgs, ExportFormat, ExportRows};
use crate::command::{import, show};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, state};

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let entry = state::find(&store, &args.run)?;
    if let Some(import) = import::stored::get(&store, &entry)? {
        return import::rows::export(&import, args).map(|()| Exit::Holds);
    }
    let (plan, report, trials) = show::load(&store, &entry.id)?;
    let wanted = Selection {
        rows: match args.rows {
            ExportRows::Figures => Rows::Figures,
            ExportRows::Intervals => Rows::Intervals,
            ExportRows::Counters => Rows::Counters,
        },
        metrics: args.metric.clone(),
        phases: args.phase.clone(),
    };
    let exported =
        Exported { experiment: &plan.experiment, report: &report, trials: &trials, wanted: &wanted };
    let table = export::RunTable::of(exported);
    match args.format {
        ExportFormat::Csv => output::document(|out| export::csv(out, &table)),
        ExportFormat::Jsonl => output::document(|out| export::jsonl(out, &exported)),
        ExportFormat::Openmetrics => output::document(|out| export::openmetrics(out, &exported)),
        ExportFormat::Parquet => output::bytes("Parquet", "run.parquet", |out| export::parquet(out, &table)),
        ExportFormat::Folded => show::folded(&plan, &report, &trials),
        ExportFormat::Pprof => show::pprof(&plan, &report, &trials),
        ExportFormat::Hdr => output::document(|out| export::hdr(out, &trials, &wanted)),
    }?;
    Ok(Exit::Holds)
}
