//! Arguments of `selftest`.

use std::path::PathBuf;

use clap::ValueEnum;
use plimsoll_model::units::Span;

/// Arguments of `selftest`.
#[derive(Debug, clap::Args)]
pub struct SelftestArgs {
    /// Try only these cases; --list has their names [default: all].
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
    /// List the cases, and try none.
    #[arg(long)]
    pub list: bool,
    /// Try each case this number of times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Begin no case after this time; one that is under way goes on.
    #[arg(long = "for", value_name = "TIME", default_value = "5m")]
    pub time: Span,
    /// Keep the runs in this file, for `plimsoll show` [default: they are thrown away].
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: SelftestFormat,
}

/// How to print a self-test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SelftestFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: schema plimsoll.selftest/1.
    Json,
    /// For a report of a flaw, or the summary of a CI job.
    Markdown,
}
