//! Arguments of `new`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Examples that `--help` shows.
const EXAMPLES: &str = "\
Examples:
  plimsoll new                                  # ask on the terminal
  plimsoll new --from http://127.0.0.1:8080     # a server that runs already
  plimsoll new --from './server --port {port}'  # a program that Plimsoll starts
  plimsoll new --from 'make -j4' --good 30s     # a command that ends
  plimsoll new --from docker-compose.yml:web    # the published port of a service";

/// Arguments of `new`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct NewArgs {
    /// The file to write; `-` is standard output. An existing file is never replaced.
    #[arg(default_value = "experiment.toml")]
    pub file: PathBuf,
    /// Ask nothing, and write an experiment about this: the address of a running server, a command line, COMPOSE_FILE:SERVICE, or a recording. A command line with
    /// `{port}` starts a server. A recording (`plimsoll record`) becomes the traffic, settings, rules and routes that it saw. Give it twice with `--kind compare`.
    #[arg(long, value_name = "WHAT")]
    pub from: Vec<String>,
    /// The question that the experiment answers [default: promise].
    #[arg(long, value_enum, requires = "from")]
    pub kind: Option<NewKind>,
    /// The port on which a command line listens, if it has no `{port}`.
    #[arg(long, value_name = "PORT", requires = "from", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// The bound of a good result: a time for `capacity` and `promise` (50ms), a share for `compare` and `recovery` (5%).
    #[arg(long, value_name = "BOUND", requires = "from")]
    pub good: Option<String>,
}

/// Question of a new experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NewKind {
    /// Which of two is faster?
    Compare,
    /// Does it recover from a flood?
    Recovery,
    /// How much can it carry?
    Capacity,
    /// Is it as fast as promised?
    #[default]
    Promise,
}
