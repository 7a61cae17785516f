//! A trial under way: its rigs, its record, and the steps that are pending.

use plimsoll_model::experiment::{Experiment, LoadKind, Phase, Rung};
use plimsoll_model::observation::{Arm, PhaseKind};
use rand::rngs::StdRng;

use crate::context::Context;
use crate::recorder::Recorder;
use crate::rigs::{Rigs, arms};
use crate::schedule::Schedule;

/// A trial under way.
pub(crate) struct Trial<'t> {
    pub(crate) context: &'t Context<'t>,
    pub(crate) experiment: &'t Experiment,
    pub(crate) random: StdRng,
    pub(crate) rigs: Rigs<'t>,
    pub(crate) recorder: Recorder<'t>,
    /// Steps that are pending while a load runs.
    pub(crate) schedule: Schedule<'t>,
}

impl Trial<'_> {
    /// Begins a phase, or a rung of the ladder.
    pub(crate) fn begin(&mut self, name: &str, kind: PhaseKind, rung: Option<Rung>) {
        // A request to skip an earlier phase does not concern this one.
        self.rigs.agents.take_skip();
        self.recorder.begin(name, kind, rung);
    }

    pub(crate) fn arms(&self) -> impl Iterator<Item = Arm> + use<> {
        arms(self.experiment)
    }

    pub(crate) fn kind(&self, load: &str) -> LoadKind {
        self.experiment.loads[load].kind.clone()
    }

    /// Rigs that take part in a phase.
    pub(crate) fn taking_part(&self, phase: &Phase) -> Vec<Arm> {
        let idle =
            self.experiment.control.as_ref().is_some_and(|control| control.idle_in.contains(&phase.name));
        self.arms().filter(|arm| *arm == Arm::Treatment || !idle).collect()
    }
}
