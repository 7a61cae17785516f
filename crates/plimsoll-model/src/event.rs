//! Output of `plimsoll run --format jsonl` during a run: an object on each line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::Rung;
use crate::observation::{Arm, FaultKind, PhaseKind};
use crate::report::RunStatus;
use crate::verdict::Verdict;

/// The version of these lines.
pub const EVENT_SCHEMA: &str = "plimsoll.event/1";

/// A line: something that happened. A public contract: see [`EVENT_SCHEMA`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// `plimsoll.event/1`.
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// When, in seconds since the run was begun (or gone on with), by a clock that never goes back.
    pub at_s: f64,
    /// What.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// Events of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run begins: the first line.
    RunStarted {
        /// The experiment's name.
        experiment: String,
        /// Its question.
        question: String,
        /// The seed of everything that is random in it.
        seed: u64,
    },
    /// A trial begins.
    TrialStarted {
        /// Its number, from 1.
        trial: u32,
        /// The most trials that there will be.
        of: u32,
    },
    /// The hosts are up and the services ready.
    RigReady {
        /// How long that took, in seconds.
        took_s: f64,
    },
    /// A phase begins.
    PhaseStarted {
        /// Its name.
        phase: String,
        /// Purpose of the phase.
        kind: PhaseKind,
        /// The cycle, from 1; 0 outside of any.
        cycle: u32,
        /// How many cycles there will be; 0 outside of any.
        cycles: u32,
    },
    /// A step is carried out.
    Step {
        /// Name of the event.
        step: String,
    },
    /// A load is under way.
    Progress {
        /// The rig that it runs on.
        arm: Arm,
        /// Connections, requests or what else the load does, so far.
        done: u64,
        /// How many there will be, where that is known.
        of: Option<u64>,
        /// Failures so far.
        errors: u64,
        /// Done per second over the last interval.
        per_second: f64,
    },
    /// A slice of a measured load has ended.
    SliceEnded {
        /// The rig.
        arm: Arm,
        /// The slice of the phase, from 0.
        slice: u32,
        /// The load, where the phase measures several at once.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        load: String,
        /// Figures by the name of the metric; units stand in the names.
        figures: BTreeMap<String, f64>,
    },
    /// The kernel's counters were sampled.
    Sampled {
        /// The rig.
        arm: Arm,
        /// The host whose agent read them.
        host: String,
        /// How many samples there were since the event of this kind before.
        samples: usize,
        /// The newest values; a counter that did not change is not there.
        values: BTreeMap<String, f64>,
    },
    /// Figures of a phase under way.
    SoFar {
        /// What, in a sentence.
        what: String,
    },
    /// A phase has ended.
    PhaseEnded {
        /// Its name.
        phase: String,
        /// The cycle, from 1; 0 outside of any.
        cycle: u32,
        /// How long it took, in seconds.
        took_s: f64,
    },
    /// A remedy is tried.
    Remedy {
        /// Which.
        rung: Rung,
    },
    /// A fault makes the trial worthless.
    Fault {
        /// The phase.
        phase: String,
        /// Kind of the fault.
        kind: FaultKind,
        /// Description, in a sentence.
        what: String,
    },
    /// A trial has ended, and is stored.
    TrialEnded {
        /// Its number, from 1.
        trial: u32,
        /// The level of each factor.
        cell: BTreeMap<String, String>,
    },
    /// The judge's verdicts on the trials so far.
    Judged {
        /// One for each claim.
        verdicts: Vec<Verdict>,
    },
    /// The run is over: the last line, unless the run could not go on.
    RunEnded {
        /// How far it came.
        status: RunStatus,
        /// Verdicts, one for each claim and cell.
        verdicts: Vec<Verdict>,
    },
}
