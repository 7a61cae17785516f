//! The folder of a queue. A file is there when both it and the folder were flushed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::OFlag;
use plimsoll_path::Folder;

use super::flushes::Flushes;
use super::segment::{self, Job, Mail, Segment};

/// A queue.
#[derive(Debug)]
pub(super) struct Queue {
    folder: Folder,
    handle: File,
    flushes: Flushes,
    /// The number of the next file.
    next: AtomicU64,
}

impl Queue {
    /// Opens the queue in a folder, which is made when it is not there, and finds the messages in it.
    pub(super) fn open(folder: &Path, flushes: Flushes) -> io::Result<(Self, Vec<Job>)> {
        let (folder, _) = Folder::make(folder)?;
        let mut files = Vec::new();
        let mut next = 0;
        for entry in folder.names()? {
            let path = folder.handle().join(entry);
            let number =
                path.file_stem().and_then(OsStr::to_str).and_then(|name| u64::from_str_radix(name, 16).ok());
            // Other files are not the queue's.
            let Some(number) = number else { continue };
            next = next.max(number + 1);
            if path.extension().is_none() {
                files.push((number, path));
            }
        }
        files.sort();
        let mut jobs = Vec::new();
        for (_, path) in files {
            jobs.extend(segment::read(path)?);
        }
        let handle = folder.file(Path::new("."), OFlag::O_RDONLY)?;
        let queue = Self { folder, handle, flushes, next: next.into() };
        Ok((queue, jobs))
    }

    /// Makes messages durable, together. None of them is in the queue when it fails.
    pub(super) fn store(&self, mails: &[Mail]) -> io::Result<Vec<Job>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.handle().join(format!("{number:016x}"));
        let stored = segment::write(path.clone(), mails, &self.flushes).and_then(|jobs| {
            self.flushes.flush(&self.handle)?;
            Ok(jobs)
        });
        if stored.is_err() {
            // Where even that fails, the record that is not whole is forgotten at the next start.
            fs::remove_file(path).ok();
        }
        stored
    }

    /// Makes durable that messages of these files are done with, and which files are gone.
    pub(super) fn settle(&self, marked: &[Arc<Segment>]) -> io::Result<()> {
        marked.iter().try_for_each(|file| file.flush(&self.flushes))?;
        self.flushes.flush(&self.handle)
    }
}
