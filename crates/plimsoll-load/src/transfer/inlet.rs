//! The ways to take bytes from the kernel.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::sys::socket::{MsgFlags, recv};
use plimsoll_model::experiment::Take;

/// Takes bytes from a connection, and forgets them.
pub(crate) struct Inlet {
    buffer: Box<[u8]>,
    flags: MsgFlags,
}

impl Inlet {
    /// An inlet that takes up to `chunk` bytes at a time.
    pub(crate) fn new(take: Take, chunk: usize) -> Self {
        let flags = match take {
            // tcp(7): the bytes are discarded, and the buffer is not written to.
            Take::Discard => MsgFlags::MSG_TRUNC,
            Take::Copy => MsgFlags::empty(),
        };
        Self { buffer: vec![0; chunk.max(1)].into(), flags }
    }

    /// Takes up to `most` bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` when the connection's time limit passed before any byte came; otherwise what recv(2) says.
    pub(crate) fn take(&mut self, stream: &TcpStream, most: u64) -> io::Result<usize> {
        let most = usize::try_from(most).map_or(self.buffer.len(), |most| most.min(self.buffer.len()));
        Ok(recv(stream.as_raw_fd(), &mut self.buffer[..most], self.flags)?)
    }
}
