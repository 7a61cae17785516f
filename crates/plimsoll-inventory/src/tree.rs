//! Small files below an injected root, and a note of those that could not be read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Absence;

/// Reads below a root.
pub(super) struct Tree<'r> {
    root: &'r Path,
    absent: BTreeMap<String, String>,
}

impl<'r> Tree<'r> {
    pub(super) fn new(root: &'r Path) -> Self {
        Self { root, absent: BTreeMap::new() }
    }

    pub(super) fn root(&self) -> &'r Path {
        self.root
    }

    /// Whether this is the running kernel's, and may be asked by other ways than files.
    pub(super) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A file's text without blanks at its ends; `None` where it can't be read or is empty. No absence is noted: for files that
    /// only some machines have.
    pub(super) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.root.join(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// As [`Self::text`], but an absence is noted, with what it means.
    pub(super) fn expected(&mut self, path: &str, meaning: &str) -> Option<String> {
        if let Err(error) = fs::File::open(self.root.join(path)) {
            self.miss(path, format!("{error}: {meaning}"));
            return None;
        }
        self.text(path)
    }

    /// A file's text as a number or whatever else it is.
    pub(super) fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file that says 0 or 1.
    pub(super) fn flag(&self, path: impl AsRef<Path>) -> Option<bool> {
        self.value::<u8>(path).map(|number| number != 0)
    }

    pub(super) fn bytes(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        fs::read(self.root.join(path))
    }

    /// The names in a directory, in order; empty if it can't be read.
    pub(super) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The last part of where a symbolic link leads to.
    pub(super) fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.root.join(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// The directory that a path leads to when its links are followed, below the root again.
    pub(super) fn resolved(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let full = fs::canonicalize(self.root.join(path)).ok()?;
        let root = fs::canonicalize(self.root).ok()?;
        Some(full.strip_prefix(root).ok()?.to_owned())
    }

    /// Notes that something could not be seen.
    pub(super) fn miss(&mut self, what: &str, why: String) {
        self.absent.insert(what.to_owned(), why);
    }

    pub(super) fn into_absences(self) -> Vec<Absence> {
        self.absent.into_iter().map(|(file, why)| Absence { file, why }).collect()
    }
}
