//! What a run has in files of its own: the packets that it captured. They stand in a folder beside a file of runs; a server has them in pieces, in rows, so that
//! every machine can show the run.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::{OwnFolder, Store, StoreError, schema};
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
            let there = fs::metadata(self.path_of(run, &name));
            if !there.is_ok_and(|about| about.len() == bytes) {
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
        let Some(captures) = OwnFolder::open(self.place.folder(), &[CAPTURES])? else { return Ok(()) };
        let Some(own) = OwnFolder::open(self.place.folder(), &[CAPTURES, run])? else { return Ok(()) };
        for name in own.entries()?.iter().filter(|name| which(Path::new(name))) {
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
            // They become names of files here.
            files.retain(|(name, _)| is_name(name) && is_name(run));
            return Ok(files);
        }
        let folder = self.place.folder().join(CAPTURES).join(run);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| beside("read", &folder, error))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| beside("read", &folder, error))?;
            let about = entry.metadata().map_err(|error| beside("read", &entry.path(), error))?;
            let name = entry.file_name().into_string().ok().filter(|name| is_name(name));
            files.extend(name.filter(|_| about.is_file()).map(|name| (name, about.len())));
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
        let mut file = File::open(&path).map_err(failed)?;
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
        let part = path.with_extension("part");
        let failed = |error| beside("write", &path, error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = File::create(&part).map_err(failed)?;
        from.each_piece(run, name, &mut |bytes| file.write_all(bytes).map_err(failed))?;
        fs::rename(&part, &path).map_err(failed)
    }

    fn path_of(&self, run: &str, name: &str) -> PathBuf {
        self.place.folder().join(CAPTURES).join(run).join(name)
    }
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
