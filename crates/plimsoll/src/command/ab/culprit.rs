//! The commit behind a change for the worse: `bisect` with the same command, build and figure.

use clap::ValueEnum;

use super::sides::Side;
use crate::args::{self, AbArgs, AbFormat, Command, CommandMetric};
use crate::command::bisect;
use crate::failure::Failure;
use crate::measure::Gauge;

/// Refuses what `bisect` cannot go on from.
pub(super) fn check(args: &AbArgs, sides: &[Side; 2]) -> Result<(), Failure> {
    let usage = |what: &str| Err(Failure::Usage(format!("--bisect {what}")));
    if sides.iter().any(|side| side.commit.is_none()) {
        return usage("needs two revisions, and one of these is not a revision");
    }
    if args.command.iter().any(|word| word.contains("{}")) {
        return usage("runs the command in the folder of each commit, and takes no `{}`");
    }
    if sides.iter().any(|side| side.path != side.top) {
        return usage("starts in the top folder of the repository: name it with --git");
    }
    Ok(())
}

/// Searches, and prints what is found below the verdict.
pub(super) fn search(args: &AbArgs, metric: &str) -> Result<(), Failure> {
    let mut words: Vec<String> = ["plimsoll", "bisect", "--good", &args.base, "--bad", &args.head, "--git"]
        .map(ToOwned::to_owned)
        .into();
    words.push(args.git.display().to_string());
    let used = CommandMetric::value_variants().iter().find(|used| Gauge::Used(**used).metric() == metric);
    let used = used.and_then(ValueEnum::to_possible_value).map(|value| value.get_name().to_owned());
    let options = [
        ("--build", args.build.clone()),
        ("--prepare", args.prepare.clone()),
        ("--figure", args.figure.clone()),
        ("--metric", used.filter(|_| args.figure.is_none())),
        ("--seed", args.seed.map(|seed| seed.to_string())),
        ("--format", Some(if args.format == AbFormat::Json { "json" } else { "text" }.to_owned())),
    ];
    for (option, value) in options {
        words.extend(value.map(|value| format!("{option}={value}")));
    }
    let flags = [
        ("--higher-is-better", args.higher_is_better && args.figure.is_some()),
        ("--ignore-failure", args.ignore_failure),
    ];
    words.extend(flags.into_iter().filter(|(_, set)| *set).map(|(flag, _)| flag.to_owned()));
    words.push("--".to_owned());
    words.extend(args.command.iter().cloned());
    let parsed = args::parse(words.into_iter().map(Into::into).collect())
        .map_err(|error| Failure::could_not(error.to_string()))?;
    match parsed.command {
        Command::Bisect(args) => bisect::run(&args).map(drop),
        _ => Ok(()),
    }
}
