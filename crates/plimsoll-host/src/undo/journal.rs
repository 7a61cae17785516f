//! Journals of undo processes, in folders where only root, or only the user, can write.
//!
//! A journal is trusted because of its place: a folder that belongs to this user and is closed to all others, reached through the opened folder,
//! never by its path again. Its entries are checked against Plimsoll's own changes, all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use plimsoll_model::user::outside;

use super::entry::Entry;
use super::lock::{Lock, LockFile};
use super::place;
use crate::codec;
use crate::error::{HostError, is_permission};
use crate::leftovers::Mark;

/// The longest journal that is read, in bytes; thousands of entries.
const LONGEST: u64 = 1 << 20;
/// Suffix of a journal's name while it is rewritten.
const NEW: &str = ".new";

/// Possible folders of journals, the best first: they are gone after a reboot, as are the settings. They do not depend on TMPDIR, so that journals
/// are found again.
fn folders() -> Vec<PathBuf> {
    let user = outside(geteuid().as_raw(), &fs::read_to_string("/proc/self/uid_map").unwrap_or_default());
    let shared = PathBuf::from(format!("/tmp/plimsoll-{user}"));
    if user == 0 {
        return vec!["/run/plimsoll".into(), shared];
    }
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let mut all: Vec<PathBuf> = named.into_iter().chain([usual]).map(|own| own.join("plimsoll")).collect();
    all.dedup();
    all.push(shared);
    all
}

/// The journal of this process.
pub(super) struct Journal {
    folder: File,
    name: String,
    file: File,
}

impl Journal {
    /// # Errors
    /// When no folder can have it; the error is that of the last.
    pub(super) fn open() -> io::Result<Self> {
        let name = crate::leftovers::own_mark()?;
        let open = |path: PathBuf| {
            let folder = place::private_folder(&path, true)?.ok_or(io::ErrorKind::NotFound)?;
            Ok(Self { file: create(&folder, &name)?, folder, name: name.clone() })
        };
        let mut answer = Err(io::ErrorKind::NotFound.into());
        for folder in folders() {
            answer = open(folder);
            if answer.is_ok() {
                break;
            }
        }
        answer
    }

    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        // In one piece: a line without an end was not written completely.
        self.file.write_all(codec::to_line(entry)?.as_bytes())
    }

    /// Replaces all entries.
    pub(super) fn rewrite(&mut self, entries: &[Entry]) -> io::Result<()> {
        let new = format!("{}{NEW}", self.name);
        match unlinkat(&self.folder, new.as_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(nix::errno::Errno::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut file = create(&self.folder, &new)?;
        let text = entries.iter().map(codec::to_line).collect::<io::Result<String>>()?;
        file.write_all(text.as_bytes())?;
        renameat(&self.folder, new.as_str(), &self.folder, self.name.as_str())?;
        self.file = file;
        Ok(())
    }

    /// Its private folder.
    pub(super) fn folder(&self) -> &File {
        &self.folder
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        let file = place::private_file(&self.folder, self.name.as_ref(), LONGEST);
        file.and_then(io::read_to_string).unwrap_or_else(|error| error.to_string())
    }

    /// Removes the journal when nothing is left to undo.
    pub(super) fn close(self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, self.name.as_str(), UnlinkatFlags::NoRemoveDir)?)
    }
}

/// Creates a file for this user alone, whatever the umask says.
fn create(folder: &File, name: &str) -> io::Result<File> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(folder, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?.into())
}

/// Journal of an undo process that is gone.
#[derive(Debug)]
pub struct AbandonedJournal {
    folder: File,
    /// For messages.
    path: PathBuf,
    name: OsString,
    entries: Vec<Entry>,
    /// Lines that are no entries of Plimsoll's.
    refused: Vec<String>,
}

/// Journals of killed undo processes.
#[derive(Debug, Default)]
pub struct Abandoned {
    /// The trusted journals.
    pub journals: Vec<AbandonedJournal>,
    /// Distrusted journals with the reasons. Their entries are not carried out.
    pub refused: Vec<String>,
}

/// Finds journals of killed undo processes.
///
/// # Errors
/// When the folder of journals cannot be listed.
pub fn abandoned_journals() -> Result<Abandoned, HostError> {
    let mut abandoned = Abandoned::default();
    for path in folders() {
        match place::private_folder(&path, false) {
            Ok(Some(folder)) => in_folder(&path, &folder, &mut abandoned)?,
            Ok(None) => {}
            Err(error) => abandoned.refused.push(format!("{error}; nothing in it is done")),
        }
    }
    Ok(abandoned)
}

fn in_folder(path: &Path, folder: &File, abandoned: &mut Abandoned) -> Result<(), HostError> {
    let unread = |source| HostError::Read { path: path.into(), source };
    for entry in fs::read_dir(place::way_to(folder)).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name();
        // A journal in the middle of a rewrite has another name; the old one still has the entries.
        let mark = name.to_str().and_then(Mark::parse);
        if mark.is_none_or(|mark| !mark.is_gone()) {
            continue;
        }
        let path = path.join(&name);
        let text = place::private_file(folder, &name, LONGEST).and_then(|file| {
            let mut text = String::new();
            file.take(LONGEST).read_to_string(&mut text).map(|_| text)
        });
        match text {
            Ok(text) => {
                let folder = folder.try_clone().map_err(unread)?;
                abandoned.journals.push(AbandonedJournal::read(folder, path, name, &text));
            }
            // Another doctor was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                abandoned.refused.push(format!("{}: {error}; nothing in it is done", path.display()));
            }
        }
    }
    Ok(())
}

impl AbandonedJournal {
    fn read(folder: File, path: PathBuf, name: OsString, text: &str) -> Self {
        let (mut entries, mut refused) = (Vec::new(), Vec::new());
        // A line without an end was not written completely, so its change was not made.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (index, line) in whole.lines().enumerate() {
            match Entry::from_line(line) {
                Ok(entry) => entries.push(entry),
                Err(why) => refused.push(format!(
                    "{}, line {}: `{}`: {why}",
                    path.display(),
                    index + 1,
                    line.escape_debug()
                )),
            }
        }
        Self { folder, path, name, entries, refused }
    }

    /// Lines for people, one for each entry.
    pub fn describe(&self) -> impl Iterator<Item = String> + '_ {
        self.entries.iter().map(ToString::to_string)
    }

    /// Lines for people, one for each refused line.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Undoes all entries, the last first. A setting that a run holds is left to that run, which restores the same original.
    ///
    /// # Errors
    /// The first error; the other entries are undone all the same.
    pub fn undo(&self) -> Result<(), HostError> {
        let wrong = |error: io::Error| HostError::Setting {
            path: self.path.clone(),
            value: String::new(),
            why: format!("undoing the remaining changes: {error}"),
            forbidden: is_permission(&error),
        };
        self.undo_entries().map_err(wrong)?;
        if !self.refused.is_empty() {
            return Err(wrong(io::Error::other(
                "this journal has entries that Plimsoll must not undo; look at it, and remove it by hand",
            )));
        }
        let mut new = self.name.clone();
        new.push(NEW);
        for name in [new, self.name.clone()] {
            match unlinkat(&self.folder, name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
                Ok(()) | Err(nix::errno::Errno::ENOENT) => {}
                Err(errno) => return Err(wrong(errno.into())),
            }
        }
        Ok(())
    }

    fn undo_entries(&self) -> io::Result<()> {
        let names: BTreeSet<String> = self.entries.iter().filter_map(Entry::lock_name).collect();
        let lock = |name: String| {
            let lock = LockFile::open(&self.folder, &name)?.try_take()?;
            Ok((name, lock.ok()))
        };
        // Take all locks first, as a setting may have several entries.
        let mut locks = names.into_iter().map(lock).collect::<io::Result<BTreeMap<_, _>>>()?;
        let mut undone = Ok(());
        for entry in self.entries.iter().rev() {
            let name = entry.lock_name();
            if name.as_ref().is_some_and(|name| matches!(locks.get(name), Some(None))) {
                continue;
            }
            if let Err(error) = entry.undo() {
                name.and_then(|name| locks.remove(&name));
                undone = undone.and(Err(error));
            }
        }
        undone.and(locks.into_values().flatten().try_for_each(Lock::release))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A private folder with a journal of a process that is gone.
    fn journal_of(text: &str) -> (tempfile::TempDir, Abandoned) {
        let place = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(place.path()).unwrap().join("own");
        let folder = place::private_folder(&path, true).unwrap().unwrap();
        let own = crate::leftovers::own_mark().unwrap();
        let namespace = own.rsplit(':').next().unwrap();
        // No process has so high a number (PID_MAX_LIMIT).
        let name = format!("{}:1:{namespace}", 1 << 23);
        create(&folder, &name).unwrap().write_all(text.as_bytes()).unwrap();
        let mut abandoned = Abandoned::default();
        in_folder(&path, &folder, &mut abandoned).unwrap();
        (place, abandoned)
    }

    fn line_of_a_setting() -> String {
        let path = "/proc/sys/vm/dirty_ratio".into();
        codec::to_line(&Entry::Setting { path, before: "20".into(), namespace: None }).unwrap()
    }

    #[test]
    fn a_line_that_was_not_written_to_its_end_is_no_entry() {
        let (_place, abandoned) =
            journal_of(&format!("{}{{\"setting\":{{\"path\":\"/proc/sys/vm/swappiness", line_of_a_setting()));
        let lines: Vec<String> = abandoned.journals[0].describe().collect();
        assert_eq!(lines, ["setting /proc/sys/vm/dirty_ratio: it was 20"]);
        assert!(abandoned.journals[0].refused().is_empty());
    }

    #[test]
    fn a_journal_with_a_line_that_is_not_plimsolls_is_kept_and_reported() {
        let (place, abandoned) = journal_of("{\"folder\":{\"path\":\"/home\",\"identity\":null}}\n");
        assert_eq!(abandoned.journals[0].describe().count(), 0);
        assert!(
            abandoned.journals[0].refused()[0].contains("line 1"),
            "{:?}",
            abandoned.journals[0].refused()
        );
        assert!(abandoned.journals[0].undo().is_err());
        assert_eq!(fs::read_dir(place.path().join("own")).unwrap().count(), 1, "the journal is kept");
    }

    #[test]
    fn an_undone_journal_goes_with_what_was_begun_in_its_place() {
        let (place, abandoned) = journal_of("");
        let name = abandoned.journals[0].name.to_str().unwrap();
        create(&abandoned.journals[0].folder, &format!("{name}{NEW}")).unwrap();
        abandoned.journals[0].undo().unwrap();
        assert_eq!(fs::read_dir(place.path().join("own")).unwrap().count(), 0);
    }

    #[test]
    fn a_journal_that_is_a_link_is_not_believed() {
        let (place, abandoned) = journal_of("");
        let own = place.path().join("own");
        let path = own.join(&abandoned.journals[0].name);
        fs::rename(&path, own.join("other")).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        let mut again = Abandoned::default();
        in_folder(&own, &abandoned.journals[0].folder, &mut again).unwrap();
        assert!(again.journals.is_empty());
        assert!(again.refused[0].contains("symbolic link"), "{:?}", again.refused);
    }
}
