//! `plimsoll baseline`: runs that others are compared with, by name.

use plimsoll_report::escape::terminal;
use serde_json::json;

use crate::args::{BaselineArgs, BaselineCommand, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{messages, output, state};

pub(crate) fn run(args: &BaselineArgs) -> Result<Exit, Failure> {
    let named = args.store.as_deref();
    match &args.what {
        BaselineCommand::Set { run, name } => {
            let store = state::open(named)?;
            if store.runs(None)?.iter().any(|run| run.id == *name) {
                return Err(Failure::Usage(format!(
                    "`{name}` is the id of a run; a baseline needs another name"
                )));
            }
            let run = state::find(&store, run)?.id;
            store.put_baseline(name, &run)?;
            messages::note(format_args!("run {run} is the baseline `{name}`"));
        }
        BaselineCommand::List { format } => list(&state::open_to_read(named)?.baselines()?, *format)?,
        BaselineCommand::Rm { name } => {
            if !state::open(named)?.forget_baseline(name)? {
                return Err(Failure::Usage(format!(
                    "there is no baseline `{name}`; `plimsoll baseline list` shows them"
                )));
            }
        }
    }
    Ok(Exit::Holds)
}

fn list(all: &[plimsoll_store::Baseline], format: PlainFormat) -> Result<(), Failure> {
    match format {
        PlainFormat::Text => output::text(|out| {
            all.iter().try_for_each(|baseline| {
                let (name, experiment) = (terminal(&baseline.name), terminal(&baseline.experiment));
                writeln!(out, "{name}  {}  {experiment}", baseline.run)
            })
        }),
        PlainFormat::Json => {
            let entry = |baseline: &plimsoll_store::Baseline| json!({ "name": baseline.name, "run": baseline.run, "experiment": baseline.experiment });
            let all: Vec<_> = all.iter().map(entry).collect();
            output::json(&all)
        }
    }
}
