//! Requirements of a run, or of a task of a queue, to measure on this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_model::experiment::cpus;
use plimsoll_model::note::Note;
use plimsoll_model::plan::Plan;
use plimsoll_run::Namespaces;

use crate::failure::Failure;
use crate::profiler::Profiler;

/// Fails unless the CPUs that this process may use suffice for the hosts of every cell.
pub(crate) fn check_cpus(plan: &Plan) -> Result<(), Failure> {
    let usable = plimsoll_host::usable_cpus()?;
    for cell in &plan.cells {
        cpus::assign(&cell.experiment.hosts, &usable)
            .map_err(|error| Failure::could_not(error.to_string()))?;
    }
    Ok(())
}

/// Hosts in network namespaces of this machine. Devices named in `destroy` may be overwritten.
pub(crate) fn namespaces(destroy: Vec<PathBuf>, interrupt: &Arc<AtomicBool>) -> Result<Namespaces, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::could_not(format!("cannot find the program itself: {error}")))?;
    Ok(Namespaces { program, args: vec!["agent".into()], destroy, interrupt: Arc::clone(interrupt) })
}

/// The profiler that a plan asks for, and a note on its blind spots.
pub(crate) fn profiler(plan: &Plan) -> (Option<Profiler>, Option<Note>) {
    let probed = plan.cells.iter().map(|cell| &cell.experiment.run).any(|run| run.probes && run.profile);
    match probed.then(Profiler::open) {
        None => (None, None),
        Some(Ok(profiler)) => {
            let missing = profiler.missing();
            (Some(profiler), missing.map(Note::from))
        }
        Some(Err(error)) => (None, Some(Note::from(format!("no profile was taken: {error}")))),
    }
}
