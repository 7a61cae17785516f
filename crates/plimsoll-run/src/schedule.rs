//! Steps that are pending while a load runs, and deadlines.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{Action, Phase};
use plimsoll_model::observation::Arm;

/// How long a phase may take that does not say so itself.
pub(crate) const PHASE_LIMIT: Duration = Duration::from_secs(600);
/// Steps that are pending while the load of a phase runs.
#[derive(Default)]
pub(crate) struct Schedule<'t> {
    /// In order of time.
    pub(crate) waiting: VecDeque<(Duration, &'t Action)>,
    /// On these rigs.
    pub(crate) arms: Vec<Arm>,
    /// When the load began.
    pub(crate) began: Option<Instant>,
}

impl Schedule<'_> {
    /// When the next thing is due; nothing where none is, or no load runs yet.
    pub(crate) fn due(&self) -> Option<Instant> {
        let (after, _) = self.waiting.front()?;
        Some(self.began? + *after)
    }
}

/// When a phase that begins now has to be over.
pub(crate) fn deadline(phase: &Phase) -> Instant {
    Instant::now() + phase.at_most.map_or(PHASE_LIMIT, |most| most.0)
}
