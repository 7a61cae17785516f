//! A folder for the files of a host's services, which goes with the host.

use std::fs;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::unistd::{getpid, mkdtemp};

/// Folder of a namespace host. POSIX shared memory lies here, and belongs to the host's own IPC namespace as System V's does.
const SHARED_MEMORY: &str = "/dev/shm";

/// The folder. Dropping it removes one that would not go by itself.
pub(super) struct Scratch {
    path: PathBuf,
    remove: bool,
}

impl Scratch {
    /// A file system of the mount namespace's own, which the kernel takes away with it.
    pub(super) fn mounted() -> Result<Self, Errno> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("plimsoll"), SHARED_MEMORY, Some("tmpfs"), flags, Some("mode=1777"))?;
        Ok(Self { path: SHARED_MEMORY.into(), remove: false })
    }

    /// A folder beside those of others, for a host that has no mounts of its own.
    pub(super) fn made() -> Result<Self, Errno> {
        let path = mkdtemp(&std::env::temp_dir().join(format!("plimsoll-host-{}-XXXXXX", getpid())))?;
        Ok(Self { path, remove: true })
    }

    /// Whether it is of the host's own mount namespace, so that no other process sees its files.
    pub(super) fn is_own(&self) -> bool {
        !self.remove
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.remove
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::error!("plimsoll: host supervisor: removing {}: {error}", self.path.display());
        }
    }
}
