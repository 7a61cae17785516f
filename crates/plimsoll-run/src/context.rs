//! Collaborators of a run: plan, provider, judge, profiler and store.

use std::sync::atomic::AtomicBool;

use plimsoll_model::plan::Plan;
use plimsoll_store::Store;

use crate::host_provider::HostProvider;
use crate::{Judge, Profiler};

/// Collaborators of a run and of its trials.
#[derive(Clone, Copy)]
pub struct Context<'r> {
    /// The experiment with its cells.
    pub plan: &'r Plan,
    /// Maker of hosts.
    pub provider: &'r dyn HostProvider,
    /// Judge of the figures.
    pub judge: &'r dyn Judge,
    /// Sampler of the CPUs during slices; `None` if sampling is impossible.
    pub profiler: Option<&'r dyn Profiler>,
    /// Store of the results.
    pub store: &'r Store,
    /// Set when the user interrupts the run.
    pub interrupt: &'r AtomicBool,
    /// Set when the user skips the current phase. The trial goes on, and is not counted.
    pub skip: &'r AtomicBool,
}
