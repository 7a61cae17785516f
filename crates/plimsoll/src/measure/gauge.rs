//! Which figure is read off a command.

use std::time::Duration;

use plimsoll_judge::compare::CompareSettings;
use plimsoll_judge::stats::median;
use plimsoll_model::experiment::Metric;
use regex::bytes::Regex;

use super::counter::Counter;
use super::error::last_lines;
use super::process::EndedCommand;
use super::{Figure, Invocation, MeasureError, Runner, WorkingFolder};
use crate::args::{CommandMetric, FigureArgs};
use crate::failure::Failure;

/// Least difference between a command's own peak and that of Plimsoll itself, in bytes: the kernel counts pages per CPU, and adds
/// them up now and then.
const FLOOR_SLACK: u64 = 512 << 10;

/// The exit statuses of `plimsoll run` that come with figures: the claims hold, one fails, or it is open.
const HAS_FIGURES: [i32; 3] = [0, 1, 4];

/// The figure that is read off every run of a command.
#[derive(Debug)]
pub(crate) enum Gauge {
    /// A figure that the kernel measures.
    Used(CommandMetric),
    /// A figure that a program around the command counts.
    Counted(Counter),
    /// A number that the command prints.
    Printed {
        /// What the number is the first group of.
        pattern: Regex,
        /// Whether a smaller one is better.
        lower_is_better: bool,
    },
    /// A figure of a phase of an experiment, of which the command is a run that prints JSON.
    Phase {
        /// The phase; the first that is measured without it.
        phase: Option<String>,
        /// The figure; the rate of its load without it.
        metric: Option<Metric>,
    },
}

impl Gauge {
    /// The figure that the arguments ask for.
    pub(crate) fn new(args: &FigureArgs) -> Result<Self, Failure> {
        let Some(pattern) = &args.figure else { return Self::of(args.metric) };
        let usage = |what: String| Failure::Usage(format!("--figure {pattern}: {what}"));
        let compiled = Regex::new(pattern).map_err(|error| usage(error.to_string()))?;
        if compiled.captures_len() < 2 {
            return Err(usage("expected a group around the number, such as `took ([0-9.]+) ms`".into()));
        }
        Ok(Self::Printed { pattern: compiled, lower_is_better: !args.higher_is_better })
    }

    /// Reader of this figure for commands.
    pub(crate) fn of(metric: CommandMetric) -> Result<Self, Failure> {
        Ok(match metric {
            CommandMetric::Instructions => Self::Counted(Counter::of_instructions()?),
            CommandMetric::Syscalls => Self::Counted(Counter::of_calls()?),
            CommandMetric::Allocations => Self::Counted(Counter::of_allocations()?),
            other => Self::Used(other),
        })
    }

    /// The public name of the figure.
    pub(crate) fn metric(&self) -> &'static str {
        match self {
            Self::Used(CommandMetric::Wall) => "wall_time",
            Self::Used(CommandMetric::Elapsed) => "elapsed_time",
            Self::Used(CommandMetric::Cpu) => "cpu_time",
            Self::Used(CommandMetric::Memory) => "peak_memory",
            Self::Used(CommandMetric::Faults) => "page_faults",
            Self::Used(CommandMetric::Size) => "size",
            Self::Used(CommandMetric::Instructions) => "instructions",
            Self::Used(CommandMetric::Syscalls) => "system_calls",
            Self::Used(CommandMetric::Allocations) => "allocations",
            Self::Counted(counter) => counter.metric(),
            Self::Printed { .. } | Self::Phase { .. } => "figure",
        }
    }

    /// Its unit; `None` if only the command knows.
    pub(crate) fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Used(CommandMetric::Wall | CommandMetric::Elapsed | CommandMetric::Cpu) => Some("s"),
            Self::Used(CommandMetric::Memory | CommandMetric::Size) => Some("bytes"),
            Self::Used(_) | Self::Counted(_) | Self::Printed { .. } | Self::Phase { .. } => None,
        }
    }

    /// Whether a smaller figure is better.
    pub(crate) fn lower_is_better(&self) -> bool {
        match self {
            Self::Used(_) | Self::Counted(_) => true,
            Self::Printed { lower_is_better, .. } => *lower_is_better,
            Self::Phase { metric, .. } => metric.is_some_and(Metric::lower_is_better),
        }
    }

    /// Whether a worse figure means that each run, or each operation of a rate, took longer.
    pub(crate) fn is_of_time(&self) -> bool {
        let is_time = matches!(self, Self::Used(CommandMetric::Wall | CommandMetric::Elapsed));
        is_time || !self.lower_is_better()
    }

    /// How many operations a run carried out in these seconds, by its figure. A figure that is better when it is higher is taken for a rate: a
    /// total of runs that all last as long is in proportion to it.
    pub(crate) fn operations(&self, figure: f64, seconds: f64) -> Option<f64> {
        (!self.lower_is_better()).then_some(figure * seconds)
    }

    /// Settings for a comparison of such figures.
    pub(crate) fn settings(&self, margin: f64, alpha: f64) -> CompareSettings {
        CompareSettings {
            margin,
            alpha,
            lower_is_better: self.lower_is_better(),
            ..CompareSettings::default()
        }
    }

    /// Runs a command once, and reads the figure off it.
    pub(crate) fn measure(
        &self,
        runner: &mut Runner,
        invocation: &Invocation,
        place: &WorkingFolder,
    ) -> Result<Figure, MeasureError> {
        match self {
            Self::Used(CommandMetric::Size) => return size(invocation, place).map(Figure::plain),
            Self::Counted(counter) => {
                let folder = tempfile::tempdir().map_err(MeasureError::io("make a temporary folder"))?;
                runner.run(&counter.around(invocation, folder.path()), place, false)?;
                return counter.counted(folder.path(), invocation).map(Figure::plain);
            }
            _ => {}
        }
        let ran = match self {
            Self::Phase { .. } => runner.run_with(invocation, place, &HAS_FIGURES)?,
            _ => runner.run(invocation, place, matches!(self, Self::Printed { .. }))?,
        };
        self.read(&ran, invocation)
    }

    /// Reads the figure off a run.
    pub(crate) fn read(&self, ran: &EndedCommand, invocation: &Invocation) -> Result<Figure, MeasureError> {
        let nothing = |what| MeasureError::Nothing { command: invocation.to_string(), what };
        let figure = match self {
            Self::Used(CommandMetric::Wall) => {
                let foreign = ran.waited.map(|waited| waited.as_secs_f64());
                return Ok(Figure { value: ran.wall.as_secs_f64(), foreign });
            }
            Self::Used(CommandMetric::Cpu) if ran.cpu == Duration::ZERO => Err(nothing("CPU time")),
            Self::Used(CommandMetric::Cpu) => Ok(ran.cpu.as_secs_f64()),
            Self::Used(CommandMetric::Memory) => visible(ran.peak_memory, own_peak()?, invocation),
            Self::Used(CommandMetric::Faults) => {
                ran.page_faults.map(|faults| faults as f64).ok_or_else(|| nothing("number of page faults"))
            }
            Self::Used(CommandMetric::Elapsed) => Ok(ran.wall.as_secs_f64()),
            // These figures are counted around a run, or need no counter.
            Self::Used(_) | Self::Counted(_) => Err(nothing(self.metric())),
            Self::Printed { pattern, .. } => printed(pattern, ran, invocation),
            Self::Phase { phase, metric } => of_phase(ran, phase.as_deref(), *metric, invocation),
        };
        figure.map(Figure::plain)
    }
}

/// The bytes of a command's program.
fn size(invocation: &Invocation, WorkingFolder(folder): &WorkingFolder) -> Result<f64, MeasureError> {
    let no_file = || MeasureError::NoFile { command: invocation.to_string() };
    let Invocation::Words { program, .. } = invocation else { return Err(no_file()) };
    let file = folder.as_deref().map_or_else(|| program.clone(), |folder| folder.join(program));
    let bytes = file.metadata().map_err(|_| no_file())?.len();
    if bytes > 0 { Ok(bytes as f64) } else { Err(no_file()) }
}

/// A child shares its parent's memory until it becomes the new program, and the kernel keeps that in its peak
/// (`exec_mmap` in Linux, fs/exec.c). A peak that is no higher is not the command's own.
fn visible(peak: u64, floor: u64, invocation: &Invocation) -> Result<f64, MeasureError> {
    if peak > floor + FLOOR_SLACK {
        Ok(peak as f64)
    } else {
        Err(MeasureError::Hidden { command: invocation.to_string(), floor })
    }
}

/// The highest resident set of this process so far, in bytes.
pub(super) fn own_peak() -> Result<u64, MeasureError> {
    let status =
        std::fs::read_to_string("/proc/self/status").map_err(MeasureError::io("read /proc/self/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let missing = || std::io::Error::other("it has no VmHWM");
    Ok(kilobytes.ok_or_else(missing).map_err(MeasureError::io("read /proc/self/status"))? * 1024)
}

/// The number that a command printed: on stdout, or else on stderr, where programs such as `dd` report.
fn printed(pattern: &Regex, ran: &EndedCommand, invocation: &Invocation) -> Result<f64, MeasureError> {
    let group = |text| pattern.captures(text).and_then(|found| found.get(1));
    let Some(found) = group(&ran.stdout).or_else(|| group(&ran.stderr)) else {
        let wrote = last_lines(if ran.stdout.is_empty() { &ran.stderr } else { &ran.stdout });
        return Err(MeasureError::NoFigure {
            command: invocation.to_string(),
            pattern: pattern.to_string(),
            wrote,
        });
    };
    let text = String::from_utf8_lossy(found.as_bytes());
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0).ok_or_else(|| {
        MeasureError::BadFigure {
            command: invocation.to_string(),
            text: plimsoll_report::escape::terminal(&text).into_owned(),
        }
    })
}

/// The median over the trials of a phase's figure.
fn of_phase(
    ran: &EndedCommand,
    phase: Option<&str>,
    metric: Option<Metric>,
    invocation: &Invocation,
) -> Result<f64, MeasureError> {
    let none = |what: String| {
        let wrote = last_lines(&ran.stderr);
        Err(MeasureError::NoFigure { command: invocation.to_string(), pattern: what, wrote })
    };
    let Ok(run) = serde_json::from_slice::<serde_json::Value>(&ran.stdout) else {
        return none("JSON of a run".into());
    };
    let phases = run["trials"].as_array().into_iter().flatten().filter_map(|trial| {
        let mut measured = trial["phases"].as_array()?.iter().filter(|of| of["kind"] == "measure");
        measured.find(|of| phase.is_none_or(|wanted| of["name"] == wanted))
    });
    let found = |of: &serde_json::Value, name: &str| of["figures"][name].as_f64();
    let figures: Vec<f64> = phases
        .filter_map(|of| match metric {
            Some(metric) => found(of, metric.name()),
            // A rate that a program names is an object with its name and unit.
            None => {
                let rate = of["rate"].as_str().or_else(|| of["rate"]["name"].as_str());
                found(of, rate.unwrap_or(Metric::default().name()))
            }
        })
        .collect();
    let figure = median(&figures);
    if figure.is_finite() && figure > 0.0 {
        return Ok(figure);
    }
    let figure = metric.map_or("rate", Metric::name);
    none(format!("a {figure} above 0 of the phase {}", phase.unwrap_or("that is measured first")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Interrupts;

    fn figure(pattern: &str, line: &str) -> Result<f64, MeasureError> {
        let args = FigureArgs { figure: Some(pattern.into()), ..FigureArgs::default() };
        let mut runner = Runner::new(Interrupts::default(), false)?;
        let line = Invocation::Shell(line.into());
        Gauge::new(&args).unwrap().measure(&mut runner, &line, &WorkingFolder::default()).map(Figure::own)
    }

    #[test]
    fn the_first_group_of_what_is_printed_is_the_figure() {
        assert_eq!(figure(r"took ([0-9.]+) ms", "echo it took 12.5 ms, or 3").unwrap(), 12.5);
        assert_eq!(figure(r"([0-9.e+-]+) B/s", "echo 1.5e3 B/s >&2").unwrap(), 1500.0, "on stderr as well");
    }

    #[test]
    fn what_is_no_number_above_zero_is_refused_by_name() {
        let text = |pattern, line| figure(pattern, line).unwrap_err().to_string();
        assert!(
            text("x=([0-9]+)", "echo y=1").contains("printed nothing that matches `x=([0-9]+)`\n    y=1")
        );
        assert!(text("x=(.*)", "echo x=fast").contains("printed `fast` as its figure"));
        assert!(text("x=(.*)", "echo x=0").contains("expected a number above 0"));
        assert!(text("x=(.*)", "echo x=inf").contains("expected a number above 0"));
    }

    #[test]
    fn of_a_run_the_median_of_the_phase_that_is_asked_for_counts() {
        let trial = |a: f64, b: f64| {
            format!(
                r#"{{"phases":[{{"name":"a","kind":"warm_up","figures":{{}}}},
                {{"name":"a","kind":"measure","rate":"requests_per_second","figures":{{"requests_per_second":{a},"p99_ms":2.5}}}},
                {{"name":"b","kind":"measure","rate":null,"figures":{{"connections_per_second":{b}}}}}]}}"#
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        let text =
            format!(r#"{{"trials":[{},{},{}]}}"#, trial(1.0, 10.0), trial(5.0, 50.0), trial(2.0, 20.0));
        std::fs::write(&file, text).unwrap();
        let measured = |phase: Option<&str>, metric: Option<Metric>, ends: &str| {
            let mut runner = Runner::new(Interrupts::default(), false)?;
            let line = Invocation::Shell(format!("cat {}; exit {ends}", file.display()));
            let gauge = Gauge::Phase { phase: phase.map(Into::into), metric };
            gauge.measure(&mut runner, &line, &WorkingFolder::default()).map(Figure::own)
        };
        assert_eq!(measured(None, None, "0").unwrap(), 2.0);
        assert_eq!(measured(Some("b"), None, "1").unwrap(), 20.0, "also where a claim fails");
        assert_eq!(measured(None, Some(Metric::P99Ms), "4").unwrap(), 2.5);
        assert!(measured(Some("c"), None, "0").unwrap_err().to_string().contains("of the phase c"));
        assert!(measured(None, None, "3").unwrap_err().asks_to_skip(), "it could not be carried out");
        assert!(!measured(None, None, "2").unwrap_err().asks_to_skip(), "a bad file is one for all versions");
    }

    #[test]
    fn a_pattern_needs_a_group() {
        let args = FigureArgs { figure: Some("[0-9]+".into()), ..FigureArgs::default() };
        assert!(
            matches!(Gauge::new(&args), Err(Failure::Usage(text)) if text.contains("a group around the number"))
        );
    }

    #[test]
    fn a_peak_no_higher_than_our_own_is_not_the_commands() {
        let invocation = Invocation::Shell("true".into());
        assert!(visible(10 << 20, 8 << 20, &invocation).is_ok());
        assert!(matches!(visible(8 << 20, 8 << 20, &invocation), Err(MeasureError::Hidden { .. })));
    }
}
