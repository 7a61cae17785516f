//! Connections over loopback: bytes that are spliced to one, and many that come and go.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use nix::fcntl::{SpliceFFlags, splice};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::{pipe, write};
use plimsoll_model::frame::Failure;

use super::Path;
use crate::failure::{errno, other};

/// Bytes moved each time.
const PIECE: usize = 16 << 10;
const PIECES: usize = 4;
/// Room for all that is on its way, so that the one who sends never waits for the one who reads: they are the same process.
const ROOM: usize = 1 << 20;

/// splice(2) from a pipe to a connection.
pub(super) struct Splice {
    source: OwnedFd,
    filled: OwnedFd,
    out: TcpStream,
    back: TcpStream,
    /// Each piece but the last says that more comes.
    more: bool,
    piece: Vec<u8>,
    read: Vec<u8>,
}

impl Splice {
    pub(super) fn prepare(more: bool) -> Result<Self, Failure> {
        let made = || -> io::Result<Self> {
            let (source, filled) = pipe()?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            setsockopt(&listener, sockopt::RcvBuf, &ROOM)?;
            let out = TcpStream::connect(listener.local_addr()?)?;
            setsockopt(&out, sockopt::SndBuf, &ROOM)?;
            // Else a piece waits for the acknowledgement of the one before it (RFC 896), and that for a timer.
            out.set_nodelay(true)?;
            let (back, _) = listener.accept()?;
            let (piece, read) = (vec![b'-'; PIECE], vec![0; PIECE * PIECES]);
            Ok(Self { source, filled, out, back, more, piece, read })
        };
        made().map_err(|error| other("make a connection", &error))
    }
}

impl Path for Splice {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        for _ in 0..times {
            for n in 0..PIECES {
                let wrote = write(&self.filled, &self.piece)?;
                let more = self.more && n + 1 < PIECES;
                let flags = if more { SpliceFFlags::SPLICE_F_MORE } else { SpliceFFlags::empty() };
                let mut left = wrote;
                while left > 0 {
                    left -= splice(&self.source, None, &self.out, None, left, flags)?;
                }
            }
            self.back.read_exact(&mut self.read).map_err(|error| errno(&error))?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        (PIECE * PIECES) as u64
    }
}

/// The addresses of 127.0.0.0/8 that are connected to in turn: one of them has room for no more connections than there
/// are ports.
const ADDRESSES: u32 = 200;

/// Connections that are closed by the side that has opened them, which is the one that stays in TIME_WAIT (RFC 9293, section 3.6).
pub(super) struct TimeWait {
    listener: TcpListener,
    port: u16,
    next: u32,
}

impl TimeWait {
    pub(super) fn prepare(among: u32) -> Result<Self, Failure> {
        let wrong = |error: io::Error| other("open connections", &error);
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        let mut path = Self { listener, port, next: 0 };
        path.take(among.into()).map_err(|error| wrong(error.into()))?;
        Ok(path)
    }
}

impl Path for TimeWait {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        for _ in 0..times {
            let address = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + self.next % ADDRESSES);
            self.next = self.next.wrapping_add(1);
            let opened =
                TcpStream::connect(SocketAddrV4::new(address, self.port)).map_err(|error| errno(&error))?;
            let (accepted, _) = self.listener.accept().map_err(|error| errno(&error))?;
            drop(opened);
            drop(accepted);
        }
        Ok(())
    }
}
