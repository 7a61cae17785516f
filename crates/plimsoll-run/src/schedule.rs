//! What is still to be done while a load runs.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::Action;
use plimsoll_model::observation::Arm;

/// What is still to be done while the load of a phase runs.
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
