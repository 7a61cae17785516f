//! Targets of the soak: processes of a run. Only descendants of controllers that the soak has started count.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::outside::{Process, processes};

/// Role of a process in its run, derived from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Keeps a host's namespaces.
    Supervisor,
    /// Starts services and drives loads in a host.
    Agent,
    /// Restores the machine's settings.
    Undo,
}

impl Part {
    fn is(self, process: &Process) -> bool {
        let mut words = process.command.split(' ').skip(1);
        let words = (words.next(), words.next());
        match self {
            Self::Supervisor => words == (Some("__plimsoll-host"), Some("namespace")),
            Self::Agent => words.0 == Some("agent"),
            Self::Undo => words == (Some("__plimsoll-host"), Some("undo")),
        }
    }
}

/// The processes of this part of a run, the oldest first.
pub(super) fn parts(controller: u32, part: Part) -> Vec<u32> {
    let all: Vec<Process> = processes().collect();
    let parent_of = |pid: u32| all.iter().find(|process| process.pid == pid).map(|process| process.parent);
    let is_of_run = |process: &Process| {
        std::iter::successors(Some(process.pid), |pid| parent_of(*pid)).any(|pid| pid == controller)
    };
    let parts = all.iter().filter(|process| part.is(process) && is_of_run(process));
    // The init of a host is a fork of its supervisor, and has its arguments.
    let parts = parts.filter(|process| part != Part::Supervisor || process.parent == controller);
    parts.map(|process| process.pid).collect()
}

/// Waits for such processes of a run, and returns them; empty after a while without any.
pub(super) fn wait_for(controller: u32, part: Part) -> Vec<u32> {
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        let found = parts(controller, part);
        if !found.is_empty() || Instant::now() > give_up {
            return found;
        }
    }
}

/// Sends a signal; a process that has ended meanwhile gets none.
pub(super) fn hit(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().expect("a process id fits in an i32"));
    kill(pid, signal).ok();
}
