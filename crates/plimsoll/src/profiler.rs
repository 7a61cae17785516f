//! Samples where the CPUs are while a run measures.

use std::collections::BTreeMap;

use plimsoll_model::observation::{Arm, Profile};
use plimsoll_probe::profile::{self, ProfilerError};

/// The probe's profiler, as the run knows it.
pub(crate) struct Profiler(profile::Profiler);

impl Profiler {
    pub(crate) fn open() -> Result<Self, ProfilerError> {
        let run = plimsoll_host::own_mark().map_err(|source| ProfilerError::Absent { source })?;
        profile::Profiler::open(&run).map(Self)
    }

    /// Notes on what is not sampled.
    pub(crate) fn missing(&self) -> Option<String> {
        missing(&self.0)
    }
}

/// Notes on what a profiler does not sample.
pub(crate) fn missing(profiler: &profile::Profiler) -> Option<String> {
    if let Some(denied) = profiler.denied() {
        return Some(format!("no profile was taken: {denied}"));
    }
    let untraced = profiler.untraced();
    (!untraced.is_empty()).then(|| {
        format!(
            "the limit of open files (ulimit -n) leaves no room to trace {} on each CPU",
            untraced.join(", ")
        )
    })
}

impl plimsoll_run::Profiler for Profiler {
    fn start(&self, hosts: BTreeMap<u64, String>) {
        self.0.start(hosts);
    }

    fn stop(&self, arm: Arm) {
        self.0.stop(arm);
    }

    fn take(&self) -> Vec<Profile> {
        self.0.take()
    }
}
