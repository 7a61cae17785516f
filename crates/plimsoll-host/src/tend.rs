//! Waiting as the first process of a host: for the agent's end, for orphans, and for the controller's death.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};

/// Collects every process that ends, until the agent does or the controller is gone.
///
/// # Returns
/// The agent's end, or `StillAlive` when the controller went first.
pub(crate) fn tend(agent: Pid, control: impl AsFd) -> Result<WaitStatus, Errno> {
    let mask = tended();
    // Blocked only now, so that the agent does not start with blocked signals. The first reap finds earlier ends.
    mask.thread_block()?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    loop {
        if let Some(status) = reap(agent)? {
            return Ok(status);
        }
        // The controller sends nothing more: without a requested event, poll reports only its hanging up.
        let mut wait = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(control.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut wait, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
        if wait[1].revents().is_some_and(|r| !r.is_empty()) || took_sigterm(&signals)? {
            return Ok(WaitStatus::StillAlive);
        }
    }
}

/// Signals that a first process waits for.
fn tended() -> SigSet {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.add(Signal::SIGTERM);
    mask
}

/// Starts a thread of a first process. It never unblocks these signals: one that was sent to the process could reach that thread and be lost.
pub(crate) fn thread_beside(name: impl Into<String>, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // A thread inherits the mask of its parent.
    let before = tended().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let started = thread::Builder::new().name(name.into()).spawn(work);
    before.thread_set_mask()?;
    started.map(drop)
}

/// Collects ended processes. Returns the agent's status if it was among them.
fn reap(agent: Pid) -> Result<Option<WaitStatus>, Errno> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(status) if status.pid() == Some(agent) => return Ok(Some(status)),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Empties the queue of signals. Returns whether it had SIGTERM, which the controller's death sends to a local supervisor.
fn took_sigterm(signals: &SignalFd) -> Result<bool, Errno> {
    let mut found = false;
    while let Some(signal) = signals.read_signal()? {
        found |= signal.ssi_signo.cast_signed() == Signal::SIGTERM as i32;
    }
    Ok(found)
}

/// Kills all descendants. This process is their subreaper, so the children of a killed one become its own: killing until it has none reaches all,
/// also processes forked meanwhile.
pub(crate) fn kill_descendants() -> io::Result<()> {
    loop {
        for child in children_of(getpid())? {
            match kill(child, Signal::SIGKILL) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
        while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status != WaitStatus::StillAlive)
        {
        }
    }
}

/// Children of a process.
fn children_of(parent: Pid) -> io::Result<Vec<Pid>> {
    let pids = fs::read_dir("/proc")?.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    // One that has ended since the directory was read has no stat any more.
    let parent_of = |pid: i32| parent_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    Ok(pids.filter(|pid| parent_of(*pid) == Some(parent.as_raw())).map(Pid::from_raw).collect())
}

/// The fourth field of `/proc/PID/stat`; the second is a name in brackets that may itself hold blanks and brackets (proc(5)).
fn parent_in(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_a_first_process_takes_none_of_its_signals() {
        let before = SigSet::thread_get_mask().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        thread_beside("beside", move || sender.send(SigSet::thread_get_mask().unwrap()).unwrap()).unwrap();
        let there = receiver.recv().unwrap();
        assert!(there.contains(Signal::SIGCHLD) && there.contains(Signal::SIGTERM));
        assert_eq!(SigSet::thread_get_mask().unwrap(), before, "what is started from here on has them");
    }

    #[test]
    fn the_parent_is_found_behind_a_name_with_brackets() {
        assert_eq!(parent_in("12 (a) S 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in("12 (sh) R 3 12"), Some(3));
        assert_eq!(parent_in("12 (sh"), None);
    }
}
