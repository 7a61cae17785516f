//! The gate at which all workers wait until all are there.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{pipe, read, write};
use plimsoll_model::frame::Failure;

use crate::failure::other;

/// How often it is looked whether a worker was lost while some are not ready yet, in milliseconds.
const LOOK_EVERY: u16 = 200;
const MARK: [u8; 1] = [b'.'];

/// Two pipes: on one each worker says that it is there, the other becomes readable for all at once.
pub(super) struct Gate {
    ready: (OwnedFd, OwnedFd),
    start: (OwnedFd, OwnedFd),
    /// Whether waiting threads must go home. Processes are killed instead, and do not see it.
    called_off: AtomicBool,
}

impl Gate {
    pub(super) fn new() -> Result<Self, Failure> {
        let pipe = || pipe().map_err(|error| other("make a pipe", &error.desc()));
        Ok(Self { ready: pipe()?, start: pipe()?, called_off: AtomicBool::new(false) })
    }

    /// Waits until `workers` workers are ready. `lost` says whether one of them has ended, so that it would never come.
    pub(super) fn wait_for(&self, workers: u64, lost: impl Fn() -> bool) -> Result<(), Failure> {
        let wrong = |error: Errno| other("wait for the workers", &error.desc());
        let mut marks = [0; 4096];
        let mut missing = workers;
        while missing > 0 {
            let mut wanted = [PollFd::new(self.ready.0.as_fd(), PollFlags::POLLIN)];
            if poll(&mut wanted, PollTimeout::from(LOOK_EVERY)).map_err(wrong)? > 0 {
                let came = read(self.ready.0.as_fd(), &mut marks).map_err(wrong)?;
                missing = missing.saturating_sub(came as u64);
            } else if lost() {
                return Err(other("wait for the workers", &"one of them has ended before the start"));
            }
        }
        Ok(())
    }

    /// Lets all workers go.
    pub(super) fn open(&self) -> Result<(), Failure> {
        let marked = write(self.start.1.as_fd(), &MARK);
        marked.map(drop).map_err(|error| other("start the workers", &error.desc()))
    }

    /// Sends the workers home that wait or will come: they end with [`Errno::ECANCELED`].
    pub(super) fn call_off(&self) {
        self.called_off.store(true, Ordering::Release);
        // The pipe is empty, and so has room for a byte.
        self.open().ok();
    }

    /// A worker says that it is there, and waits for the start. The mark stays in the pipe, so that every worker sees it.
    pub(super) fn stand(&self) -> nix::Result<()> {
        write(self.ready.1.as_fd(), &MARK)?;
        poll(&mut [PollFd::new(self.start.0.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE)?;
        if self.called_off.load(Ordering::Acquire) { Err(Errno::ECANCELED) } else { Ok(()) }
    }
}
