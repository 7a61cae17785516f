//! Processes of a service or a load: they are forked, and die with the one that forked them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};
use plimsoll_model::frame::Failure;

use crate::failure::{other, refused};

/// How long to wait when the kernel has no process, memory or descriptor to give.
pub(crate) const SHORTAGE: Duration = Duration::from_millis(10);

/// The exit status of a process that panicked, as the Rust runtime has it.
const PANICKED: i32 = 101;

/// Forking copies one thread only: a lock that another one held would stay locked in the child.
pub(crate) fn require_single_thread(what: &str) -> Result<(), Failure> {
    let tasks =
        std::fs::read_dir("/proc/self/task").map_err(|error| other("read /proc/self/task", &error))?;
    match tasks.count() {
        1 => Ok(()),
        threads => Err(other(what, &format!("it forks, and this process has {threads} threads"))),
    }
}

/// A process that may fork others.
#[derive(Clone, Copy)]
pub(crate) struct Parent(Pid);

impl Parent {
    /// This process.
    pub(crate) fn this() -> Self {
        Self(getpid())
    }

    /// Forks a process that runs `body` and ends. It is killed when this one dies.
    pub(crate) fn spawn(self, body: impl FnOnce()) -> nix::Result<Pid> {
        self.spawn_with_status(|| {
            body();
            0
        })
    }

    /// Starts a child that ends with the exit status that `body` returns.
    pub(crate) fn spawn_with_status(self, body: impl FnOnce() -> i32) -> nix::Result<Pid> {
        #[expect(unsafe_code, reason = "fork has no safe form")]
        // SAFETY: the maker of a `Parent` has made sure with `require_single_thread` that the process has one thread, so no lock is
        // held by a thread that the child lacks.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(child),
            ForkResult::Child => self.live(body),
        }
    }

    /// Takes leave of children that have ended, and waits for at least one if `wait`; says how many they were.
    pub(crate) fn reap(self, wait: bool) -> u32 {
        let mut count = 0;
        loop {
            let flags = if wait && count == 0 { WaitPidFlag::empty() } else { WaitPidFlag::WNOHANG };
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => count += 1,
                Err(Errno::EINTR) => {}
                _ => return count,
            }
        }
    }

    fn live(self, body: impl FnOnce() -> i32) -> ! {
        // The parent may have died before the request took effect; then no signal would come any more.
        if prctl::set_pdeathsig(Signal::SIGKILL).is_err() || getppid() != self.0 {
            leave(1);
        }
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(status) => leave(status),
            Err(_) => leave(PANICKED),
        }
    }
}

/// Makes writing to a connection that the peer has closed an error, and not the end of the process.
pub(crate) fn survive_broken_pipes() -> Result<(), Failure> {
    #[expect(unsafe_code, reason = "setting a signal's disposition has no safe form")]
    // SAFETY: the disposition is the kernel's own; no handler of ours runs.
    let done = unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) };
    done.map(drop).map_err(|error| refused("ignore SIGPIPE", error))
}

/// Ends this process at once: exit handlers and buffered output belong to the parent.
fn leave(status: i32) -> ! {
    #[expect(unsafe_code, reason = "_exit has no safe form")]
    // SAFETY: _exit takes any status and does not return.
    unsafe {
        libc::_exit(status)
    }
}
