//! Completions of an argument that names a run.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use plimsoll_store::{Location, Search, Store};

use crate::place;

/// The newest runs that are offered.
const MOST: usize = 200;

/// `latest`, the names of baselines, and the ids of the newest runs with their experiments. Where the file of runs cannot be read there are none.
pub(crate) fn runs(begun: &OsStr) -> Vec<CompletionCandidate> {
    let named = std::env::var_os("PLIMSOLL_STORE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let place = match (named, place::of_runs()) {
        (Some(name), own) => Location::named(&name, &own.unwrap_or_default()).ok(),
        (None, own) => own.map(Location::File),
    };
    let Some(store) = place.and_then(|place| Store::open_at_to_read(&place).ok()) else {
        return Vec::new();
    };
    let latest = ("latest".to_owned(), "the newest run".to_owned());
    let baselines = store.baselines().unwrap_or_default().into_iter();
    let baselines = baselines.map(|it| (it.name, format!("baseline, run {}", it.run)));
    let runs = store.search(&Search::default(), 0, MOST).unwrap_or_default().into_iter();
    let runs = runs.map(|it| (it.id, it.experiment));
    let begun = begun.to_string_lossy();
    let all = std::iter::once(latest).chain(baselines).chain(runs);
    let fitting = all.filter(|(name, _)| name.starts_with(&*begun));
    fitting.map(|(name, about)| CompletionCandidate::new(name).help(Some(about.into()))).collect()
}
