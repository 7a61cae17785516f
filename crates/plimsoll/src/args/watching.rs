//! Arguments of `watch`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use plimsoll_model::units::Span;

use super::PlainFormat;

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// Count what this network namespace counts: its name (as `ip netns` has it) or the id of a process in it. Needs root.
    #[arg(long, value_name = "NAME|PID", conflicts_with_all = ["cgroup", "pid", "replay"])]
    pub netns: Option<String>,
    /// Look at this control group beside the machine: a folder, or its path below /sys/fs/cgroup.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["pid", "replay"])]
    pub cgroup: Option<PathBuf>,
    /// Look at this process: its network namespace and its control group beside the machine. Needs root where the namespace is another one.
    #[arg(long, value_name = "N", conflicts_with = "replay", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// How often to look.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        env = "PLIMSOLL_EVERY",
        conflicts_with = "replay"
    )]
    pub every: Span,
    /// Look so often, and end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Write what was read to this file, to be replayed.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Show what was recorded. On a terminal the arrow keys go back and forth in time.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Print lines on a terminal, too, instead of using the whole screen.
    #[arg(long, env = "PLIMSOLL_NO_LIVE", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub no_live: bool,
    /// How to print it: JSON is one object a line (schema plimsoll.watch/1).
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
}
