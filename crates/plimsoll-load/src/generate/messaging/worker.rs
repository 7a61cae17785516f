//! Work of one worker.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::unistd::{read, write};
use plimsoll_model::experiment::MessagingLoad;

use super::gate::Gate;

/// Writes all messages of one sender: one to each receiver in turn, as often as the load says.
pub(super) fn send(load: &MessagingLoad, gate: &Gate, receivers: &[OwnedFd]) -> nix::Result<()> {
    let message = vec![b'-'; load.size.0 as usize];
    gate.stand()?;
    for _ in 0..load.messages {
        for receiver in receivers {
            let mut rest = &message[..];
            while !rest.is_empty() {
                rest = &rest[write(receiver.as_fd(), rest)?..];
            }
        }
    }
    Ok(())
}

/// Reads all messages to one receiver: those of every sender of its group.
pub(super) fn receive(load: &MessagingLoad, gate: &Gate, from: &OwnedFd) -> nix::Result<()> {
    let mut message = vec![0; load.size.0 as usize];
    gate.stand()?;
    for _ in 0..u64::from(load.messages) * u64::from(load.pairs) {
        let mut have = 0;
        while have < message.len() {
            match read(from.as_fd(), &mut message[have..])? {
                0 => return Err(Errno::EPIPE),
                n => have += n,
            }
        }
    }
    Ok(())
}
