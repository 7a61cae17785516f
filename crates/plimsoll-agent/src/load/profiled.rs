//! A load that runs for its profile: the functions of the host's kernel.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::AtomicBool;

use plimsoll_load::Control;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{Arm, Profile};
use plimsoll_probe::profile::{HostNamespaces, Profiler};

use super::{PROGRESS, carry_out};
use crate::other;

/// Samples per second of the host's time. A path is measured for some tens of milliseconds of it, so that this makes some hundred samples; each takes some
/// thousand instructions, a tenth of what lies between two. Not a round number, so that they do not fall in step with the kernel's tick.
const HERTZ: u32 = 9_973;

/// Runs a load, and returns the samples taken meanwhile.
pub(super) fn profile(host: String, spec: &LoadSpec) -> Result<Profile, Failure> {
    let failed = |error: &dyn std::fmt::Display| other("sample the kernel's functions", error);
    let profiler = Profiler::of_functions(HERTZ).map_err(|error| failed(&error))?;
    if let Some(denied) = profiler.denied() {
        return Err(failed(denied));
    }
    let own = fs::metadata("/proc/self/ns/net").map_err(|error| failed(&error))?;
    profiler.start(HostNamespaces::from([(own.ino(), host)]));
    let control = Control { abort: &AtomicBool::new(false), progress: &|_| {}, every: PROGRESS };
    let ran = carry_out(spec, &control);
    profiler.stop(Arm::Treatment);
    ran?;
    profiler.take().pop().ok_or_else(|| failed(&"nothing was sampled"))
}
