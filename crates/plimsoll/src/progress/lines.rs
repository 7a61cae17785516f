//! Events of a run for programs, as they happen: an object on each line of stdout (`run --format jsonl`).

use std::collections::BTreeMap;
use std::time::Instant;

use plimsoll_model::event::{EVENT_SCHEMA, EventLine, RunEvent};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::observation::{PhaseRecord, Sample, Slice};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::RunReport;
use plimsoll_run::{Event, Observer};
use plimsoll_store::RunEntry;

use crate::failure::Failure;
use crate::output;

/// Writes lines. A reader that has gone (`| head`) is no failure.
pub(crate) struct Lines {
    run: String,
    began: Instant,
    /// Its loads say which figures they have.
    experiment: Experiment,
    /// Name of the phase under way.
    phase: String,
    /// Why no further line can be written.
    broken: Option<Failure>,
}

impl Lines {
    /// Begins with the first line.
    pub(crate) fn begin(plan: &Plan, entry: &RunEntry) -> Self {
        let mut lines = Self {
            run: entry.id.clone(),
            began: Instant::now(),
            experiment: plan.experiment.clone(),
            phase: String::new(),
            broken: None,
        };
        lines.write(RunEvent::RunStarted {
            experiment: entry.experiment.clone(),
            question: plan.experiment.question.clone(),
            seed: entry.seed,
        });
        lines
    }

    fn write(&mut self, event: RunEvent) {
        if self.broken.is_some() {
            return;
        }
        let line = EventLine {
            schema: EVENT_SCHEMA.to_owned(),
            run: self.run.clone(),
            // To the microsecond: more is not known of when something happened.
            at_s: self.began.elapsed().as_micros() as f64 / 1e6,
            event,
        };
        self.broken = output::document(|out| plimsoll_report::json::line(out, &line)).err();
    }

    /// Writes an event, if it has something to report.
    fn report(&mut self, event: &Event<'_>) {
        let line = match *event {
            Event::SliceEnded { slice } => Some(self.slice_ended(slice)),
            _ => line(event),
        };
        if let Event::PhaseStarted { name, .. } = *event {
            name.clone_into(&mut self.phase);
        }
        if let Some(line) = line {
            self.write(line);
        }
    }

    fn slice_ended(&self, slice: &Slice) -> RunEvent {
        let load = match slice.load.as_str() {
            "" => self.experiment.recorded_load(&self.phase),
            load => self.experiment.loads.get(load),
        };
        RunEvent::SliceEnded {
            arm: slice.arm,
            slice: slice.number,
            load: slice.load.clone(),
            figures: load.map(|load| load.kind.figures(&slice.result)).unwrap_or_default(),
        }
    }

    /// Writes the last line.
    pub(crate) fn end(mut self, report: &RunReport) -> Result<(), Failure> {
        self.write(RunEvent::RunEnded {
            status: report.status,
            verdicts: report.verdicts.iter().map(|finding| finding.verdict.clone()).collect(),
        });
        self.broken.map_or(Ok(()), Err)
    }
}

/// Passes events on, and writes them where lines are wanted.
pub(crate) struct Written<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    pub(crate) lines: Option<&'o mut Lines>,
}

impl Observer for Written<'_> {
    fn on(&mut self, event: &Event<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.report(event);
        }
        self.observer.on(event);
    }
}

/// An event that needs nothing but itself; absent where it has nothing to report.
fn line(event: &Event<'_>) -> Option<RunEvent> {
    Some(match *event {
        Event::TrialStarted { number, of } => RunEvent::TrialStarted { trial: number, of },
        Event::RigReady { took } => RunEvent::RigReady { took_s: took.as_secs_f64() },
        Event::PhaseStarted { name, kind, cycle, cycles } => {
            RunEvent::PhaseStarted { phase: name.to_owned(), kind, cycle, cycles }
        }
        Event::Step { name } => RunEvent::Step { step: name.to_owned() },
        Event::Progress { arm, progress } => RunEvent::Progress {
            arm,
            done: progress.done,
            of: progress.of,
            errors: progress.errors,
            per_second: progress.rate,
        },
        Event::SliceEnded { .. } => return None,
        Event::Sampled { arm, host, samples } => {
            RunEvent::Sampled { arm, host: host.to_owned(), samples: samples.len(), values: newest(samples)? }
        }
        Event::SoFar { what } => RunEvent::SoFar { what: what.to_owned() },
        Event::PhaseEnded { phase } => phase_ended(phase),
        Event::Remedy { rung } => RunEvent::Remedy { rung },
        Event::Fault { fault } => {
            RunEvent::Fault { phase: fault.phase.clone(), kind: fault.kind, what: fault.what.clone() }
        }
        Event::TrialEnded { trial } => RunEvent::TrialEnded { trial: trial.number, cell: trial.cell.clone() },
        Event::Judged { verdicts } => RunEvent::Judged { verdicts: verdicts.to_vec() },
    })
}

fn phase_ended(phase: &PhaseRecord) -> RunEvent {
    let took_ns = phase.end_ns.saturating_sub(phase.start_ns);
    RunEvent::PhaseEnded { phase: phase.name.clone(), cycle: phase.cycle, took_s: took_ns as f64 / 1e9 }
}

/// The newest value of each counter; `None` if none changed.
fn newest(samples: &[Sample]) -> Option<BTreeMap<String, f64>> {
    let mut newest = BTreeMap::new();
    for sample in samples {
        newest.extend(sample.values.iter().map(|(name, value)| (name.clone(), *value)));
    }
    (!newest.is_empty()).then_some(newest)
}
