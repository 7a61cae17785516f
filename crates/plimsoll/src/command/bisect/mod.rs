//! `plimsoll bisect`: which version brought a change, on measurements that are noisy.

mod experiment;
mod histogram;
mod meter;
mod progress;
mod report;
mod search;
mod state;
mod versions;

use crate::args::{BisectArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::{Gauge, MeasureError, Runner};
use crate::repository::{Repository, Worktrees};
use crate::{messages, output};

use meter::VersionMeter;
use progress::Lines;
use report::Report;
use search::{Limits, Stop};
use state::{Question, State};

/// Differences up to this share count as none.
const MARGIN: f64 = 0.01;
/// The chance that equal neighbours are reported as different.
const ALPHA: f64 = 0.01;

pub(crate) fn run(args: &BisectArgs) -> Result<Exit, Failure> {
    let gauge = match &args.experiment {
        Some(_) => experiment::gauge(args)?,
        None => Gauge::new(&args.figure)?,
    };
    let (versions, repository) = versions::of(args)?;
    let question = question(args, &versions, &gauge, repository.as_ref());
    let mut state = State::open(args.state.as_deref(), question, args.seed)?;
    let limits = Limits {
        confidence: args.confidence.0,
        max_measurements: args.max_measurements,
        max_pairs: args.max_pairs as usize,
    };
    // Bad settings and an unusable state fail before any checkout.
    state.bisection(limits.confidence)?;
    let worktrees = repository.as_ref().map(Worktrees::temporary).transpose()?;
    let runner = Runner::listening(args.figure.ignore_failure)?;
    let mut meter = VersionMeter::new(&versions, args, &gauge, runner, worktrees)?;
    let mut lines = Lines::new(&versions, &gauge, &state);
    let settings = gauge.settings(MARGIN, ALPHA);
    let found = match search::search(&mut state, limits, settings, &mut meter, &mut lines) {
        Ok(found) => found,
        Err(stop) => return stopped(stop, &mut state),
    };
    let report = Report::new(&found, &state, &versions, &gauge, limits)?;
    match args.format {
        PlainFormat::Text => output::text(|out| report.text(out)),
        PlainFormat::Json => output::json(&report.json()),
    }?;
    Ok(Exit::of(std::slice::from_ref(report.verdict())))
}

fn question(
    args: &BisectArgs,
    versions: &[Version],
    gauge: &Gauge,
    repository: Option<&Repository>,
) -> Question {
    Question {
        versions: versions.iter().map(|version| version.name.clone()).collect(),
        command: args
            .experiment
            .as_ref()
            .map_or_else(|| args.command.clone(), |of| experiment::words(of, args)),
        metric: gauge.metric().into(),
        figure: args
            .experiment
            .as_ref()
            .map_or_else(|| args.figure.figure.clone(), |_| experiment::figure(args)),
        repository: repository.map(|repository| repository.path().to_owned()),
    }
}

/// Keeps the measurements, and says how to go on with them.
fn stopped(stop: Stop, state: &mut State) -> Result<Exit, Failure> {
    let kept = state.keep();
    if let Ok(Some(path)) = &kept {
        let path = plimsoll_model::shell::shell_word(&path.to_string_lossy()).into_owned();
        messages::say(format_args!(
            "the measurements are kept; continue with the same command and --state {path}"
        ));
    }
    match stop {
        Stop::Measure(MeasureError::Interrupted) => kept.map(|_| Exit::Interrupted),
        Stop::Measure(error) => Err(error.into()),
        Stop::Other(failure) => Err(failure),
    }
}

/// One version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    /// Value of `{}`.
    name: String,
    /// Name in a line of progress.
    label: String,
    /// A remark, such as the subject of a commit.
    about: Option<String>,
}
