//! Steps that are pending while a load runs, and deadlines.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{Action, Phase};
use plimsoll_model::observation::Arm;

/// Time limit of a phase without its own.
pub(crate) const PHASE_LIMIT: Duration = Duration::from_secs(600);

/// Steps that are pending while the load of a phase runs.
#[derive(Default)]
pub(crate) struct PendingSteps<'t> {
    /// The steps, in order of time.
    pub(crate) waiting: VecDeque<(Duration, &'t Action)>,
    /// Rigs of the steps.
    pub(crate) arms: Vec<Arm>,
    /// Start of the load.
    pub(crate) began: Option<Instant>,
}

impl PendingSteps<'_> {
    /// Due time of the next step; `None` if there is none, or before the load starts.
    pub(crate) fn due(&self) -> Option<Instant> {
        let (after, _) = self.waiting.front()?;
        Some(self.began? + *after)
    }
}

/// Deadline of a phase that begins now.
pub(crate) fn deadline(phase: &Phase) -> Instant {
    Instant::now() + phase.at_most.map_or(PHASE_LIMIT, |most| most.0)
}
