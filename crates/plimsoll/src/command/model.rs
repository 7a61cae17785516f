//! `plimsoll model`: predicts the performance of a planned rig, and compares the model with a measured run.

mod path;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use plimsoll_judge::models::queueing::{Arrivals, Discipline, Dispatch, Figure, Prediction, Rig, Times};
use plimsoll_model::experiment::{Experiment, open_loop};
use plimsoll_model::observation::{Arm, Histogram, PhaseKind, TrialRecord};
use plimsoll_model::plan::{Plan, cell_text};
use serde::Serialize;

use crate::args::{Arriving, Choosing, ModelArgs, PlainFormat, Serving, Spread};
use crate::command::show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{bounded, output, state};
use plimsoll_assess::quantiles;

/// Jobs per second or users from which a rig without others is predicted: none.
const NOTHING_ASKED: &str = "expected --rate, --users or --within: how much work does the rig get?";

/// The printed answer.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    hosts: u32,
    cpus: u32,
    /// The mean service time in seconds.
    service_time: f64,
    /// The variance of service times over the square of their mean.
    squared_variation: f64,
    light: Option<String>,
    predictions: Vec<Predicted>,
    capacity: Option<Capacity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checked: Vec<Checked>,
}

#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct Predicted {
    rate: Option<f64>,
    users: Option<usize>,
    #[serde(flatten)]
    prediction: Prediction,
}

/// The highest rate that holds a bound; no rate when even an idle rig takes longer.
#[derive(Serialize)]
struct Capacity {
    share: f64,
    within_s: f64,
    rate: Option<Figure>,
}

/// A measured phase beside its prediction; times in seconds.
#[derive(Serialize)]
struct Checked {
    phase: String,
    offered: f64,
    measured: Measured,
    prediction: Option<Prediction>,
}

#[derive(Serialize)]
struct Measured {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
}

pub(crate) fn run(args: &ModelArgs) -> Result<Exit, Failure> {
    if let Some((rtt, loss)) = args.rtt.zip(args.loss) {
        return path::run(args, rtt, loss);
    }
    let seen = args.run.as_deref().map(|id| seen_in(args, id)).transpose()?;
    let service = match &seen {
        Some(seen) => seen.times(args)?,
        None => given(args)?,
    };
    let rig = Rig {
        hosts: args.hosts as usize,
        cpus: args.cpus as usize,
        service,
        arrivals: Arrivals::Poisson(1.0),
        discipline: match args.discipline {
            Serving::Queue => Discipline::Queue,
            Serving::Shared => Discipline::Shared,
        },
        dispatch: match args.dispatch {
            Choosing::Random => Dispatch::Random,
            Choosing::RoundRobin => Dispatch::RoundRobin,
            Choosing::LeastBusy => Dispatch::LeastBusy,
        },
    };
    if seen.is_none() && args.rate.is_empty() && args.users.is_empty() && args.within.is_none() {
        return Err(Failure::Usage(NOTHING_ASKED.into()));
    }
    let answer = answer(args, &rig, seen.as_ref())?;
    match args.format {
        PlainFormat::Json => output::json(&answer),
        PlainFormat::Text => output::text(|out| text(out, args, &answer)),
    }?;
    Ok(Exit::Holds)
}

fn answer(args: &ModelArgs, rig: &Rig, seen: Option<&MeasuredRun>) -> Result<Report, Failure> {
    let (jobs, seed) = (args.jobs as usize, args.seed);
    let by_rate = |rate: f64| match args.arrivals {
        Arriving::Poisson => Arrivals::Poisson(rate),
        Arriving::Constant => Arrivals::Constant(rate),
    };
    let predict = |arrivals| Rig { arrivals, ..rig.clone() }.predict(jobs, seed);
    let mut predictions = Vec::new();
    for &rate in &args.rate {
        let prediction = predict(by_rate(rate)).map_err(|error| Failure::Usage(error.to_string()))?;
        predictions.push(Predicted { rate: Some(rate), users: None, prediction });
    }
    for &count in &args.users {
        let think = args.think.map_or(0.0, |think| think.0.as_secs_f64());
        let prediction =
            predict(Arrivals::Users { count, think }).map_err(|error| Failure::Usage(error.to_string()))?;
        predictions.push(Predicted { rate: None, users: Some(count), prediction });
    }
    let within = args.within.map(|within| {
        let (share, within_s) = (args.share.0, within.0.as_secs_f64());
        let rig = Rig { arrivals: by_rate(1.0), ..rig.clone() };
        let rate = rig.capacity(share, within_s, jobs, seed);
        rate.map(|rate| Capacity { share, within_s, rate }).map_err(|error| Failure::Usage(error.to_string()))
    });
    let checked = seen.into_iter().flat_map(|seen| {
        seen.offered.iter().map(|offered| Checked {
            phase: offered.phase.clone(),
            offered: offered.rate,
            measured: offered.measured(),
            // A rate that the rig of the model cannot carry has no steady state.
            prediction: predict(offered.arrivals()).ok(),
        })
    });
    Ok(Report {
        schema: "plimsoll.model/1",
        hosts: args.hosts,
        cpus: args.cpus,
        service_time: rig.service.mean(),
        squared_variation: rig.service.squared_variation(),
        light: seen.map(|seen| seen.light(args).map(|offered| offered.phase.clone())).transpose()?,
        predictions,
        capacity: within.transpose()?,
        checked: checked.collect(),
    })
}

/// The service times that the command line gives.
fn given(args: &ModelArgs) -> Result<Times, Failure> {
    if let Some(file) = &args.times {
        return read_times(file);
    }
    let mean = args.service_time.ok_or_else(|| {
        Failure::Usage("expected a run, --service-time or --times: how long does one job take?".into())
    })?;
    let mean = mean.0.as_secs_f64();
    Ok(match args.spread {
        Spread::Exponential => Times::Exponential(mean),
        Spread::Fixed => Times::Fixed(mean),
    })
}

fn read_times(file: &Path) -> Result<Times, Failure> {
    let text = bounded::text(file, bounded::FILE).map_err(|error| Failure::io("read", file, &error))?;
    let numbers = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(i, line)| {
        line.trim().parse::<f64>().map(|milliseconds| milliseconds / 1e3).map_err(|_| {
            let place = format!("{}:{}", file.display(), i + 1);
            Failure::Usage(format!("{place}: `{line}` is not a number of milliseconds"))
        })
    });
    numbers.collect::<Result<_, _>>().map(Times::Measured)
}

/// Response times of a run, phase by phase.
struct MeasuredRun {
    offered: Vec<Offered>,
}

/// A phase, or a step of one, that an open loop loaded at one rate.
struct Offered {
    phase: String,
    rate: f64,
    arrivals: open_loop::Arrivals,
    /// Response times in microseconds.
    responses: Histogram,
}

impl Offered {
    fn arrivals(&self) -> Arrivals {
        match self.arrivals {
            open_loop::Arrivals::Constant => Arrivals::Constant(self.rate),
            open_loop::Arrivals::Poisson => Arrivals::Poisson(self.rate),
        }
    }

    fn measured(&self) -> Measured {
        let (mean, percentiles) = (self.responses.mean(), self.responses.percentiles());
        let seconds = |us: u64| us as f64 / 1e6;
        Measured {
            mean: mean / 1e6,
            p50: seconds(percentiles.p50),
            p95: seconds(percentiles.p95),
            p99: seconds(percentiles.p99),
        }
    }
}

impl MeasuredRun {
    fn light(&self, args: &ModelArgs) -> Result<&Offered, Failure> {
        let found = match &args.light {
            Some(phase) => self.offered.iter().find(|offered| offered.phase == *phase),
            None => self.offered.iter().min_by(|a, b| a.responses.mean().total_cmp(&b.responses.mean())),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.offered.iter().map(|offered| offered.phase.as_str()).collect();
            let names = if names.is_empty() { "this run has none".into() } else { names.join(", ") };
            Failure::Usage(format!("expected a phase that was measured in open loop: {names}"))
        })
    }

    fn times(&self, args: &ModelArgs) -> Result<Times, Failure> {
        Ok(Times::Measured(quantiles::seconds(&self.light(args)?.responses)))
    }
}

fn seen_in(args: &ModelArgs, id: &str) -> Result<MeasuredRun, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let (plan, _, trials) = show::load(&store, id)?;
    let mut offered: Vec<Offered> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.faults.is_empty()) {
        add(&mut offered, &plan, trial);
    }
    offered.retain(|offered| !offered.responses.is_empty());
    Ok(MeasuredRun { offered })
}

/// Adds a trial's measurements in open loop to earlier ones of the same rate, phase and cell.
fn add(offered: &mut Vec<Offered>, plan: &Plan, trial: &TrialRecord) {
    let Some(cell) = plan.cells.iter().find(|cell| cell.levels == trial.cell) else { return };
    for record in trial.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        let Some(arrivals) = arrivals(&cell.experiment, &record.name) else { continue };
        for slice in record.slices.iter().filter(|slice| slice.arm == Arm::Treatment) {
            let Some(offer) = &slice.result.offer else { continue };
            let name = named(&record.name, &trial.cell);
            if offer.steps.is_empty() {
                let rate = offer.offered().unwrap_or(0.0);
                keep(offered, name, rate, arrivals, &slice.result.latency.total);
            } else {
                for step in &offer.steps {
                    let name = format!("{name} at {}/s", step.rate);
                    keep(offered, name, step.rate, arrivals, &step.latency);
                }
            }
        }
    }
}

fn named(phase: &str, cell: &BTreeMap<String, String>) -> String {
    if cell.is_empty() { phase.to_owned() } else { format!("{phase} ({})", cell_text(cell)) }
}

fn keep(
    offered: &mut Vec<Offered>,
    phase: String,
    rate: f64,
    arrivals: open_loop::Arrivals,
    times: &Histogram,
) {
    match offered.iter_mut().find(|other| other.phase == phase) {
        Some(other) => other.responses.add(times),
        None => offered.push(Offered { phase, rate, arrivals, responses: times.clone() }),
    }
}

/// How requests follow one another in a phase, where they come in open loop at a rate that does not change but in steps.
fn arrivals(experiment: &Experiment, phase: &str) -> Option<open_loop::Arrivals> {
    let load = experiment.measured_load(phase)?;
    let open = experiment.loads.get(load)?.kind.http()?.open.as_ref()?;
    (open.ramp_to.is_none() && open.sine.is_none()).then_some(open.arrivals)
}

fn text(out: &mut dyn Write, args: &ModelArgs, answer: &Report) -> io::Result<()> {
    let plural = |n: u32, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let mut rig = plural(answer.cpus, "processor");
    if answer.hosts > 1 {
        rig = format!("{} with {rig} each", plural(answer.hosts, "host"));
    }
    let service = milliseconds(answer.service_time);
    let spread = answer.squared_variation.sqrt();
    writeln!(out, "{rig}, {service} ms of a processor per job (coefficient of variation {spread:.2})")?;
    if let Some(light) = &answer.light {
        writeln!(out, "service times: the replies of `{light}`, assuming that none queued")?;
    }
    if !answer.predictions.is_empty() {
        writeln!(
            out,
            "\n{:>10}  {:>5}  {:>8}  {:>26}  by",
            "", "busy", "load", "response, mean p50 p95 p99"
        )?;
    }
    for Predicted { rate, users, prediction } in &answer.predictions {
        let what = match (rate, users) {
            (Some(rate), _) => format!("{rate}/s"),
            (None, users) => format!("{} users", users.unwrap_or(0)),
        };
        writeln!(
            out,
            "{what:>10}  {:>4.0}%  {:>8.2}  {:>23} ms  {}",
            100.0 * prediction.utilisation.value,
            prediction.load.value,
            times(prediction),
            prediction.by
        )?;
    }
    if let Some(Capacity { share, within_s, rate }) = &answer.capacity {
        let bound = format!("{} % within {} ms", 100.0 * share, milliseconds(*within_s));
        match rate {
            Some(Figure { value, interval: None }) => writeln!(out, "\n{bound}: up to {value:.1} jobs/s")?,
            Some(Figure { value, interval: Some([low, high]) }) => {
                writeln!(out, "\n{bound}: up to {value:.1} jobs/s ({low:.1} to {high:.1}, by simulation)")?;
            }
            None => writeln!(out, "\n{bound}: not even when idle")?,
        }
    }
    if !answer.checked.is_empty() {
        writeln!(out, "\nmeasured against the model ({} processors a host), ms:", args.cpus)?;
    }
    for Checked { phase, offered, measured, prediction } in &answer.checked {
        let predicted = prediction.as_ref().map_or_else(|| "more than it can carry".to_owned(), times);
        let seen = [measured.mean, measured.p50, measured.p95, measured.p99].map(milliseconds).join(" ");
        writeln!(out, "  {phase}, {offered:.1}/s: mean p50 p95 p99 measured {seen}; model {predicted}")?;
    }
    Ok(())
}

fn times(prediction: &Prediction) -> String {
    let Prediction { response, p50, p95, p99, .. } = prediction;
    [response, p50, p95, p99].map(|figure| milliseconds(figure.value)).join(" ")
}

/// A time in milliseconds, with three digits.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}
