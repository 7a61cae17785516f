//! Arguments about commands that are measured.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use clap_complete::ArgValueCompleter;
use plimsoll_model::units::{Share, Span};

use super::{BetterDirection, ConsentArgs, PlainFormat, StoreArgs, completing};

/// What the kernel measures of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CommandMetric {
    /// The time from its start to its end, less what it waited while others had the CPUs. That is known of a command that is one
    /// thread, and is taken off both sides of a pair or of neither.
    #[default]
    Wall,
    /// The time from its start to its end, whatever else the machine did.
    Elapsed,
    /// The user and system time that it and its children used.
    Cpu,
    /// The most memory that one of its processes had at a time.
    Memory,
    /// Page faults, of it and its children: first touches of memory, for the most part.
    Faults,
    /// Calls that allocate memory (`malloc` and the like), under Valgrind.
    Allocations,
    /// Instructions outside of the kernel: by the CPU's counters (`perf stat`), or else under Valgrind, where a command takes some tenfold.
    Instructions,
    /// System calls: by the kernel's trace point (`perf stat`), or else by `strace`.
    Syscalls,
    /// The bytes of its program.
    Size,
}

/// Which figure is read off a command, and how it is run.
#[derive(Debug, Default, clap::Args)]
pub struct FigureArgs {
    /// What to judge of the commands.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_METRIC")]
    pub metric: CommandMetric,
    /// Judge a number that the commands print: the first group of this regular expression.
    #[arg(long, value_name = "REGEX", conflicts_with = "metric")]
    pub figure: Option<String>,
    /// A smaller --figure is better (the default).
    #[arg(long, requires = "figure", conflicts_with = "higher_is_better")]
    pub lower_is_better: bool,
    /// A larger --figure is better.
    #[arg(long, requires = "figure")]
    pub higher_is_better: bool,
    /// Let commands end with another status than 0.
    #[arg(long)]
    pub ignore_failure: bool,
}

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false).args(["runs", "a", "cells"]))]
pub struct CompareArgs {
    /// Two commands, or two stored runs: ids, starts of ids, or `latest`. A run may be an imported one, or a file that another tool wrote.
    #[arg(value_names = ["A", "B"], num_args = 2)]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub runs: Vec<String>,
    /// Which figure of imported runs and files to compare: a metric, and labels that it must have (latency,percentile=99). Given twice, one for each side
    /// [default: the main one of the tool].
    #[arg(long, value_name = "METRIC[,LABEL=VALUE]", requires = "runs")]
    pub of: Vec<String>,
    /// Which way that figure is better, where that is not known.
    #[arg(long, value_enum, value_name = "WAY", requires = "runs")]
    pub better: Option<BetterDirection>,
    /// The first command by name: the one that the other is judged against. Plain words are run as they are, all else by `sh -c`.
    #[arg(long, value_name = "COMMAND", requires = "b")]
    pub a: Option<String>,
    /// The command that is judged.
    #[arg(long, value_name = "COMMAND", requires = "a")]
    pub b: Option<String>,
    /// Two or more commands, each judged against the first.
    #[arg(long, value_name = "NAME=COMMAND", num_args = 1..)]
    pub cells: Vec<String>,
    /// The figure.
    #[command(flatten)]
    pub figure: FigureArgs,
    /// Decide nothing before this number of pairs.
    #[arg(long, value_name = "N", default_value_t = 8, env = "PLIMSOLL_MIN_PAIRS", value_parser = pairs(3))]
    pub min_pairs: u64,
    /// Stop undecided after this number of pairs, or before, when they will hardly decide it. As shipped, they find 5 % where pairs differ by
    /// 15 %, as they do on a busy machine.
    #[arg(long, value_name = "N", default_value_t = 500, env = "PLIMSOLL_MAX_PAIRS", value_parser = pairs(3))]
    pub max_pairs: u64,
    /// Differences up to this share count as the same.
    #[arg(long, value_name = "SHARE", default_value = "1%", env = "PLIMSOLL_MARGIN")]
    pub margin: Share,
    /// The chance of calling two equal commands different, over all looks and comparisons.
    #[arg(long, value_name = "SHARE", default_value = "1%", env = "PLIMSOLL_ALPHA")]
    pub alpha: Share,
    /// Run each command this number of times before it counts.
    #[arg(long, value_name = "N", default_value_t = 1, env = "PLIMSOLL_WARM_UP")]
    pub warm_up: u32,
    /// Run this once, before anything is measured.
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Run this before every command, and do not count it.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Say why one of two commands is worse: from the kernel's counters and from samples of the stacks of all CPUs, while either runs.
    #[arg(long, conflicts_with = "cells")]
    pub explain: bool,
    /// Network to read. `host` is this network namespace. `namespace=WHICH` is another one, by the number of a process in it, the name that `ip netns`
    /// gave it, or its path. `cgroup=PATH` is the network of a control group's processes, which are then what is measured.
    #[arg(long, value_name = "WHAT", requires = "explain", default_value = "host", value_parser = Observe::parse)]
    pub observe: Observe,
    /// The name of a program whose work is measured, as the kernel knows it (`ps -o comm`); may be given several times. Whatever others do is a stranger's
    /// doing [default: what the two commands begin with, and the programs of the control group].
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub program: Vec<String>,
    /// The seed of the random order [default: a random one].
    #[arg(long, value_name = "N", env = "PLIMSOLL_SEED")]
    pub seed: Option<u64>,
    /// How to print the verdict.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// The counters that are read while commands run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observe {
    /// The network namespace that `plimsoll` runs in.
    Host,
    /// A network namespace.
    Namespace(String),
    /// The network namespace of a control group's processes.
    Group(String),
}

impl Observe {
    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "host" => Ok(Self::Host),
            Some(("namespace", which)) if !which.is_empty() => Ok(Self::Namespace(which.to_owned())),
            Some(("cgroup", which)) if !which.is_empty() => Ok(Self::Group(which.to_owned())),
            _ => Err("expected host, namespace=WHICH or cgroup=PATH".to_owned()),
        }
    }
}

/// Quantity that `ab` judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbMetric {
    /// The figures of a benchmark tool; without them, of the time, the CPU time and the CPU's instructions what repeats best.
    Auto,
    /// The figures that the command prints.
    Figure,
    /// What the command used.
    Used(CommandMetric),
}

impl ValueEnum for AbMetric {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Auto,
            Self::Figure,
            Self::Used(CommandMetric::Wall),
            Self::Used(CommandMetric::Elapsed),
            Self::Used(CommandMetric::Cpu),
            Self::Used(CommandMetric::Memory),
            Self::Used(CommandMetric::Faults),
            Self::Used(CommandMetric::Allocations),
            Self::Used(CommandMetric::Instructions),
            Self::Used(CommandMetric::Syscalls),
            Self::Used(CommandMetric::Size),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Auto => PossibleValue::new("auto").help(
                "The figures of a benchmark tool. Without them, what repeats best of wall, cpu and the CPU's own count of instructions",
            ),
            Self::Figure => PossibleValue::new("figure").help("The figures that the command prints"),
            Self::Used(metric) => return metric.to_possible_value(),
        })
    }
}

/// How to print the answer of `ab`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AbFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: schema plimsoll.ab/1.
    Json,
    /// For a pull request: five lines, then the table.
    Markdown,
}

/// Arguments of `ab`.
#[derive(Debug, clap::Args)]
pub struct AbArgs {
    /// What the change is judged against: a git revision, a folder, a program, or `image:NAME`. A name that is both needs `./` before the path.
    pub base: String,
    /// The change: a git revision, a folder, a program, or `image:NAME`.
    pub head: String,
    /// The benchmark. It runs in the folder of its version, and `{}` is that folder, program or name of an image, as in `docker run --rm {}`. A single
    /// word that is a command line is run as one.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// The git repository of the revisions.
    #[arg(long, value_name = "REPO", default_value = ".")]
    pub git: std::path::PathBuf,
    /// Build each version with this command line, in its folder. What was built of a revision is kept, and built once.
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Where builds of revisions are kept [default: `plimsoll/ab` in the user's cache].
    #[arg(long, value_name = "FOLDER", env = "PLIMSOLL_BUILDS")]
    pub builds: Option<std::path::PathBuf>,
    /// How many built revisions of a repository are kept: those that were used last.
    #[arg(long, value_name = "N", default_value_t = 20, env = "PLIMSOLL_KEEP", value_parser = clap::value_parser!(u16).range(2..))]
    pub keep: u16,
    /// Stop undecided after this time of measuring.
    #[arg(long, value_name = "TIME", default_value = "5m", env = "PLIMSOLL_BUDGET")]
    pub budget: Span,
    /// What to judge.
    #[arg(long, value_enum, default_value = "auto", env = "PLIMSOLL_METRIC")]
    pub metric: AbMetric,
    /// Judge a number that the command prints: the first group of this regular expression.
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["metric", "as_format"])]
    pub figure: Option<String>,
    /// Read what the command prints as this format, such as `go-bench` [default: found out].
    #[arg(long = "as", value_name = "FORMAT")]
    pub as_format: Option<String>,
    /// A larger figure is better [default: as the format says, otherwise smaller is better].
    #[arg(long)]
    pub higher_is_better: bool,
    /// Differences up to this share count as the same, and no estimate within it as a difference.
    #[arg(long, value_name = "SHARE", default_value = "1%", env = "PLIMSOLL_MARGIN")]
    pub margin: Share,
    /// The chance of calling any of equal benchmarks different, over all looks and benchmarks.
    #[arg(long, value_name = "SHARE", default_value = "1%", env = "PLIMSOLL_ALPHA")]
    pub alpha: Share,
    /// A change that must be found, beyond the margin: a warning says if this machine is too noisy to find it within the budget [default: 5%, or twice
    /// the margin].
    #[arg(long, value_name = "SHARE", env = "PLIMSOLL_DETECT")]
    pub detect: Option<Share>,
    /// Run this before every command, and do not count it.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Let commands end with another status than 0.
    #[arg(long)]
    pub ignore_failure: bool,
    /// Do not profile what is worse.
    #[arg(long)]
    pub no_why: bool,
    /// Write a page with charts of all pairs to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<std::path::PathBuf>,
    /// If HEAD is worse, search for the commit after BASE that brought it. Both must be revisions, and the metric one of the whole command.
    #[arg(long)]
    pub bisect: bool,
    /// Store the ratios under this name, for `plimsoll history NAME --changes`.
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
    /// The seed of the random order [default: a random one].
    #[arg(long, value_name = "N", env = "PLIMSOLL_SEED")]
    pub seed: Option<u64>,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: AbFormat,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `bisect`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("where").required(true).multiple(false).args(["versions", "git"]))]
pub struct BisectArgs {
    /// The last version that is known to be good [default with --versions: the first of the list].
    #[arg(long, value_name = "VERSION", required_unless_present = "versions")]
    pub good: Option<String>,
    /// A later version that is known to be bad [default: the last of the list, or HEAD].
    #[arg(long, value_name = "VERSION")]
    pub bad: Option<String>,
    /// A file with one version per line, in their order; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub versions: Option<std::path::PathBuf>,
    /// A git repository: the versions are the commits after --good up to --bad, of first parents only.
    #[arg(long, value_name = "REPO")]
    pub git: Option<std::path::PathBuf>,
    /// The command to measure, with `{}` for the version. A single word that is a command line is run as one. A version on which it, or
    /// --setup, ends with status 125 is left out, as by `git bisect run`.
    #[arg(
        last = true,
        required_unless_present = "experiment",
        conflicts_with = "experiment",
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
    /// An experiment to measure instead of a command: a file, or the name of a shipped one, without factors. Each measurement is a run of it. A version
    /// with which it cannot be carried out, such as a kernel that does not boot, is left out, and what was said is kept. With --git each run is in the working
    /// tree of its commit: `--build 'make -j2 bzImage' --set hosts.box.kernel=arch/x86/boot/bzImage`.
    #[arg(long, value_name = "EXPERIMENT", conflicts_with_all = ["metric", "figure", "ignore_failure", "prepare"])]
    pub experiment: Option<String>,
    /// What of the experiment a version stands for [default: `hosts.NAME.kernel` of its only host that has a kernel]. A line of --versions may also be
    /// `LABEL: KEY=VALUE; KEY=VALUE`, with settings as by `run --set`.
    #[arg(long, value_name = "KEY", requires = "experiment")]
    pub setting: Option<String>,
    /// The phase whose figure counts [default: the first that is measured].
    #[arg(long, value_name = "PHASE", requires = "experiment")]
    pub phase: Option<String>,
    /// The figure of the experiment's phase, such as `requests_per_second` or `p99_ms` [default: the rate of its load].
    #[arg(long, value_name = "METRIC", requires = "experiment")]
    pub phase_metric: Option<String>,
    /// A setting of the experiment that holds for all versions, as by `run --set`.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "experiment")]
    pub set: Vec<String>,
    /// Run the experiment with its `[quick]` settings.
    #[arg(long, requires = "experiment")]
    pub quick: bool,
    /// Consent to what the experiment does beyond an unprivileged program, for all of its runs.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// The figure.
    #[command(flatten)]
    pub figure: FigureArgs,
    /// How sure the posterior has to be.
    #[arg(long, value_name = "SHARE", default_value = "99%", env = "PLIMSOLL_CONFIDENCE")]
    pub confidence: Share,
    /// Stop undecided after this number of measurements of the search.
    #[arg(long, value_name = "N", default_value_t = 500, env = "PLIMSOLL_MAX_MEASUREMENTS")]
    pub max_measurements: usize,
    /// Compare the neighbours at the end in at most this number of pairs.
    #[arg(long, value_name = "N", default_value_t = 100, env = "PLIMSOLL_MAX_PAIRS", value_parser = pairs(8))]
    pub max_pairs: u64,
    /// Run the command this number of times on every new version, before it counts.
    #[arg(long, value_name = "N", default_value_t = 1, env = "PLIMSOLL_WARM_UP")]
    pub warm_up: u32,
    /// Run this once on every version that is new, such as a build; `{}` is the version.
    #[arg(long, visible_alias = "build", value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Run this before every measurement, and do not count it; `{}` is the version.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Keep the measurements in this file, and go on from what it has.
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_STATE")]
    pub state: Option<std::path::PathBuf>,
    /// The seed of all random choices [default: a random one].
    #[arg(long, value_name = "N", env = "PLIMSOLL_SEED")]
    pub seed: Option<u64>,
    /// How to print the verdict.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
}

fn pairs(least: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(least..=1_000_000)
}
