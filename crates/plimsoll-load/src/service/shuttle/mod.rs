//! Passes bytes both ways between two connections until both directions have ended.

mod lane;

use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};
use plimsoll_model::experiment::PassBy;

use self::lane::Lane;

/// Default number of bytes under way in one direction.
pub(super) const BUFFER: usize = 64 << 10;

/// Passes bytes on until each side has closed its direction, each close being passed on as it comes.
///
/// # Errors
/// When either side is reset or otherwise lost: then neither direction can go on.
pub(super) fn both_ways(a: &TcpStream, b: &TcpStream, by: PassBy, buffer: usize) -> io::Result<()> {
    a.set_nonblocking(true)?;
    b.set_nonblocking(true)?;
    let mut forth = Direction::new(a, b, Lane::new(by, buffer)?);
    let mut back = Direction::new(b, a, Lane::new(by, buffer)?);
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
    lane: Lane,
    /// `from` has no more.
    drained: bool,
    /// `to` has got all, and knows that it is all.
    ended: bool,
}

impl<'a> Direction<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream, lane: Lane) -> Self {
        Self { from, to, lane, drained: false, ended: false }
    }

    fn wants_to_read(&self) -> PollFlags {
        if self.drained || !self.lane.is_empty() { PollFlags::empty() } else { PollFlags::POLLIN }
    }

    fn wants_to_write(&self) -> PollFlags {
        if self.lane.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT }
    }

    /// Passes on until one of the sides would block, or the direction has ended.
    fn advance(&mut self) -> io::Result<()> {
        while !self.ended {
            if !self.lane.is_empty() {
                if tolerate_waiting(self.lane.empty(self.to))?.is_none() {
                    return Ok(());
                }
            } else if self.drained {
                self.to.shutdown(Shutdown::Write)?;
                self.ended = true;
            } else {
                let Some(n) = tolerate_waiting(self.lane.fill(self.from))? else { return Ok(()) };
                self.drained = n == 0;
                if n > 0 && self.lane.has_room() {
                    // Most likely all that there is: pass it on, then wait, instead of asking for more in vain.
                    return self.pass_on();
                }
            }
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        while !self.lane.is_empty() {
            if tolerate_waiting(self.lane.empty(self.to))?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

fn tolerate_waiting(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(n) => Ok(Some(n)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the close that follows a reset, so that the peer knows that something went wrong.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    // A socket that refuses this is closed in the ordinary way.
    let _ = setsockopt(stream, sockopt::Linger, &at_once);
}
