//! Profiles of a host that has a kernel of its own, which nobody outside of it can sample.

use std::fs;
use std::os::unix::fs::MetadataExt;

use plimsoll_model::frame::Failure;
use plimsoll_model::observation::{Arm, Profile};
use plimsoll_probe::profile::{HERTZ, Profiler};

use crate::other;

/// Samples per second where time counts instructions. A path is measured for some tens of milliseconds of it, so that this makes some hundred samples; each takes some
/// thousand instructions, a tenth of what lies between two. Not a round number, so that they do not fall in step with the kernel's tick.
const HERTZ_OF_VIRTUAL_TIME: u32 = 9_973;

/// Samples this host from one request to the next. Buffers and names are kept.
#[derive(Default)]
pub(crate) struct OwnProfile(Option<Result<Profiler, Failure>>);

impl OwnProfile {
    /// Makes buffers, unless there are any. Where it fails, `take` says why.
    pub(crate) fn prepare(&mut self, virtual_clock: bool) {
        self.0.get_or_insert_with(|| open(virtual_clock));
    }

    /// Samples from now on.
    pub(crate) fn begin(&self, host: &str) {
        if let Some(Ok(profiler)) = &self.0 {
            let own = fs::metadata("/proc/self/ns/net").map(|own| (own.ino(), host.to_owned()));
            profiler.start(own.into_iter().collect());
        }
    }

    /// Samples no more.
    pub(crate) fn end(&self) {
        if let Some(Ok(profiler)) = &self.0 {
            profiler.stop(Arm::Treatment);
        }
    }

    /// Samples since the last call, with names.
    pub(crate) fn take(&self) -> Result<Profile, Failure> {
        let profiler = self.0.as_ref().ok_or_else(|| failed(&"nothing samples"))?;
        let profiler = profiler.as_ref().map_err(Clone::clone)?;
        profiler.take().pop().ok_or_else(|| failed(&"nothing was sampled"))
    }
}

/// Functions alone are sampled. To look at threads as well takes an emulated guest most of its CPU, and instructions where these are counted.
fn open(virtual_clock: bool) -> Result<Profiler, Failure> {
    let hertz = if virtual_clock { HERTZ_OF_VIRTUAL_TIME } else { HERTZ };
    let profiler = Profiler::of_functions(hertz).map_err(|error| failed(&error))?;
    match profiler.denied() {
        Some(denied) => Err(failed(denied)),
        None => Ok(profiler),
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    other("sample the kernel's functions", error)
}
