//! Arguments of `model`.

use clap_complete::ArgValueCompleter;
use std::path::PathBuf;

use clap::ValueEnum;
use plimsoll_model::units::{Share, Span};

use super::{PlainFormat, StoreArgs, completing};

/// Arguments of `model`.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Take service times from this stored run (an id, or `latest`), and show what the model makes of its other phases beside what was measured.
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    pub run: Option<String>,
    /// The phase of the run that was loaded so lightly that nothing waited [default: the one with the shortest mean response].
    #[arg(long, value_name = "PHASE", requires = "run")]
    pub light: Option<String>,
    /// The mean time that a job keeps a processor busy (5ms).
    #[arg(long, value_name = "TIME", conflicts_with_all = ["run", "times"])]
    pub service_time: Option<Span>,
    /// How service times are spread around their mean.
    #[arg(long, value_enum, default_value_t, requires = "service_time")]
    pub spread: Spread,
    /// Measured service times: a file with one number a line, in milliseconds.
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub times: Option<PathBuf>,
    /// Processors of each host.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: u32,
    /// Hosts that share the work.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub hosts: u32,
    /// Jobs per second, one rate or several.
    #[arg(long, value_name = "RATE", value_delimiter = ',', conflicts_with = "users")]
    pub rate: Vec<f64>,
    /// How jobs follow one another at a rate.
    #[arg(long, value_enum, default_value_t)]
    pub arrivals: Arriving,
    /// Users who each wait for their answer and then think, one number or several.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "think")]
    pub users: Vec<usize>,
    /// The mean time that a user thinks (exponential).
    #[arg(long, value_name = "TIME")]
    pub think: Option<Span>,
    /// Who is served when there are more jobs than processors.
    #[arg(long, value_enum, default_value_t)]
    pub discipline: Serving,
    /// Which host a job goes to.
    #[arg(long, value_enum, default_value_t)]
    pub dispatch: Choosing,
    /// Find the highest rate at which answers take at most this time.
    #[arg(long, value_name = "TIME")]
    pub within: Option<Span>,
    /// How many of the answers must.
    #[arg(long, value_name = "SHARE", default_value = "95 %", requires = "within")]
    pub share: Share,
    /// Simulated jobs in each of twelve runs.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub jobs: u32,
    /// The seed of the simulation.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The round-trip time of a path that loses packets: what TCP carries there, by Mathis et al. 1997 and Padhye et al. 1998.
    #[arg(long, value_name = "TIME", requires = "loss", conflicts_with_all = ["run", "service_time", "times", "rate", "users", "within"])]
    pub rtt: Option<Span>,
    /// The share of the path's packets at which a loss begins.
    #[arg(long, value_name = "SHARE", requires = "rtt")]
    pub loss: Option<Share>,
    /// Bytes of TCP's data in a full packet.
    #[arg(long, value_name = "BYTES", default_value_t = 1448, requires = "rtt", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub mss: u32,
    /// The constant of Mathis' formula: 0.87 to 1.31 in their paper, 0.7 as stacks reach it.
    #[arg(long, value_name = "C", default_value_t = 0.7, requires = "rtt", value_parser = constant)]
    pub constant: f64,
    /// How to print the prediction.
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

fn constant(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (0.1..=10.0).contains(value));
    value.ok_or_else(|| "expected a number from 0.1 to 10".to_owned())
}

/// How service times are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Spread {
    /// Exponentially.
    #[default]
    Exponential,
    /// Not at all.
    Fixed,
}

/// How jobs follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Arriving {
    /// At random, independently of one another.
    #[default]
    Poisson,
    /// At equal distances.
    Constant,
}

/// Who is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Serving {
    /// The first come; the others wait.
    #[default]
    Queue,
    /// All, in short turns: a scheduler with a process for each job.
    Shared,
}

/// Which host a job goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choosing {
    /// Any, by chance.
    #[default]
    Random,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest jobs.
    LeastBusy,
}
