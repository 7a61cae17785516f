//! Lists that grow by records of one length, in the folder of a service that may be killed at any time.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use plimsoll_path::Folder;

/// Reads a list while it grows.
pub(crate) struct RecordReader<const LENGTH: usize> {
    /// Folder of the service, which may have left a link in it.
    folder: PathBuf,
    name: &'static str,
    file: Option<File>,
    /// Bytes of a record that is not complete yet.
    piece: Vec<u8>,
}

impl<const LENGTH: usize> RecordReader<LENGTH> {
    pub(crate) fn new(folder: &Path, name: &'static str) -> Self {
        Self { folder: folder.to_owned(), name, file: None, piece: Vec::new() }
    }

    /// Hands over each whole record since the last call. That there is no list yet is no error.
    pub(crate) fn each(&mut self, mut take: impl FnMut(&[u8; LENGTH])) -> io::Result<()> {
        if self.file.is_none() {
            let folder = Folder::open(&self.folder);
            self.file = match folder.and_then(|folder| folder.file(Path::new(self.name), OFlag::O_RDONLY)) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                opened => Some(opened?),
            };
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.piece)?;
        }
        let (records, _) = self.piece.as_chunks::<LENGTH>();
        records.iter().for_each(&mut take);
        let whole = records.len() * LENGTH;
        self.piece.drain(..whole);
        Ok(())
    }
}
