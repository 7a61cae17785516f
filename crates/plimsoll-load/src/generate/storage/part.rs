//! The part of a volume that a thread works in: a file in a folder, a stretch of a block device.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise};
use plimsoll_model::experiment::{Access, CacheState, StorageEngine, StorageLoad};
use plimsoll_model::frame::{Failure, VolumePlace};
use plimsoll_path::{Folder, PathError};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::memory::Memory;
use crate::clock;
use crate::failure::other;

/// How much is written or read at a time while a part is made ready.
const CHUNK: usize = 1 << 20;

/// How much of each block device was filled already by this process: a device does not record it, as the length of a file does.
static FILLED: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// A part of a volume.
#[derive(Debug)]
pub(super) struct Part {
    /// Open for the load's operations.
    pub(super) file: File,
    /// Where in the file the part begins.
    pub(super) base: u64,
    /// How long it is.
    pub(super) length: u64,
}

/// The parts of all threads, each with its data and its pages in the cache as the load asks.
pub(super) fn prepare(volume: &VolumePlace, load: &StorageLoad) -> Result<Vec<Part>, Failure> {
    let kind = fs::metadata(&volume.path).map_err(|error| explain(&volume.name, "find", &error))?.file_type();
    let is_device = kind.is_block_device();
    if load.writes() && !volume.writable {
        return Err(other(format!("write to the volume `{}`", volume.name), &"it may only be read"));
    }
    let parts = (0..load.threads)
        .map(|nth| if is_device { stretch(volume, load, nth) } else { file(&volume.path, load, nth) });
    let parts: Vec<Part> =
        parts.collect::<io::Result<_>>().map_err(|error| explain(&volume.name, "make ready", &error))?;
    if is_device && volume.writable {
        remember(&volume.path, load.part_size() * u64::from(load.threads));
    }
    for part in &parts {
        cache(part, load).map_err(|error| explain(&volume.name, "make ready", &error))?;
    }
    parts.into_iter().map(|part| reopened(part, volume, load, is_device)).collect()
}

/// Error of a volume, in a sentence.
pub(super) fn explain(volume: &str, what: &str, error: &io::Error) -> Failure {
    let why = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => "it is full".to_owned(),
        Some(libc::ENODEV | libc::ENXIO) => "its device has gone".to_owned(),
        Some(libc::EROFS) => "it may only be read: the kernel stopped writing to it".to_owned(),
        Some(libc::EIO) => "its device cannot read or write (input/output error)".to_owned(),
        Some(libc::EINVAL) => {
            format!("{error}; where operations are direct, the block has to be whole blocks of the device")
        }
        _ => error.to_string(),
    };
    other(format!("{what} the volume `{volume}`"), &why)
}

/// Whether what is there beforehand has to be written: it is read, or written at random, or stands in memory.
fn is_laid_out(load: &StorageLoad) -> bool {
    load.reads.0 > 0.0 || load.access == Access::Random || load.engine == StorageEngine::Mmap
}

/// The file of a thread, filled to its size.
fn file(folder: &Path, load: &StorageLoad, nth: u32) -> io::Result<Part> {
    let length = load.part_size();
    let name = format!("part-{nth}");
    let opened =
        Folder::open(folder).and_then(|folder| folder.file(Path::new(&name), OFlag::O_RDWR | OFlag::O_CREAT));
    let mut file = opened.map_err(|error| match error {
        // Its number names the fault of the volume.
        PathError::System { source, .. } => source,
        error => error.into(),
    })?;
    if is_laid_out(load) {
        let there = file.seek(SeekFrom::End(0))?;
        fill(&file, there.min(length), length)?;
    } else {
        file.set_len(0)?;
    }
    Ok(Part { file, base: 0, length })
}

/// The stretch of a device that a thread has.
fn stretch(volume: &VolumePlace, load: &StorageLoad, nth: u32) -> io::Result<Part> {
    let mut file = OpenOptions::new().read(true).write(volume.writable).open(&volume.path)?;
    let (length, size) = (load.part_size(), file.seek(SeekFrom::End(0))?);
    if size == 0 {
        // The size of a loop device that was detached, and of a drive without a medium.
        return Err(io::Error::from_raw_os_error(libc::ENXIO));
    }
    let base = length * u64::from(nth);
    if base + length > size {
        let needed = length * u64::from(load.threads);
        return Err(io::Error::other(format!(
            "the load's `size` is {needed} bytes, and the device has {size}"
        )));
    }
    if volume.writable && is_laid_out(load) {
        let filled = FILLED.lock().unwrap_or_else(PoisonError::into_inner).get(&volume.path).copied();
        fill(&file, filled.unwrap_or(0).clamp(base, base + length), base + length)?;
    }
    Ok(Part { file, base, length })
}

fn remember(path: &Path, filled: u64) {
    let mut all = FILLED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.entry(path.to_owned()).or_default();
    *known = filled.max(*known);
}

/// Writes random bytes, which no device can compress or has stored before.
fn fill(file: &File, from: u64, to: u64) -> io::Result<()> {
    let mut random = SmallRng::seed_from_u64(clock::now() ^ from.rotate_left(32));
    let mut memory = Memory::new(CHUNK)?;
    let mut at = from;
    while at < to {
        let length = usize::try_from(to - at).map_or(CHUNK, |left| left.min(CHUNK));
        let chunk = memory.slice(0, length);
        random.fill(chunk);
        file.write_all_at(chunk, at)?;
        at += length as u64;
    }
    Ok(())
}

/// Writes back dirty pages, and drops or reads those that the load will use.
fn cache(part: &Part, load: &StorageLoad) -> io::Result<()> {
    part.file.sync_data()?;
    match load.cache {
        CacheState::AsIs => {}
        CacheState::Dropped => {
            let (from, length) = (part.base.cast_signed(), part.length.cast_signed());
            posix_fadvise(&part.file, from, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        }
        CacheState::Warmed => {
            let mut memory = Memory::new(CHUNK)?;
            let mut at = part.base;
            while at < part.base + part.length {
                let length = usize::try_from(part.base + part.length - at).map_or(CHUNK, |n| n.min(CHUNK));
                match part.file.read_at(memory.slice(0, length), at)? {
                    0 => break,
                    bytes => at += bytes as u64,
                }
            }
        }
    }
    Ok(())
}

/// The part, reopened past the page cache where the load wants that.
fn reopened(part: Part, volume: &VolumePlace, load: &StorageLoad, is_device: bool) -> Result<Part, Failure> {
    if !load.direct {
        return Ok(part);
    }
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&part.file));
    let mut options = OpenOptions::new();
    options.read(true).write(!is_device || volume.writable).custom_flags(libc::O_DIRECT);
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => other(
            format!("go past the page cache on the volume `{}`", volume.name),
            &"its file system cannot",
        ),
        _ => explain(&volume.name, "use", &error),
    })?;
    Ok(Part { file, ..part })
}
