//! A folder in which a host's services may keep files, that goes with the host.

use std::fs;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::unistd::{getpid, mkdtemp};

/// Where a namespace host's is. POSIX shared memory is kept here, which belongs to an IPC namespace of one's own as much as System V's.
const SHARED_MEMORY: &str = "/dev/shm";

/// The folder. Dropping it removes what would not go by itself.
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

    /// Whether it is of the host's own mount namespace, so that nobody else sees what is made in it.
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
