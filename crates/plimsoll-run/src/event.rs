//! Events of a run, reported while they happen.

use std::time::Duration;

use plimsoll_model::experiment::Rung;
use plimsoll_model::observation::{Arm, Fault, PhaseKind, PhaseRecord, Progress, Sample, Slice, TrialRecord};
use plimsoll_model::verdict::Verdict;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial begins.
    TrialStarted {
        /// Its number, from 1.
        number: u32,
        /// The most trials that there will be.
        of: u32,
    },
    /// The hosts are up and the services ready.
    RigReady {
        /// How long it took.
        took: Duration,
    },
    /// A phase begins.
    PhaseStarted {
        /// Its name.
        name: &'a str,
        /// What it is for.
        kind: PhaseKind,
        /// The cycle, from 1; 0 outside of any.
        cycle: u32,
        /// The number of cycles that there will be; 0 outside of any.
        cycles: u32,
    },
    /// A step is carried out.
    Step {
        /// What it is called.
        name: &'a str,
    },
    /// A load is under way.
    Progress {
        /// The rig that it runs on.
        arm: Arm,
        /// Where it stands.
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
    /// Something is known of a phase that is being measured.
    SoFar {
        /// What, in a sentence.
        what: &'a str,
    },
    /// A phase has ended.
    PhaseEnded {
        /// What happened in it.
        phase: &'a PhaseRecord,
    },
    /// A remedy is tried.
    Remedy {
        /// Which.
        rung: Rung,
    },
    /// Something makes the trial worthless.
    Fault {
        /// What.
        fault: &'a Fault,
    },
    /// A trial has ended and is stored.
    TrialEnded {
        /// What happened in it.
        trial: &'a TrialRecord,
    },
    /// What the judge says of the trials so far.
    Judged {
        /// One for each claim.
        verdicts: &'a [Verdict],
    },
}

/// Whoever wants to know.
pub trait Observer {
    /// Something happened.
    fn on(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Observer for F {
    fn on(&mut self, event: &Event<'_>) {
        self(event);
    }
}
