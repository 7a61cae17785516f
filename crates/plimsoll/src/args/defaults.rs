//! Defaults of options from a file of the user's own, `plimsoll/config.toml` in the folder for configuration (XDG Base Directory), or the file
//! that `PLIMSOLL_CONFIG` names. The environment comes before the file, and the command line before both.
//!
//! A key is the name of an option with `_` for `-`. At the top it holds for each command that has the option; in a table, for the command of
//! that name. Only options that the environment may set can be set here: what a command is about stands on its command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use crate::bounded;

/// The variable that names the file.
pub(crate) const FILE: &str = "PLIMSOLL_CONFIG";
/// Prefix of the variables of options.
const PREFIX: &str = "PLIMSOLL_";

/// Settings of a file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Defaults {
    /// The file.
    place: PathBuf,
    everywhere: BTreeMap<String, String>,
    of_command: BTreeMap<String, BTreeMap<String, String>>,
}

impl Defaults {
    /// Defaults of the user; none where there is no file.
    pub(super) fn of_user() -> Result<Self, String> {
        let named = std::env::var_os(FILE).filter(|path| !path.is_empty());
        let Some(path) = named.clone().map(PathBuf::from).or_else(usual_place) else {
            return Ok(Self::default());
        };
        match bounded::text(&path, bounded::FILE) {
            Ok(text) => Self::read(&text, &path).map_err(|why| format!("{}: {why}", path.display())),
            // A missing file of the user is no error; a missing file that was named is.
            Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => Ok(Self::default()),
            Err(error) => Err(format!("{FILE}: cannot read {}: {error}", path.display())),
        }
    }

    fn read(text: &str, place: &Path) -> Result<Self, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut defaults = Self { place: place.to_owned(), ..Self::default() };
        for (key, value) in table {
            match value {
                toml::Value::Table(of_command) => {
                    let settings = of_command.into_iter().map(|(key, value)| single(key, &value));
                    defaults.of_command.insert(key, settings.collect::<Result<_, _>>()?);
                }
                value => defaults.everywhere.extend([single(key, &value)?]),
            }
        }
        Ok(defaults)
    }

    /// The command line with these defaults.
    pub(super) fn apply(self, command: Command) -> Result<Command, String> {
        self.check(&command).map_err(|why| format!("{}: {why}", self.place.display()))?;
        let command = command.mut_args(|arg| self.with_default(arg, None));
        Ok(command.mut_subcommands(|command| {
            let name = command.get_name().to_owned();
            command.mut_args(|arg| self.with_default(arg, Some(&name)))
        }))
    }

    fn with_default(&self, arg: Arg, command: Option<&str>) -> Arg {
        let Some(key) = key_of(&arg) else { return arg };
        let own = command.and_then(|name| self.of_command.get(name)?.get(&key));
        // The format of one command may not exist in another, which keeps its own.
        let fits = |value: &&String| {
            let possible = arg.get_possible_values();
            own.is_some() || possible.is_empty() || possible.iter().any(|it| it.matches(value, false))
        };
        match own.or_else(|| self.everywhere.get(&key).filter(fits)) {
            // The command line is made once in the life of a process, and lives as long.
            Some(value) => arg.default_value(&*Box::leak(value.clone().into_boxed_str())),
            None => arg,
        }
    }

    /// Each key is that of an option which can be set so.
    fn check(&self, command: &Command) -> Result<(), String> {
        let of = |command: &Command| command.get_arguments().filter_map(key_of).collect::<Vec<_>>();
        let global = of(command);
        let all: Vec<String> = command.get_subcommands().flat_map(of).chain(global.clone()).collect();
        for key in self.everywhere.keys() {
            known(key, &all)?;
        }
        for (name, settings) in &self.of_command {
            let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
            known(name, &names)?;
            let own = command.find_subcommand(name).map(of).unwrap_or_default();
            for key in settings.keys() {
                known(key, &own).map_err(|why| format!("[{name}] {why}"))?;
            }
        }
        Ok(())
    }
}

/// The key of an option: what its variable is called behind the prefix.
fn key_of(arg: &Arg) -> Option<String> {
    Some(arg.get_env()?.to_str()?.strip_prefix(PREFIX)?.to_lowercase())
}

fn known(key: &String, all: &[String]) -> Result<(), String> {
    if all.contains(key) {
        return Ok(());
    }
    let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    Err(format!("there is no `{key}`, expected one of {}", all.join(", ")))
}

fn single(key: String, value: &toml::Value) -> Result<(String, String), String> {
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(truth) => truth.to_string(),
        other => {
            return Err(format!("`{key}` is {}, expected a text, a number, true or false", other.type_str()));
        }
    };
    Ok((key, text))
}

fn usual_place() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(|it: OsString| PathBuf::from(it)).filter(|it| it.is_absolute())
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(folder.join(Path::new("plimsoll/config.toml")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::{Args, Command as Parsed};
    use super::*;

    fn parsed(file: &str, words: &[&str]) -> Result<Args, String> {
        let command = Defaults::read(file, Path::new("config.toml"))?.apply(Args::command())?;
        let words = [&["plimsoll"], words].concat();
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        clap::FromArgMatches::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_sets_options_for_all_commands_or_for_one_and_the_command_line_comes_first() {
        let file = "no_live = true\nformat = \"markdown\"\n[run]\nheartbeat = \"5s\"\nreps = 3\n";
        let run = |words: &[&str]| match parsed(file, words).unwrap().command {
            Parsed::Run(run) => run,
            other => panic!("{other:?}"),
        };
        let given = run(&["run", "x"]);
        assert!(given.no_live && !given.plan.quick);
        assert_eq!((given.reps, given.heartbeat.map(|it| it.0.as_secs())), (Some(3), Some(5)));
        assert_eq!(run(&["run", "x", "--reps", "7"]).reps, Some(7));
        assert!(parsed(file, &["list"]).is_ok(), "a format that it has not is left to the others");
    }

    #[test]
    fn what_is_no_option_is_refused_with_those_there_are() {
        let error = |file: &str| parsed(file, &["list"]).unwrap_err();
        assert!(error("quik = true\n").contains("there is no `quik`, expected one of "));
        assert!(error("[run]\nexperiment = \"x\"\n").contains("[run] there is no `experiment`"));
        assert!(error("[walk]\n").contains("there is no `walk`"));
        assert!(error("quick = [1]\n").contains("expected a text"));
        assert!(error("quick = \n").contains("TOML parse error"));
    }
}
