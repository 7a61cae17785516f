//! Reports of running runs about themselves, in files beside the file of runs: one for each, replaced as a whole, and
//! gone with the run. On a server each is a row. A claim distinguishes a running run from the remains of a killed one,
//! which are removed before the next run begins.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use plimsoll_model::under_way::UnderWay;
use plimsoll_path::Folder;

use super::beside::split;
use super::opening::beside;
use super::{Location, Store, schema};
use crate::database::{Database, Server, values};

/// How the files end.
const ENDING: &str = "json";
/// Largest file, in bytes.
const LONGEST: u64 = 64 << 20;

/// Where a run that goes on says how far it is.
#[derive(Debug)]
pub struct UnderWayFile(StateTarget);

#[derive(Debug)]
enum StateTarget {
    /// In a file, which is removed with this.
    File(PathBuf),
    /// In a row, which goes with the claim of the run.
    Row(SyncSender<String>),
}

impl UnderWayFile {
    /// Writes how far the run is. A reader finds this or the earlier state, as a whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, state: &UnderWay) -> io::Result<()> {
        match &self.0 {
            StateTarget::File(path) => {
                let text = serde_json::to_vec(state)?;
                // Another run that ends at this moment may remove the folder, which it found empty.
                replace(path, &text).or_else(|_| replace(path, &text))
            }
            StateTarget::Row(writer) => {
                // While the last one is still on its way, another would only come later still.
                writer.try_send(serde_json::to_string(state)?).ok();
                Ok(())
            }
        }
    }
}

/// The writer of a row, with a session and a thread of its own: no caller waits for a server that does not answer. It ends when no sender
/// has anything to write any more.
fn writer(server: Server, run: String) -> SyncSender<String> {
    let (sender, states) = mpsc::sync_channel::<String>(1);
    let write = move || {
        let mut is_warned = false;
        for state in states {
            if let Err(error) = server.execute(schema::PUT_STATE, values![&run, state])
                && !std::mem::replace(&mut is_warned, true)
            {
                tracing::warn!("others cannot see this run while it goes on: {error}");
            }
        }
    };
    // No run depends on this view, so a missing thread is no error.
    thread::Builder::new().name("under-way".into()).spawn(write).ok();
    sender
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let (own, name) = split(path.parent().unwrap_or(path))?;
    let (folder, _) = own.make_in(Path::new(name))?;
    folder.replace(path.file_name().unwrap_or_default(), |file: &mut File| file.write_all(text))
}

/// Removes what was written, and the folder, unless another run has its file in it.
fn remove(path: &Path) -> io::Result<()> {
    let (own, name) = split(path.parent().unwrap_or(path))?;
    let folder = own.folder(Path::new(name))?;
    folder.remove_file(path.file_name().unwrap_or_default())?;
    own.remove_empty_folder(name).map(drop)
}

impl Drop for UnderWayFile {
    fn drop(&mut self) {
        let StateTarget::File(path) = &self.0 else { return };
        // Where it was never written there is none.
        remove(path).ok();
    }
}

impl Store {
    /// Where a run that this process carries out says how far it is.
    pub fn under_way_file(&self, run: &str) -> UnderWayFile {
        UnderWayFile(match &self.database {
            Database::File(_) => StateTarget::File(file(&self.under_way_folder(), run)),
            Database::Server(server) => StateTarget::Row(writer(server.another_session(), run.to_owned())),
        })
    }

    /// The runs that other processes carry out, the newest last. What cannot be read is left out: it is just being written or removed.
    pub fn under_way(&self) -> Vec<UnderWay> {
        let mut found: Vec<UnderWay> =
            self.said_to_be_under_way().into_iter().filter_map(|run| self.under_way_of(&run)).collect();
        found.sort_by(|a, b| b.elapsed_s.total_cmp(&a.elapsed_s));
        found
    }

    /// How far a run is that another process carries out; `None` if none does.
    pub fn under_way_of(&self, run: &str) -> Option<UnderWay> {
        let is_name = run.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"-_".contains(&letter));
        if !is_name || !self.is_going_on(run) {
            return None;
        }
        let text = match &self.database {
            Database::File(_) => {
                let path = file(&self.under_way_folder(), run);
                self.open_under_way()?.read(path.file_name()?.as_ref(), LONGEST).ok()?
            }
            Database::Server(server) => {
                let rows = server.query(schema::STATE_OF, values![run]).ok()?;
                rows.first()?.get::<String>(0).ok()?.into_bytes()
            }
        };
        serde_json::from_slice(&text).ok().filter(|state: &UnderWay| state.run == run)
    }

    /// Removes what killed runs left. A process that has claimed a run must not ask: see [`Store::is_going_on`].
    pub(crate) fn clear_under_way(&self) {
        for run in self.said_to_be_under_way() {
            if self.is_going_on(&run) {
                continue;
            }
            match &self.database {
                Database::File(_) => drop(self.under_way_file(&run)),
                Database::Server(server) => {
                    server.execute(schema::FORGET_HOLDER, values![run]).ok();
                }
            }
        }
    }

    fn said_to_be_under_way(&self) -> Vec<String> {
        if let Database::Server(server) = &self.database {
            let rows = server.query(schema::SAID_TO_BE_UNDER_WAY, &[]).unwrap_or_default();
            return rows.iter().filter_map(|row| row.get(0).ok()).collect();
        }
        let names = self.open_under_way().and_then(|folder| folder.names().ok()).unwrap_or_default();
        let files = names.iter().map(Path::new);
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    }

    fn open_under_way(&self) -> Option<Folder> {
        let folder = self.under_way_folder();
        let (own, name) = split(&folder).ok()?;
        own.folder(Path::new(name)).ok()
    }

    fn under_way_folder(&self) -> PathBuf {
        match &self.place {
            Location::File(path) => beside(path, "-under-way"),
            Location::Server { folder, .. } => folder.clone(),
        }
    }
}

fn file(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.{ENDING}"))
}
