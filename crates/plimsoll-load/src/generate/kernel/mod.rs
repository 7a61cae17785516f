//! Paths through the kernel: one process takes one path again and again, and the rate shows how long the path is.
//!
//! Each is as short as it can be on the program's side, so that nearly all counted time is the kernel's. What a path leads past is made before
//! the clock runs, and is gone afterwards.

mod calls;
mod processes;
mod rules;
mod sockets;

use std::sync::atomic::Ordering;
use std::time::Instant;

use plimsoll_model::experiment::load::kernel::{KernelFacts, KernelLoad, KernelPath};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::LoadResult;

use super::Control;
use super::histogram::record;
use super::progress::ProgressReporter;
use super::tally::Tally;
use crate::clock::{self, CpuTime};
use crate::failure::other;
use crate::process::require_single_thread;

/// Number of passes between two clock reads: a read then takes less than a hundredth of the shortest path.
const AT_A_TIME: u64 = 64;

/// A path, and all that it needs.
trait Path {
    /// Runs the path `times` times.
    fn take(&mut self, times: u64) -> nix::Result<()>;

    /// How many bytes it moves each time.
    fn bytes(&self) -> u64 {
        0
    }
}

/// Runs a load on a path to its end, from the calling thread, which must be the only one of its process.
///
/// # Errors
/// When there are other threads, what the path needs cannot be had, or the kernel refuses a step of it.
pub(super) fn run(_spec: &LoadSpec, load: &KernelLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    require_single_thread("take a path through the kernel")?;
    let mut path = prepare(load)?;
    let (start, began, cpu) = (clock::now(), Instant::now(), CpuTime::of_this_process_and_those_ended());
    let mut tally = Tally::new(start, None);
    let mut progress = ProgressReporter::new(control, load.operations);
    let wanted = load.operations.unwrap_or(u64::MAX);
    let lasts = |began: Instant| load.duration.is_none_or(|duration| began.elapsed() < duration.0);
    while tally.requests < wanted && lasts(began) && !control.abort.load(Ordering::Relaxed) {
        let times = AT_A_TIME.min(wanted - tally.requests);
        let before = clock::now();
        path.take(times).map_err(|errno| other("take the path", &errno.desc()))?;
        let now = clock::now();
        // Mean of the passes between two clock reads: a read for each would take longer than the shortest path.
        record(&mut tally.total, before, before + (now - before) / times);
        tally.messages(times, path.bytes(), now);
        progress.report(tally.requests, 0);
    }
    tally.cpu = CpuTime::of_this_process_and_those_ended().since(cpu);
    drop(path);
    let mut result = tally.into_result(start, 1);
    result.facts = Some(KernelFacts { among: load.among.into() }.into());
    Ok(result)
}

fn prepare(load: &KernelLoad) -> Result<Box<dyn Path>, Failure> {
    Ok(match load.path {
        KernelPath::SystemCall => Box::new(calls::SystemCall),
        KernelPath::PageFault => Box::new(calls::PageFault::prepare()?),
        KernelPath::Fork => Box::new(processes::Fork),
        KernelPath::Exec => Box::new(processes::Exec::prepare()?),
        KernelPath::Processes => Box::new(processes::Partner::prepare(load.among)?),
        KernelPath::Splice => Box::new(sockets::Splice::prepare(false)?),
        KernelPath::SpliceMore => Box::new(sockets::Splice::prepare(true)?),
        KernelPath::TimeWait => Box::new(sockets::TimeWait::prepare(load.among)?),
        KernelPath::RoutingRules => Box::new(rules::Routing::prepare(load.among)?),
        KernelPath::FilterRules => Box::new(rules::Filter::prepare(load.among)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that need neither root nor a process with one thread.
    #[test]
    fn a_path_is_taken_as_often_as_asked() {
        for (path, among) in [
            (KernelPath::SystemCall, 0),
            (KernelPath::PageFault, 0),
            (KernelPath::Splice, 0),
            (KernelPath::SpliceMore, 0),
            (KernelPath::TimeWait, 10),
        ] {
            let load = KernelLoad { path, among, operations: Some(1), duration: None };
            let mut path = prepare(&load).unwrap();
            path.take(70).unwrap_or_else(|errno| panic!("{load:?}: {errno}"));
            path.take(300).unwrap_or_else(|errno| panic!("{load:?}: {errno}"));
        }
    }
}
