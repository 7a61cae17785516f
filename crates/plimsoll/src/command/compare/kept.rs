//! The newest explained comparison of commands: it is no run, but `plimsoll explain latest` shows it as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use plimsoll_model::cause::Cause;
use plimsoll_model::report::{Evidence, ProfileReport};
use plimsoll_report::escape::terminal;
use plimsoll_report::text::Explanation;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::text::WORSE_COMMAND;
use crate::args::PlainFormat;
use crate::failure::Failure;
use crate::page::Page;
use crate::{bounded, output, state};

/// Its file, beside the pages of runs.
const NAME: &str = "compared.json";

/// What an explanation shows of the JSON form.
#[derive(Deserialize)]
struct Kept {
    summary: String,
    causes: Vec<Cause>,
    evidence: Vec<Evidence>,
    profile: Option<ProfileReport>,
}

/// Keeps the JSON form of a comparison in the place of the one before.
pub(super) fn keep(store: Option<&Path>, document: &Map<String, Value>) -> Result<(), Failure> {
    let path = path(store)?;
    Page::beside_store(&path)
        .and_then(|page| page.write(|out| plimsoll_report::json::pretty(out, document)))
        .map_err(|error| Failure::io("write", &path, &error))
}

/// Shows the newest comparison if it is newer than all runs. Returns whether it was shown.
pub(crate) fn show(store: Option<&Path>, format: PlainFormat) -> Result<bool, Failure> {
    let path = path(store)?;
    let written = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file);
    let written = written.and_then(|about| about.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let Some(written) = written.filter(|written| newest_run(store) < *written) else { return Ok(false) };
    let text = bounded::text(&path, bounded::FILE).map_err(|error| Failure::io("read", &path, &error))?;
    let kept = serde_json::from_str::<Kept>(&text);
    let kept = kept.map_err(|error| {
        Failure::could_not(format!("{} has no comparison of this version: {error}", path.display()))
    })?;
    let why = Explanation { causes: &kept.causes, profile: kept.profile.as_ref(), evidence: &kept.evidence };
    match format {
        PlainFormat::Text => output::styled(|out, options| {
            writeln!(out, "{} (compared {} ago)", terminal(&kept.summary), ago(written))?;
            plimsoll_report::text::why(out, WORSE_COMMAND, &why, options)
        }),
        PlainFormat::Json => output::document(|out| out.write_all(text.as_bytes())),
    }?;
    Ok(true)
}

fn ago(written: Duration) -> String {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    plimsoll_report::seconds(now.saturating_sub(written).as_secs_f64().round())
}

/// When the newest run ended, since 1970; 0 without a run.
fn newest_run(store: Option<&Path>) -> Duration {
    let run = state::open_to_read(store).ok().and_then(|store| store.run("latest").ok().flatten());
    run.map_or(Duration::ZERO, |run| Duration::from_secs(run.started_unix_s) + run.elapsed)
}

fn path(store: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(state::place(store)?.folder().join(state::REPORTS).join(NAME))
}
