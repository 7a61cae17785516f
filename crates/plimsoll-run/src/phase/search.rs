//! Looking for the highest rate that holds a bound.

use std::time::Instant;

use plimsoll_model::experiment::{Phase, Search};
use plimsoll_model::observation::{Arm, PhaseKind};

use crate::error::TrialStop;
use crate::pending_steps::deadline;
use crate::trial::Trial;
use crate::{phase, skip};

/// Offers a load at one rate after another, on the rig that goes through every phase, until the judge knows the highest that holds its
/// bound.
pub(crate) fn search(trial: &mut Trial<'_>, phase: &Phase, search: &Search) -> Result<(), TrialStop> {
    trial.begin(&phase.name, PhaseKind::Search, None);
    let whole = trial.kind(&search.load);
    let limit = deadline(phase);
    for number in 0..search.most {
        let next =
            trial.context.judge.next_rate(trial.experiment, &phase.name, &trial.recorder.latest().slices);
        let Some(probe) = next.and_then(|rate| whole.at_rate(rate)) else { break };
        let slices = phase::slice(trial, Arm::Treatment, number, &[(search.load.clone(), probe)], limit)?;
        trial.recorder.current().slices.extend(slices);
        skip::skippable(trial, |trial| trial.rigs.agents.idle(Instant::now() + search.rest.0))?;
    }
    trial.end()
}
