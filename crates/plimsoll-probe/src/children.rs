//! Which processes a process has started.

use std::fs;
use std::path::Path;

/// The children of each thread of the process with this folder.
pub(crate) fn of(folder: &Path) -> Vec<u32> {
    let threads = fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
    threads.flat_map(|thread| listed(&thread.path().join("children"))).collect()
}

/// The children of the thread with this list.
pub(crate) fn listed(list: &Path) -> Vec<u32> {
    let list = fs::read_to_string(list).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
