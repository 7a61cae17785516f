//! Steps that start and end loads in the background.

use plimsoll_model::observation::Arm;

use crate::error::TrialStop;
use crate::trial::{Beside, Trial};

impl Trial<'_> {
    /// Starts it on a rig, beside what is measured, until a step ends it or the trial is over.
    pub(super) fn start_load(&mut self, arm: Arm, load: &str) -> Result<(), TrialStop> {
        let loads = self.set_beside(arm, load)?;
        match self.beside.iter_mut().find(|beside| beside.by_step && beside.name == load) {
            Some(beside) => beside.loads.extend(loads),
            None => self.beside.push(Beside { name: load.to_owned(), loads, by_step: true }),
        }
        Ok(())
    }

    /// Ends it on a rig, where a step started it.
    pub(super) fn stop_load(&mut self, arm: Arm, load: &str) -> Result<(), TrialStop> {
        let Some(place) = self.beside.iter().position(|beside| beside.by_step && beside.name == load) else {
            return Ok(());
        };
        let all = std::mem::take(&mut self.beside[place].loads);
        let (ended, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, _)| key.arm == arm);
        self.beside[place].loads = others;
        if self.beside[place].loads.is_empty() {
            self.beside.remove(place);
        }
        ended.into_iter().try_for_each(|(key, id)| self.agents.call_off(&key, id))
    }
}
