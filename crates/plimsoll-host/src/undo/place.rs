//! Files and folders by their paths, followed one folder at a time and never through a symbolic link, so that no user can lead a process with
//! more rights elsewhere.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::sys::statfs::{FsType, fstatfs};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};

/// For the owner alone.
pub(super) const PRIVATE: Mode = Mode::S_IRWXU;
/// Permission bits of the group and others.
const OF_OTHERS: u32 = 0o077;

/// Opens a folder by its whole path.
///
/// # Errors
/// When there is none, or a symbolic link is on the way.
pub(super) fn folder(path: &Path) -> io::Result<File> {
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(refused(format!("{} does not begin at the root", path.display())));
    }
    // The right to pass through a folder is enough.
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut here = open("/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else {
            return Err(refused(format!("`..` is on the way to {}", path.display())));
        };
        here = openat(&here, name, flags, Mode::empty()).map_err(|errno| link_on_the_way(errno, path))?;
    }
    Ok(here.into())
}

/// Opens an existing file in a folder, not through a symbolic link, and without waiting where it is a pipe.
pub(super) fn file_in(folder: &File, name: &OsStr, how: OFlag) -> io::Result<File> {
    let flags = how | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    Ok(openat(folder, name, flags, Mode::empty())
        .map_err(|errno| link_on_the_way(errno, Path::new(name)))?
        .into())
}

/// Opens a folder in a folder.
pub(super) fn folder_in(folder: &File, name: &OsStr) -> io::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())
        .map_err(|errno| link_on_the_way(errno, Path::new(name)))?
        .into())
}

/// Makes a folder in a folder, for its owner alone.
pub(super) fn make_in(folder: &File, name: &OsStr) -> io::Result<()> {
    Ok(mkdirat(folder, name, PRIVATE)?)
}

/// Removes an empty folder, or a control group, from a folder.
pub(super) fn remove_empty_in(folder: &File, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(folder, name, UnlinkatFlags::RemoveDir)?)
}

/// Path of an open folder that no user can redirect.
pub(super) fn way_to(folder: &File) -> PathBuf {
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

/// Kind of an open file's file system.
pub(super) fn file_system(file: &File) -> io::Result<FsType> {
    Ok(fstatfs(file)?.filesystem_type())
}

/// A private folder of this user, created with `make` if it is missing; else `None`.
///
/// # Errors
/// With the reason if it belongs to another user, or others may write to it.
pub fn private_folder(path: &Path, make: bool) -> io::Result<Option<File>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refused(format!("{} is no folder of a folder", path.display())));
    };
    // The parents are the machine's own, or the user's: /run may be a link to /var/run, and no other user could put a link here.
    let parent = match fs::canonicalize(parent).and_then(|parent| folder(&parent)) {
        Err(error) if error.kind() == ErrorKind::NotFound && !make => return Ok(None),
        other => other?,
    };
    if make {
        match make_in(&parent, name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    let opened = match folder_in(&parent, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| refused(format!("{}: {error}", path.display())))?,
    };
    let about = opened.metadata()?;
    let (own, mode) = (geteuid().as_raw(), about.mode() & 0o7777);
    if about.uid() != own {
        let owner = about.uid();
        return Err(refused(format!("{} belongs to user {owner}, and not to user {own}", path.display())));
    }
    if mode & OF_OTHERS != 0 {
        return Err(refused(format!(
            "others may use {} (its mode is {mode:04o}, expected was 0700)",
            path.display()
        )));
    }
    Ok(Some(opened))
}

/// Opens a file of a private folder: of this user, regular, without another name, closed to others, and no larger than `most` bytes.
///
/// # Errors
/// With the property that it lacks.
pub(super) fn private_file(folder: &File, name: &OsStr, most: u64) -> io::Result<File> {
    let file = file_in(folder, name, OFlag::O_RDONLY)?;
    check_private(&file, most)?;
    Ok(file)
}

/// Refuses an open file that another user could have opened or made, or that has more than `most` bytes.
pub(super) fn check_private(file: &File, most: u64) -> io::Result<()> {
    let about = file.metadata()?;
    let wrong = if !about.is_file() {
        "it is no regular file".to_owned()
    } else if about.uid() != geteuid().as_raw() {
        format!("it belongs to user {}", about.uid())
    } else if about.nlink() != 1 {
        format!("it has {} names, expected was one", about.nlink())
    } else if about.mode() & OF_OTHERS != 0 {
        format!("others may use it (its mode is {:04o}, expected was 0600)", about.mode() & 0o7777)
    } else if about.len() > most {
        format!("it has {} bytes, expected were at most {most}", about.len())
    } else {
        return Ok(());
    };
    Err(refused(wrong))
}

fn refused(why: String) -> io::Error {
    io::Error::other(why)
}

fn link_on_the_way(errno: Errno, path: &Path) -> io::Error {
    match errno {
        // Errors of open(2) for a symbolic link, the second with O_DIRECTORY.
        Errno::ELOOP | Errno::ENOTDIR => {
            refused(format!("a symbolic link, or a file, is on the way to {}", path.display()))
        }
        _ => errno.into(),
    }
}

/// Parent folder of a whole path, opened, and the name in it.
pub(super) fn parent_and_name(path: &Path) -> io::Result<(File, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refused(format!("{} has no folder", path.display())));
    };
    Ok((folder(parent)?, name))
}

/// Identity of an open folder: its device and its inode.
pub(super) fn identity(folder: &File) -> io::Result<(u64, u64)> {
    let about = folder.metadata()?;
    Ok((about.dev(), about.ino()))
}

/// Whether an open file is a regular one, as settings of the kernel are.
pub(super) fn is_regular(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn real(folder: &tempfile::TempDir) -> PathBuf {
        fs::canonicalize(folder.path()).unwrap()
    }

    #[test]
    fn no_symbolic_link_is_followed_on_the_way_nor_at_its_end() {
        let place = tempfile::tempdir().unwrap();
        let place = real(&place);
        fs::create_dir_all(place.join("a/b")).unwrap();
        symlink(place.join("a"), place.join("link")).unwrap();
        folder(&place.join("a/b")).unwrap();
        for way in ["link/b", "link", "a/../a/b"] {
            assert!(folder(&place.join(way)).is_err(), "{way}");
        }
        assert!(folder(Path::new("a")).unwrap_err().to_string().contains("root"));
    }

    #[test]
    fn a_private_folder_is_the_users_own_and_closed_to_others() {
        let place = tempfile::tempdir().unwrap();
        let path = real(&place).join("own");
        assert!(private_folder(&path, false).unwrap().is_none());
        private_folder(&path, true).unwrap().expect("it was made");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        private_folder(&path, false).unwrap().expect("it is there");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
        let error = private_folder(&path, true).unwrap_err().to_string();
        assert!(error.contains("0770"), "{error}");
        let link = real(&place).join("link");
        symlink(&path, &link).unwrap();
        assert!(private_folder(&link, false).is_err());
    }

    #[test]
    fn a_private_file_is_regular_small_and_has_one_name() {
        let place = tempfile::tempdir().unwrap();
        let path = real(&place);
        let folder = folder(&path).unwrap();
        let refusal = |name: &str| private_file(&folder, name.as_ref(), 8).unwrap_err().to_string();
        let make = |name: &str, text: &str, mode| {
            fs::write(path.join(name), text).unwrap();
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        make("fine", "12345678", 0o600);
        private_file(&folder, "fine".as_ref(), 8).unwrap();
        make("large", "123456789", 0o600);
        assert!(refusal("large").contains("9 bytes"));
        make("open", "", 0o620);
        assert!(refusal("open").contains("0620"));
        fs::hard_link(path.join("fine"), path.join("second")).unwrap();
        assert!(refusal("fine").contains("2 names"));
        nix::unistd::mkfifo(&path.join("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        assert!(refusal("pipe").contains("no regular file"));
        symlink("open", path.join("link")).unwrap();
        assert!(refusal("link").contains("symbolic link"));
    }
}
