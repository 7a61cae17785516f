//! Copies bytes both ways between two connections until both directions have ended.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How much may be under way in one direction, in bytes.
const BUFFER: usize = 64 << 10;

/// Copies until each side has closed its direction, each close being passed on as it comes.
///
/// # Errors
/// When either side is reset or otherwise lost: then neither direction can go on.
pub(super) fn both_ways(a: &TcpStream, b: &TcpStream) -> io::Result<()> {
    a.set_nonblocking(true)?;
    b.set_nonblocking(true)?;
    let mut forth = Direction::new(a, b);
    let mut back = Direction::new(b, a);
    loop {
        forth.advance()?;
        back.advance()?;
        if forth.ended && back.ended {
            return Ok(());
        }
        let mut waiting = [
            PollFd::new(a.as_fd(), forth.wants_to_read() | back.wants_to_write()),
            PollFd::new(b.as_fd(), back.wants_to_read() | forth.wants_to_write()),
        ];
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        for (fd, stream) in waiting.iter().zip([a, b]) {
            lost(fd.revents(), stream)?;
        }
    }
}

/// poll(2) reports a reset even when neither direction reads from that side any more; without this the loop would spin.
fn lost(events: Option<PollFlags>, stream: &TcpStream) -> io::Result<()> {
    if events.is_some_and(|events| events.contains(PollFlags::POLLERR)) {
        return Err(stream.take_error()?.unwrap_or_else(|| ErrorKind::ConnectionReset.into()));
    }
    Ok(())
}

/// One of the two directions.
struct Direction<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    buffer: Box<[u8]>,
    /// What is in the buffer.
    start: usize,
    end: usize,
    /// `from` has no more.
    drained: bool,
    /// `to` has got all, and knows that it is all.
    ended: bool,
}

impl<'a> Direction<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream) -> Self {
        let buffer = vec![0; BUFFER].into();
        Self { from, to, buffer, start: 0, end: 0, drained: false, ended: false }
    }

    fn wants_to_read(&self) -> PollFlags {
        if self.drained || self.start < self.end { PollFlags::empty() } else { PollFlags::POLLIN }
    }

    fn wants_to_write(&self) -> PollFlags {
        if self.start < self.end { PollFlags::POLLOUT } else { PollFlags::empty() }
    }

    /// Copies until one of the sides would block, or the direction has ended.
    fn advance(&mut self) -> io::Result<()> {
        while !self.ended {
            if self.start < self.end {
                let Some(n) = tolerate_waiting(self.to.write(&self.buffer[self.start..self.end]))? else {
                    return Ok(());
                };
                self.start += n;
            } else if self.drained {
                self.to.shutdown(Shutdown::Write)?;
                self.ended = true;
            } else {
                let Some(n) = tolerate_waiting(self.from.read(&mut self.buffer))? else { return Ok(()) };
                (self.start, self.end, self.drained) = (0, n, n == 0);
                if 0 < n && n < self.buffer.len() {
                    // Most likely all that there is: pass it on, then wait, instead of asking for more in vain.
                    return self.pass_on();
                }
            }
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        while self.start < self.end {
            match tolerate_waiting(self.to.write(&self.buffer[self.start..self.end]))? {
                Some(n) => self.start += n,
                None => break,
            }
        }
        Ok(())
    }
}

fn tolerate_waiting(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(n) => Ok(Some(n)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Some(0)),
        Err(error) => Err(error),
    }
}
