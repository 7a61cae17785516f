//! One run of one version: the figure of each series.

use std::time::{Duration, Instant};

use plimsoll_import::figures::{self, Better, Options, Series as Read};
use plimsoll_judge::stats::median;

use super::sides::Side;
use crate::args::{AbArgs, AbMetric, CommandMetric, FigureArgs};
use crate::failure::Failure;
use crate::measure::{
    Counter, EndedCommand, Figure, Gauge, Invocation, MeasureError, Runner, WorkingFolder, for_names,
};

/// The formats of benchmark tools, by which the output of a command is recognised.
const TOOLS: [&str; 8] =
    ["go-bench", "criterion", "google-benchmark", "jmh", "pytest-benchmark", "hyperfine", "k6", "wrk"];
/// Metrics that every run gives at no cost; they show which one repeats best.
const USED: [CommandMetric; 4] =
    [CommandMetric::Wall, CommandMetric::Cpu, CommandMetric::Memory, CommandMetric::Faults];
/// Further figures that some tools print of a benchmark.
pub(super) const CPU_TIME: &str = "cpu_time";

/// Something that each run has a figure of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// The benchmark.
    pub(super) name: String,
    /// The public name of what is measured of it.
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) lower_is_better: bool,
}

/// The figures of one run, by series; `None` if the run had none.
pub(super) type Sample = Vec<Option<Figure>>;

/// How figures are read off a run.
enum Reader {
    /// Each by its gauge, of the whole command.
    Gauges(Vec<Gauge>),
    /// The main figures of a tool, and the CPU time beside them.
    Tool(Options),
}

/// What runs a version once.
pub(super) struct Sampler<'a> {
    args: &'a AbArgs,
    runner: Runner,
    sides: &'a [Side; 2],
    invocations: Vec<Invocation>,
    reader: Reader,
    pub(super) series: Vec<Series>,
    /// What one version has and the other has not.
    pub(super) lacking: Vec<(String, usize)>,
    start: Instant,
    runs: u32,
}

impl<'a> Sampler<'a> {
    /// Runs each version once, which warms it up and shows what there is to read.
    pub(super) fn new(args: &'a AbArgs, sides: &'a [Side; 2], runner: Runner) -> Result<Self, Failure> {
        let paths = [0, 1].map(|side: usize| sides[side].path.to_string_lossy().into_owned());
        let invocations = for_names(&args.command, &[&paths[0], &paths[1]]);
        let reader = Reader::Gauges(Vec::new());
        let mut sampler = Self {
            args,
            runner,
            sides,
            invocations,
            reader,
            series: Vec::new(),
            lacking: Vec::new(),
            start: Instant::now(),
            runs: 0,
        };
        sampler.choose_reader()?;
        Ok(sampler)
    }

    /// How long one run takes, with what prepares it.
    pub(super) fn each(&self) -> Duration {
        self.start.elapsed() / self.runs.max(1)
    }

    /// Whether the figures are those that the command prints, of each of its benchmarks.
    pub(super) fn reads_output(&self) -> bool {
        match &self.reader {
            Reader::Tool(_) => true,
            Reader::Gauges(gauges) => gauges.iter().any(|gauge| matches!(gauge, Gauge::Printed { .. })),
        }
    }

    fn choose_reader(&mut self) -> Result<(), Failure> {
        if let Some(pattern) = &self.args.figure {
            return self.use_gauges(vec![Gauge::new(&FigureArgs {
                figure: Some(pattern.clone()),
                higher_is_better: self.args.higher_is_better,
                ..FigureArgs::default()
            })?]);
        }
        let of_cpu = self.args.metric == AbMetric::Used(CommandMetric::Cpu);
        if of_cpu || matches!(self.args.metric, AbMetric::Auto | AbMetric::Figure) {
            let found = self.tool()?;
            // Without the CPU time of each benchmark, that of the command is judged.
            let suits = |series: &Vec<Series>| !of_cpu || series.iter().any(|one| one.metric == CPU_TIME);
            if let Some(series) = found.filter(suits) {
                self.series = series;
                return Ok(());
            }
            if self.args.metric == AbMetric::Figure || self.args.as_format.is_some() {
                return Err(Failure::Usage(format!(
                    "the output of `{}` has no figure: expected the output of {}, or --figure REGEX",
                    self.invocations[0],
                    self.args.as_format.as_deref().unwrap_or("a benchmark tool")
                )));
            }
        }
        let mut gauges: Vec<Gauge> = USED.into_iter().map(Gauge::Used).collect();
        match self.args.metric {
            AbMetric::Used(metric) if !USED.contains(&metric) => gauges = vec![Gauge::of(metric)?],
            // Under Valgrind a command takes too long to be chosen unasked.
            AbMetric::Auto => gauges.extend(Counter::of_cpu().map(Gauge::Counted)),
            _ => {}
        }
        self.use_gauges(gauges)
    }

    /// Keeps the gauges that have a figure of both versions.
    fn use_gauges(&mut self, gauges: Vec<Gauge>) -> Result<(), Failure> {
        self.reader = Reader::Gauges(gauges);
        let samples = [self.raw(0)?, self.raw(1)?];
        let Reader::Gauges(gauges) = &mut self.reader else { return Ok(()) };
        let mut has = samples[0].iter().zip(&samples[1]).map(|(a, b)| a.is_some() && b.is_some());
        gauges.retain(|_| has.next().unwrap_or(false));
        let name = self.args.command.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let series = gauges.iter().map(|gauge| Series {
            name: name.clone(),
            metric: gauge.metric().to_owned(),
            unit: gauge.unit().unwrap_or_default().to_owned(),
            lower_is_better: gauge.lower_is_better(),
        });
        self.series = series.collect();
        Ok(())
    }

    /// Keeps only the series that come from the same run as the judged one, and returns their indices.
    pub(super) fn narrow(&mut self, judged: usize) -> Vec<usize> {
        let Reader::Gauges(gauges) = &mut self.reader else { return (0..self.series.len()).collect() };
        let counts = |at: usize| matches!(gauges[at], Gauge::Counted(_));
        let kept: Vec<usize> = (0..gauges.len()).filter(|at| counts(*at) == counts(judged)).collect();
        let mut place = 0..;
        gauges.retain(|_| place.next().is_some_and(|at| kept.contains(&at)));
        self.series = kept.iter().map(|at| self.series[*at].clone()).collect();
        kept
    }

    /// The series of a tool's output; `None` if the command printed no figures of any tool.
    fn tool(&mut self) -> Result<Option<Vec<Series>>, Failure> {
        let texts = [self.printed(0)?, self.printed(1)?];
        let formats = self.args.as_format.as_deref().map_or(TOOLS.to_vec(), |format| vec![format]);
        for format in formats {
            let options = Options { only: Some(format.to_owned()), ..Options::default() };
            let read = |text: &str| {
                main_figures(text, &options)
                    .map_err(|error| Failure::Usage(format!("--as {format}: {error}")))
            };
            let [base, head] = [read(&texts[0])?, read(&texts[1])?];
            if base.is_empty() && head.is_empty() {
                continue;
            }
            self.reader = Reader::Tool(options);
            let only = |these: &[Read], others: &[Read], side: usize| {
                let lacks = |series: &&Read| {
                    series.metric != CPU_TIME && others.iter().all(|other| other.name() != series.name())
                };
                these.iter().filter(lacks).map(|series| (title(series), side)).collect::<Vec<_>>()
            };
            self.lacking = [only(&base, &head, 0), only(&head, &base, 1)].concat();
            let both = base.iter().filter(|series| head.iter().any(|other| other.name() == series.name()));
            return Ok(Some(both.map(|series| self.described(series)).collect()));
        }
        Ok(None)
    }

    fn described(&self, series: &Read) -> Series {
        let rate = series.unit.starts_with("ops/") || series.unit.ends_with("/s");
        Series {
            name: title(series),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            lower_is_better: match series.better {
                _ if self.args.higher_is_better => false,
                Better::Lower => true,
                Better::Higher => false,
                // JMH says it by the unit of the score alone.
                Better::Unknown => !rate,
            },
        }
    }

    fn printed(&mut self, side: usize) -> Result<String, MeasureError> {
        self.once(side, |this, place| Ok(output(this.runner.run(&this.invocations[side], place, true)?)))
    }

    /// Does something once with a version that was prepared for it.
    fn once<T>(
        &mut self,
        side: usize,
        what: impl FnOnce(&mut Self, &WorkingFolder) -> Result<T, MeasureError>,
    ) -> Result<T, MeasureError> {
        let done = self.prepare(side).and_then(|place| what(self, &place));
        let of = &self.sides[side];
        let unbuilt = of.commit.is_some() && self.args.build.is_none();
        let if_absent = unbuilt.then_some("--build COMMAND, if each revision has to be built first");
        done.map_err(|error| error.of_version(&of.title(), if_absent))
    }

    fn prepare(&mut self, side: usize) -> Result<WorkingFolder, MeasureError> {
        self.runs += 1;
        let place = self.sides[side].place.clone();
        if let Some(line) = &self.args.prepare {
            self.runner.run_aside(line, &place)?;
        }
        Ok(place)
    }

    /// Runs a version once, without anything around it.
    pub(super) fn exercise(&mut self, side: usize) -> Result<(), MeasureError> {
        self.once(side, |this, place| this.runner.run(&this.invocations[side], place, false).map(drop))
    }

    /// Runs a version once, and reads its figures.
    pub(super) fn sample(&mut self, side: usize) -> Result<Sample, MeasureError> {
        let sample = self.raw(side)?;
        if sample.iter().all(Option::is_none) {
            return Err(MeasureError::NoFigure {
                command: self.invocations[side].to_string(),
                pattern: "its earlier output".into(),
                wrote: String::new(),
            });
        }
        Ok(sample)
    }

    fn raw(&mut self, side: usize) -> Result<Sample, MeasureError> {
        self.once(side, |this, place| this.figures(side, place))
    }

    fn figures(&mut self, side: usize, place: &WorkingFolder) -> Result<Sample, MeasureError> {
        let invocation = &self.invocations[side];
        match &self.reader {
            Reader::Gauges(gauges) => of_gauges(gauges, &mut self.runner, invocation, place),
            Reader::Tool(options) => {
                let text = output(self.runner.run(invocation, place, true)?);
                let found = main_figures(&text, options).unwrap_or_default();
                let value = |series: &Series| {
                    let is = |read: &&Read| title(read) == series.name && read.metric == series.metric;
                    let of = found.iter().find(is)?;
                    let value = median(&of.values()) * figures::factor(&of.unit, &series.unit)?;
                    (value.is_finite() && value > 0.0).then(|| Figure::plain(value))
                };
                Ok(self.series.iter().map(value).collect())
            }
        }
    }
}

/// What a command wrote: to stdout, or to stderr if stdout is empty.
fn output(ran: EndedCommand) -> String {
    let text = if ran.stdout.is_empty() { ran.stderr } else { ran.stdout };
    String::from_utf8_lossy(&text).into_owned()
}

/// A counter stands around the command, a size needs no run, and all else is read off the same run.
fn of_gauges(
    gauges: &[Gauge],
    runner: &mut Runner,
    invocation: &Invocation,
    place: &WorkingFolder,
) -> Result<Sample, MeasureError> {
    if let [only] = gauges {
        return only.measure(runner, invocation, place).map(|figure| vec![Some(figure)]);
    }
    let counted = gauges.iter().find(|gauge| matches!(gauge, Gauge::Counted(_)));
    let count = counted.map(|gauge| gauge.measure(runner, invocation, place)).transpose()?;
    let ran = runner.run(invocation, place, false)?;
    let read = |gauge: &Gauge| match gauge {
        Gauge::Counted(_) => count,
        used => used.read(&ran, invocation).ok(),
    };
    Ok(gauges.iter().map(read).collect())
}

/// The main figures of a text, without the bounds of their estimates, and behind them the CPU time.
fn main_figures(text: &str, options: &Options) -> Result<Vec<Read>, figures::ReadError> {
    let found = figures::read(text, options)?;
    let is_bound = |series: &&Read| series.labels.iter().any(|(label, _)| *label == "bound");
    let mut kept: Vec<Read> = found.main().into_iter().filter(|series| !is_bound(series)).cloned().collect();
    let beside = |cpu: &&Read| kept.iter().any(|main| main.labels == cpu.labels && main.metric != CPU_TIME);
    let beside: Vec<Read> = found.all(CPU_TIME).into_iter().filter(beside).cloned().collect();
    kept.extend(beside);
    Ok(kept)
}

/// What a benchmark is called: by the label that names it, or by all that sets it apart.
fn title(series: &Read) -> String {
    let benchmark = series.labels.iter().find(|(label, _)| *label == "benchmark");
    match (benchmark, series.labels.len()) {
        (Some((_, name)), 1) => name.clone(),
        _ => series.name(),
    }
}
