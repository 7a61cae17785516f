//! Carries bytes from one connection to another: a buffer, or a pipe that they never leave the kernel in.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use plimsoll_model::experiment::PassBy;

use crate::transfer::Pipe;

/// A lane in one direction.
pub(super) enum Lane {
    Copy { buffer: Box<[u8]>, start: usize, end: usize },
    Splice { pipe: Pipe, says_more: bool },
}

impl Lane {
    /// A lane that holds `bytes` bytes.
    pub(super) fn new(by: PassBy, bytes: usize) -> io::Result<Self> {
        Ok(match by {
            PassBy::Copy => Self::Copy { buffer: vec![0; bytes.max(1)].into(), start: 0, end: 0 },
            PassBy::Splice | PassBy::SpliceMore => {
                Self::Splice { pipe: Pipe::new(bytes)?, says_more: by == PassBy::SpliceMore }
            }
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Copy { start, end, .. } => start == end,
            Self::Splice { pipe, .. } => pipe.filled() == 0,
        }
    }

    /// Whether the last filling left room, so that most likely nothing more is there.
    pub(super) fn has_room(&self) -> bool {
        match self {
            Self::Copy { buffer, end, .. } => *end < buffer.len(),
            Self::Splice { pipe, .. } => !pipe.is_full(),
        }
    }

    /// Fills an empty lane with what has come; 0 at the end.
    pub(super) fn fill(&mut self, mut from: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Copy { buffer, start, end } => {
                let n = from.read(buffer)?;
                (*start, *end) = (0, n);
                Ok(n)
            }
            Self::Splice { pipe, .. } => pipe.take(from.as_fd(), None, usize::MAX),
        }
    }

    /// Passes on as much as the other side takes.
    pub(super) fn empty(&mut self, mut to: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Copy { buffer, start, end } => {
                let n = to.write(&buffer[*start..*end])?;
                *start += n;
                Ok(n)
            }
            Self::Splice { pipe, says_more } => pipe.give(to.as_fd(), usize::MAX, *says_more),
        }
    }
}
