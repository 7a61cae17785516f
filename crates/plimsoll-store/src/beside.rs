//! Files and folders beside a store, reached without following a link: a store may come from another user, and its `captures` or `reports` may lead elsewhere.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use plimsoll_path::{Folder, PathError};

use crate::Store;

impl Store {
    /// Opens the folder that `names` lead to from the store's own; absent where there is none.
    ///
    /// # Errors
    /// A link on the path, or a folder that cannot be opened.
    pub fn folder_beside(&self, names: &[&str]) -> io::Result<Option<Folder>> {
        Ok(existing(
            Folder::of_user(self.place.folder())
                .and_then(|own| own.folder(&names.iter().collect::<std::path::PathBuf>())),
        )?)
    }
}

/// Folder of a file beside the store, and the name of the file.
pub(crate) fn split(path: &Path) -> Result<(Folder, &OsStr), PathError> {
    let folder = Folder::of_user(path.parent().unwrap_or(Path::new("")))?;
    Ok((folder, path.file_name().unwrap_or_default()))
}

/// A folder, if there is one.
pub(crate) fn existing(opened: Result<Folder, PathError>) -> Result<Option<Folder>, PathError> {
    match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_a_foreign_store_leads_nowhere() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        let store = Store::open(&at("runs.sqlite")).unwrap();
        fs::create_dir(elsewhere.path().join("abc")).unwrap();
        fs::write(elsewhere.path().join("abc/1.pcapng"), "precious").unwrap();
        symlink(elsewhere.path(), at("captures")).unwrap();
        let error = store.folder_beside(&["captures", "abc"]).unwrap_err().to_string();
        assert!(error.contains("captures/abc is or lies behind a symbolic link"), "{error}");
        assert!(store.files("abc").is_err() && store.remove_files("abc").is_err());
        fs::create_dir(at("reports")).unwrap();
        symlink(elsewhere.path().join("abc"), at("reports/abc")).unwrap();
        assert!(store.folder_beside(&["reports", "abc"]).is_err());
        assert!(store.folder_beside(&["reports", ".."]).is_err());
        assert!(store.folder_beside(&["absent"]).unwrap().is_none());
        fs::remove_file(at("captures")).unwrap();
        fs::create_dir_all(at("captures/abc")).unwrap();
        symlink(elsewhere.path().join("abc/1.pcapng"), at("captures/abc/1.pcapng")).unwrap();
        assert!(store.files("abc").unwrap().is_empty(), "a link is no file of the run");
        assert!(store.each_piece("abc", "1.pcapng", &mut |_| Ok(())).is_err());
        assert_eq!(fs::read_to_string(elsewhere.path().join("abc/1.pcapng")).unwrap(), "precious");
    }

    #[test]
    fn claims_and_progress_are_not_written_through_a_link() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        let store = Store::open(&at("runs.sqlite")).unwrap();
        symlink(elsewhere.path().join("made"), at("runs.sqlite-claims")).unwrap();
        let error = store.claim("abc").unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        symlink(elsewhere.path(), at("runs.sqlite-under-way")).unwrap();
        let state = serde_json::json!({});
        fs::write(elsewhere.path().join("abc.json"), state.to_string()).unwrap();
        drop(store.under_way_file("abc"));
        assert_eq!(
            fs::read_dir(elsewhere.path()).unwrap().count(),
            1,
            "nothing was made, and nothing removed"
        );
    }
}
