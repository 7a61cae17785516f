//! `plimsoll history`.

use std::io::{self, Write};

use plimsoll_report::escape::terminal;
use plimsoll_report::moment;
use plimsoll_store::RunEntry;
use serde_json::json;

use crate::args::{HistoryArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, state};

pub(crate) fn run(args: &HistoryArgs) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let runs = store.runs(args.experiment.as_deref())?.into_iter();
    let runs: Vec<RunEntry> = runs.map(|run| state::as_it_is(&store, run)).collect();
    match args.format {
        PlainFormat::Json => {
            let all: Vec<_> = runs.iter().map(entry).collect();
            output::document(|out| plimsoll_report::json::pretty(out, &all))
        }
        PlainFormat::Text => output::text(|out| runs.iter().try_for_each(|run| line(out, run))),
    }?;
    Ok(Exit::Holds)
}

fn line(out: &mut dyn Write, run: &RunEntry) -> io::Result<()> {
    let RunEntry { id, experiment, status, elapsed, started_unix_s, .. } = run;
    let status = format!("{status:?}").to_lowercase();
    let (started, took, experiment) = (moment(*started_unix_s), elapsed.as_secs_f64(), terminal(experiment));
    writeln!(out, "{id}  {started}  {took:>6.1} s  {status:11}  {experiment}")
}

fn entry(run: &RunEntry) -> serde_json::Value {
    json!({
        "run": run.id,
        "experiment": run.experiment,
        "status": run.status,
        "seed": run.seed,
        "started_unix_s": run.started_unix_s,
        "elapsed_s": run.elapsed.as_secs_f64(),
    })
}
