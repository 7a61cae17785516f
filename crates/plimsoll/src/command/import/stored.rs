//! Imported files as a run of their own in the file of runs: their text, and how it was read. Figures and verdicts are
//! recomputed each time.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_model::report::RunStatus;
use plimsoll_report::moment;
use plimsoll_store::{ImportedText, RunEntry, Store};
use serde::{Deserialize, Serialize};

use super::verdict::Judged;
use super::{Import, read};
use crate::args::{ImportArgs, Reading};
use crate::failure::Failure;
use crate::state;

/// A run that was imported.
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) at_unix_s: u64,
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}, imported {}", self.id, moment(self.at_unix_s))
    }
}

/// The settings of such a run.
#[derive(Serialize, Deserialize)]
struct Settings {
    imported: Reading,
}

/// Stores what was read.
pub(crate) fn put(args: &ImportArgs, import: &Import, texts: &[ImportedText]) -> Result<Stored, Failure> {
    let store = state::open(args.store.store.as_deref())?;
    let names: Vec<&str> = import.files.iter().map(|file| file.name.as_str()).collect();
    let entry = put_texts(&store, names.join(", "), &import.reading, texts)?;
    let found = import.judged.as_ref().and_then(Judged::verdict);
    store.put_outcomes(&entry.id, &found.iter().map(state::in_short).collect::<Vec<_>>())?;
    store.add_tags(&entry.id, &args.tag)?;
    args.note.as_ref().map_or(Ok(()), |note| store.put_remark(&entry.id, note))?;
    Ok(Stored { id: entry.id, at_unix_s: entry.started_unix_s })
}

/// Stores texts as a run of this name, with how they are read.
pub(crate) fn put_texts(
    store: &Store,
    name: String,
    reading: &Reading,
    texts: &[ImportedText],
) -> Result<RunEntry, Failure> {
    let settings = serde_json::to_value(Settings { imported: reading.clone() })
        .map_err(|error| Failure::could_not(format!("how the files were read cannot be stored: {error}")))?;
    let entry = RunEntry {
        id: state::new_id(),
        experiment: name,
        source: String::new(),
        settings,
        seed: 0,
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        elapsed: Duration::ZERO,
        status: RunStatus::Complete,
        notes: Vec::new(),
    };
    store.put_imported(&entry, texts)?;
    Ok(entry)
}

/// Whether a run was imported.
pub(crate) fn is_imported(entry: &RunEntry) -> bool {
    entry.settings.get("imported").is_some()
}

/// Reads the text of a stored import again; `None` if the run was measured.
pub(crate) fn get(store: &Store, entry: &RunEntry) -> Result<Option<Import>, Failure> {
    if !is_imported(entry) {
        return Ok(None);
    }
    let settings: Settings = serde_json::from_value(entry.settings.clone()).map_err(|error| {
        Failure::could_not(format!("how run {} was read cannot be seen: {error}", entry.id))
    })?;
    let texts = store.imported(&entry.id)?;
    let files = texts.iter().map(|text| read::text(&settings.imported, text)).collect::<Result<_, _>>()?;
    let import = Import::of(settings.imported, files)?;
    Ok(Some(Import { run: Some(Stored { id: entry.id.clone(), at_unix_s: entry.started_unix_s }), ..import }))
}
