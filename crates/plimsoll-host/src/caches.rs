//! The machine's caches.

use std::fs;

use crate::error::{DROP_CACHES, HostError};

/// Writes back dirty pages, then drops the whole machine's clean page cache, dentries and inodes.
///
/// # Errors
/// [`HostError::DropCaches`] unless the process is root of the machine; in a user namespace it is not.
pub fn drop_caches() -> Result<(), HostError> {
    // Dirty pages cannot be dropped. Opening comes first, so that a user without the right does not wait for the sync.
    let open = fs::OpenOptions::new().write(true).open(DROP_CACHES);
    let mut file = open.map_err(|source| HostError::DropCaches { source })?;
    nix::unistd::sync();
    std::io::Write::write_all(&mut file, b"3\n").map_err(|source| HostError::DropCaches { source })
}
