//! One module per command.

pub(crate) mod agent;
pub(crate) mod check;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod list;
pub(crate) mod run;
pub(crate) mod show;

use plimsoll_model::experiment::{Override, parse_value};
use plimsoll_model::plan::{Plan, Settings};

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::shipped::Source;

/// What the command line sets, as it is stored with a run: the words themselves.
fn settings_of(args: &PlanArgs) -> Result<Settings, Failure> {
    let mut settings = Settings { quick: args.quick, ..Settings::default() };
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

/// Reads an experiment with the settings of the command line.
fn plan(source: &Source, args: &PlanArgs) -> Result<Plan, Failure> {
    let settings = settings_of(args)?;
    Plan::read(&source.name, &source.text, &settings)
        .map_err(|error| Failure::File { name: source.origin.clone(), error: Box::new(error) })
}
