//! What runs that go on say of themselves, in files beside the file of runs: one for each, replaced as a whole, and gone with the run. What a killed run
//! left is told from a run that goes on by its claim, and removed before the next run begins.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_model::under_way::UnderWay;

use crate::{Store, beside};

/// How the files end.
const ENDING: &str = "json";

/// The file of a run that goes on. It is removed with this.
#[derive(Debug)]
pub struct UnderWayFile {
    path: PathBuf,
}

impl UnderWayFile {
    /// Writes how far the run is. Whoever reads it finds this or what was written before, as a whole.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, state: &UnderWay) -> io::Result<()> {
        let text = serde_json::to_vec(state)?;
        // Another run that ends at this moment may remove the folder, which it found empty.
        self.replace(&text).or_else(|_| self.replace(&text))
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let begun = self.path.with_extension("part");
        fs::write(&begun, text)?;
        fs::rename(&begun, &self.path)
    }
}

impl Drop for UnderWayFile {
    fn drop(&mut self) {
        // Where it was never written there is none.
        fs::remove_file(&self.path).ok();
        fs::remove_file(self.path.with_extension("part")).ok();
        // It stays where another run has its file in it.
        self.path.parent().map(fs::remove_dir);
    }
}

impl Store {
    /// The file for a run that this process carries out.
    #[must_use]
    pub fn under_way_file(&self, run: &str) -> UnderWayFile {
        UnderWayFile { path: file(&self.under_way_folder(), run) }
    }

    /// The runs that other processes carry out, the newest last. What cannot be read is left out: it is just being written or removed.
    #[must_use]
    pub fn under_way(&self) -> Vec<UnderWay> {
        let mut found: Vec<UnderWay> =
            self.said_to_be_under_way().into_iter().filter_map(|run| self.under_way_of(&run)).collect();
        found.sort_by(|a, b| b.elapsed_s.total_cmp(&a.elapsed_s));
        found
    }

    /// How far a run is that another process carries out; nothing where none does.
    #[must_use]
    pub fn under_way_of(&self, run: &str) -> Option<UnderWay> {
        let is_name = run.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"-_".contains(&letter));
        if !is_name || !self.is_going_on(run) {
            return None;
        }
        let text = fs::read(file(&self.under_way_folder(), run)).ok()?;
        serde_json::from_slice(&text).ok().filter(|state: &UnderWay| state.run == run)
    }

    /// Removes what killed runs left. A process that has claimed a run must not ask: see [`Store::is_going_on`].
    pub(crate) fn clear_under_way(&self) {
        for run in self.said_to_be_under_way() {
            if !self.is_going_on(&run) {
                drop(self.under_way_file(&run));
            }
        }
    }

    fn said_to_be_under_way(&self) -> Vec<String> {
        let entries = fs::read_dir(self.under_way_folder()).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    }

    fn under_way_folder(&self) -> PathBuf {
        beside(self.path(), "-under-way")
    }
}

fn file(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.{ENDING}"))
}
