//! Locks on settings of the machine: one run changes a setting at a time.
//!
//! A lock is flock(2) on a file in a folder that only this user can open, so no other user can hold one. The undo process takes it before it
//! reads the original value and releases it after it has put that value back. Until then the original stands in the file: a holder that
//! was killed leaves it there, and the next one takes it for the original instead of the value that the dead run set.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use serde::{Deserialize, Serialize};

use super::place;
use crate::codec;

/// Name of the folder of locks, beside the journals.
const FOLDER: &str = "locks";
/// Longest lock file that is read, in bytes: a few lines with values of at most a page.
const LONGEST: u64 = 1 << 16;

/// Who holds a setting, one line of its lock file. The last complete line counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// Mark of the controller for which the setting was changed.
    pub(super) controller: String,
    /// The value to put back.
    pub(super) original: String,
}

/// The lock file of a setting, not yet locked.
pub(super) struct LockFile(File);

/// A setting that this process alone may change.
pub(super) struct Lock {
    file: File,
    /// Claim of a killed holder.
    inherited: Option<Claim>,
}

impl LockFile {
    /// Opens the lock file of this name, made where it is missing, beside the journals in `folder`.
    ///
    /// # Errors
    /// When another user could open it, or it is no regular file.
    pub(super) fn open(folder: &File, name: &str) -> io::Result<Self> {
        let path = place::way_to(folder).join(FOLDER);
        let locks = place::private_folder(&path, true)?.ok_or(ErrorKind::NotFound)?;
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_APPEND | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&locks, name, flags | OFlag::O_NONBLOCK, Mode::S_IRUSR | Mode::S_IWUSR)?.into();
        place::check_private(&file, LONGEST)?;
        Ok(Self(file))
    }

    /// Takes the lock, or gives the file back while another process holds it.
    pub(super) fn try_take(self) -> io::Result<Result<Lock, Self>> {
        match self.0.try_lock() {
            Ok(()) => Lock::of(self.0).map(Ok),
            Err(TryLockError::WouldBlock) => Ok(Err(self)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the lock. The kernel serves waiting processes in the order in which they came.
    pub(super) fn take(self) -> io::Result<Lock> {
        self.0.lock()?;
        Lock::of(self.0)
    }

    /// The claim of the present holder, unless it is just about to write one.
    pub(super) fn claim(&self) -> Option<Claim> {
        last_claim(&self.0).ok().flatten()
    }
}

impl Lock {
    fn of(file: File) -> io::Result<Self> {
        Ok(Self { inherited: last_claim(&file)?, file })
    }

    /// The original value, if the last holder was killed before it had put it back.
    pub(super) fn inherited(&self) -> Option<&str> {
        self.inherited.as_ref().map(|claim| claim.original.as_str())
    }

    /// Writes down who holds the setting and what it was, before it is changed.
    pub(super) fn write(&mut self, claim: &Claim) -> io::Result<()> {
        self.file.write_all(codec::to_line(claim)?.as_bytes())
    }

    /// Releases the lock of a setting that has its original value again.
    pub(super) fn release(self) -> io::Result<()> {
        self.file.set_len(0)
    }

    /// Releases the lock of a setting that was not changed. An original that a dead run left stays for the next holder.
    pub(super) fn abandon(self) -> io::Result<()> {
        if self.inherited.is_some() { Ok(()) } else { self.release() }
    }
}

fn last_claim(mut file: &File) -> io::Result<Option<Claim>> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LONGEST).read_to_string(&mut text)?;
    // A line without its end was not written completely, so the change that it announces was not made.
    let complete = text.split_inclusive('\n').rfind(|line| line.ends_with('\n'));
    complete.map(codec::from_line).transpose()
}

/// Name of the lock file of a setting: the file's own name for people, and a digest of its path and detail.
pub(super) fn name(path: &Path, detail: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(format!("{}\0{detail}", path.display()));
    let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let own: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(64).collect();
    format!("{own}-{digest}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    fn own_folder() -> (tempfile::TempDir, PathBuf, File) {
        let place = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(place.path()).unwrap().join("own");
        let folder = place::private_folder(&path, true).unwrap().unwrap();
        (place, path, folder)
    }

    fn claim(original: &str) -> Claim {
        Claim { controller: "1:2:3".into(), original: original.into() }
    }

    #[test]
    fn one_holder_at_a_time_and_the_other_learns_who_it_is() {
        let (_place, _, folder) = own_folder();
        let open = || LockFile::open(&folder, "x").unwrap();
        let mut lock = open().try_take().unwrap().ok().expect("it is free");
        lock.write(&claim("7")).unwrap();
        let busy = open().try_take().unwrap().err().expect("it is held");
        assert_eq!(busy.claim(), Some(claim("7")));
        lock.release().unwrap();
        assert!(busy.take().unwrap().inherited().is_none());
    }

    #[test]
    fn the_original_of_a_killed_holder_is_inherited_until_it_was_put_back() {
        let (_place, path, folder) = own_folder();
        let take = || LockFile::open(&folder, "x").unwrap().try_take().unwrap().ok().expect("it is free");
        let mut killed = take();
        killed.write(&claim("7")).unwrap();
        drop(killed);
        let refused = take();
        assert_eq!(refused.inherited(), Some("7"));
        refused.abandon().unwrap();
        // The process was killed in the middle of its line.
        let text = fs::read_to_string(path.join("locks/x")).unwrap();
        fs::write(path.join("locks/x"), format!("{text}{{\"contr")).unwrap();
        let next = take();
        assert_eq!(next.inherited(), Some("7"));
        next.release().unwrap();
        assert_eq!(take().inherited(), None);
    }

    #[test]
    fn files_that_another_user_could_open_are_no_locks() {
        let (_place, path, folder) = own_folder();
        drop(LockFile::open(&folder, "x").unwrap());
        fs::set_permissions(path.join("locks/x"), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(LockFile::open(&folder, "x").is_err());
        symlink("x", path.join("locks/link")).unwrap();
        assert!(LockFile::open(&folder, "link").is_err());
        fs::set_permissions(path.join("locks"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(LockFile::open(&folder, "y").is_err());
    }

    #[test]
    fn settings_with_one_name_have_locks_of_their_own() {
        let queue = |disk: &str| PathBuf::from(format!("/sys/devices/virtual/block/{disk}/queue/scheduler"));
        assert_ne!(name(&queue("loop0"), ""), name(&queue("loop1"), ""));
        assert_ne!(name(&queue("loop0"), "7:0"), name(&queue("loop0"), "7:1"));
        assert_eq!(name(&queue("loop0"), ""), name(&queue("loop0"), ""));
    }
}
