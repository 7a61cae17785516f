//! Where runs are kept.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_model::report::RunStatus;
use plimsoll_model::verdict::{Standing, Verdict};
use plimsoll_report::html::bundle::{self, Bundle};
use plimsoll_store::{Location, RunEntry, ShortOutcome, Store};

use crate::failure::Failure;
use crate::page::Page;
use crate::place;

/// Where runs are kept: what was named, a file or the URL of a server, or `plimsoll/runs.sqlite` in the user's state folder (XDG Base Directory).
pub(crate) fn place(named: Option<&Path>) -> Result<Location, Failure> {
    match named {
        Some(path) if !Location::is_of_server(path) => Ok(Location::File(path.to_owned())),
        Some(url) => Ok(Location::named(url, &own_file()?)?),
        None => Ok(Location::File(own_file()?)),
    }
}

/// This machine's own file of runs, where none is named.
pub(crate) fn own_file() -> Result<PathBuf, Failure> {
    place::of_runs().ok_or_else(|| {
        Failure::Usage(
            "neither XDG_STATE_HOME nor HOME says where runs are kept; name a file with --store".into(),
        )
    })
}

/// Value of `--store` with which a command finds this store; `None` if it needs no such option.
pub(crate) fn named(store: &Store) -> Option<String> {
    match store.place() {
        Location::File(path) if place::of_runs().as_ref() == Some(path) => None,
        place => Some(place.to_string()),
    }
}

/// Opens the store of runs.
pub(crate) fn open(named: Option<&Path>) -> Result<Store, Failure> {
    Ok(Store::open_at(&place(named)?)?)
}

/// Opens the store of runs to read what is in it, which takes no permission to write.
pub(crate) fn open_to_read(named: Option<&Path>) -> Result<Store, Failure> {
    Ok(Store::open_at_to_read(&place(named)?)?)
}

/// A run by its id, the start of its id, the name of a baseline, or `latest`.
pub(crate) fn find(store: &Store, id: &str) -> Result<RunEntry, Failure> {
    let named = store.baseline(id)?;
    store.run(named.as_deref().unwrap_or(id))?.ok_or_else(|| {
        Failure::Usage(format!(
            "there is no run and no baseline `{id}` in {}, or several runs start like it (`plimsoll history` shows them)",
            store.place()
        ))
    })
}

/// A run with what is not stored: whether it is still going on, and for how long, since it was started.
pub(crate) fn as_it_is(store: &Store, entry: RunEntry) -> RunEntry {
    if entry.status != RunStatus::Interrupted || !store.is_going_on(&entry.id) {
        return entry;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let elapsed = Duration::from_secs(now.as_secs().saturating_sub(entry.started_unix_s));
    RunEntry { status: RunStatus::Running, elapsed, ..entry }
}

/// The folder that has the pages and the captures of runs, beside the file of runs.
pub(crate) fn folder(store: &Store) -> &Path {
    store.place().folder()
}

/// Folder of the pages, beside the file of runs.
pub(crate) const REPORTS: &str = "reports";

/// Default path of the page of a run.
pub(crate) fn page_path(store: &Store, run: &str) -> PathBuf {
    folder(store).join(REPORTS).join(format!("{run}.html"))
}

/// Where a machine's weeks are kept when it is not said: beside the file of runs, or beside this machine's own where runs are on a server.
pub(crate) fn weeks_path(place: &Location) -> PathBuf {
    match place {
        Location::File(path) => path.with_file_name("weeks.sqlite"),
        Location::Server { folder, .. } => folder.with_file_name("weeks.sqlite"),
    }
}

/// The page of a run, where the user named a place for it (`Bundle::Inside`) or beside the store.
pub(crate) fn open_page(path: &Path, bundle: Bundle) -> io::Result<Page> {
    match bundle {
        Bundle::Inside => Page::at(path),
        Bundle::Beside => Page::beside_store(path),
    }
}

/// Puts what draws the charts beside a page, where it is not there yet: all pages of a folder share it.
pub(crate) fn keep_bundle(page: &Path) -> Result<(), Failure> {
    let path = page.with_file_name(bundle::name());
    let text = bundle::text();
    if fs::symlink_metadata(&path).is_ok_and(|about| about.is_file() && about.len() == text.len() as u64) {
        return Ok(());
    }
    Page::beside_store(&path)
        .and_then(|file| file.write(|out| out.write_all(text.as_bytes())))
        .map_err(|error| Failure::io("write", &path, &error))
}

/// Eight letters and digits: enough to distinguish the runs of one file, few enough to type.
pub(crate) fn new_id() -> String {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstvwxyz0123456789";
    let random: u64 = rand::random();
    (0..8).map(|place| char::from(LETTERS[(random >> (5 * place)) as usize % LETTERS.len()])).collect()
}

/// The verdict in short, for lists of runs.
pub(crate) fn in_short(verdict: &Verdict) -> ShortOutcome {
    ShortOutcome {
        claim: verdict.claim.clone(),
        outcome: verdict.outcome.name().to_owned(),
        holds: verdict.standing() == Standing::Holds,
    }
}
