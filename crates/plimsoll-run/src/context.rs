//! What a run works with.

use std::sync::atomic::AtomicBool;

use plimsoll_model::plan::Plan;
use plimsoll_store::Store;

use crate::host_provider::HostProvider;
use crate::{Judge, Profiler};

/// What a run works with, and its trials.
#[derive(Clone, Copy)]
pub struct Context<'r> {
    /// What to carry out.
    pub plan: &'r Plan,
    /// Where hosts come from.
    pub provider: &'r dyn HostProvider,
    /// Who knows whether a figure is good enough.
    pub judge: &'r dyn Judge,
    /// Who samples where the CPUs are while slices are measured; none where that cannot be done.
    pub profiler: Option<&'r dyn Profiler>,
    /// Where everything is stored.
    pub store: &'r Store,
    /// Set when the user wants it to end.
    pub interrupt: &'r AtomicBool,
    /// Set when the user wants the phase that is under way to end now. The trial goes on, and is not counted.
    pub skip: &'r AtomicBool,
}
