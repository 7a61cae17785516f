//! Filling a disk with a nameless file, which disappears with the agent.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::statvfs::fstatvfs;
use plimsoll_model::experiment::FillDisk;
use plimsoll_model::frame::{Failure, VolumePlace};
use plimsoll_model::units::ByteSize;
use plimsoll_path::Folder;

use crate::{other, program};

/// Bytes of each request: on a full disk less than this stays free.
const AT_A_TIME: u64 = 1 << 20;

/// Files that fill disks, by their folder.
#[derive(Clone, Default)]
pub(super) struct Filled(Arc<Mutex<BTreeMap<PathBuf, File>>>);

impl Filled {
    /// Resizes the fill file of a folder to its target size.
    pub(super) fn fill(&self, fill: &FillDisk, volume: Option<&VolumePlace>) -> Result<String, Failure> {
        let folder = volume.map_or_else(program::scratch, |volume| volume.path.clone());
        let what = format!("fill {}", folder.display());
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match files.remove(&folder) {
            Some(file) => file,
            None => {
                let opened = Folder::open(&folder).map_err(|error| other(&what, error))?;
                tempfile::tempfile_in(opened.handle()).map_err(|error| other(&what, error))?
            }
        };
        let (size, full) = resize(&file, fill).map_err(|error| other(&what, error))?;
        if size > 0 {
            files.insert(folder.clone(), file);
        }
        let full = if full { "; it is full" } else { "" };
        Ok(format!("{} of {} were taken{full}", ByteSize(size), folder.display()))
    }
}

/// Resizes the file to the requested size. Returns its size, and whether the disk was full before that.
fn resize(file: &File, fill: &FillDisk) -> io::Result<(u64, bool)> {
    let now = file.metadata()?.len();
    let wanted = match (fill.size, fill.share) {
        (Some(size), _) => size.0,
        (None, share) => {
            let disk = fstatvfs(file.as_fd())?;
            let blocks = disk.fragment_size();
            let all = disk.blocks() * blocks;
            let used = all - disk.blocks_free() * blocks;
            let share = share.map_or(0.0, |share| share.0);
            (share * all as f64) as u64 - used.saturating_sub(now).min((share * all as f64) as u64)
        }
    };
    if wanted <= now {
        file.set_len(wanted)?;
        return Ok((wanted, false));
    }
    let mut size = now;
    while size < wanted {
        let more = AT_A_TIME.min(wanted - size);
        match take(file, size, more) {
            Ok(()) => size += more,
            Err(error) if error.raw_os_error() == Some(Errno::ENOSPC as i32) => return Ok((size, true)),
            Err(error) => return Err(error),
        }
    }
    Ok((size, false))
}

/// Allocates `length` bytes of disk. Writes zeros where the file system does not support fallocate.
fn take(mut file: &File, from: u64, length: u64) -> io::Result<()> {
    let number = |n: u64| i64::try_from(n).map_err(io::Error::other);
    match fallocate(file, FallocateFlags::empty(), number(from)?, number(length)?) {
        Err(Errno::EOPNOTSUPP) => {
            file.write_all(&vec![0; usize::try_from(length).map_err(io::Error::other)?])
        }
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(size: u64) -> FillDisk {
        FillDisk { volume: Some("v".into()), scratch: None, size: Some(ByteSize(size)), share: None }
    }

    #[test]
    fn a_disk_is_filled_and_emptied_and_the_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let place = VolumePlace { name: "v".into(), path: folder.path().into(), writable: true };
        let filled = Filled::default();
        let note = filled.fill(&fill(5 << 20), Some(&place)).unwrap();
        assert!(note.starts_with("5M of "), "{note}");
        let size = |filled: &Filled| {
            let files = filled.0.lock().unwrap();
            files.values().map(|file| file.metadata().unwrap().len()).sum::<u64>()
        };
        assert_eq!(size(&filled), 5 << 20);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
        filled.fill(&fill(2 << 20), Some(&place)).unwrap();
        assert_eq!(size(&filled), 2 << 20);
        filled.fill(&fill(0), Some(&place)).unwrap();
        assert_eq!(size(&filled), 0);
    }
}
