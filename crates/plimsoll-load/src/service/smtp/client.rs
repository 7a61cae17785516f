//! One connection of a server.

use std::io::{ErrorKind, Read as _, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::Desk;
use super::conversation::{Conversation, State};

/// A connection, and what is said on it.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    pub(super) conversation: Conversation,
    /// When something came or went last.
    pub(super) heard: Instant,
    /// The client has said all it had to say.
    ended: bool,
}

/// Whether a connection is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadState {
    There,
    Gone,
}

impl Client {
    pub(super) fn new(stream: TcpStream, conversation: Conversation, now: Instant) -> Self {
        Self { stream, conversation, heard: now, ended: false }
    }

    /// Reads what has come, and takes it as far as it can be taken.
    pub(super) fn listen<D: Desk>(
        &mut self,
        inbox: &mut [u8],
        buffers: &mut Vec<Vec<u8>>,
        desk: &mut D,
        now: Instant,
    ) -> ReadState {
        self.conversation.resume(buffers, desk, now);
        // Commands of a client stay in the kernel while its message is stored.
        while !self.conversation.is_waiting() && self.conversation.state() != State::Over && !self.ended {
            match self.stream.read(inbox) {
                Ok(0) => self.ended = true,
                Ok(length) => {
                    self.conversation.take(&inbox[..length], buffers, desk, now);
                    // Less than there was room for: the kernel has no more, and will report what comes (epoll(7)).
                    if length < inbox.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return ReadState::Gone,
            }
        }
        // Where all has been said, replies have still to go out.
        if self.ended && !self.conversation.is_waiting() && self.conversation.out.is_empty() {
            return ReadState::Gone;
        }
        ReadState::There
    }

    /// Sends the pending replies; false if the connection is over.
    pub(super) fn flush(&mut self) -> bool {
        let out = &mut self.conversation.out;
        while !out.is_empty() {
            match self.stream.write(out) {
                Ok(sent) if sent == out.len() => out.clear(),
                Ok(sent) => drop(out.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        self.conversation.state() != State::Over && (!self.ended || self.conversation.is_waiting())
    }
}
