//! Resources of the whole machine: the CPUs that may be used, and settings under `/proc/sys` that are changed for a
//! while.

use std::collections::BTreeMap;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use plimsoll_model::experiment::sysctl;

use crate::error::HostError;
use crate::undo::{Patience, UndoProcess};

/// The CPUs that this process may use, by rising number.
///
/// # Errors
/// When the kernel does not answer.
pub fn usable_cpus() -> Result<Vec<u32>, HostError> {
    let failed = |errno: Errno| HostError::Process {
        operation: "asking which CPUs may be used",
        source: errno.into(),
    };
    let set = sched_getaffinity(Pid::from_raw(0)).map_err(failed)?;
    // Asking beyond the end of the set is an error, and no CPU is there.
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32).collect())
}

/// Writes these settings of the machine, each a dotted name and its value, all of them or none. Dropping what this returns puts them back.
///
/// Waits while another run holds one of them. All runs take them in the order of their names, so no two wait for each other.
///
/// # Errors
/// When one cannot be read or written, which needs root of the machine, or another run holds it too long; those that were written before it
/// are put back.
pub fn change_machine(
    settings: &BTreeMap<String, String>,
    patience: Patience<'_>,
) -> Result<UndoProcess, HostError> {
    let mut undo = UndoProcess::start()?;
    for (name, value) in settings {
        let unknown = || HostError::Setting {
            path: name.into(),
            value: value.clone(),
            why: "this is no name of a setting".into(),
            forbidden: false,
        };
        undo.set(&sysctl::path(name).ok_or_else(unknown)?, value, patience)?;
    }
    Ok(undo)
}
