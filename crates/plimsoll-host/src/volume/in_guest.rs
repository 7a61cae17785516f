//! Volumes of guests: a file system in the guest's own memory, on a loop device of its own kernel.
//!
//! The machine creates the file system, since a guest has no program for that. It comes with the guest's files.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use plimsoll_model::experiment::{Filesystem, LoopVolume};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use super::{Mount, loop_device, mkfs};

/// Modules of ext4 on a loop device, unless they are built in. ext4 names its checksums to modprobe(8) alone, which no guest has.
pub(crate) const MODULES: [&str; 3] = ["crc32c_generic", "ext4", "loop"];
/// The program and its arguments. The file system does not depend on chance or the time of day, so it is the same in each boot.
const MKFS: &str = "mkfs.ext4";
const ARGS: [&str; 8] = [
    "-q",
    "-F",
    "-m",
    "0",
    "-U",
    "00000000-0000-4000-8000-000000000000",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0,hash_seed=00000000-0000-4000-8000-000000000001",
];
/// Time for the programs of e2fsprogs, in seconds (lib/ext2fs/initialize.c): 1 January 2000.
const TIME: (&str, &str) = ("E2FSPROGS_FAKE_TIME", "946684800");

/// A volume of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GuestVolume {
    name: String,
    size: u64,
    mount: Mount,
}

impl GuestVolume {
    pub(super) fn new(name: &str, image: &LoopVolume) -> Self {
        let mount = Mount::new(name, Path::new(""), Filesystem::Ext4, image);
        Self { name: name.to_owned(), size: image.size.0, mount }
    }

    /// Its mount point in the guest.
    pub(super) fn at(&self) -> PathBuf {
        self.mount.at.clone()
    }

    /// Path of its image among the guest's files.
    pub(crate) fn file(&self) -> PathBuf {
        Path::new("/volumes").join(&self.name)
    }

    /// The file system, all bytes of it.
    pub(crate) fn image(&self) -> io::Result<Vec<u8>> {
        let mut memory = File::from(memfd_create("plimsoll-volume", MemfdFlags::empty())?);
        memory.set_len(self.size)?;
        fcntl(&memory, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("{MKFS} (Debian's package e2fsprogs): {error}"))
        };
        let made = mkfs::command(MKFS)
            .args(ARGS)
            .arg(format!("/proc/self/fd/{}", memory.as_raw_fd()))
            .env(TIME.0, TIME.1)
            .output()
            .map_err(failed)?;
        mkfs::succeeded(&made).map_err(failed)?;
        memory.rewind()?;
        let mut image = Vec::with_capacity(usize::try_from(self.size).unwrap_or(0));
        memory.read_to_end(&mut image)?;
        Ok(image)
    }

    /// Opens its image, inside of the guest.
    pub(crate) fn open(&self) -> io::Result<File> {
        File::options().read(true).write(true).open(self.file())
    }

    /// Mounts its image, inside of the guest.
    pub(crate) fn mount_here(&self, image: &File) -> io::Result<()> {
        let (path, _device) = loop_device::attach_here(image)?;
        // The mount keeps the device attached from here on.
        Ok(self.mount.with_device(path).make()?)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::ByteSize;

    use super::*;

    #[test]
    #[ignore = "needs mkfs.ext4; cargo xtask test has it"]
    fn the_file_system_is_the_same_each_time() {
        let image = LoopVolume {
            size: ByteSize(16 << 20),
            parent: None,
            filesystem: Some(Filesystem::Ext4),
            options: String::new(),
            at: None,
            direct: true,
        };
        let volume = GuestVolume::new("disk", &image);
        let [first, second] = [volume.image().unwrap(), volume.image().unwrap()];
        assert_eq!(first.len(), 16 << 20);
        // The magic number of its superblock (Documentation/filesystems/ext4).
        assert_eq!(first[1024 + 56..][..2], [0x53, 0xef]);
        assert!(first == second);
    }
}
