//! Looking for the time to recover.

use std::time::Instant;

use plimsoll_model::experiment::{Phase, Watch};
use plimsoll_model::observation::{Arm, PhaseKind, Slice};

use crate::error::TrialStop;
use crate::pending_steps::PHASE_LIMIT;
use crate::phase::alternating_slices::round;
use crate::skip;
use crate::trial::Trial;

/// Measures windows until several in a row are as good as the baseline, or it is time to give up.
pub(crate) fn watch(trial: &mut Trial<'_>, phase: &Phase, watch: &Watch) -> Result<(), TrialStop> {
    trial.begin(&phase.name, PhaseKind::Watch, None);
    let baseline: Vec<Slice> = trial.recorder.measured(&watch.against).cloned().collect();
    let part = trial.kind(&watch.load).window(watch.connections);
    let start = Instant::now();
    let mut in_a_row = 0;
    for number in 0.. {
        let due = start + watch.every.0 * number;
        if in_a_row >= watch.windows || due >= start + watch.give_up.0 {
            break;
        }
        skip::skippable(trial, |trial| trial.rigs.agents.idle(due))?;
        round(trial, &[(watch.load.clone(), part.clone())], number, Instant::now() + PHASE_LIMIT)?;
        in_a_row = if window_passes(trial, number, &baseline) { in_a_row + 1 } else { 0 };
    }
    let note = if in_a_row >= watch.windows {
        format!("{in_a_row} windows in a row were as good as `{}`", watch.against)
    } else {
        format!(
            "never {} windows in a row as good as `{}` within {}",
            watch.windows, watch.against, watch.give_up
        )
    };
    trial.recorder.current().notes.push(note);
    trial.end()
}

fn window_passes(trial: &mut Trial<'_>, number: u32, baseline: &[Slice]) -> bool {
    let window = |arm| {
        trial
            .recorder
            .latest()
            .slices
            .iter()
            .rev()
            .find(move |slice| slice.number == number && slice.arm == arm)
    };
    window(Arm::Treatment).is_some_and(|main| {
        trial.context.judge.window_passes(trial.context.plan, baseline, main, window(Arm::Control))
    })
}
