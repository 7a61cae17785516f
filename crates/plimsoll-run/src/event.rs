//! Events of a run, reported while they happen.

use std::time::Duration;

use plimsoll_model::experiment::Rung;
use plimsoll_model::observation::{Arm, Fault, PhaseKind, PhaseRecord, Progress, Sample, Slice, TrialRecord};
use plimsoll_model::verdict::Verdict;

/// An event.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial begins.
    TrialStarted {
        /// Its number, from 1.
        number: u32,
        /// Largest number of trials.
        of: u32,
    },
    /// The hosts are up and the services ready.
    RigReady {
        /// Elapsed time.
        took: Duration,
    },
    /// A phase begins.
    PhaseStarted {
        /// Its name.
        name: &'a str,
        /// Purpose of the phase.
        kind: PhaseKind,
        /// The cycle, from 1; 0 outside of any.
        cycle: u32,
        /// Number of cycles; 0 outside of any.
        cycles: u32,
    },
    /// A step is carried out.
    Step {
        /// Its description.
        name: &'a str,
    },
    /// A load is under way.
    Progress {
        /// The rig that it runs on.
        arm: Arm,
        /// Its progress.
        progress: &'a Progress,
    },
    /// A slice has ended.
    SliceEnded {
        /// The slice with its measurements.
        slice: &'a Slice,
    },
    /// Counters were sampled.
    Sampled {
        /// The rig.
        arm: Arm,
        /// The host whose agent read them.
        host: &'a str,
        /// In order of time; each holds only what is new.
        samples: &'a [Sample],
    },
    /// An interim result of the measured phase.
    SoFar {
        /// The result in a sentence.
        what: &'a str,
    },
    /// A phase has ended.
    PhaseEnded {
        /// Record of the phase.
        phase: &'a PhaseRecord,
    },
    /// A remedy is tried.
    Remedy {
        /// Which.
        rung: Rung,
    },
    /// A fault makes the trial worthless.
    Fault {
        /// What.
        fault: &'a Fault,
    },
    /// A trial has ended and is stored.
    TrialEnded {
        /// Record of the trial.
        trial: &'a TrialRecord,
    },
    /// Interim verdicts on the trials so far.
    Judged {
        /// One for each claim.
        verdicts: &'a [Verdict],
    },
}

/// Receiver of events.
pub trait Observer {
    /// Handles an event.
    fn on(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Observer for F {
    fn on(&mut self, event: &Event<'_>) {
        self(event);
    }
}
