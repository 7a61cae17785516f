//! `plimsoll describe`.
use std::io::{self, Write};

use plimsoll_model::experiment::{Experiment, Filesystem, HookMoment, Phase, RunProgram};
use plimsoll_model::plan::Plan;
use plimsoll_model::units::counted;
use plimsoll_report::escape::terminal;

use plimsoll_store::{Store, Times};

use super::consent;
use crate::args::{DescribeArgs, PlainFormat, PlanArgs};
use crate::effects::Listing;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::forecast::Estimate;
use crate::shipped::Source;
use crate::{command, effects, output, shipped, state};

pub(crate) fn run(args: &DescribeArgs) -> Result<Exit, Failure> {
    let source = shipped::find(&args.experiment)?;
    if args.source {
        output::document(|out| out.write_all(source.text.as_bytes()))?;
        return Ok(Exit::Holds);
    }
    let plan = command::plan(&source, &args.plan)?;
    let listed = consent::with_quick(&plan, &source, &args.plan)?;
    match args.format {
        PlainFormat::Text => {
            let earlier = earlier(args, &source)?;
            output::text(|out| describe(out, &plan, &listed, earlier.as_ref()))
        }
        PlainFormat::Json => output::json(&effects::json(&plan, &listed, "plimsoll.describe/1")),
    }?;
    Ok(Exit::Holds)
}

/// How long an earlier run like this took, where one is stored.
fn earlier(args: &DescribeArgs, source: &Source) -> Result<Option<Times>, Failure> {
    let settings = PlanArgs { origin: args.experiment.clone(), ..args.plan.clone() };
    let settings = serde_json::to_value(&settings).unwrap_or_default();
    // Where nothing says where runs are kept, there are none.
    let Ok(place) = state::place(args.store.store.as_deref()) else { return Ok(None) };
    Ok(Store::open_at_to_read(&place)?.times(&source.name, &source.text, &settings)?)
}

fn describe(out: &mut dyn Write, plan: &Plan, listed: &Listing, earlier: Option<&Times>) -> io::Result<()> {
    let experiment = &plan.experiment;
    writeln!(out, "{}: {}\n", terminal(&plan.name), terminal(&experiment.question))?;
    for line in experiment.description.trim().lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\nHosts")?;
    for (name, host) in experiment.declared_hosts() {
        let forwards = if host.forward { ", forwards" } else { "" };
        let count = host.count.map_or_else(String::new, |count| format!(", {count} of them"));
        let reach = host.reach.as_ref().map_or_else(String::new, |reach| format!(", {}", reach.describe()));
        writeln!(out, "  {name}: {}{forwards}{count}{reach}", host.kind.describe())?;
        hooks(out, 2, |moment| host.hooks(name, moment))?;
    }
    let declared = |host: &String| experiment.hosts.get(host).is_none_or(|host| host.member_of.is_none());
    for link in experiment.links.iter().filter(|link| link.between.iter().all(declared)) {
        writeln!(out, "  {} -- {}", link.between[0], link.between[1])?;
    }
    if experiment.control.is_some() {
        writeln!(out, "  and a second copy of them, as the control")?;
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
    let cells = counted(plan.cells.len(), "cell");
    writeln!(out, "\n{} to {} trials of each of {cells}", run.min_trials, run.max_trials)?;
    writeln!(out, "  {}", Estimate::of(plan, earlier))?;
    writeln!(out, "\nClaims")?;
    if experiment.claims.is_empty() {
        writeln!(out, "  none: only a failed measurement gives an exit status other than 0")?;
    }
    for claim in &experiment.claims {
        writeln!(out, "  {}", claim.describe())?;
    }
    if let Some(remedies) = &experiment.remedies {
        let ladder: Vec<&str> = remedies.ladder.iter().map(|rung| rung.name()).collect();
        writeln!(out, "  if it does not recover, for `{}`: {}", remedies.service, ladder.join(", "))?;
    }
    writeln!(out, "\n{}", effects::heading(plan))?;
    effects::text(out, plan, listed)
}

/// Volumes of the loads, and other users of them.
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

/// The programs around what is measured, a line for each.
fn hooks(out: &mut dyn Write, depth: usize, of: impl Fn(HookMoment) -> Vec<RunProgram>) -> io::Result<()> {
    for moment in HookMoment::ALL {
        for program in of(moment) {
            let when = moment.key().replace('_', " ");
            writeln!(out, "{}{when} on {}: {}", "  ".repeat(depth), program.on, terminal(&program.line()))?;
        }
    }
    Ok(())
}

fn phases(out: &mut dyn Write, phases: &[Phase], depth: usize) -> io::Result<()> {
    for phase in phases {
        let what = phase.describe();
        writeln!(out, "{}{}: {}", "  ".repeat(depth), terminal(&phase.name), terminal(&what))?;
        hooks(out, depth + 2, |moment| phase.hooks(moment))?;
        self::phases(out, phase.inside(), depth + 1)?;
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
