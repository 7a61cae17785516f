//! A phase that the user ends before its end. What was measured in the trial is not what was asked for, in this phase and in all that come after it: the
//! trial goes on, so that its other phases can be seen, and is not counted.

use std::time::Duration;

use plimsoll_model::observation::{Fault, FaultKind};

use crate::error::TrialStop;
use crate::event::Event;
use crate::schedule::Schedule;
use crate::trial::Trial;

impl Trial<'_> {
    /// Waits for something that may be left undone.
    pub(crate) fn skippable<T>(
        &mut self,
        waiting: impl FnOnce(&mut Self) -> Result<T, TrialStop>,
    ) -> Result<T, TrialStop> {
        let before = self.agents.may_be_skipped(true);
        let done = waiting(self);
        self.agents.may_be_skipped(before);
        done
    }

    /// Goes on where a phase was skipped.
    pub(crate) fn unless_skipped(&mut self, done: Result<(), TrialStop>) -> Result<(), TrialStop> {
        match done {
            Err(TrialStop::Skipped) => self.skipped(),
            other => other,
        }
    }

    /// Ends the phase that was begun last, which is not over.
    fn skipped(&mut self) -> Result<(), TrialStop> {
        self.agents.skips();
        self.schedule = Schedule::default();
        self.stop_background(Ok(()))?;
        let (phase, began) = (self.latest().name.clone(), self.latest().start_ns);
        let took = Duration::from_nanos(self.now_ns().saturating_sub(began));
        let what = format!("it was skipped by hand after {:.1} s", took.as_secs_f64());
        self.current().notes.push(what.clone());
        let fault = Fault { phase, kind: FaultKind::Skipped, what };
        self.observer.on(&Event::Fault { fault: &fault });
        self.record.faults.push(fault);
        self.end()
    }
}
