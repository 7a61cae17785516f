//! Paths that a stranger chose: those of an experiment file, and those below a foreign store.
//!
//! The kernel resolves them (openat2(2), Linux 5.6) and follows no symbolic link, no magic link of `/proc` and no `..`. A folder is opened once; everything
//! in it is then reached from the open folder, so a link that takes the folder's place later changes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// Mode of folders that are made on the way.
const FOLDER: Mode = Mode::from_bits_truncate(0o755);
/// Flags for a folder: enough to reach what is in it, also without permission to list it.
const REFERENCE: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY);

/// A path that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A symbolic link or a magic link on the path.
    #[error("{} is or lies behind a symbolic link ({}), and none is followed here: name the path that it leads to", .path.display(), .link.display())]
    Link {
        /// The whole path.
        path: PathBuf,
        /// The part that is the link.
        link: PathBuf,
    },
    /// A path that leads out of its folder.
    #[error("{} leads out of its folder: expected a path without `..`", .path.display())]
    Outside {
        /// The whole path.
        path: PathBuf,
    },
    /// Something that is no regular file, or a file that is too long.
    #[error("{} is no regular file of at most {limit} bytes", .path.display())]
    NoFile {
        /// The whole path.
        path: PathBuf,
        /// Number of bytes that it may have.
        limit: u64,
    },
    /// Any other error of the system.
    #[error("{}: {source}", .path.display())]
    System {
        /// The whole path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl PathError {
    /// Kind of the system's error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::System { source, .. } => source.kind(),
            Self::Link { .. } | Self::Outside { .. } | Self::NoFile { .. } => ErrorKind::InvalidInput,
        }
    }

    /// Number of the system's error.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Link { .. } => Errno::ELOOP,
            Self::Outside { .. } => Errno::EXDEV,
            Self::NoFile { .. } => Errno::EINVAL,
            Self::System { source, .. } => {
                Errno::from_raw(source.raw_os_error().unwrap_or(Errno::EIO as i32))
            }
        }
    }

    /// Names the whole path in the error.
    fn on(mut self, whole: &Path) -> Self {
        let (Self::Link { path, .. }
        | Self::Outside { path }
        | Self::NoFile { path, .. }
        | Self::System { path, .. }) = &mut self;
        whole.clone_into(path);
        self
    }
}

impl From<PathError> for io::Error {
    fn from(error: PathError) -> Self {
        Self::new(error.kind(), error)
    }
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    opened: OwnedFd,
    path: PathBuf,
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.opened.as_fd()
    }
}

impl Folder {
    /// Opens a folder that a stranger named. A relative path begins in the working folder.
    ///
    /// # Errors
    /// When there is none, or a link or `..` is on the path.
    pub fn open(path: &Path) -> Result<Self, PathError> {
        let (base, below) = base(path)?;
        let opened = resolve(base.as_fd(), below, path, REFERENCE, Mode::empty())?;
        Ok(Self { opened, path: path.to_owned() })
    }

    /// Opens a folder that the user named, who may have links of his own on its path.
    ///
    /// # Errors
    /// When there is none.
    pub fn of_user(path: &Path) -> Result<Self, PathError> {
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let opened = open(named, REFERENCE | OFlag::O_CLOEXEC, Mode::empty());
        Ok(Self { opened: opened.map_err(|errno| system(path, errno))?, path: path.to_owned() })
    }

    /// Opens a folder that a stranger named, after making what is missing on its path with mode 0755.
    ///
    /// # Returns
    /// The folder, and whether it was missing.
    ///
    /// # Errors
    /// When it cannot be made, or a link or `..` is on the path.
    pub fn make(path: &Path) -> Result<(Self, bool), PathError> {
        let (base, below) = base(path)?;
        Self { opened: base, path: PathBuf::new() }.make_below(below, path)
    }

    /// Opens a folder below this one, after making what is missing on its path with mode 0755.
    ///
    /// # Returns
    /// The folder, and whether it was missing.
    ///
    /// # Errors
    /// As for [`Folder::make`].
    pub fn make_in(&self, below: &Path) -> Result<(Self, bool), PathError> {
        let path = self.path.join(below);
        let opened = resolve(self.as_fd(), Path::new("."), &path, REFERENCE, Mode::empty())?;
        Self { opened, path: PathBuf::new() }.make_below(below, &path)
    }

    fn make_below(self, below: &Path, path: &Path) -> Result<(Self, bool), PathError> {
        let (mut here, mut was_missing, mut left) = (self.opened, false, below.components());
        while let Some(part) = left.next() {
            let name = match part {
                Component::Normal(name) => Path::new(name),
                Component::CurDir => continue,
                _ => return Err(PathError::Outside { path: path.to_owned() }),
            };
            was_missing = match mkdirat(&here, name, FOLDER) {
                Ok(()) => true,
                Err(Errno::EEXIST) => false,
                // An existing folder can be entered where nothing may be made.
                Err(_) if openat2(&here, name, how(REFERENCE, Mode::empty())).is_ok() => false,
                Err(errno) => return Err(system(path, errno)),
            };
            let at = path.ancestors().nth(left.clone().count()).unwrap_or(path);
            here =
                resolve(here.as_fd(), name, at, REFERENCE, Mode::empty()).map_err(|error| error.on(path))?;
        }
        Ok((Self { opened: here, path: path.to_owned() }, was_missing))
    }

    /// Opens a folder below this one.
    ///
    /// # Errors
    /// As for [`Folder::open`].
    pub fn folder(&self, below: &Path) -> Result<Self, PathError> {
        let path = self.path.join(below);
        let opened = resolve(self.as_fd(), below, &path, REFERENCE, Mode::empty())?;
        Ok(Self { opened, path })
    }

    /// Opens a file below this folder; one that is made has mode 0644.
    ///
    /// # Errors
    /// When it cannot be opened, or a link or `..` is on the path.
    pub fn file(&self, below: &Path, flags: OFlag) -> Result<File, PathError> {
        // openat2(2) refuses a mode where nothing is made.
        let makes = flags.contains(OFlag::O_CREAT) || flags.contains(OFlag::O_TMPFILE);
        let mode = Mode::from_bits_truncate(if makes { 0o644 } else { 0 });
        resolve(self.as_fd(), below, &self.path.join(below), flags, mode).map(File::from)
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// When it is something else, or as for [`Folder::file`].
    pub fn read(&self, below: &Path, limit: u64) -> Result<Vec<u8>, PathError> {
        let path = || self.path.join(below);
        let wrong = |source| PathError::System { path: path(), source };
        // A FIFO without a writer must not hold the reader.
        let file = self.file(below, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)?;
        let mut bytes = Vec::new();
        let is_file = file.metadata().map_err(wrong)?.is_file();
        if is_file {
            file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(wrong)?;
        }
        if !is_file || bytes.len() as u64 > limit {
            return Err(PathError::NoFile { path: path(), limit });
        }
        Ok(bytes)
    }

    /// Replaces a file of this folder as a whole, or leaves it as it is. A link in its place is replaced.
    ///
    /// # Errors
    /// When it cannot be written, and those of `write`.
    pub fn replace<E: From<io::Error>>(
        &self,
        name: &OsStr,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut part = name.to_owned();
        part.push(".part");
        self.remove_file(&part)?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let mut file = self.file(Path::new(&part), flags).map_err(io::Error::from)?;
        write(&mut file)?;
        file.flush()?;
        renameat(&self.opened, Path::new(&part), &self.opened, Path::new(name)).map_err(io::Error::from)?;
        Ok(())
    }

    /// Names of the entries.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(self.handle())?.map(|entry| Ok(entry?.file_name())).collect()
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
        match unlinkat(&self.opened, Path::new(Path::new(name).file_name().unwrap_or_default()), flags) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT | Errno::ENOTEMPTY) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of this very folder in this process, whatever takes its place.
    pub fn handle(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.opened.as_raw_fd()).into()
    }
}

/// Reference to a file or folder of any kind, by its whole path.
///
/// # Errors
/// As for [`Folder::open`].
pub fn reference(path: &Path) -> Result<OwnedFd, PathError> {
    let (base, below) = base(path)?;
    resolve(base.as_fd(), below, path, OFlag::O_PATH, Mode::empty())
}

/// Folder in which a path begins, and the rest of the path.
fn base(path: &Path) -> Result<(OwnedFd, &Path), PathError> {
    let (base, below) = match path.strip_prefix("/") {
        Ok(below) => ("/", below),
        Err(_) => (".", path),
    };
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    let opened = open(base, REFERENCE | OFlag::O_CLOEXEC, Mode::empty());
    Ok((opened.map_err(|errno| system(path, errno))?, below))
}

fn how(flags: OFlag, mode: Mode) -> OpenHow {
    let strict =
        ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    OpenHow::new().flags(flags | OFlag::O_CLOEXEC).mode(mode).resolve(strict)
}

/// Opens `below` in `base`. Errors name the whole path.
fn resolve(
    base: BorrowedFd<'_>,
    below: &Path,
    path: &Path,
    flags: OFlag,
    mode: Mode,
) -> Result<OwnedFd, PathError> {
    let outside = || PathError::Outside { path: path.to_owned() };
    if below.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(outside());
    }
    match openat2(base, below, how(flags, mode)) {
        Err(Errno::ELOOP) => Err(PathError::Link { path: path.to_owned(), link: link_on(base, below, path) }),
        Err(Errno::EXDEV) => Err(outside()),
        other => other.map_err(|errno| system(path, errno)),
    }
}

/// The first link on the way to `below`, as a part of `path`.
fn link_on(base: BorrowedFd<'_>, below: &Path, path: &Path) -> PathBuf {
    let base = PathBuf::from(format!("/proc/self/fd/{}", base.as_raw_fd()));
    let is_link = |part: &&Path| base.join(part).symlink_metadata().is_ok_and(|about| about.is_symlink());
    let depth = below.ancestors().enumerate().filter(|(_, part)| is_link(part)).last();
    path.ancestors().nth(depth.map_or(0, |(depth, _)| depth)).unwrap_or(path).to_owned()
}

fn system(path: &Path, errno: Errno) -> PathError {
    PathError::System { path: path.to_owned(), source: errno.into() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use nix::fcntl::AT_FDCWD;

    use super::*;

    /// A folder without links on its path, with `real/file` and links in several places.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("real/deep")).unwrap();
        fs::write(path.join("real/file"), "text").unwrap();
        symlink("real", path.join("last")).unwrap();
        symlink("file", path.join("real/link")).unwrap();
        (folder, path)
    }

    #[test]
    fn a_link_is_followed_at_no_place_and_is_named() {
        let (_folder, path) = folder();
        for (named, link) in [("last", "last"), ("last/deep", "last"), ("real/link/x", "real/link")] {
            for opened in
                [Folder::open(&path.join(named)), Folder::make(&path.join(named)).map(|made| made.0)]
            {
                let error = opened.unwrap_err();
                let message = error.to_string();
                assert!(
                    matches!(&error, PathError::Link { link: at, .. } if *at == path.join(link)),
                    "{message}"
                );
                assert!(message.starts_with(&path.join(named).display().to_string()), "{message}");
            }
        }
        let real = Folder::open(&path.join("real")).unwrap();
        assert!(matches!(real.file(Path::new("link"), OFlag::O_RDONLY), Err(PathError::Link { .. })));
        assert!(matches!(real.read(Path::new("link"), 99), Err(PathError::Link { .. })));
        assert_eq!(real.read(Path::new("file"), 4).unwrap(), b"text");
        assert!(matches!(real.read(Path::new("file"), 3), Err(PathError::NoFile { .. })));
        assert!(matches!(real.read(Path::new("deep"), 3), Err(PathError::NoFile { .. })));
    }

    #[test]
    fn magic_links_and_parents_are_refused() {
        for named in ["/proc/self/cwd/q", "/proc/thread-self/root/tmp"] {
            assert!(matches!(Folder::open(Path::new(named)), Err(PathError::Link { .. })), "{named}");
            assert!(matches!(Folder::make(Path::new(named)), Err(PathError::Link { .. })), "{named}");
        }
        let (_folder, path) = folder();
        for named in [path.join("real/../real"), "..".into(), "../q".into(), "q/../../q".into()] {
            let message = Folder::open(&named).unwrap_err().to_string();
            assert!(message.contains("without `..`"), "{message}");
        }
        let real = Folder::open(&path.join("real")).unwrap();
        assert!(real.folder(Path::new("..")).is_err() && real.make_in(Path::new("../new")).is_err());
        assert!(real.file(&path.join("real/file"), OFlag::O_RDONLY).is_err(), "an absolute path leads out");
        assert!(!path.join("new").exists());
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_there_stays() {
        let (_folder, path) = folder();
        let (made, was_missing) = Folder::make(&path.join("a/b/c")).unwrap();
        assert!(was_missing && path.join("a/b/c").is_dir());
        assert!(!Folder::make(&path.join("real")).unwrap().1);
        let below = made.make_in(Path::new("d")).unwrap().0;
        assert_eq!(below.path(), path.join("a/b/c/d"));
        assert!(Folder::make(&path.join("real/file/x")).is_err());
        assert_eq!(Folder::make(Path::new("/")).unwrap().0.path(), Path::new("/"));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let (_folder, path) = folder();
        let real = Folder::open(&path.join("real")).unwrap();
        let write = |name: &str, text: &[u8]| {
            real.replace(OsStr::new(name), |file: &mut File| file.write_all(text)).unwrap();
        };
        write("link", b"new");
        assert_eq!(
            fs::read_to_string(path.join("real/file")).unwrap(),
            "text",
            "the link itself was replaced"
        );
        assert_eq!(fs::read_to_string(path.join("real/link")).unwrap(), "new");
        let half = |file: &mut File| file.write_all(b"half").and(Err(io::Error::other("no more")));
        real.replace(OsStr::new("file"), half).unwrap_err();
        assert_eq!(fs::read_to_string(path.join("real/file")).unwrap(), "text");
    }

    #[test]
    fn nothing_is_made_behind_a_link_that_comes_and_goes() {
        let (_folder, path) = folder();
        let (outside, flips, put) = (path.join("outside"), path.join("flips"), path.join("put"));
        fs::create_dir(&outside).unwrap();
        fs::create_dir(&flips).unwrap();
        symlink(&outside, &put).unwrap();
        let ends = AtomicBool::new(false);
        let exchanged = std::thread::scope(|scope| {
            let flipper = scope.spawn(|| {
                let mut exchanged = 0_u32;
                while !ends.load(Ordering::Relaxed) {
                    let flags = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
                    nix::fcntl::renameat2(AT_FDCWD, &flips, AT_FDCWD, &put, flags).unwrap();
                    exchanged += 1;
                }
                exchanged
            });
            let mut refused = 0;
            // On a busy machine the other thread may not run for a while.
            let give_up = Instant::now() + Duration::from_secs(30);
            for nth in 0.. {
                if nth >= 5_000 && (refused > 0 || Instant::now() > give_up) {
                    break;
                }
                match Folder::make(&flips.join(format!("q{}", nth % 7))) {
                    Ok((made, _)) => drop(made.file(Path::new("file"), OFlag::O_WRONLY | OFlag::O_CREAT)),
                    Err(PathError::Link { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            ends.store(true, Ordering::Relaxed);
            assert!(refused > 0, "the link was there at times");
            flipper.join().unwrap()
        });
        assert!(exchanged > 0);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
