//! The ways to hand bytes to the kernel.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{MsgFlags, recvmsg, send};
use plimsoll_model::experiment::SendBy;

use super::Pipe;

/// More follows at once; what does not fill a segment waits for it.
const MORE: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_MORE);
/// The kernel sends the program's own pages.
const ZEROCOPY: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_ZEROCOPY);
/// How many sends with `MSG_ZEROCOPY` may be unconfirmed before the confirmations are read.
const UNCONFIRMED: u32 = 32;

/// Sent bytes: one line over and over.
const LINE: &[u8; 64] = b"Her line shows how much load she may safely carry, and no more.\n";

/// Sends bytes over a connection. The bytes never change, so pages that the kernel still holds need not be waited for.
pub(crate) struct Outlet {
    source: Source,
    says_more: bool,
    chunk: usize,
}

enum Source {
    Memory { bytes: Box<[u8]>, unconfirmed: Option<u32> },
    File(File),
    Pipe(File, Pipe),
}

impl Outlet {
    /// An outlet that hands over up to `chunk` bytes at a time.
    pub(crate) fn new(by: SendBy, chunk: usize) -> io::Result<Self> {
        let chunk = chunk.max(1);
        let source = match by {
            SendBy::Write | SendBy::WriteMore => Source::Memory { bytes: text(chunk), unconfirmed: None },
            SendBy::Zerocopy => Source::Memory { bytes: text(chunk), unconfirmed: Some(0) },
            SendBy::Sendfile => Source::File(file(chunk)?),
            SendBy::Splice | SendBy::SpliceMore => Source::Pipe(file(chunk)?, Pipe::new(chunk)?),
        };
        Ok(Self { source, says_more: by.says_more(), chunk })
    }

    /// Hands over more bytes at a time. A file is as long as it was made, so only memory grows.
    pub(crate) fn widen(&mut self, chunk: usize) {
        if let Source::Memory { bytes, .. } = &mut self.source {
            *bytes = text(chunk);
            self.chunk = chunk;
        }
    }

    /// Makes ready for another connection.
    ///
    /// # Errors
    /// When the kernel cannot send what it is to send in this way.
    pub(crate) fn serve(&mut self, stream: &TcpStream) -> io::Result<()> {
        match &mut self.source {
            Source::Memory { unconfirmed: Some(unconfirmed), .. } => {
                *unconfirmed = 0;
                allow_zerocopy(stream)
            }
            _ => Ok(()),
        }
    }

    /// Hands over up to `left` bytes, at most a chunk of them, and gives how many the kernel took. `last` says that no byte follows
    /// after these, so that none is held back for it.
    ///
    /// # Errors
    /// `WouldBlock` when the connection's time limit passed before the kernel took any; otherwise what send(2) says.
    pub(crate) fn send(&mut self, stream: &TcpStream, left: u64, last: bool) -> io::Result<usize> {
        let chunk = usize::try_from(left).map_or(self.chunk, |left| left.min(self.chunk));
        let more = self.says_more && !(last && chunk as u64 == left);
        match &mut self.source {
            Source::Memory { bytes, unconfirmed: None } => {
                let flags = if more { MORE } else { MsgFlags::empty() };
                Ok(send(stream.as_raw_fd(), &bytes[..chunk], flags | MsgFlags::MSG_NOSIGNAL)?)
            }
            Source::Memory { bytes, unconfirmed: Some(unconfirmed) } => {
                if *unconfirmed >= UNCONFIRMED {
                    *unconfirmed = 0;
                    confirmations(stream)?;
                }
                *unconfirmed += 1;
                match send(stream.as_raw_fd(), &bytes[..chunk], ZEROCOPY | MsgFlags::MSG_NOSIGNAL) {
                    // The kernel cannot keep account of more sends (net.core.optmem_max) until some are confirmed.
                    Err(Errno::ENOBUFS) => {
                        confirmations(stream)?;
                        Ok(send(stream.as_raw_fd(), &bytes[..chunk], MsgFlags::MSG_NOSIGNAL)?)
                    }
                    sent => Ok(sent?),
                }
            }
            Source::File(file) => Ok(sendfile(stream, file, Some(&mut 0), chunk)?),
            Source::Pipe(file, pipe) => {
                if pipe.filled() == 0 {
                    pipe.take(file.as_fd(), Some(&mut 0), chunk)?;
                }
                let all = last && pipe.filled() as u64 == left;
                pipe.give(stream.as_fd(), pipe.filled(), self.says_more && !all)
            }
        }
    }

    /// Hands over all of `length` bytes.
    ///
    /// # Errors
    /// As [`Outlet::send`]; a time limit that passes without progress is an error here.
    pub(crate) fn send_all(&mut self, stream: &TcpStream, length: u64, last: bool) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            match self.send(stream, left, last) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => left -= n as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Lets a socket send the program's own pages.
fn allow_zerocopy(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    #[expect(unsafe_code, reason = "nix does not have this option")]
    // SAFETY: the kernel reads one integer, which is there.
    let done = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ZEROCOPY,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Text of `length` bytes.
fn text(length: usize) -> Box<[u8]> {
    LINE.iter().copied().cycle().take(length).collect()
}

/// A file in memory, with `length` bytes of text.
fn file(length: usize) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"plimsoll-bulk", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(&text(length))?;
    Ok(file)
}

/// Takes from the error queue what the kernel has to say of sends with `MSG_ZEROCOPY` (Documentation/networking/msg_zerocopy.rst). Nothing
/// else goes there as long as `IP_RECVERR` is not asked for.
fn confirmations(stream: &TcpStream) -> io::Result<()> {
    let mut space = nix::cmsg_space!([u8; 256]);
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    loop {
        match recvmsg::<()>(stream.as_raw_fd(), &mut [], Some(&mut space), flags) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
