//! A trial under way: its rigs, its record, and the steps that are pending.

use plimsoll_model::experiment::{Experiment, LoadKind, Phase, Rung};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::{Arm, PhaseKind, Profile};
use rand::rngs::StdRng;

use crate::agent_pool::Key;
use crate::context::Context;
use crate::error::TrialStop;
use crate::guests::samples_itself;
use crate::pending_steps::PendingSteps;
use crate::recorder::Recorder;
use crate::rigs::{Rigs, arms};

/// A trial under way.
pub(crate) struct Trial<'t> {
    pub(crate) context: &'t Context<'t>,
    pub(crate) experiment: &'t Experiment,
    pub(crate) random: StdRng,
    pub(crate) rigs: Rigs<'t>,
    pub(crate) recorder: Recorder<'t>,
    /// Steps that are pending while a load runs.
    pub(crate) pending_steps: PendingSteps<'t>,
}

impl Trial<'_> {
    /// Begins a phase, or a rung of the ladder.
    pub(crate) fn begin(&mut self, name: &str, kind: PhaseKind, rung: Option<Rung>) {
        // A request to skip an earlier phase does not concern this one.
        self.rigs.agents.take_skip();
        self.recorder.begin(name, kind, rung);
    }

    /// Ends the latest phase, and stores it.
    pub(crate) fn end(&mut self) -> Result<(), TrialStop> {
        let guests: Vec<Key> = std::mem::take(&mut self.recorder.sampled).into_iter().collect();
        if !guests.is_empty() {
            // To name what was sampled takes a guest CPU time.
            self.recorder.time_is_over();
            for (key, sampled) in guests.iter().zip(self.take_profiles(&guests)?) {
                match sampled {
                    Ok(profile) => self.recorder.of_guests.push((key.host.clone(), profile)),
                    Err(note) => self.recorder.current().notes.push(note),
                }
            }
        }
        self.recorder.end()
    }

    /// The guests of a rig that sample themselves in the latest phase: where something is measured.
    pub(crate) fn guests_to_sample(&mut self, arm: Arm) -> Vec<Key> {
        if self.recorder.latest().kind != PhaseKind::Measure {
            return Vec::new();
        }
        let guests = self.experiment.hosts.keys().filter(|host| samples_itself(self.experiment, host));
        let guests: Vec<Key> = guests.map(|host| Key::new(arm, host)).collect();
        self.recorder.sampled.extend(guests.iter().cloned());
        guests
    }

    /// Begins to sample on these hosts.
    pub(crate) fn begin_profile(&mut self, hosts: &[Key]) -> Result<(), TrialStop> {
        self.rigs.agents.ask_each(hosts, |id| ToAgent::BeginProfile { id }).map(drop)
    }

    /// Samples no more on these hosts.
    pub(crate) fn end_profile(&mut self, hosts: &[Key]) -> Result<(), TrialStop> {
        self.rigs.agents.ask_each(hosts, |id| ToAgent::EndProfile { id }).map(drop)
    }

    /// What each of these hosts sampled, or why it did not, in words.
    pub(crate) fn take_profiles(&mut self, hosts: &[Key]) -> Result<Vec<Result<Profile, String>>, TrialStop> {
        let answers = self.rigs.agents.ask_each(hosts, |id| ToAgent::TakeProfile { id })?;
        let each = hosts.iter().zip(answers).map(|(key, answer)| match answer {
            FromAgent::Profiled { profile, .. } => Ok(Profile { arm: key.arm, ..*profile }),
            FromAgent::Failed { why, .. } => Err(format!("no profile was taken in `{}`: {why}", key.label())),
            _ => Err(format!("no profile was taken in `{}`: it answered with something else", key.label())),
        });
        Ok(each.collect())
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
