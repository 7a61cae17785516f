//! `plimsoll check`.

use plimsoll_model::experiment::Experiment;

use super::consent;
use crate::args::{CheckArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{command, effects, messages, output, shipped};

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.schema {
        let schema = schemars::schema_for!(Experiment);
        output::document(|out| plimsoll_report::json::pretty(out, &schema))?;
        return Ok(Exit::Holds);
    }
    let Some(experiment) = &args.experiment else { return Err(Failure::Usage("which experiment?".into())) };
    let source = shipped::find(experiment)?;
    let plan = command::plan(&source, &args.plan)?;
    let experiment = &plan.experiment;
    let listed = consent::with_quick(&plan, &source, &args.plan)?;
    if args.format == PlainFormat::Json {
        output::document(|out| effects::json(out, &plan, &listed, "plimsoll.check/1"))?;
    } else {
        output::text(|out| {
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
            writeln!(out, "{}", effects::heading(&plan))?;
            effects::text(out, &plan, &listed)
        })?;
    }
    plimsoll_assess::shortfalls(&plan)
        .iter()
        .for_each(|shortfall| messages::say(format_args!("note: {shortfall}")));
    Ok(Exit::Holds)
}
