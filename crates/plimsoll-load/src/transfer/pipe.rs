//! A pipe of the kernel, through which splice(2) moves pages.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::pipe2;

/// A pipe, and how many bytes are in it.
pub(crate) struct Pipe {
    exit: OwnedFd,
    entrance: OwnedFd,
    capacity: usize,
    filled: usize,
}

impl Pipe {
    /// A pipe that holds `wanted` bytes, or as many as an ordinary user's may (`fs.pipe-max-size`).
    pub(crate) fn new(wanted: usize) -> io::Result<Self> {
        let (exit, entrance) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let size = i32::try_from(wanted).unwrap_or(i32::MAX);
        // A pipe that may not grow keeps the size that it has.
        fcntl(&entrance, FcntlArg::F_SETPIPE_SZ(size)).ok();
        let capacity = usize::try_from(fcntl(&entrance, FcntlArg::F_GETPIPE_SZ)?).unwrap_or(0);
        Ok(Self { exit, entrance, capacity: capacity.min(wanted), filled: 0 })
    }

    /// How many bytes are in it.
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    /// Whether as much is in it as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.filled >= self.capacity
    }

    /// Moves up to `most` bytes in, from a file at an offset or from a socket; 0 at the source's end.
    pub(crate) fn take(
        &mut self,
        from: BorrowedFd<'_>,
        offset: Option<&mut i64>,
        most: usize,
    ) -> io::Result<usize> {
        let most = most.min(self.capacity.saturating_sub(self.filled));
        let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
        let moved = splice(from, offset, self.entrance.as_fd(), None, most, flags)?;
        self.filled += moved;
        Ok(moved)
    }

    /// Moves up to `most` bytes out to a socket. `more` announces further bytes to it.
    pub(crate) fn give(&mut self, to: BorrowedFd<'_>, most: usize, more: bool) -> io::Result<usize> {
        let mut flags = SpliceFFlags::SPLICE_F_MOVE;
        flags.set(SpliceFFlags::SPLICE_F_MORE, more);
        let most = most.min(self.filled);
        let moved = splice(self.exit.as_fd(), None, to, None, most, flags)?;
        self.filled -= moved;
        Ok(moved)
    }
}
