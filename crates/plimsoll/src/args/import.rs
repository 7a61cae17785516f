//! Arguments of `import` and `export`.

use clap_complete::ArgValueCompleter;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::FalseyValueParser;
use serde::{Deserialize, Serialize};

use super::life::label;
use super::{Decimal, PageFormat, StoreArgs, completing};

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// What other tools printed: files, or `-` for standard input. What is in them is seen from their lines; text may be quoted and stand in prose.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// How they are read and judged.
    #[command(flatten)]
    pub reading: Reading,
    /// Print what was read, and keep nothing.
    #[arg(long, env = "PLIMSOLL_NO_STORE", value_parser = FalseyValueParser::new())]
    pub no_store: bool,
    /// Add a tag to what is stored, to find it by. May be given several times.
    #[arg(long, value_name = "TAG", value_parser = label)]
    pub tag: Vec<String>,
    /// Write this about what is stored.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// How to print it. What is printed as JSON is not stored.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PageFormat,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// How files are read and judged. It is stored with them, so that they can be read again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(default)]
pub struct Reading {
    /// Read them as this format only; docs/reference/formats.md lists all.
    #[arg(long = "as", value_name = "FORMAT", env = "PLIMSOLL_AS")]
    pub format_name: Option<String>,
    /// Read this column of a CSV file. May be given several times [default: every column that has numbers].
    #[arg(long, value_name = "NAME")]
    pub column: Vec<String>,
    /// What stands before the decimals of numbers in CSV files and bare lists. Without it, what could be either (1,234) is not read.
    #[arg(long, value_enum, value_name = "MARK", env = "PLIMSOLL_DECIMAL")]
    pub decimal: Option<Decimal>,
    /// Keep only these figures: a metric, and labels that it must have (latency,percentile=99). May be given several times.
    #[arg(long, value_name = "METRIC[,LABEL=VALUE]")]
    pub metric: Vec<String>,
    /// Judge the figures: changes, compare, factors, growth, modes, recovery or scaling. Compare and recovery take two files, or two calls of a tool in
    /// one file: the second against the first. Factors take labels and files.
    #[arg(long, value_name = "TEST")]
    pub judge: Option<String>,
    /// For compare and recovery of one file: from this line on it is the second side.
    #[arg(long, value_name = "LINE", requires = "judge")]
    pub split: Option<u64>,
    /// By how much the second side may differ from the first and still be the same, as a share (0.05) [default: that of the test].
    #[arg(long, value_name = "SHARE", requires = "judge", value_parser = margin)]
    pub margin: Option<f64>,
    /// Which way the figure is better, where that is not known.
    #[arg(long, value_enum, value_name = "WAY", requires = "judge")]
    pub better: Option<BetterDirection>,
}

impl Reading {
    /// The arguments as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let named =
            |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
        let each = |name: &'static str, values: &[String]| -> Vec<(&'static str, String)> {
            values.iter().map(|value| (name, value.clone())).collect()
        };
        let once = [
            ("--as", self.format_name.clone()),
            ("--decimal", named(self.decimal.and_then(|decimal| decimal.to_possible_value()))),
            ("--judge", self.judge.clone()),
            ("--split", self.split.map(|line| line.to_string())),
            ("--margin", self.margin.map(|margin| margin.to_string())),
            ("--better", named(self.better.and_then(|way| way.to_possible_value()))),
        ];
        let once = once.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let several = each("--column", &self.column).into_iter().chain(each("--metric", &self.metric));
        once.chain(several).flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum BetterDirection {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

fn margin(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number was expected".to_owned())?;
    (number > 0.0 && number < 1.0).then_some(number).ok_or_else(|| "it must be between 0 and 1".to_owned())
}

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The run: its id, the start of its id, or `latest`.
    #[arg(default_value = "latest")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub run: String,
    /// What to write.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: ExportFormat,
    /// What of the run, for csv, jsonl and openmetrics [default: figures].
    #[arg(long, value_enum, default_value_t)]
    pub rows: ExportRows,
    /// Only this metric or counter, such as `p99_ms` or `stat.cpu.system`. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// Only this phase. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub phase: Vec<String>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// How to write a run for other programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A table with a heading (RFC 4180).
    #[default]
    Csv,
    /// One JSON object on each line.
    Jsonl,
    /// OpenMetrics 1.0 text, as Prometheus reads it.
    Openmetrics,
    /// A table of Apache Parquet, as DuckDB, pandas and Spark read it.
    Parquet,
    /// Sampled stacks, one on each line, for tools that draw flame graphs.
    Folded,
    /// Sampled stacks as a gzipped profile of pprof, with the two sides of a comparison as its sample types `before` and `after`.
    Pprof,
    /// Latencies as HdrHistogram's percentile distribution, a block for each cell, phase and arm.
    Hdr,
}

/// What of a run is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportRows {
    /// The figures of each slice of each load.
    #[default]
    Figures,
    /// The counts in each interval of a load.
    Intervals,
    /// The kernel's counters over time.
    Counters,
}
