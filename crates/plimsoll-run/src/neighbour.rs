//! Neighbours: loads that are there beside what is measured, and come and go between its slices.

use std::time::Duration;

use plimsoll_model::experiment::Neighbour;
use plimsoll_model::units::Span;

use crate::error::TrialStop;
use crate::trial::{Beside, Trial};

/// So long a neighbour would go on that nobody sends away.
const FOR_GOOD: Span = Span::secs(86_400);
/// How long one that has just come may take to get going before anything is measured.
const ARRIVAL: Duration = Duration::from_millis(50);

impl Trial<'_> {
    /// Lets neighbours come and go as the time says, between two slices of the latest phase.
    pub(crate) fn look_for_neighbours(&mut self) -> Result<(), TrialStop> {
        let experiment = self.experiment;
        if experiment.neighbours.is_empty() {
            return Ok(());
        }
        let (phase, began) = (self.latest().name.clone(), self.latest().start_ns);
        let since = Duration::from_nanos(self.now_ns().saturating_sub(began));
        let mut came = false;
        for (name, neighbour) in &experiment.neighbours {
            let concerns = neighbour.during.is_empty() || neighbour.during.contains(&phase);
            let wanted = concerns && neighbour.is_there(since);
            let there = self.beside.iter().position(|beside| beside.name == *name);
            match (wanted, there) {
                (true, None) => {
                    self.come(name, neighbour)?;
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

    /// The neighbours that are there, by name.
    pub(crate) fn neighbours_there(&self) -> Vec<String> {
        self.beside.iter().map(|beside| beside.name.clone()).collect()
    }

    /// Ends all of them, also where what was measured beside them failed. The first reason counts.
    pub(crate) fn send_neighbours_away(&mut self, measured: Result<(), TrialStop>) -> Result<(), TrialStop> {
        measured?;
        while !self.beside.is_empty() {
            self.go(0)?;
        }
        Ok(())
    }

    fn come(&mut self, name: &str, neighbour: &Neighbour) -> Result<(), TrialStop> {
        let load = &self.experiment.loads[&neighbour.load];
        let kind = self.kind(&neighbour.load).lasting(FOR_GOOD);
        let mut loads = Vec::new();
        for twin in self.twins() {
            let deployment = self.deployment(twin);
            let (key, spec) =
                (deployment.key(&load.from), deployment.load(&neighbour.load, load, kind.clone())?);
            let id = self.agents.set_going(&key, &neighbour.load, spec)?;
            loads.push((key, id));
        }
        self.beside.push(Beside { name: name.to_owned(), loads });
        Ok(())
    }

    fn go(&mut self, place: usize) -> Result<(), TrialStop> {
        for (key, id) in self.beside.remove(place).loads {
            self.agents.call_off(&key, id)?;
        }
        Ok(())
    }
}
