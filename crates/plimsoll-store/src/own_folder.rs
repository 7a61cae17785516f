//! Folders beside a store, reached without following a link: a store may come from somebody else, and its `captures` or `reports` may lead elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::files::is_name;

/// An open folder beside a store. A link that takes its place later changes nothing.
#[derive(Debug)]
pub struct OwnFolder(OwnedFd);

impl OwnFolder {
    /// Opens the folder that `names` lead to from the store's own; absent where there is none.
    ///
    /// # Errors
    /// A link on the path, or a folder that cannot be opened.
    pub fn open(store: &Path, names: &[&str]) -> io::Result<Option<Self>> {
        // A store without a folder in its path lies in the working directory.
        let store = if store.as_os_str().is_empty() { Path::new(".") } else { store };
        let mut folder = OwnedFd::from(fs::File::open(store)?);
        let mut path = store.to_owned();
        for name in names {
            path.push(name);
            if !is_name(name) {
                return Err(of(&path, "is no name of a folder that Plimsoll makes"));
            }
            let how = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            folder = match openat(&folder, *name, how, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::ENOENT) => return Ok(None),
                Err(Errno::ELOOP | Errno::ENOTDIR) => {
                    return Err(of(&path, "is a link or a file: expected a folder, so nothing is removed"));
                }
                Err(errno) => return Err(of(&path, errno.desc())),
            };
        }
        Ok(Some(Self(folder)))
    }

    /// Names of the entries.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn entries(&self) -> io::Result<Vec<OsString>> {
        let here = PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        fs::read_dir(here)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Removes a file, or a link itself; whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<bool> {
        self.unlink(name, UnlinkatFlags::NoRemoveDir)
    }

    /// Removes a folder that is empty; whether it is gone.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_empty_folder(&self, name: &OsStr) -> io::Result<bool> {
        self.unlink(name, UnlinkatFlags::RemoveDir)
    }

    fn unlink(&self, name: &OsStr, flags: UnlinkatFlags) -> io::Result<bool> {
        match unlinkat(&self.0, Path::new(Path::new(name).file_name().unwrap_or_default()), flags) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT | Errno::ENOTEMPTY) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn of(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{} {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_not_followed_at_any_place() {
        let store = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join("abc")).unwrap();
        fs::write(elsewhere.path().join("abc/1.pcapng"), "precious").unwrap();
        symlink(elsewhere.path(), store.path().join("captures")).unwrap();
        let error = OwnFolder::open(store.path(), &["captures", "abc"]).unwrap_err().to_string();
        assert!(error.contains("captures is a link"), "{error}");
        fs::create_dir(store.path().join("reports")).unwrap();
        symlink(elsewhere.path().join("abc"), store.path().join("reports/abc")).unwrap();
        assert!(OwnFolder::open(store.path(), &["reports", "abc"]).is_err());
        assert!(OwnFolder::open(store.path(), &["reports", ".."]).is_err());
        assert!(OwnFolder::open(store.path(), &["absent"]).unwrap().is_none());
        let reports = OwnFolder::open(store.path(), &["reports"]).unwrap().unwrap();
        assert!(reports.remove_file(OsStr::new("abc")).unwrap(), "the link itself goes");
        assert!(!reports.remove_file(OsStr::new("abc")).unwrap());
        assert_eq!(fs::read_to_string(elsewhere.path().join("abc/1.pcapng")).unwrap(), "precious");
    }
}
