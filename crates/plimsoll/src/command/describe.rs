//! `plimsoll describe`.
use std::io::{self, Write};

use plimsoll_model::experiment::{Action, Experiment, Filesystem, Phase};
use plimsoll_model::plan::Plan;
use plimsoll_report::escape::terminal;

use crate::args::{DescribeArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{command, effects, output, shipped};

pub(crate) fn run(args: &DescribeArgs) -> Result<Exit, Failure> {
    let source = shipped::find(&args.experiment)?;
    if args.source {
        output::document(|out| out.write_all(source.text.as_bytes()))?;
        return Ok(Exit::Holds);
    }
    let plan = command::plan(&source, &args.plan)?;
    match args.format {
        PlainFormat::Text => output::text(|out| describe(out, &plan)),
        PlainFormat::Json => output::document(|out| effects::json(out, &plan, "plimsoll.describe/1")),
    }?;
    Ok(Exit::Holds)
}

fn describe(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    let experiment = &plan.experiment;
    writeln!(out, "{}: {}\n", terminal(&plan.name), terminal(&experiment.question))?;
    for line in experiment.description.trim().lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\nHosts")?;
    for (name, host) in &experiment.hosts {
        let forwards = if host.forward { ", forwards" } else { "" };
        writeln!(out, "  {name}: {}{forwards}", host.kind.describe())?;
    }
    for link in &experiment.links {
        writeln!(out, "  {} -- {}", link.between[0], link.between[1])?;
    }
    if experiment.control.is_some() {
        writeln!(out, "  and the same once more, as the control")?;
    }
    if !experiment.services.is_empty() {
        writeln!(out, "\nServices")?;
    }
    for (name, service) in &experiment.services {
        writeln!(out, "  {} on {}: {}", terminal(name), service.on, terminal(&service.describe()))?;
    }
    storage(out, experiment)?;
    loads(out, experiment)?;
    if let Some(capture) = &experiment.capture {
        let hosts = capture.hosts(&experiment.loads).join(", ");
        writeln!(out, "\nPackets are captured on {hosts}, {} bytes of each", capture.snap)?;
    }
    writeln!(out, "\nA trial")?;
    phases(out, &experiment.phases, 1)?;
    for (name, factor) in &experiment.factors {
        let settings: Vec<&str> = factor.set.iter().collect();
        let levels: Vec<String> = factor.levels.iter().map(ToString::to_string).collect();
        writeln!(out, "\nFactor {name}: {} = {}", settings.join(", "), levels.join(", "))?;
    }
    let run = &experiment.run;
    let cells = plan.cells.len();
    writeln!(out, "\n{} to {} trials of each of {cells} cell(s)", run.min_trials, run.max_trials)?;
    writeln!(out, "\nClaims")?;
    if experiment.claims.is_empty() {
        writeln!(out, "  none: only a measurement that fails makes it end with another status than 0")?;
    }
    for claim in &experiment.claims {
        writeln!(out, "  {}", claim.describe())?;
    }
    if let Some(remedies) = &experiment.remedies {
        let ladder: Vec<&str> = remedies.ladder.iter().map(|rung| rung.name()).collect();
        writeln!(out, "  if it does not recover, for `{}`: {}", remedies.service, ladder.join(", "))?;
    }
    writeln!(out, "\nOn this machine")?;
    effects::text(out, plan)
}

/// What loads store on, and who else is there.
fn storage(out: &mut dyn Write, experiment: &Experiment) -> io::Result<()> {
    if !experiment.volumes.is_empty() {
        writeln!(out, "\nVolumes")?;
    }
    for (name, volume) in &experiment.volumes {
        let what = match (&volume.image, &volume.device) {
            (Some(image), _) => {
                let filesystem = image.filesystem.map_or("raw", Filesystem::name);
                format!("a loop device of {}, {filesystem}", image.size)
            }
            (None, Some(device)) => device.clone(),
            (None, None) => "a folder".to_owned(),
        };
        let scheduler = volume.queue.scheduler.as_ref();
        let scheduler = scheduler.map_or_else(String::new, |name| format!(", scheduler {name}"));
        writeln!(out, "  {name} on {}: {what}{scheduler}", volume.on)?;
    }
    if !experiment.background.is_empty() {
        writeln!(out, "\nBackground loads")?;
    }
    for (name, background) in &experiment.background {
        let when = match (background.every, background.stays) {
            (Some(every), Some(stays)) => format!("for {stays} in every {every}"),
            _ => "all the time".to_owned(),
        };
        writeln!(out, "  {name}: {}, {when}", background.load)?;
    }
    Ok(())
}

fn phases(out: &mut dyn Write, phases: &[Phase], depth: usize) -> io::Result<()> {
    for phase in phases {
        let what = if let Some(load) = &phase.measure {
            format!("measure {load}")
        } else if let Some(load) = &phase.drive {
            format!("drive {load}")
        } else if !phase.actions.is_empty() {
            let done: Vec<String> = phase.actions.iter().map(Action::describe).collect();
            format!("{}{}", if phase.skip { "left out: " } else { "" }, done.join("; "))
        } else if let Some(settle) = &phase.settle {
            let until = settle
                .drained
                .as_ref()
                .map_or_else(String::new, |host| format!(", until no connection is left on {host}"));
            let arrived = settle
                .delivered
                .as_ref()
                .map_or_else(String::new, |sink| format!(", until all mail has arrived at {sink}"));
            format!("wait {}{arrived}{until}", settle.at_least)
        } else if let Some(service) = &phase.stop {
            format!("stop {service}")
        } else if let Some(service) = &phase.start {
            format!("start {service}")
        } else if let Some(watch) = &phase.watch {
            format!(
                "watch {} until it is as good as {}, for at most {}",
                watch.load, watch.against, watch.give_up
            )
        } else if let Some(search) = &phase.search {
            format!(
                "search with {} for the highest rate up to {}/s that holds the bound",
                search.load, search.to
            )
        } else {
            format!("{} times:", phase.repeat.unwrap_or(1))
        };
        writeln!(out, "{}{}: {}", "  ".repeat(depth), terminal(&phase.name), terminal(&what))?;
        self::phases(out, &phase.steps, depth + 1)?;
    }
    Ok(())
}

fn loads(out: &mut dyn Write, experiment: &Experiment) -> io::Result<()> {
    writeln!(out, "\nLoads")?;
    for (name, load) in &experiment.loads {
        writeln!(out, "  {name}: {}", load.describe(experiment, name))?;
    }
    Ok(())
}
