//! Workers that are processes.

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, wait, waitid, waitpid};
use nix::unistd::{Pid, close};
use plimsoll_model::experiment::MessagingLoad;
use plimsoll_model::frame::Failure;

use super::super::gate::Gate;
use super::super::worker;
use super::{Crew, OTHER_DESCRIPTORS, broken, group, not_started};
use crate::descriptors;
use crate::failure::other;
use crate::process::Parent;

/// Forked processes, none of which was waited for.
pub(in crate::generate::messaging) struct Processes {
    left: Vec<Pid>,
}

impl Processes {
    /// Makes all of them: group by group, receivers before senders. As with hackbench, a receiver closes the end that its senders write to, and
    /// senders have no end that is read from.
    pub(in crate::generate::messaging) fn assemble(
        load: &MessagingLoad,
        gate: &Gate,
    ) -> Result<Self, Failure> {
        descriptors::make_room(2 * u64::from(load.pairs) + OTHER_DESCRIPTORS)?;
        let mut crew = Self { left: Vec::new() };
        for _ in 0..load.groups {
            let mut receivers = Vec::new();
            for ends in group(load)? {
                crew.add(load, || {
                    // It is the copy of the new process, which ends without dropping anything.
                    close(ends.senders.as_raw_fd())?;
                    worker::receive(load, gate, &ends.own)
                })?;
                receivers.push(ends.senders);
            }
            for _ in 0..load.pairs {
                crew.add(load, || worker::send(load, gate, &receivers))?;
            }
        }
        Ok(crew)
    }

    fn add(&mut self, load: &MessagingLoad, work: impl FnOnce() -> nix::Result<()>) -> Result<(), Failure> {
        // The numbers of errors fit into an exit status.
        let body = || work().map_or_else(|error| error as i32, |()| 0);
        let worker = Parent::this()
            .spawn_with_status(body)
            .map_err(|error| not_started(self.left.len() + 1, load, &error.desc()))?;
        self.left.push(worker);
        Ok(())
    }
}

impl Crew for Processes {
    fn processes(&self) -> Vec<u32> {
        self.left.iter().map(|pid| pid.as_raw().unsigned_abs()).collect()
    }

    /// A process that has ended must still be waited for.
    fn has_lost_one(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        !matches!(waitid(Id::All, flags), Ok(WaitStatus::StillAlive))
    }

    /// The others would wait for one that failed for ever, and are ended with it.
    fn wait(mut self) -> Result<(), Failure> {
        for _ in 0..self.left.len() {
            let ended = wait().map_err(|error| other("wait for the workers", &error.desc()))?;
            let why = match ended {
                WaitStatus::Exited(_, 0) => continue,
                WaitStatus::Exited(_, status) => Errno::from_raw(status).desc().to_owned(),
                WaitStatus::Signaled(_, signal, _) => format!("a worker was ended by {signal}"),
                other => format!("a worker is {other:?}"),
            };
            // Its number may belong to another process from now on.
            self.left.retain(|pid| Some(*pid) != ended.pid());
            return Err(broken(&why));
        }
        self.left.clear();
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Processes that were waited for are no children any more, and waitpid fails for them; another process with their number is none either.
        let own = |pid: &Pid| waitpid(*pid, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive);
        for pid in self.left.iter().filter(|pid| own(pid)) {
            kill(*pid, Signal::SIGKILL).ok();
            waitpid(*pid, None).ok();
        }
    }
}
