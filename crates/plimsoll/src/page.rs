//! A file that is written at the end of a run, where it is tried before the run whether it can be.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use plimsoll_path::Folder;

/// How the name begins that a page has until it is whole.
const BEGUN: &str = ".plimsoll-page-";

/// Where a page goes: a file that is replaced as a whole, so that no reader sees half of one, and without following a planted link; or
/// a device or a pipe, which is written to.
#[derive(Debug)]
pub(crate) struct Page {
    path: PathBuf,
    folder: PathBuf,
    is_stream: bool,
    /// Holds the folder open that `path` leads through.
    _opened: Option<Folder>,
}

impl Page {
    /// Sees to it that a page can be written to a path, whose folder is made.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let is_stream = is_stream(path)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let page = Self { path: path.to_owned(), folder, is_stream, _opened: None };
        if is_stream {
            return Ok(page);
        }
        fs::create_dir_all(&page.folder)?;
        page.tried()
    }

    /// A page in a folder of a store, which is made without following a link of the store.
    pub(crate) fn beside_store(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let store = folder.parent().unwrap_or(Path::new(""));
        if store != Path::new("") {
            fs::create_dir_all(store)?;
        }
        let own = Folder::of_user(store)?;
        let (opened, _) = own.make_in(Path::new(folder.file_name().unwrap_or_default()))?;
        let folder = opened.handle();
        Self { path: folder.join(name), folder, is_stream: false, _opened: Some(opened) }.tried()
    }

    /// Tries whether it can be written.
    fn tried(self) -> io::Result<Self> {
        match fs::symlink_metadata(&self.path) {
            Ok(about) if about.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            // A file that its owner protected is not replaced either.
            Ok(about) if about.is_file() => access(&self.path, AccessFlags::W_OK)?,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Gone when it is dropped; what the folder and the disk say to it, they would say to the page.
        self.begun()?.as_file_mut().write_all(b" ")?;
        Ok(self)
    }

    /// Whether it is a pipe or a device, which takes what is written and gives nothing back.
    pub(crate) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Writes the page, all of it or nothing.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_stream {
            let stream = OpenOptions::new().write(true).custom_flags(nix::libc::O_NOCTTY).open(&self.path)?;
            return whole(&stream, write);
        }
        let begun = self.begun()?;
        whole(begun.as_file(), write)?;
        begun.as_file().sync_all()?;
        begun.persist(&self.path)?;
        Ok(())
    }

    /// An empty file in the same folder, with the rights that a new file has.
    fn begun(&self) -> io::Result<tempfile::NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(BEGUN).permissions(Permissions::from_mode(0o666)).tempfile_in(&self.folder)
    }
}

fn whole(file: &File, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

/// Whether a path leads to something that is written to rather than replaced: a pipe or a device that the user named. A link may lead to one
/// only where links are the system's own, such as /dev/stdout.
fn is_stream(path: &Path) -> io::Result<bool> {
    let of_system = ["/dev", "/proc"].iter().any(|root| path.starts_with(root));
    let about = if of_system { fs::metadata(path) } else { fs::symlink_metadata(path) };
    match about {
        Ok(about) => {
            let kind = about.file_type();
            Ok(of_system || kind.is_fifo() || kind.is_char_device())
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !of_system => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn write(page: &Page, text: &str) {
        page.write(|out| out.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn a_page_replaces_what_is_there_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("page.html"), folder.path().join("other"));
        fs::write(&other, "kept").unwrap();
        symlink(&other, &path).unwrap();
        let page = Page::at(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept", "trying changes nothing");
        write(&page, "first");
        write(&page, "second");
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn a_page_of_a_store_is_not_written_through_its_links() {
        let (store, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = store.path().join("reports/abc.html");
        symlink(elsewhere.path(), store.path().join("reports")).unwrap();
        let error = Page::beside_store(&path).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        fs::remove_file(store.path().join("reports")).unwrap();
        write(&Page::beside_store(&path).unwrap(), "text");
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_page_has_the_rights_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/page.html");
        write(&Page::at(&path).unwrap(), "text");
        fs::write(folder.path().join("other"), "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode();
        assert_eq!(mode(&path), mode(&folder.path().join("other")));
    }

    #[test]
    fn what_cannot_be_written_is_refused_before() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(Page::at(folder.path()).is_err(), "a folder");
        assert!(Page::at(&folder.path().join("file/page.html")).is_err(), "a file on the way");
        assert!(Page::at(Path::new("/proc/self/no-such/page.html")).is_err());
    }

    #[test]
    fn a_page_that_is_not_written_to_its_end_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let page = Page::at(&path).unwrap();
        write(&page, "old");
        let half = |out: &mut BufWriter<&File>| {
            out.write_all(b"new")?;
            Err(ErrorKind::StorageFull.into())
        };
        page.write(half).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_device_stays_what_it_is() {
        let page = Page::at(Path::new("/dev/null")).unwrap();
        write(&page, "text");
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
