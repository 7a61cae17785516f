//! `plimsoll check`.

use plimsoll_model::experiment::{Experiment, LoadKind, ServiceKind};
use plimsoll_model::units::counted;

use super::consent;
use crate::args::{CheckArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{command, effects, messages, output, shipped};

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.schema {
        let schema = schemars::schema_for!(Experiment);
        output::json(&schema)?;
        return Ok(Exit::Holds);
    }
    let Some(experiment) = &args.experiment else { return Err(Failure::Usage("which experiment?".into())) };
    let source = shipped::find(experiment)?;
    let plan = command::plan(&source, &args.plan)?;
    let experiment = &plan.experiment;
    let listed = consent::with_quick(&plan, &source, &args.plan)?;
    if args.format == PlainFormat::Json {
        output::json(&effects::json(&plan, &listed, "plimsoll.check/1"))?;
    } else {
        output::text(|out| {
            writeln!(
                out,
                "{} is in order: {}, {}, {}, {}, {}",
                source.origin,
                counted(experiment.hosts.len(), "host"),
                counted(experiment.services.len(), "service"),
                counted(experiment.loads.len(), "load"),
                counted(plan.cells.len(), "cell"),
                counted(experiment.claims.len(), "claim")
            )?;
            writeln!(out, "{}", effects::heading(&plan))?;
            effects::text(out, &plan, &listed)
        })?;
    }
    for (what, program) in missing_programs(experiment) {
        messages::say(format_args!("warning: {what}: there is no program `{program}` on this machine"));
    }
    plimsoll_assess::shortfalls(&plan)
        .iter()
        .for_each(|shortfall| messages::say(format_args!("note: {shortfall}")));
    Ok(Exit::Holds)
}

/// The programs that services and loads of this machine start, and that are not on it.
fn missing_programs(experiment: &Experiment) -> Vec<(String, &str)> {
    let here = |host: &str| experiment.hosts.get(host).is_some_and(|host| host.reach.is_none());
    let of_services =
        experiment.services.iter().filter(|(_, service)| here(&service.on)).filter_map(|(name, service)| {
            let ServiceKind::Exec(exec) = &service.kind else { return None };
            Some((format!("services.{name}"), exec.argv.first()?.as_str()))
        });
    let of_loads = experiment.loads.iter().filter(|(_, load)| here(&load.from)).filter_map(|(name, load)| {
        let LoadKind::Exec(exec) = &load.kind else { return None };
        Some((format!("loads.{name}"), exec.command.first()?.as_str()))
    });
    of_services
        .chain(of_loads)
        .filter(|(_, program)| plimsoll_agent::find_program(program).is_none())
        .collect()
}
