//! Files of a run's own: the packets that it captured. They stand in a folder beside a file of runs; a server has them in pieces, in rows, so that
//! every machine can show the run.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use plimsoll_path::Folder;

use super::{Store, StoreError, schema};
use crate::beside::existing;
use crate::database::{Database, DatabaseError, values};

/// The folder of captures, beside the file of runs; each run has one of its own in it.
pub const CAPTURES: &str = "captures";
/// The bytes of a piece.
const PIECE: usize = 1 << 20;

impl Store {
    /// Brings the files of a run from a server into the folder of this machine, where they are not there yet. With a file of runs they are there.
    ///
    /// # Errors
    /// When they cannot be read, or not be written.
    pub fn fetch_files(&self, run: &str) -> Result<(), StoreError> {
        let Database::Server(_) = &self.database else { return Ok(()) };
        for (name, bytes) in self.files(run)? {
            let there = self.captures_of(run).map(|own| own.and_then(|own| length(&own, &name)));
            if there.map_err(|error| beside("read", &self.path_of(run, &name), error))? != Some(bytes) {
                self.write_beside(run, &name, self)?;
            }
        }
        Ok(())
    }

    /// Removes the files of a run from the folder of this machine.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn remove_files(&self, run: &str) -> Result<(), StoreError> {
        if !is_name(run) {
            return Ok(());
        }
        let path = self.place.folder().join(CAPTURES).join(run);
        self.remove_captures(run, |_| true).map_err(|error| beside("remove", &path, error))
    }

    /// Removes captured files of a run, and their folder where nothing else is in it. Links are not followed.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn remove_captures(&self, run: &str, which: impl Fn(&Path) -> bool) -> std::io::Result<()> {
        let Some(captures) = self.folder_beside(&[CAPTURES])? else { return Ok(()) };
        let Some(own) = existing(captures.folder(run.as_ref()))? else { return Ok(()) };
        for name in own.names()?.iter().filter(|name| which(Path::new(name))) {
            own.remove_file(name)?;
        }
        captures.remove_empty_folder(run.as_ref()).map(drop)
    }

    /// The names of a run's files, each with how many bytes it has.
    pub(crate) fn files(&self, run: &str) -> Result<Vec<(String, u64)>, StoreError> {
        if let Database::Server(_) = &self.database {
            let files =
                self.rows(schema::FILES_OF, values![run], |row| -> Result<(String, u64), DatabaseError> {
                    Ok((row.get(0)?, row.get(1)?))
                });
            let mut files = files.map_err(self.doing("list the files of the run"))?;
            // Stored names become names of files here.
            files.retain(|(name, _)| is_name(name) && is_name(run));
            return Ok(files);
        }
        let folder = self.place.folder().join(CAPTURES).join(run);
        let failed = |error| beside("read", &folder, error);
        let Some(own) = self.captures_of(run).map_err(failed)? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for name in own.names().map_err(failed)? {
            let Some(name) = name.into_string().ok().filter(|name| is_name(name)) else { continue };
            let length = length(&own, &name);
            files.extend(length.map(|length| (name, length)));
        }
        files.sort();
        Ok(files)
    }

    /// Takes a file of a run over from another store.
    pub(crate) fn put_file(&self, run: &str, name: &str, from: &Store) -> Result<(), StoreError> {
        let Database::Server(_) = &self.database else { return self.write_beside(run, name, from) };
        let doing = self.doing("store a file of the run");
        self.database.execute(schema::REMOVE_FILE, values![run, name]).map_err(&doing)?;
        let mut ordinal = 0_i64;
        from.each_piece(run, name, &mut |bytes| {
            let values = values![run, name, ordinal, bytes];
            ordinal += 1;
            self.database.execute(schema::PUT_FILE, values).map(drop).map_err(&doing)
        })
    }

    /// Reads a file of a run, piece by piece.
    pub(crate) fn each_piece(
        &self,
        run: &str,
        name: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if let Database::Server(_) = &self.database {
            for ordinal in 0_i64.. {
                let piece = || -> Result<Option<Vec<u8>>, DatabaseError> {
                    let row = self.database.first(schema::PIECE_OF, values![run, name, ordinal])?;
                    row.map(|row| Ok(row.get(0)?)).transpose()
                };
                let Some(bytes) = piece().map_err(self.doing("read a file of the run"))? else { break };
                take(&bytes)?;
            }
            return Ok(());
        }
        let path = self.path_of(run, name);
        let failed = |error| beside("read", &path, error);
        let own = self.captures_of(run).map_err(failed)?.ok_or_else(|| failed(ErrorKind::NotFound.into()))?;
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let mut file = own.file(Path::new(name), flags).map_err(|error| failed(error.into()))?;
        loop {
            let mut bytes = Vec::with_capacity(PIECE);
            Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut bytes).map_err(failed)?;
            if bytes.is_empty() {
                return Ok(());
            }
            take(&bytes)?;
        }
    }

    /// Writes a file of a run into the folder of this machine. It is there as a whole, or not.
    fn write_beside(&self, run: &str, name: &str, from: &Store) -> Result<(), StoreError> {
        let path = self.path_of(run, name);
        let failed = |error| beside("write", &path, error);
        fs::create_dir_all(self.place.folder()).map_err(failed)?;
        let made = Folder::of_user(self.place.folder())
            .and_then(|folder| folder.make_in(&Path::new(CAPTURES).join(run)));
        let (own, _) = made.map_err(|error| failed(error.into()))?;
        let written = own.replace(name.as_ref(), |file: &mut File| {
            let write = &mut |bytes: &[u8]| file.write_all(bytes).map_err(failed);
            from.each_piece(run, name, write).map_err(Unwritten::Store)
        });
        written.map_err(|error| match error {
            Unwritten::Store(error) => error,
            Unwritten::System(error) => failed(error),
        })
    }

    /// The folder of a run's captures; absent where it has none.
    fn captures_of(&self, run: &str) -> std::io::Result<Option<Folder>> {
        self.folder_beside(&[CAPTURES, run])
    }

    fn path_of(&self, run: &str, name: &str) -> PathBuf {
        self.place.folder().join(CAPTURES).join(run).join(name)
    }
}

/// Why a file was not written.
enum Unwritten {
    Store(StoreError),
    System(std::io::Error),
}

impl From<std::io::Error> for Unwritten {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}

/// Length of a regular file in a folder; absent for anything else.
fn length(folder: &Folder, name: &str) -> Option<u64> {
    let about = folder.file(Path::new(name), OFlag::O_PATH).ok()?.metadata().ok()?;
    about.is_file().then_some(about.len())
}

/// Whether a text may be the name of a file here, wherever it came from.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.'".contains(letter);
    !text.is_empty() && !text.starts_with('.') && text.chars().all(fits)
}

fn beside(operation: &'static str, path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Beside { path: path.to_owned(), operation, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_server_leads_out_of_the_folder() {
        assert!(is_name("001-baseline-firewall'.pcapng"));
        for bad in ["", "..", ".bashrc", "../x", "a/b", "a\0"] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
