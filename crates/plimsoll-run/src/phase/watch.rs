//! Looking for the time to recover.

use std::time::Instant;

use plimsoll_model::experiment::{Phase, Watch};
use plimsoll_model::observation::{Arm, PhaseKind, Slice};

use super::PHASE_LIMIT;
use crate::error::TrialStop;
use crate::trial::Trial;

impl Trial<'_> {
    /// Measures windows until several in a row are as good as the baseline, or it is time to give up.
    pub(crate) fn watch(&mut self, phase: &Phase, watch: &Watch) -> Result<(), TrialStop> {
        self.begin(&phase.name, PhaseKind::Watch, None);
        let baseline: Vec<Slice> = self.measured(&watch.against).cloned().collect();
        let part = self.kind(&watch.load).window(watch.connections);
        let start = Instant::now();
        let mut in_a_row = 0;
        for number in 0.. {
            let due = start + watch.every.0 * number;
            if in_a_row >= watch.windows || due >= start + watch.give_up.0 {
                break;
            }
            self.skippable(|trial| trial.agents.idle(due))?;
            self.round(&[(watch.load.clone(), part.clone())], number, Instant::now() + PHASE_LIMIT)?;
            in_a_row = if self.window_passes(number, &baseline) { in_a_row + 1 } else { 0 };
        }
        let note = if in_a_row >= watch.windows {
            format!("{in_a_row} windows in a row were as good as `{}`", watch.against)
        } else {
            format!(
                "never {} windows in a row as good as `{}` within {}",
                watch.windows, watch.against, watch.give_up
            )
        };
        self.current().notes.push(note);
        self.end()
    }

    fn window_passes(&mut self, number: u32, baseline: &[Slice]) -> bool {
        let window = |arm| {
            self.latest().slices.iter().rev().find(move |slice| slice.number == number && slice.arm == arm)
        };
        window(Arm::Treatment)
            .is_some_and(|main| self.judge.window_passes(self.plan, baseline, main, window(Arm::Control)))
    }
}
