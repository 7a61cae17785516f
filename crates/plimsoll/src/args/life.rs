//! Arguments of commands on stored runs: `history`, `tag`, `baseline`, `push`, `pull`, `rm`, `prune`.

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::ArgValueCompleter;
use plimsoll_model::units::Span;

use super::{PlainFormat, StoreArgs, completing};

/// Arguments of `history`.
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// Only runs of this experiment.
    pub experiment: Option<String>,
    /// Only runs with this tag.
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Show where the figures of the experiment changed from run to run, instead of listing the runs.
    #[arg(long, requires = "experiment", conflicts_with_all = ["tag", "last"])]
    pub changes: bool,
    /// Only the newest N.
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// How to print the list.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `tag`.
#[derive(Debug, clap::Args)]
pub struct TagArgs {
    /// The run: its id, the start of its id, the name of a baseline, or `latest`.
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub run: String,
    /// Tags to add: words to find the run by.
    #[arg(required_unless_present_any = ["remove", "note"], value_parser = label)]
    pub tags: Vec<String>,
    /// Take this tag away. May be given several times.
    #[arg(long, value_name = "TAG")]
    pub remove: Vec<String>,
    /// Write this about the run, in place of what was written before.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `baseline`.
#[derive(Debug, clap::Args)]
pub struct BaselineArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: BaselineCommand,
    /// The file of runs [default: plimsoll/runs.sqlite in the user's state folder], or a database on a server of PostgreSQL's:
    /// postgres://USER@HOST/DATABASE.
    // As in all other commands it may stand behind what it is about.
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_STORE", global = true)]
    #[arg(hide_env_values = true, hide_default_value = true)]
    pub store: Option<PathBuf>,
}

/// What to do with baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Make a run the baseline of a name: the name then stands for the run in every command.
    Set {
        /// The run: its id, the start of its id, or `latest`.
        #[arg(add = ArgValueCompleter::new(completing::runs))]
        run: String,
        /// The name. A baseline that has it already is replaced; its run stays.
        #[arg(value_parser = label)]
        name: String,
    },
    /// List the baselines.
    List {
        /// How to print the list.
        #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
        format: PlainFormat,
    },
    /// Forget a baseline; its run stays.
    Rm {
        /// The name.
        name: String,
    },
}

/// Arguments of `push`.
#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// The runs: ids, starts of ids, names of baselines, or `latest`.
    #[arg(required = true, value_name = "RUN")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub runs: Vec<String>,
    /// The store that gets them: a file, or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "STORE")]
    pub to: PathBuf,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `pull`.
#[derive(Debug, clap::Args)]
pub struct PullArgs {
    /// The runs, as the other store has them: ids, starts of ids, names of baselines, or `latest`.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// The store that has them: a file, or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "STORE")]
    pub from: PathBuf,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `rm`.
#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// The runs: ids, starts of ids, or `latest`.
    #[arg(required = true, value_name = "RUN")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub runs: Vec<String>,
    /// Only list what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `prune`.
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    /// Keep the newest N runs of each experiment.
    #[arg(long, value_name = "N", required_unless_present = "older_than")]
    pub keep: Option<usize>,
    /// Remove only what began longer ago than this (720h). With `--keep`, a run must be both to go.
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<Span>,
    /// Only runs of this experiment.
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only list what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A word that names something: it must not be taken for an option or for `latest`.
pub(super) fn label(text: &str) -> Result<String, String> {
    let fits = |letter: char| letter.is_alphanumeric() || "._-+:/".contains(letter);
    match text {
        "" => Err("a name was expected".into()),
        "latest" => Err("`latest` stands for the newest run".into()),
        _ if text.starts_with('-') || !text.chars().all(fits) => {
            Err("letters, digits and any of . _ - + : / were expected, and no - at the start".into())
        }
        _ if text.chars().count() > 60 => Err("at most 60 letters were expected".into()),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_that_a_command_line_can_hold() {
        for good in ["release", "6.12", "v1.2+rc:3", "team/a", "größer"] {
            assert_eq!(label(good).as_deref(), Ok(good));
        }
        for bad in ["", "latest", "-x", "two words", "a\u{1b}[31m", &"x".repeat(61)] {
            assert!(label(bad).is_err(), "{bad:?}");
        }
    }
}
