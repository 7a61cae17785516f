//! All workers of a round: how they are made, and how they end.

mod processes;
mod threads;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::unistd::pipe;
use plimsoll_model::experiment::MessagingLoad;
use plimsoll_model::experiment::load::messaging::Channel;
use plimsoll_model::frame::Failure;

pub(super) use self::processes::Processes;
pub(super) use self::threads::Threads;
use crate::failure::other;

/// Descriptors beside those of messages: the gate, and those opened in between.
const OTHER_DESCRIPTORS: u64 = 8;

/// Workers that were made. Those that are left when it goes are ended.
pub(super) trait Crew {
    /// The processes whose memory is that of the workers.
    fn processes(&self) -> Vec<u32>;

    /// Whether a worker has ended already.
    fn has_lost_one(&self) -> bool;

    /// Waits until all have ended.
    ///
    /// # Errors
    /// When one of them failed.
    fn wait(self) -> Result<(), Failure>;
}

/// The descriptors of a receiver.
struct Ends {
    /// Descriptor that the worker reads from.
    own: OwnedFd,
    /// Its senders write to this one.
    senders: OwnedFd,
}

/// Sockets of all receivers of a group.
fn group(load: &MessagingLoad) -> Result<Vec<Ends>, Failure> {
    let ends = |_| match load.over {
        Channel::Sockets => {
            UnixStream::pair().map(|(own, senders)| Ends { own: own.into(), senders: senders.into() })
        }
        Channel::Pipes => pipe().map(|(own, senders)| Ends { own, senders }).map_err(std::io::Error::from),
    };
    let all: std::io::Result<Vec<Ends>> = (0..load.pairs).map(ends).collect();
    all.map_err(|error| other("join senders and receivers", &error))
}

/// One more worker could not be had.
fn not_started(nth: usize, load: &MessagingLoad, error: &impl ToString) -> Failure {
    other(format!("start worker {nth} of {}", load.workers()), error)
}

/// A worker failed.
fn broken(why: &str) -> Failure {
    other("send and receive messages", &why)
}
