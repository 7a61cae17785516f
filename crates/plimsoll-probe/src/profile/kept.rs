//! Files of the kernel's that are read again and again: kept open as long as there is room for them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::sys::resource::{Resource, getrlimit};

/// The part of the descriptors that this process may have with which such files are kept open.
const PART_OF_DESCRIPTORS: usize = 4;

/// A file that is read from its start.
#[derive(Debug)]
pub(super) struct KeptFile {
    path: String,
    /// Absent where it is opened each time.
    file: Option<File>,
}

impl KeptFile {
    /// Opens a file, and keeps it open if there is room for one more.
    pub(super) fn open(path: String, room: &mut usize) -> io::Result<Self> {
        let file = File::open(&path)?;
        let left = room.checked_sub(1);
        *room = left.unwrap_or(0);
        Ok(Self { path, file: left.map(|_| file) })
    }

    /// Whether it is kept open: then it is of nobody else, whoever has got its path since.
    pub(super) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// What it has in it now, as far as it fits.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.file {
            Some(file) => file.read_at(buffer, 0),
            None => File::open(&self.path)?.read_at(buffer, 0),
        }
    }
}

/// How many files may be kept open.
pub(super) fn room() -> usize {
    descriptors() / PART_OF_DESCRIPTORS
}

/// The descriptors that this process may have.
pub(super) fn descriptors() -> usize {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    usize::try_from(soft).unwrap_or(usize::MAX)
}
