//! Options that are set by the environment: what is set for all commands must not stop one that cannot use it.

use std::ffi::{OsStr, OsString};

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, ValueEnum};

use super::defaults::Defaults;
use super::{Args, Format, TraceFormat};

/// The variable that says how results are printed.
const FORMAT: &str = "PLIMSOLL_FORMAT";
/// Options that a resumed run has already, and that cannot be given again. The environment may have them for other runs.
const SETTLED: [&str; 5] = ["quick", "set", "factor", "audit_probes", "seed"];

/// Reads a command line.
///
/// # Errors
/// When it makes no sense, or asks for help or the version.
pub fn parse(args: Vec<OsString>) -> Result<Args, clap::Error> {
    let mut command = command(std::env::var_os(FORMAT).as_deref());
    command = Defaults::of_user()
        .and_then(|defaults| defaults.apply(command.clone()))
        .map_err(|why| command.error(ErrorKind::InvalidValue, why))?;
    let matches = command.try_get_matches_from_mut(args)?;
    if let Some(again) = given_again(&matches) {
        let message = format!("the argument '--resume' cannot be used with '--{}'", again.replace('_', "-"));
        return Err(command.error(ErrorKind::ArgumentConflict, message));
    }
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The command line, where this format is wanted of all commands: one that has it not keeps to its own. A format that no command has
/// stays an error.
fn command(format: Option<&OsStr>) -> Command {
    let format = format.and_then(OsStr::to_str);
    let known = format.is_some_and(|name| {
        Format::from_str(name, false).is_ok() || TraceFormat::from_str(name, false).is_ok()
    });
    let fitting = |arg: Arg| {
        let is_set = known && arg.get_env() == Some(OsStr::new(FORMAT));
        let has = || arg.get_possible_values().iter().any(|value| Some(value.get_name()) == format);
        if is_set && !has() { arg.env(Resettable::Reset) } else { arg }
    };
    Args::command().mut_subcommands(move |command| command.mut_args(fitting))
}

/// The variables of the environment that set options, of whatever command.
pub(crate) fn variables() -> Vec<OsString> {
    let command = Args::command();
    let of = |command: &Command| {
        let set = command.get_arguments().filter_map(Arg::get_env);
        set.map(ToOwned::to_owned).collect::<Vec<OsString>>()
    };
    command.get_subcommands().chain([&command]).flat_map(of).collect()
}

/// The setting that a run that goes on is given on the command line.
fn given_again(matches: &ArgMatches) -> Option<&'static str> {
    let run = matches.subcommand_matches("run")?;
    let given = |id: &&str| run.value_source(id) == Some(ValueSource::CommandLine);
    given(&"resume").then(|| SETTLED.into_iter().find(given)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_of(wanted: Option<&str>, words: &[&str]) -> Option<OsString> {
        let arg = command(wanted.map(OsStr::new));
        let arg = arg.find_subcommand(words[0]).unwrap().get_arguments().find(|arg| arg.get_id() == "format");
        arg.unwrap().get_env().map(ToOwned::to_owned)
    }

    #[test]
    fn a_format_that_a_command_cannot_print_is_left_to_the_others() {
        assert_eq!(format_of(Some("html"), &["show"]).as_deref(), Some(OsStr::new(FORMAT)));
        assert_eq!(format_of(Some("html"), &["list"]), None);
        assert_eq!(format_of(Some("json"), &["list"]).as_deref(), Some(OsStr::new(FORMAT)));
        assert_eq!(format_of(Some("htmll"), &["list"]).as_deref(), Some(OsStr::new(FORMAT)), "an error");
    }

    #[test]
    fn the_variables_of_options_are_those_of_all_commands() {
        let all = variables();
        for name in ["PLIMSOLL_COLOR", "PLIMSOLL_REPS", "PLIMSOLL_STORE"] {
            assert!(all.iter().any(|variable| variable == name), "{name}: {all:?}");
        }
    }

    #[test]
    fn what_a_run_has_already_is_not_given_again() {
        let refused = |words: &[&str]| {
            let words = ["plimsoll", "run"].iter().chain(words).map(OsString::from).collect();
            parse(words).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["--resume", "latest"]), None);
        let error = refused(&["--resume", "latest", "--quick"]).unwrap();
        assert!(error.contains("'--resume' cannot be used with '--quick'"), "{error}");
        assert!(refused(&["--resume", "latest", "--seed", "1"]).is_some());
        assert_eq!(refused(&["flood-relay", "--quick"]), None);
    }
}
