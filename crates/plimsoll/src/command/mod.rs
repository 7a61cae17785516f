//! One module per command.

pub(crate) mod ab;
pub(crate) mod agent;
pub(crate) mod baseline;
pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod compare;
mod consent;
pub(crate) mod copying;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod inventory;
pub(crate) mod judge;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod model;
pub(crate) mod new;
pub(crate) mod record;
pub(crate) mod remove;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod tag;
pub(crate) mod task;
pub(crate) mod trace;
pub(crate) mod watch;

use plimsoll_model::experiment::{Override, parse_value};
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::{Plan, Settings};
use plimsoll_model::report::RunReport;
use plimsoll_store::RunEntry;

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::shipped::Source;

/// Settings of the command line, as they are stored with a run: the words themselves.
fn settings_of(args: &PlanArgs) -> Result<Settings, Failure> {
    let mut settings = Settings {
        quick: args.quick,
        audit_probes: args.audit_probes,
        intervention: args.intervention.clone(),
        ..Settings::default()
    };
    for text in &args.set {
        let (path, value) =
            split(text).ok_or_else(|| Failure::Usage(format!("--set {text}: expected KEY=VALUE")))?;
        let change = Override::new(path, &parse_value(value))
            .map_err(|error| Failure::File { name: format!("--set {text}"), error: Box::new(error) })?;
        settings.overrides.push(change);
    }
    for text in &args.factor {
        let (name, levels) =
            split(text).ok_or_else(|| Failure::Usage(format!("--factor {text}: expected NAME=A,B")))?;
        settings.levels.insert(name.to_owned(), levels.split(',').map(parse_value).collect());
    }
    Ok(settings)
}

fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
}

/// The report of a stored run.
pub(crate) fn report_of(plan: &Plan, entry: &RunEntry, trials: &[TrialRecord]) -> RunReport {
    let run = plimsoll_assess::Run {
        id: &entry.id,
        experiment: &entry.experiment,
        seed: entry.seed,
        rerun: again(entry),
        started_unix_s: entry.started_unix_s,
        elapsed: entry.elapsed,
        status: entry.status,
        notes: &entry.notes,
    };
    plimsoll_assess::report(plan, &run, trials)
}

/// The figures of a run that are followed from run to run.
pub(crate) fn followed(report: &RunReport) -> Vec<plimsoll_store::Figure> {
    let figures = plimsoll_report::history::followed(report).into_iter();
    figures
        .map(|it| plimsoll_store::Figure {
            name: it.name,
            unit: it.unit,
            value: it.value,
            interval: it.interval,
        })
        .collect()
}

/// Options of the command line that changed the file of a stored run.
pub(crate) fn settings_of_run(entry: &RunEntry) -> Vec<String> {
    // The words behind `plimsoll run NAME`.
    again(entry).into_iter().skip(3).collect()
}

/// The command line that carries out a stored run again.
pub(crate) fn again(entry: &RunEntry) -> Vec<String> {
    // Planning the run reports unreadable settings.
    let args: PlanArgs = serde_json::from_value(entry.settings.clone()).unwrap_or_default();
    if let Some(intervention) = &args.intervention {
        let causes = intervention.changes().flat_map(|one| ["--cause", one.cause.id()]);
        let words = ["plimsoll", "explain", &intervention.run, "--confirm"].into_iter().chain(causes);
        return words.map(ToOwned::to_owned).collect();
    }
    let mut words: Vec<String> = ["plimsoll", "run", &args.origin].map(ToOwned::to_owned).into();
    words.extend(args.quick.then(|| "--quick".to_owned()));
    words.extend(args.audit_probes.then(|| "--audit-probes".to_owned()));
    words.extend(args.set.into_iter().flat_map(|set| ["--set".to_owned(), set]));
    words.extend(args.factor.into_iter().flat_map(|factor| ["--factor".to_owned(), factor]));
    words.extend(args.on.into_iter().flat_map(|on| ["--on".to_owned(), on]));
    words.extend(["--seed".to_owned(), entry.seed.to_string()]);
    words
}

/// Reads an experiment with the settings of the command line, and the files that it names.
fn plan(source: &Source, args: &PlanArgs) -> Result<Plan, Failure> {
    source.report_shadow();
    with_files(plan_without_files(source, args)?, source, args)
}

/// Reads an experiment with the settings of the command line, to judge what was measured with it.
fn plan_without_files(source: &Source, args: &PlanArgs) -> Result<Plan, Failure> {
    let settings = settings_of(args)?;
    Plan::read(&source.name, &source.text, &settings)
        .map_err(|error| Failure::File { name: source.origin.clone(), error: Box::new(error) })
}

/// A plan with the configuration files that its services name: as they are stored with a run, or as they are now.
fn with_files(plan: Plan, source: &Source, args: &PlanArgs) -> Result<Plan, Failure> {
    let stored = |config: &str| args.files.get(config).cloned().map(Ok);
    plan.with_templates(|config| stored(config).unwrap_or_else(|| source.beside(config)))
        .map_err(|error| Failure::File { name: source.origin.clone(), error: Box::new(error) })
}
