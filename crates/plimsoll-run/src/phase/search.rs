//! Looking for the highest rate that holds a bound.

use std::time::Instant;

use plimsoll_model::experiment::{Phase, Search};
use plimsoll_model::observation::{Arm, PhaseKind};

use super::deadline;
use crate::error::TrialStop;
use crate::trial::Trial;

impl Trial<'_> {
    /// Offers a load at one rate after another, on the rig that goes through every phase, until the judge knows the highest that holds its
    /// bound.
    pub(crate) fn search(&mut self, phase: &Phase, search: &Search) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Search, None);
        let whole = self.kind(&search.load);
        let limit = deadline(phase);
        for number in 0..search.most {
            let next = self.judge.next_rate(self.experiment, &phase.name, &self.latest().slices);
            let Some(probe) = next.and_then(|rate| whole.at_rate(rate)) else { break };
            let slices = self.slice(Arm::Treatment, number, &[(search.load.clone(), probe)], limit)?;
            self.current().slices.extend(slices);
            self.skippable(|trial| trial.agents.idle(Instant::now() + search.rest.0))?;
        }
        self.end()
    }
}
