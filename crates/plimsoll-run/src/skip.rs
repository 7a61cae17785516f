//! A phase that the user skips. From there on, the trial's measurements differ from the plan: the trial goes on, so its other phases can be seen,
//! and is not counted.

use std::time::Duration;

use plimsoll_model::observation::{Fault, FaultKind};

use crate::background;
use crate::error::TrialStop;
use crate::event::Event;
use crate::pending_steps::PendingSteps;
use crate::trial::Trial;

/// Runs a step that a skip request may end.
pub(crate) fn skippable<T>(
    trial: &mut Trial<'_>,
    waiting: impl FnOnce(&mut Trial<'_>) -> Result<T, TrialStop>,
) -> Result<T, TrialStop> {
    let before = trial.rigs.agents.may_be_skipped(true);
    let done = waiting(trial);
    trial.rigs.agents.may_be_skipped(before);
    done
}

/// Turns a skip into the end of its phase.
pub(crate) fn unless_skipped(trial: &mut Trial<'_>, done: Result<(), TrialStop>) -> Result<(), TrialStop> {
    match done {
        Err(TrialStop::Skipped) => skipped(trial),
        other => other,
    }
}

/// Ends the latest phase, which is still running.
fn skipped(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    trial.rigs.agents.take_skip();
    trial.pending_steps = PendingSteps::default();
    background::stop_background(trial, Ok(()))?;
    let (phase, began) = (trial.recorder.latest().name.clone(), trial.recorder.latest().start_ns);
    let took = Duration::from_nanos(trial.recorder.now_ns().saturating_sub(began));
    let what = format!("it was skipped by hand after {:.1} s", took.as_secs_f64());
    trial.recorder.current().notes.push(what.clone());
    let fault = Fault { phase, kind: FaultKind::Skipped, what };
    trial.recorder.observer.on(&Event::Fault { fault: &fault });
    trial.recorder.record.faults.push(fault);
    trial.end()
}
