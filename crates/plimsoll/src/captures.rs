//! The packets that runs have captured: how many bytes there are, and how to be rid of old ones.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll_model::frame::CAPTURE_ENDING;
use plimsoll_store::{CAPTURES, Store};

use crate::state;

/// The captures of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Captured {
    pub(crate) folder: PathBuf,
    files: usize,
    bytes: u64,
    /// When the newest of them was written.
    newest: SystemTime,
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes as f64 / 1e6;
        write!(f, "{} ({} files, {megabytes:.1} MB)", self.folder.display(), self.files)
    }
}

/// Captured files of a run; `None` if it has none.
pub(crate) fn of_run(store: &Store, run: &str) -> Option<Captured> {
    look(store, run).ok().flatten()
}

/// Captured files of all runs, by folder.
pub(crate) fn all(store: &Store) -> io::Result<Vec<Captured>> {
    let Some(captures) = store.folder_beside(&[CAPTURES])? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for run in captures.names()? {
        let of_run = run.to_str().map(|run| look(store, run)).transpose()?;
        all.extend(of_run.flatten());
    }
    all.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(all)
}

fn look(store: &Store, run: &str) -> io::Result<Option<Captured>> {
    let folder = state::folder(store).join(CAPTURES).join(run);
    let mut found = Captured { folder, files: 0, bytes: 0, newest: SystemTime::UNIX_EPOCH };
    let Some(own) = store.folder_beside(&[CAPTURES, run])? else { return Ok(None) };
    for name in own.names()? {
        if is_capture(Path::new(&name)) {
            let metadata = fs::symlink_metadata(own.handle().join(&name))?;
            found.files += 1;
            found.bytes += metadata.len();
            found.newest = found.newest.max(metadata.modified()?);
        }
    }
    Ok((found.files > 0).then_some(found))
}

fn is_capture(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == CAPTURE_ENDING)
}

impl Captured {
    /// Whether the last write to it is at least this long ago.
    pub(crate) fn is_older_than(&self, age: Duration) -> bool {
        self.newest.elapsed().is_ok_and(|since| since >= age)
    }

    /// Removes the files, and the folder where nothing else is in it. Findings stay in the file of runs.
    pub(crate) fn remove(&self, store: &Store) -> io::Result<()> {
        let run = self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        store.remove_captures(run, is_capture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_captures_are_counted_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
        assert!(all(&store).unwrap().is_empty());
        for (run, file) in [("a", "1.pcapng"), ("a", "notes.txt"), ("b", "1.pcapng"), ("b", "2.pcapng")] {
            let of_run = folder.path().join("captures").join(run);
            fs::create_dir_all(&of_run).unwrap();
            fs::write(of_run.join(file), [0; 500]).unwrap();
        }
        let found = all(&store).unwrap();
        let counts: Vec<_> = found.iter().map(|of| (of.files, of.bytes)).collect();
        assert_eq!(counts, [(1, 500), (2, 1000)]);
        assert!(!found[0].is_older_than(Duration::from_secs(3600)) && found[0].is_older_than(Duration::ZERO));
        found.iter().for_each(|of| of.remove(&store).unwrap());
        assert!(all(&store).unwrap().is_empty());
        assert!(folder.path().join("captures/a/notes.txt").exists(), "what is not ours stays");
        assert!(!folder.path().join("captures/b").exists());
        assert_eq!(of_run(&store, "b"), None);
    }
}
