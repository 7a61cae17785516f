//! What caretakers owe, written down where only root, or only the user, can write.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::debt::Debt;
use crate::error::{HostError, is_permission};
use crate::leftovers::Mark;

/// Where journals may be kept, the best place first: gone after a reboot, as the settings are that they speak of.
fn folders() -> Vec<PathBuf> {
    let user = outside(geteuid().as_raw(), &fs::read_to_string("/proc/self/uid_map").unwrap_or_default());
    let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| user != 0);
    let best = if user == 0 {
        Some("/run/plimsoll".into())
    } else {
        own.map(|own| PathBuf::from(own).join("plimsoll"))
    };
    best.into_iter().chain([std::env::temp_dir().join(format!("plimsoll-{user}"))]).collect()
}

/// Who a user is outside of the user namespace that the run is in (user_namespaces(7): first id inside, first outside, how many).
fn outside(inside: u32, map: &str) -> u32 {
    let lines = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    let mut own = lines.filter(|(first, _, number)| inside >= *first && inside - first < *number);
    own.next().map_or(inside, |(first, there, _)| there + (inside - first))
}

/// Makes a folder that belongs to the user alone, unless it is there.
fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let about = fs::symlink_metadata(folder)?;
    if about.is_dir() && about.uid() == geteuid().as_raw() {
        return Ok(());
    }
    let error = format!("{} belongs to somebody else", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, error))
}

/// The journal of this process.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    pub(super) fn open() -> io::Result<Self> {
        let name = crate::leftovers::own_mark()?;
        let open = |folder: PathBuf| {
            make(&folder)?;
            let path = folder.join(&name);
            Ok(Self { file: File::create(&path)?, path })
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

    pub(super) fn add(&mut self, debt: &Debt) -> io::Result<()> {
        writeln!(self.file, "{}", debt.to_line())
    }

    /// Has these debts stand in it and no others.
    pub(super) fn rewrite(&mut self, debts: &[Debt]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        for debt in debts {
            writeln!(file, "{}", debt.to_line())?;
        }
        fs::rename(&new, &self.path)?;
        self.file = file;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap_or_else(|error| error.to_string())
    }

    /// Nothing is owed any more.
    pub(super) fn close(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// What a caretaker owed that is gone.
#[derive(Clone, Debug)]
pub struct Debts {
    path: PathBuf,
    debts: Vec<Debt>,
}

/// Finds what is owed by caretakers that were killed.
///
/// # Errors
/// When a journal cannot be read.
pub fn debts() -> Result<Vec<Debts>, HostError> {
    let mut all = Vec::new();
    for folder in folders() {
        match fs::read_dir(&folder) {
            Ok(entries) => in_folder(entries, &mut all)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(HostError::Read { path: folder, source }),
        }
    }
    Ok(all)
}

fn in_folder(entries: fs::ReadDir, all: &mut Vec<Debts>) -> Result<(), HostError> {
    for path in entries.flatten().map(|entry| entry.path()) {
        let mark = path.file_name().and_then(|name| Mark::parse(name.to_str()?));
        if mark.is_none_or(|mark| !mark.is_gone()) {
            continue;
        }
        let text =
            fs::read_to_string(&path).map_err(|source| HostError::Read { path: path.clone(), source })?;
        all.push(Debts { debts: text.lines().filter_map(Debt::from_line).collect(), path });
    }
    Ok(())
}

impl Debts {
    /// Each as a line for people.
    pub fn describe(&self) -> impl Iterator<Item = String> + '_ {
        self.debts.iter().map(ToString::to_string)
    }

    /// Undoes all of it, the last first.
    ///
    /// # Errors
    /// The first of what went wrong; the others are undone all the same.
    pub fn settle(&self) -> Result<(), HostError> {
        let wrong = |error: io::Error| HostError::Setting {
            path: self.path.clone(),
            value: String::new(),
            why: format!("undoing what is left: {error}"),
            forbidden: is_permission(&error),
        };
        let settled: Vec<_> = self.debts.iter().rev().map(Debt::settle).collect();
        settled.into_iter().collect::<io::Result<()>>().map_err(wrong)?;
        fs::remove_file(&self.path).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_is_root_in_a_namespace_of_his_own_is_known_by_who_he_is_outside() {
        assert_eq!(outside(0, "         0       1000          1\n"), 1000);
        assert_eq!(outside(1000, "         0          0 4294967295\n"), 1000);
        assert_eq!(outside(7, ""), 7);
    }
}
