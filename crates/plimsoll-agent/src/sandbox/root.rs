//! The root of a foreign program: the machine's files through read-only overlays (overlayfs, Linux 5.11).
//!
//! A read-only mount stops neither `connect` to a Unix socket nor a write to a FIFO. Through an overlay both have an inode of the overlay's own, to
//! which no process has bound a socket. An overlay without an upper layer copies no file and needs no room. It takes at least two layers; the first is an empty folder.
//!
//! The kernel makes no overlay of a folder below which another user namespace has locked mounts (mount_namespaces(7)), as an ordinary user finds them. Such a folder is
//! made again with an overlay for each of its entries. A file system of which there can be no overlay is bound as it is, and so are all without overlayfs.

use std::fs::{self, DirBuilder, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{chdir, pivot_root};

use super::rights::maps_all_users;
use super::{Wrong, at};

/// Folder of the machine over which the new root is built. Everything that programs see of it was opened before.
const STAGE: &str = "/tmp";
/// Mounts of the kernel's own files, in which no program can make a socket.
const KERNEL: [&str; 2] = ["/proc", "/sys"];
/// A folder of more entries is not made again: each would take a mount.
const MOST_ENTRIES: usize = 100;

/// The tree in which the mounts of a program are arranged.
pub(super) struct Root {
    /// Folder that becomes `/`; absent where the program keeps the root of the machine.
    built: Option<PathBuf>,
    /// The empty layer.
    empty: PathBuf,
    /// Folders of which the program gets an empty one.
    hidden: Vec<PathBuf>,
}

impl Root {
    /// The machine's own root.
    pub(super) fn of_machine() -> Self {
        Self { built: None, empty: PathBuf::new(), hidden: Vec::new() }
    }

    /// A root of overlays; the machine's own where there can be none. `mounts` are the places of all mounts, in their order.
    pub(super) fn of_overlays(mounts: &[PathBuf], hidden: Vec<PathBuf>) -> Result<Self, Wrong> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        if mount(Some("plimsoll"), STAGE, Some("tmpfs"), flags, Some("mode=755")).is_err() {
            return Ok(Self::of_machine());
        }
        let [built, empty] = ["root", "empty"].map(|name| Path::new(STAGE).join(name));
        for folder in [&built, &empty] {
            fs::create_dir(folder).map_err(at("make a root"))?;
        }
        let root = Self { built: Some(built.clone()), empty, hidden };
        let machine = Path::new("/");
        if !maps_all_users() {
            bind_opened(&reference(&built)?, &built)?;
            root.put_entries(machine, mounts)?;
        } else if root.overlay(&reference(machine)?, &built) {
            root.put_mounts(mounts)?;
        } else {
            umount2(STAGE, MntFlags::MNT_DETACH).map_err(at("leave the root as it is"))?;
            return Ok(Self::of_machine());
        }
        Ok(root)
    }

    /// Where a path of the program is while its root is built.
    pub(super) fn at(&self, path: &Path) -> PathBuf {
        match (&self.built, path.strip_prefix("/")) {
            (Some(built), Ok(below)) => built.join(below),
            _ => path.to_owned(),
        }
    }

    /// Shows a file or folder of the machine that programs only read.
    pub(super) fn show(&self, source: &OwnedFd, target: &Path) -> Result<(), Wrong> {
        let is_shown = self.built.is_some() && self.overlay(source, target);
        if is_shown { Ok(()) } else { bind_opened(source, target) }
    }

    /// Makes it the root of this process, and leaves the machine's.
    pub(super) fn enter(&self) -> Result<(), Wrong> {
        let Some(built) = &self.built else { return Ok(()) };
        // The old root lies over the new one until it is unmounted (pivot_root(2)).
        chdir(built)
            .and_then(|()| pivot_root(".", "."))
            .and_then(|()| umount2(".", MntFlags::MNT_DETACH))
            .and_then(|()| chdir("/"))
            .map_err(at("change its root"))
    }

    /// Shows a folder through an overlay, if there can be one. The kernel logs each that fails, which takes longer than the check.
    fn overlay(&self, source: &OwnedFd, target: &Path) -> bool {
        let mut flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let Ok(system) = fstatvfs(source) else { return false };
        if system.flags().contains(FsFlags::ST_NOEXEC) {
            flags |= MsFlags::MS_NOEXEC;
        }
        if !handle(source).is_dir() {
            return false;
        }
        // Paths of open files need no escapes.
        let layers = format!("userxattr,lowerdir={}:{}", self.empty.display(), handle(source).display());
        mount(Some("plimsoll"), target, Some("overlay"), flags, Some(layers.as_str())).is_ok()
    }

    /// Shows the mounts below the machine's root, of which there is an overlay.
    fn put_mounts(&self, mounts: &[PathBuf]) -> Result<(), Wrong> {
        let mut bound: Vec<&Path> = Vec::new();
        for place in mounts.iter().filter(|place| *place != Path::new("/")) {
            let comes_along = bound.iter().any(|bound| place.starts_with(bound));
            // What lies beneath another mount, or may not even be looked at, cannot be seen either.
            let (false, Ok(source)) = (comes_along || self.hides(place), reference(place)) else { continue };
            let target = self.at(place);
            let is_kernel = KERNEL.iter().any(|kernel| place.starts_with(kernel));
            if is_kernel || !self.overlay(&source, &target) {
                bind_opened(&source, &target)?;
                bound.push(place);
            }
        }
        Ok(())
    }

    /// Shows a folder of which there can be no overlay, entry by entry.
    fn put_entries(&self, folder: &Path, mounts: &[PathBuf]) -> Result<(), Wrong> {
        let wrong = || at(format!("show {}", folder.display()));
        for entry in fs::read_dir(folder).map_err(wrong())? {
            let path = entry.map_err(wrong())?.path();
            // Something that is gone meanwhile cannot be shown.
            let Ok(meta) = path.symlink_metadata() else { continue };
            let target = self.at(&path);
            if meta.is_symlink() {
                let to = fs::read_link(&path).map_err(wrong())?;
                symlink(to, target).map_err(wrong())?;
            } else if meta.is_dir() {
                let mode = meta.permissions().mode() & 0o755;
                DirBuilder::new().mode(mode).create(&target).map_err(wrong())?;
                self.put_folder(&path, mounts)?;
            } else if meta.is_file() {
                File::create(&target).map_err(wrong())?;
                bind_opened(&reference(&path)?, &target)?;
            }
        }
        Ok(())
    }

    fn put_folder(&self, folder: &Path, mounts: &[PathBuf]) -> Result<(), Wrong> {
        if self.hides(folder) {
            return Ok(());
        }
        let (source, target) = (reference(folder)?, self.at(folder));
        if KERNEL.iter().any(|kernel| folder == Path::new(kernel)) {
            return bind_opened(&source, &target);
        }
        let has_mounts = mounts.iter().any(|place| place != folder && place.starts_with(folder));
        if has_mounts && fs::read_dir(folder).is_ok_and(|entries| entries.count() <= MOST_ENTRIES) {
            return self.put_entries(folder, mounts);
        }
        self.show(&source, &target)
    }

    /// Whether the program sees nothing of a path but what is shown.
    fn hides(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }
}

/// Opens no more than the place of a file, which a link that comes later cannot lead elsewhere.
pub(super) fn reference(path: &Path) -> Result<OwnedFd, Wrong> {
    plimsoll_path::reference(path).map_err(at("resolve a path"))
}

/// Path of an open file.
pub(super) fn handle(opened: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_raw_fd()).into()
}

pub(super) fn bind_opened(source: &OwnedFd, path: &Path) -> Result<(), Wrong> {
    bind(&handle(source), path)
}

pub(super) fn bind(source: &Path, path: &Path) -> Result<(), Wrong> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(source), path, None::<&str>, flags, None::<&str>)
        .map_err(at(format!("mount {}", path.display())))
}
