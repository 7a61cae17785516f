//! Background loads: loads that are there beside what is measured, and come and go between its slices.

use std::time::Duration;

use plimsoll_model::experiment::BackgroundLoad;
use plimsoll_model::frame::Id;
use plimsoll_model::observation::Arm;
use plimsoll_model::units::Span;

use crate::agent_pool::Key;
use crate::error::TrialStop;
use crate::trial::{Beside, Trial};

/// So long a background load would go on that nobody sends away.
const FOR_GOOD: Span = Span::secs(86_400);
/// How long one that has just come may take to get going before anything is measured.
const ARRIVAL: Duration = Duration::from_millis(50);

impl Trial<'_> {
    /// Lets background loads come and go as the time says, between two slices of the latest phase.
    pub(crate) fn start_and_stop_background(&mut self) -> Result<(), TrialStop> {
        let experiment = self.experiment;
        if experiment.background.is_empty() {
            return Ok(());
        }
        let (phase, began) = (self.latest().name.clone(), self.latest().start_ns);
        let since = Duration::from_nanos(self.now_ns().saturating_sub(began));
        let mut came = false;
        for (name, background) in &experiment.background {
            let concerns = background.during.is_empty() || background.during.contains(&phase);
            let wanted = concerns && background.is_there(since);
            let there = self.beside.iter().position(|beside| !beside.by_step && beside.name == *name);
            match (wanted, there) {
                (true, None) => {
                    self.come(name, background)?;
                    came = true;
                }
                (false, Some(place)) => self.go(place)?,
                _ => {}
            }
        }
        if came {
            self.agents.idle(std::time::Instant::now() + ARRIVAL)?;
        }
        Ok(())
    }

    /// The background loads that are there, by name.
    pub(crate) fn background_running(&self) -> Vec<String> {
        self.beside.iter().map(|beside| beside.name.clone()).collect()
    }

    /// Ends all of them, also where what was measured beside them failed. The first reason counts.
    pub(crate) fn stop_background(&mut self, measured: Result<(), TrialStop>) -> Result<(), TrialStop> {
        measured?;
        while let Some(place) = self.beside.iter().position(|beside| !beside.by_step) {
            self.go(place)?;
        }
        Ok(())
    }

    fn come(&mut self, name: &str, background: &BackgroundLoad) -> Result<(), TrialStop> {
        let mut loads = Vec::new();
        for arm in self.arms() {
            loads.extend(self.set_beside(arm, &background.load)?);
        }
        self.beside.push(Beside { name: name.to_owned(), loads, by_step: false });
        Ok(())
    }

    /// Starts a load that goes on until somebody ends it, on one rig.
    pub(crate) fn set_beside(&mut self, arm: Arm, name: &str) -> Result<Vec<(Key, Id)>, TrialStop> {
        let experiment = self.experiment;
        let load = &experiment.loads[name];
        let kind = self.kind(name).lasting(FOR_GOOD);
        let mut loads = Vec::new();
        for from in experiment.members(&load.from) {
            let deployment = self.deployment(arm);
            let (key, spec) = (deployment.key(from), deployment.load(name, load, from, kind.clone())?);
            let id = self.agents.set_going(&key, name, spec)?;
            loads.push((key, id));
        }
        Ok(loads)
    }

    fn go(&mut self, place: usize) -> Result<(), TrialStop> {
        for (key, id) in self.beside.remove(place).loads {
            self.agents.call_off(&key, id)?;
        }
        Ok(())
    }
}
