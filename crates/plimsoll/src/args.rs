//! The command line's arguments. Their documentation here is what `--help` and the reference show.

mod completing;
mod creating;
mod defaults;
mod environment;
mod import;
mod life;
mod measuring;
mod model;
mod queue_option;
mod selftest;
mod serving;
mod watching;

pub use creating::{NewArgs, NewKind};
pub(crate) use defaults::FILE as CONFIG;
pub use environment::parse;
pub(crate) use environment::variables;
pub use import::{BetterDirection, ExportArgs, ExportFormat, ExportRows, ImportArgs, Reading};
pub use life::{BaselineArgs, BaselineCommand, HistoryArgs, PruneArgs, PullArgs, PushArgs, RmArgs, TagArgs};
pub use measuring::{
    AbArgs, AbFormat, AbMetric, BisectArgs, CommandMetric, CompareArgs, FigureArgs, Observe,
};
pub use model::{Arriving, Choosing, ModelArgs, Serving, Spread};
pub use queue_option::{QueueKind, QueueOption};
pub use selftest::{SelftestArgs, SelftestFormat};
pub use serving::ServeArgs;
pub use watching::{RecordArgs, TargetArgs, WatchArgs};

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::{FalseyValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::{ArgValueCompleter, Shell};
use plimsoll_model::effect::Consent;
use plimsoll_model::plan::intervention::Intervention;
use plimsoll_model::units::Span;
use serde::{Deserialize, Serialize};
use tracing::Level;

/// How much does this system carry, does it come back up after the flood, and what is holding it down?
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, max_term_width = 110)]
#[command(
    after_help = "Exit status: 0 the claims hold, 1 a claim fails, 2 bad usage or a bad file, 3 could not run, \
                        4 invalid or undecided, 130 interrupted.\n\n\
                        Options with a variable of the environment can also be set in plimsoll/config.toml in the user's folder for \
                        configuration, or in the file that PLIMSOLL_CONFIG names: `no_live = true` for all commands, below [run] for one."
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Colours in text: `auto` has them on a terminal where NO_COLOR is not set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", env = "PLIMSOLL_COLOR")]
    pub color: ColorChoice,
    /// Say nothing on stderr but warnings and errors: no progress, no places of files.
    #[arg(long, short, global = true, env = "PLIMSOLL_QUIET", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub quiet: bool,
    /// Say more on stderr: how long hosts take to come and to go.
    #[arg(long, short, global = true, env = "PLIMSOLL_VERBOSE", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub verbose: bool,
}

impl Args {
    /// The level of messages on stderr.
    pub(crate) fn level(&self) -> Level {
        match (self.verbose, self.quiet) {
            (true, _) => Level::DEBUG,
            (false, true) => Level::WARN,
            (false, false) => Level::INFO,
        }
    }
}

/// Whether text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always, whatever the stream is.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented experiment: answer four questions, or name what gets the load.
    New(NewArgs),
    /// Carry out an experiment, and judge it.
    Run(Box<RunArgs>),
    /// List the shipped experiments.
    List(ListArgs),
    /// Describe an experiment.
    Describe(DescribeArgs),
    /// Check an experiment file without carrying it out.
    Check(CheckArgs),
    /// Show a stored run.
    Show(ShowArgs),
    /// Explain a stored run, or what sets the worse of two stored runs apart.
    Explain(ExplainArgs),
    /// Write a stored run for other programs: CSV, JSON lines, OpenMetrics, folded stacks, HdrHistogram's percentiles.
    Export(ExportArgs),
    /// List the stored runs, the newest first.
    History(HistoryArgs),
    /// Give a run tags to find it by, and a note.
    Tag(TagArgs),
    /// Name runs that others are compared with.
    Baseline(BaselineArgs),
    /// Copy runs to another store.
    Push(PushArgs),
    /// Copy runs from another store.
    Pull(PullArgs),
    /// Remove stored runs, with their pages and the packets that they captured.
    Rm(RmArgs),
    /// Remove old runs: all but the newest of each experiment, and those that have a tag or are a baseline.
    Prune(PruneArgs),
    /// Give a stored run's verdicts to a CI job: as exit status, and as JUnit or Markdown.
    Gate(GateArgs),
    /// Compare commands that are measured in turns, or two stored runs.
    Compare(CompareArgs),
    /// Decide whether a change made a program slower: build two versions, and measure them in turns.
    Ab(Box<AbArgs>),
    /// Find the version that brought a change, on noisy measurements.
    Bisect(BisectArgs),
    /// Judge numbers from anywhere: CSV, JSON, or a bare list.
    Judge(JudgeArgs),
    /// Predict a rig that nobody has yet: by formula where one exists, by simulation otherwise.
    Model(ModelArgs),
    /// Read a packet file: stalls by connection and class, and where the time went.
    Trace(TraceArgs),
    /// Read what other tools printed as figures, and judge them.
    Import(ImportArgs),
    /// Show what holds this host down right now: what is used, what it points to, and who uses it.
    Watch(WatchArgs),
    /// Record what this machine does into one file, for `explain`: counters, stacks, waits, failing calls, sockets, settings.
    Record(RecordArgs),
    /// Show the stored runs as web pages: lists, single runs, two side by side, causes.
    Serve(ServeArgs),
    /// Describe this machine, and compare it with what it should be.
    Inventory(InventoryArgs),
    /// Show what this machine can do for Plimsoll, and remove what a killed run left behind.
    Doctor(DoctorArgs),
    /// Try known faults and known innocents on this machine: how often are the verdicts right here, and what can it not tell?
    Selftest(SelftestArgs),
    /// Print a shell's completions of this command line.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, as man(1) reads it (`plimsoll man | man -l -`).
    Man,
}

/// Where runs are kept.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StoreArgs {
    /// The file of runs [default: plimsoll/runs.sqlite in the user's state folder], or a database on a server of PostgreSQL's:
    /// postgres://USER@HOST/DATABASE.
    // A URL may have a password in it.
    #[arg(
        long,
        value_name = "FILE",
        env = "PLIMSOLL_STORE",
        hide_env_values = true,
        hide_default_value = true
    )]
    pub store: Option<PathBuf>,
}

/// How an experiment is changed from outside.
/// They are stored with a run, so that it can be resumed and judged again.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, clap::Args)]
pub struct PlanArgs {
    /// Apply the experiment's own quick settings: an answer in under a minute.
    #[arg(long, env = "PLIMSOLL_QUICK", value_parser = FalseyValueParser::new())]
    pub quick: bool,
    /// Replace a setting: a path into the file, and a value (loads.flood.http.connections=100).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run only these levels of a factor.
    #[arg(long = "factor", value_name = "NAME=A,B")]
    pub factor: Vec<String>,
    /// Carry every cell out with probes and without, and judge whether they change the result.
    #[arg(long, env = "PLIMSOLL_AUDIT_PROBES", value_parser = FalseyValueParser::new())]
    #[serde(default)]
    pub audit_probes: bool,
    /// The intervention whose effect is measured. Set by `explain --confirm`.
    #[arg(skip)]
    pub intervention: Option<Intervention>,
    /// Where the experiment was read from: a path, or a shipped name. Set by the program.
    #[arg(skip)]
    pub origin: String,
    /// Whether all hosts had to be local ones, because namespaces are forbidden. Found out, not given.
    #[arg(skip)]
    pub on_loopback: bool,
    /// Where the trials are carried out, when not here. Set by `run --on`.
    #[arg(skip)]
    pub on: Option<String>,
    /// The texts of the configuration files that services name, as they were when the run began: a run that is resumed goes on with them.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// Consent to what an experiment file does beyond an unprivileged program in namespaces of its own. Experiments that come with Plimsoll need none.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConsentArgs {
    /// Carry out what the experiment file does of this KIND without asking; `plimsoll describe` lists what needs it. `privileged` stands for programs
    /// with all of your rights, and `users` for Postfix, which starts as root. `local` is for programs on hosts that share the machine's network, and
    /// `machine` for settings and devices of the machine. `files` are paths outside the folder of the file, and `secrets` variables of your
    /// environment. May be given several times, or with commas.
    #[arg(long, value_name = "KIND", value_delimiter = ',', env = "PLIMSOLL_ALLOW", value_parser = consent())]
    pub allow: Vec<Consent>,
    /// Ask nothing: allow every kind of `--allow`.
    #[arg(long, env = "PLIMSOLL_YES", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub yes: bool,
}

fn consent() -> impl TypedValueParser<Value = Consent> {
    let names = PossibleValuesParser::new(Consent::ALL.iter().map(|kind| kind.name()));
    names.try_map(|name| Consent::named(&name).ok_or("no kind of consent"))
}

/// What keys do while a run uses the whole screen.
const KEYS: &str = "\
Keys while it uses the whole screen of a terminal:
  q    end the run now; --resume continues it. Ctrl-C does the same
  e    end it after the trial that is under way; again: do not
  s s  skip the phase that is under way. The trial goes on, so that its other phases can be
       seen, and is not counted: what it measured is not what was asked for
  o    open the report of the trials so far after this one, with $BROWSER or xdg-open; over
       ssh, under sudo and without a desktop its path is shown. Again: now, which may disturb
       what is being measured
  ?    show the keys";

/// Arguments of `run`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = KEYS)]
pub struct RunArgs {
    /// An experiment file, or the name of a shipped one.
    #[arg(required_unless_present = "resume")]
    pub experiment: Option<String>,
    /// Changes to the experiment.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Carry out exactly N trials of each cell.
    #[arg(long, value_name = "N", env = "PLIMSOLL_REPS", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub reps: Option<u32>,
    /// Begin no trial after this time (10m).
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_BUDGET")]
    pub budget: Option<Span>,
    /// The seed of everything that is random [default: a random one].
    #[arg(long, value_name = "N", env = "PLIMSOLL_SEED")]
    pub seed: Option<u64>,
    /// Go on with a run that was interrupted: its id, or `latest`.
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest", conflicts_with = "experiment")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub resume: Option<String>,
    /// Have a queue carry the trials out, each block of them on one machine: `slurm`, `slurm:partition=main,at_once=4`, or
    /// `kubernetes:image=tools:1,claim=results,folder=/results`. Keys of `slurm:` are partition, constraint, account, qos, nodelist and option
    /// (--gres=nic:1; may be given several times). Keys of `kubernetes:` are image, namespace, context, node_selector (disk=ssd), resource (cpu=2),
    /// host_network and privileged (true), and claim (a volume that is seen here as `folder`). With both: time_limit and start_within (2h), shared
    /// (true: others may be on the machine), at_once (the most blocks at a time) and folder (which all machines see; beside the file of runs without
    /// it).
    #[arg(long, value_name = "QUEUE")]
    pub on: Option<String>,
    /// Let loads write to this block device: what is on it is lost. Once for each device; refused when anything uses it.
    #[arg(long, value_name = "DEVICE")]
    pub destroy: Vec<PathBuf>,
    /// Let loads aim at this address, which the file gives as that of a machine that is there already (`reach`), though the machine does not have
    /// it: where addresses are translated on the way. Once for each address.
    #[arg(long, value_name = "ADDRESS")]
    pub allow_target: Vec<IpAddr>,
    /// Consent to what the file does beyond an unprivileged program.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Where the page with the charts goes [default: beside the file of runs].
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_HTML")]
    pub html: Option<PathBuf>,
    /// Give the run this tag, a word to find it by. May be given several times.
    #[arg(long, value_name = "TAG", value_parser = life::label)]
    pub tag: Vec<String>,
    /// Write this down with the run.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Keep to one line on a terminal, instead of the whole screen with rates, CPUs and what the judge would say.
    #[arg(long, env = "PLIMSOLL_NO_LIVE", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub no_live: bool,
    /// Where there is no terminal, write a progress line this often; 0s for none.
    #[arg(long, value_name = "TIME", default_value = "1m", env = "PLIMSOLL_HEARTBEAT")]
    pub heartbeat: Option<Span>,
    /// Compare the run with this one when it is over: a baseline by its name, or a run by its id. The exit status is then that of both the
    /// claims and the comparison.
    #[arg(long, value_name = "RUN")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub against: Option<String>,
    /// How to print the results.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: Format,
    /// Print everything as text: all tables, the machine, and notes.
    #[arg(long, env = "PLIMSOLL_DETAILS", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub details: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Where runs are kept on a server: wait this long for one that does not answer, and at the end for one that is away. What it has not got then
    /// stays in this machine's own file of runs.
    #[arg(long, value_name = "TIME", default_value = "1m", env = "PLIMSOLL_STORE_WAIT")]
    pub store_wait: Option<Span>,
}

/// How to print a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: schema plimsoll.run/2.
    Json,
    /// One offline page with charts.
    Html,
    /// For a mailing list: plain text of at most 72 columns, with the experiment file.
    Mail,
    /// For CI: JUnit XML.
    Junit,
    /// For CI: a summary in Markdown.
    Markdown,
    /// Mail per minute, as postal reports it: `time,messages,data(K),errors,connections,ssl`; a trial begins at 00:00.
    Postal,
    /// Sampled stacks, one on each line, for tools that draw flame graphs; with the samples of both sides where two are compared.
    Folded,
    /// Of a run that goes on: what happens, as it happens, a JSON object on each line: schema plimsoll.event/1.
    Jsonl,
}

/// How to print what has no charts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// How to print what has charts, but is no run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// One page with charts, for a browser.
    Html,
    /// A report for a mailing list: plain text of at most 72 columns.
    Mail,
}

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// How to print the list.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
}

/// Arguments of `describe`.
#[derive(Debug, clap::Args)]
pub struct DescribeArgs {
    /// An experiment file, or the name of a shipped one.
    pub experiment: String,
    /// Changes to the experiment.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Print the experiment file itself.
    #[arg(long)]
    pub source: bool,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
    /// Where runs are kept, whose durations predict that of the next.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// An experiment file, or the name of a shipped one.
    #[arg(required_unless_present = "schema")]
    pub experiment: Option<String>,
    /// Changes to the experiment.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Print the JSON Schema of experiment files.
    #[arg(long)]
    pub schema: bool,
    /// How to print what the experiment does to this machine.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The run: its id, the start of its id, or `latest`.
    #[arg(default_value = "latest")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub run: String,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: Format,
    /// Print everything as text: all tables, the machine, and notes.
    #[arg(long, env = "PLIMSOLL_DETAILS", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub details: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// One run, or two: ids, starts of ids, or `latest`. `latest` also shows the newest `compare --explain` of commands. Or BEFORE and AFTER: two
    /// files, folders or archives of what ordinary commands printed on any machine, such as two sosreports.
    #[arg(default_value = "latest", num_args = 1..=2, value_name = "RUN")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub runs: Vec<String>,
    /// Instead of runs: what ordinary commands wrote while all was well: vmstat, sar, `perf script`, `netstat -s`, `ss`, files of /proc and
    /// others. May be given several times. A file may hold several commands, a folder or an archive several files.
    #[arg(long, value_name = "FILE", requires = "after", conflicts_with = "runs")]
    pub before: Vec<PathBuf>,
    /// What they wrote while something was wrong.
    #[arg(long, value_name = "FILE", requires = "before", conflicts_with = "runs")]
    pub after: Vec<PathBuf>,
    /// Operations (connections, requests, messages) per second while all was well. With both rates, figures are for each operation.
    #[arg(long, value_name = "NUMBER", requires_all = ["before", "rate_after"], value_parser = positive)]
    pub rate_before: Option<f64>,
    /// Operations per second while something was wrong.
    #[arg(long, value_name = "NUMBER", requires_all = ["before", "rate_before"], value_parser = positive)]
    pub rate_after: Option<f64>,
    /// Change what the first N causes name, on the run's own hosts, and measure again beside both sides of its verdict. The answer is the share of
    /// the loss that comes back, with each change alone and with all together. A cause without an intervention is listed and left out. Cells,
    /// settings and phases are those of the run; what was changed goes with its hosts. On a terminal it asks first.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with_all = ["before", "after"])]
    pub confirm: Option<u32>,
    /// A cause to confirm, by its id, in place of the first ones. May be given several times.
    #[arg(long = "cause", value_name = "ID", requires = "confirm")]
    pub causes: Vec<String>,
    /// Number of blocks; each measures every side once.
    #[arg(long, value_name = "N", requires = "confirm", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub reps: Option<u32>,
    /// Consent to the change, and to what the run's file does beyond an unprivileged program.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number was expected".to_owned())?;
    (number > 0.0 && number.is_finite()).then_some(number).ok_or_else(|| "it must be above 0".to_owned())
}

/// Arguments of `gate`.
#[derive(Debug, clap::Args)]
pub struct GateArgs {
    /// The run: its id, the start of its id, or `latest`.
    #[arg(default_value = "latest")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub run: String,
    /// How to print the verdicts.
    #[arg(long, value_enum, default_value_t = Format::Markdown, env = "PLIMSOLL_FORMAT")]
    pub format: Format,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `judge`.
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// The question: changes, compare, factors, growth, load-curve, loss, modes, recovery or scaling.
    pub test: String,
    /// The numbers: a file, or `-` for standard input.
    #[arg(default_value = "-")]
    pub file: PathBuf,
    /// One JSON object per line in, one verdict per line out, in the same order. The exit status is 2 if a line cannot be judged.
    #[arg(long)]
    pub batch: bool,
    /// For `compare`: row i of A and of B was measured together, one next to the other. Without this, the lists are two independent samples.
    #[arg(long, conflicts_with = "batch")]
    pub paired: bool,
    /// The decimal mark of numbers in a table or a list: 108.43 or 108,43. The other mark may separate thousands. Without this, the
    /// numbers must show it: 1,234 alone does not, and is refused.
    #[arg(long, value_enum, value_name = "MARK", conflicts_with = "batch", env = "PLIMSOLL_DECIMAL")]
    pub decimal: Option<Decimal>,
    /// How to print the verdict.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PageFormat,
}

/// The decimal mark of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Decimal {
    /// 108.43
    Point,
    /// 108,43
    Comma,
}

/// Arguments of `trace`.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// The packets: pcap, pcapng, or what tcpdump prints; `-` for standard input.
    pub file: PathBuf,
    /// Second capture of the connections, from another point: one-way delays, losses between both points, and where silences began.
    pub other: Option<PathBuf>,
    /// How many connections to show, those that stood still longest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub connections: usize,
    /// How many stalls of each connection to show, the longest.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub stalls: usize,
    /// How to print the report.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: TraceFormat,
}

/// How to print what is in a packet file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: schema plimsoll.trace/1, of two captures plimsoll.trace_pair/1.
    Json,
    /// One offline page with charts of the connections, of one capture.
    Html,
}

/// Arguments of `inventory`.
#[derive(Debug, clap::Args)]
pub struct InventoryArgs {
    /// The promised machine: TOML (`cpus.count = 2`), or an earlier inventory in JSON. Exit status 1 when something
    /// differs.
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,
    /// Describe another machine, from what was saved of it: the output of dmesg, lspci -vv, dmidecode, decode-dimms, hdparm -I,
    /// smartctl -a -j and ethtool, also several in one file; `-` is standard input.
    #[arg(long, value_name = "FILES", num_args = 1..)]
    pub from: Vec<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
}

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Only list what was left behind; remove nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Remove the packets that runs captured longer ago than this (720h); what was found in them stays.
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_REMOVE_CAPTURES")]
    pub remove_captures: Option<Span>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_make_sense_together() {
        Args::command().debug_assert();
    }
}
