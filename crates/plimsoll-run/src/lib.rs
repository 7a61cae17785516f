//! Carries out an experiment: order, deadlines, phases, teardown.
//!
//! [`run::Run`] goes through the trials of a plan; `course` takes one trial through its phases, on the hosts of one or
//! two rigs (`deployment`), whose agents it reaches through an `agent_pool`. `event`s report the progress, and the
//! store keeps the results when a phase ends. A [`Judge`] decides whether a figure is good enough: this crate measures
//! and never judges.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

mod agent_pool;
mod background;
mod capture;
mod certificate;
mod context;
mod course;
mod deployment;
mod error;
mod event;
mod exact_profile;
mod guests;
mod hook;
mod host_provider;
mod ladder;
mod load_records;
mod mail;
mod pending_steps;
mod phase;
mod queued;
mod recorder;
mod remote;
mod results;
mod rigs;
mod run;
mod skip;
mod standstill;
mod step;
mod together;
mod trial;

pub use context::Context;
pub use error::{RunError, TrialStop};
pub use event::{Event, Observer};
pub use host_provider::{
    Changed, HostProvider, Hosts, LinkTrouble, Namespaces, Pipes, ProviderError, ShapedLink,
};
pub use queued::Queued;
pub use remote::Machines;
pub use results::{Block, Results, TaskEnd, write_whole};
pub use run::{Ended, Limits, Run};

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_model::experiment::Experiment;
use plimsoll_model::observation::{Arm, Profile, Slice, Traffic, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::verdict::Verdict;

/// Samples where the CPUs spend their time.
pub trait Profiler {
    /// Begins sampling. Processes in these network namespaces, by inode, belong to hosts of that name.
    fn start(&self, hosts: BTreeMap<u64, String>);

    /// Ends sampling. The samples since its start belong to this rig.
    fn stop(&self, control: Arm);

    /// Takes the samples since the last call, as a profile for each rig.
    fn take(&self) -> Vec<Profile>;
}

/// The run's questions about the figures that it measures.
pub trait Judge {
    /// Whether the slices of a measured phase give a figure that is precise enough for the claims. Only their scatter may decide that.
    fn sure_enough(&self, plan: &Plan, phase: &str, slices: &[Slice]) -> bool;

    /// Describes in a sentence how far a phase is while it is measured; `None` if there is nothing to say.
    fn so_far(&self, plan: &Plan, phase: &str, slices: &[Slice]) -> Option<String>;

    /// Whether one window of a watch is as good as the baseline. `window` is the treatment's, `control` the control's, and
    /// `baseline` holds the slices of both.
    fn window_passes(&self, plan: &Plan, baseline: &[Slice], window: &Slice, control: Option<&Slice>)
    -> bool;

    /// Rate of the next probe, in requests per second, after these probes of a search; `None` if the limit is known well enough. Only the
    /// probes may decide that.
    fn next_rate(&self, experiment: &Experiment, phase: &str, probes: &[Slice]) -> Option<f64>;

    /// Whether the figure did not come back, judged from this trial alone.
    fn calls_for_remedies(&self, plan: &Plan, trial: &TrialRecord) -> bool;

    /// Whether the last rung of the ladder in this trial brought the figure back.
    fn last_rung_restored(&self, plan: &Plan, trial: &TrialRecord) -> bool;

    /// Whether the trials of block 0, which all carried out the same cell, show that the machine cannot carry an answer.
    fn unfit(&self, plan: &Plan, trials: &[TrialRecord]) -> bool;

    /// Connections in the packets of a capture.
    ///
    /// # Errors
    /// When the file cannot be read, in words.
    fn read_packets(&self, file: &Path) -> Result<Traffic, String>;

    /// Interim verdict on each claim.
    fn so_far_of_run(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Verdict>;

    /// Whether every claim is decided by the trials so far.
    fn decided(&self, plan: &Plan, trials: &[TrialRecord]) -> bool;
}
