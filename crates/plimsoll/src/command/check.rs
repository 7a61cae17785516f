//! `plimsoll check`.

use std::io;

use plimsoll_model::experiment::Experiment;

use crate::args::{CheckArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{assess, command, effects, output, shipped};

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.schema {
        let schema = schemars::schema_for!(Experiment);
        output::to_stdout(|out| {
            serde_json::to_writer_pretty(&mut *out, &schema).map_err(io::Error::from)?;
            writeln!(out)
        })?;
        return Ok(Exit::Holds);
    }
    let Some(experiment) = &args.experiment else { return Err(Failure::Usage("which experiment?".into())) };
    let source = shipped::find(experiment)?;
    let plan = command::plan(&source, &args.plan)?;
    let experiment = &plan.experiment;
    output::to_stdout(|out| {
        if args.format == PlainFormat::Json {
            return effects::json(out, &plan, "plimsoll.check/1");
        }
        writeln!(
            out,
            "{} is in order: {} hosts, {} services, {} loads, {} cell(s), {} claim(s)",
            source.origin,
            experiment.hosts.len(),
            experiment.services.len(),
            experiment.loads.len(),
            plan.cells.len(),
            experiment.claims.len()
        )?;
        writeln!(out, "On this machine")?;
        effects::text(out, &plan)
    })?;
    assess::shortfalls(&plan).iter().for_each(|shortfall| eprintln!("note: {shortfall}"));
    Ok(Exit::Holds)
}
