//! `plimsoll export`: a stored run for other programs.

use plimsoll_report::export::{self, Rows, Selection};

use crate::args::{ExportArgs, ExportFormat, ExportRows};
use crate::command::show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, state};

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let (plan, report, trials) = show::load(&store, &args.run)?;
    let wanted = Selection {
        rows: match args.rows {
            ExportRows::Figures => Rows::Figures,
            ExportRows::Intervals => Rows::Intervals,
            ExportRows::Counters => Rows::Counters,
        },
        metrics: args.metric.clone(),
        phases: args.phase.clone(),
    };
    match args.format {
        ExportFormat::Csv => output::document(|out| export::csv(out, &report, &trials, &wanted)),
        ExportFormat::Jsonl => output::document(|out| export::jsonl(out, &report, &trials, &wanted)),
        ExportFormat::Openmetrics => {
            output::document(|out| export::openmetrics(out, &report, &trials, &wanted))
        }
        ExportFormat::Parquet => {
            output::bytes("Parquet", "run.parquet", |out| export::parquet(out, &report, &trials, &wanted))
        }
        ExportFormat::Folded => show::folded(&plan, &report, &trials),
        ExportFormat::Pprof => show::pprof(&plan, &report, &trials),
        ExportFormat::Hdr => output::document(|out| export::hdr(out, &trials, &wanted)),
    }?;
    Ok(Exit::Holds)
}
