//! Files of others that names are read from.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::unistd::Uid;

/// Who else may write a file, in its mode: its group, and all others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A file with names, and its length, where it may be read; see `program` in symbols.rs.
pub(super) fn open_safely(file: &Path, is_of_the_run: bool) -> Option<(File, u64)> {
    let opened =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file).ok()?;
    let metadata = opened.metadata().ok()?;
    let is_owned = metadata.uid() == 0 || metadata.uid() == Uid::effective().as_raw();
    let is_safe = is_of_the_run || is_owned && metadata.mode() & WRITABLE_BY_OTHERS == 0;
    (metadata.is_file() && is_safe).then_some((opened, metadata.len()))
}
