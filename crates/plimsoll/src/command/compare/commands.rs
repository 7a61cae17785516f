//! Commands against each other: measured in turns until the answer is known.

use plimsoll_judge::input::JudgeError;
use plimsoll_judge::sequential::SequentialSettings;
use plimsoll_model::verdict::Verdict;
use serde_json::{Map, Value};

use super::answer::Answers;
use super::cells::{self, Cell};
use super::observe::Observer;
use super::progress::ProgressLine;
use super::{failing, json, kept, observe, text};
use crate::args::{CompareArgs, PlainFormat};
use crate::contest::{Contest, ContestError};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::{
    Figure, Gauge, Invocation, MeasureError, Meter, Runner, Times, WorkingFolder, invocations,
};
use crate::{messages, output};

pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let cells = cells::of(args)?;
    let gauge = Gauge::new(&args.figure)?;
    let settings = SequentialSettings {
        compare: gauge.settings(args.margin.0, args.alpha.0),
        first: args.min_pairs as usize,
        most: Some(args.max_pairs as usize),
    };
    let seed = args.seed.unwrap_or_else(rand::random);
    let mut contest = Contest::new(cells.len(), settings, seed).map_err(|error| usage(&error))?;
    let mut meter = Commands::new(&cells, &gauge, args)?;
    let mut progress = ProgressLine::new(&cells[0].name, args.max_pairs);
    let ended = meter.warm_up(args).map_err(ContestError::Measure);
    let ended = ended.and_then(|()| measure(&mut contest, &mut meter, &cells, &gauge, &mut progress));
    progress.clear();
    let interrupted = match ended {
        Ok(()) => false,
        Err(ContestError::Measure(MeasureError::Interrupted)) => true,
        Err(ContestError::Measure(error)) if contest.blocks().is_empty() && meter.observer.is_some() => {
            return fails(&mut meter, (&cells, &gauge), args, error);
        }
        Err(ContestError::Measure(error)) => return Err(in_block(&contest, error)),
        Err(ContestError::Judge(error)) => return Err(Failure::could_not(error.to_string())),
    };
    if contest.blocks().is_empty() {
        return Ok(Exit::Interrupted);
    }
    let judged = |error: JudgeError| Failure::could_not(error.to_string());
    let metric = gauge.metric();
    let comparisons = contest.comparisons(metric).map_err(judged)?;
    if !interrupted && observe::worse(comparisons.first(), gauge.lower_is_better()).is_some() {
        meter.watch_opens();
    }
    let (explained, missing) = match &mut meter.observer {
        Some(observer) => observer.explain(comparisons.first(), gauge.lower_is_better(), gauge.is_of_time()),
        None => (None, Vec::new()),
    };
    let mut answer = Answers {
        explained,
        is_kept: false,
        missing,
        cells: &cells,
        gauge: &gauge,
        settings,
        seed,
        contest: &contest,
        comparisons,
        ranking: contest.ranking(metric).map_err(judged)?,
        interrupted,
        times: &meter.times,
        words: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    answer.is_kept = answer.explained.is_some() && keep(args, &json::document(&answer));
    match args.format {
        PlainFormat::Text => output::styled(|out, options| text::write(out, &answer, options)),
        PlainFormat::Json => output::json(&json::document(&answer)),
    }?;
    let verdicts: Vec<Verdict> = answer.comparisons.into_iter().map(|found| found.verdict).collect();
    Ok(if interrupted { Exit::Interrupted } else { Exit::of(&verdicts) })
}

fn measure(
    contest: &mut Contest,
    meter: &mut Commands<'_>,
    cells: &[Cell],
    gauge: &Gauge,
    progress: &mut ProgressLine,
) -> Result<(), ContestError> {
    while !contest.is_over() {
        contest.measure_block(meter)?;
        progress.show(contest, cells, gauge.metric());
    }
    Ok(())
}

/// Explains why one of two commands fails every time, if that is so.
fn fails(
    meter: &mut Commands<'_>,
    (cells, gauge): (&[Cell], &Gauge),
    args: &CompareArgs,
    error: MeasureError,
) -> Result<Exit, Failure> {
    let failing = match failing::confirm(meter, args.alpha.0, error) {
        Err(MeasureError::Interrupted) => return Ok(Exit::Interrupted),
        failing => failing?,
    };
    let found = failing.comparison(gauge.metric(), cells);
    let explained = meter
        .observer
        .as_mut()
        .map_or((None, Vec::new()), |it| it.explain(Some(&found), gauge.lower_is_better(), false));
    let document = failing.document(cells, &found, &explained);
    if explained.0.is_some() {
        keep(args, &document);
    }
    match args.format {
        PlainFormat::Text => {
            output::styled(|out, options| failing.text(out, (cells, gauge), &explained, options))
        }
        PlainFormat::Json => output::json(&document),
    }?;
    Ok(Exit::of(&[found.verdict]))
}

/// Keeps an explained comparison for `plimsoll explain latest`. Returns whether it did; a note says why not.
fn keep(args: &CompareArgs, document: &Map<String, Value>) -> bool {
    let kept = kept::keep(args.store.store.as_deref(), document);
    if let Err(error) = &kept {
        messages::note(format_args!("`plimsoll explain latest` will not show this comparison: {error}"));
    }
    kept.is_ok()
}

/// Where in the whole a measurement failed.
fn in_block(contest: &Contest, error: MeasureError) -> Failure {
    match (contest.blocks().len(), Failure::from(error)) {
        (done, Failure::CouldNot { what, advice }) if done > 0 => {
            Failure::CouldNot { what: format!("after {done} complete pairs: {what}"), advice }
        }
        (_, failure) => failure,
    }
}

fn usage(error: &JudgeError) -> Failure {
    match error {
        JudgeError::Setting { name: "most", value, .. } => {
            Failure::Usage(format!("--max-pairs is {value}: expected no less than --min-pairs"))
        }
        JudgeError::Setting { .. } => Failure::Usage(error.to_string()),
        _ => Failure::could_not(error.to_string()),
    }
}

/// How often each command is run again to learn which files it opens.
const RUNS_WATCHED: usize = 2;

/// The commands, each of which is measured on demand.
struct Commands<'a> {
    invocations: Vec<Invocation>,
    gauge: &'a Gauge,
    runner: Runner,
    prepare: Option<&'a str>,
    place: WorkingFolder,
    /// The times of each measured run, by command.
    times: Vec<Vec<Times>>,
    /// Looks at the machine while a command runs, where it is asked for why one is worse.
    observer: Option<Observer>,
}

impl<'a> Commands<'a> {
    fn new(cells: &[Cell], gauge: &'a Gauge, args: &'a CompareArgs) -> Result<Self, Failure> {
        let lines: Vec<&str> = cells.iter().map(|cell| cell.command.as_str()).collect();
        Ok(Self {
            invocations: invocations(&lines),
            gauge,
            runner: Runner::listening(args.figure.ignore_failure)?,
            prepare: args.prepare.as_deref(),
            place: WorkingFolder::default(),
            times: vec![Vec::new(); cells.len()],
            observer: args.explain.then(|| Observer::open(args, cells)).transpose()?,
        })
    }

    /// Steps before the first measurement that counts.
    fn warm_up(&mut self, args: &CompareArgs) -> Result<(), MeasureError> {
        if let Some(setup) = &args.setup {
            self.runner.run_aside(setup, &self.place)?;
        }
        for _ in 0..args.warm_up {
            for cell in 0..self.invocations.len() {
                self.run(cell)?;
            }
        }
        Ok(())
    }

    /// Runs both commands again, to learn which files they open. A run that fails or is interrupted ends that.
    fn watch_opens(&mut self) {
        let Some(mut observer) = self.observer.take() else { return };
        let turns = (0..RUNS_WATCHED).flat_map(|_| 0..2).filter(|_| observer.may_repeat());
        for which in turns.collect::<Vec<_>>() {
            let ended = observer.watch_opens(which, || self.measure_uncounted(which));
            if !matches!(ended, Some(Ok(()))) {
                break;
            }
        }
        self.observer = Some(observer);
    }

    /// Runs a command without counting it.
    fn run(&mut self, which: usize) -> Result<(), MeasureError> {
        let mut observer = self.observer.take();
        let ended = match &mut observer {
            Some(observer) => observer.rehearse(|| self.measure_uncounted(which)),
            None => self.measure_uncounted(which),
        };
        self.observer = observer;
        ended
    }

    /// Measures a command, and drops the figure and the times.
    fn measure_uncounted(&mut self, which: usize) -> Result<(), MeasureError> {
        self.measure(which)?;
        self.times[which].pop();
        Ok(())
    }
}

impl Meter for Commands<'_> {
    fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
        if let Some(prepare) = self.prepare {
            self.runner.run_aside(prepare, &self.place)?;
        }
        let Self { invocations, gauge, runner, place, observer, .. } = self;
        let mut run = || (gauge.measure(runner, &invocations[which], place), runner.times());
        let (figure, times) = match observer {
            Some(observer) => observer.during(which, run, |figure, seconds| {
                let figure = figure.as_ref().ok()?;
                gauge.operations(figure.value, seconds)
            }),
            None => run(),
        };
        let figure = figure?;
        self.times[which].push(times);
        Ok(figure)
    }
}
