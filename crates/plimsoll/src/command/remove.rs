//! `plimsoll rm` and `plimsoll prune`: runs that go, with their pages and the packets that they captured.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_report::escape::terminal;
use plimsoll_store::{RunEntry, Store};

use crate::args::{PruneArgs, RmArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{captures, messages, state};

pub(crate) fn rm(args: &RmArgs) -> Result<Exit, Failure> {
    let store = state::open(args.store.store.as_deref())?;
    let mut doomed: Vec<RunEntry> = Vec::new();
    for id in &args.runs {
        let run = state::find(&store, id)?;
        if !doomed.iter().any(|known| known.id == run.id) {
            doomed.push(run);
        }
    }
    let labels = store.labels()?;
    for run in &doomed {
        // A run that is named twice, as a baseline and to remove, is a mistake.
        if let Some(name) = labels.get(&run.id).and_then(|labels| labels.baselines.first()) {
            return Err(Failure::Usage(format!(
                "run {} is the baseline `{}`; `plimsoll baseline rm {}` first",
                run.id,
                terminal(name),
                terminal(name)
            )));
        }
        if store.is_going_on(&run.id) {
            return Err(Failure::Usage(format!("run {} is in progress", run.id)));
        }
    }
    remove(&store, &doomed, args.dry_run)
}

pub(crate) fn prune(args: &PruneArgs) -> Result<Exit, Failure> {
    let store = state::open(args.store.store.as_deref())?;
    let labels = store.labels()?;
    let mut runs = store.runs(args.experiment.as_deref())?;
    // Named runs and runs in progress are kept.
    runs.retain(|run| {
        let is_named = labels.get(&run.id).is_some_and(|of| !of.tags.is_empty() || !of.baselines.is_empty());
        !is_named && !store.is_going_on(&run.id)
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let doomed = superfluous(runs, args.keep, args.older_than.map(|age| age.0), now);
    remove(&store, &doomed, args.dry_run)
}

/// Of runs, the newest first: those beyond the newest `keep` of their experiment that began longer ago than `age`.
fn superfluous(
    runs: Vec<RunEntry>,
    keep: Option<usize>,
    age: Option<Duration>,
    now: Duration,
) -> Vec<RunEntry> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let goes = |run: &RunEntry| {
        let newer = seen.entry(run.experiment.clone()).or_default();
        *newer += 1;
        let is_old = age.is_none_or(|age| run.started_unix_s + age.as_secs() <= now.as_secs());
        *newer > keep.unwrap_or(0) && is_old
    };
    let mut goes = goes;
    runs.into_iter().filter(|run| goes(run)).collect()
}

fn remove(store: &Store, doomed: &[RunEntry], dry_run: bool) -> Result<Exit, Failure> {
    let bytes = store.bytes()?;
    let mut freed = 0;
    for run in doomed {
        freed += bytes.get(&run.id).copied().unwrap_or(0);
        let would = if dry_run { "would remove" } else { "removed" };
        if !dry_run {
            files(store, &run.id)?;
            store.remove_run(&run.id)?;
        }
        messages::note(format_args!("{would} {} of {}", run.id, terminal(&run.experiment)));
    }
    if !dry_run && !doomed.is_empty() {
        store.give_back()?;
    }
    let runs = if doomed.len() == 1 { "run" } else { "runs" };
    messages::note(format_args!("{} {runs}, {:.1} MB", doomed.len(), freed as f64 / 1e6));
    Ok(Exit::Holds)
}

/// Removes what stands beside the file of runs: the page, and the packets.
fn files(store: &Store, run: &str) -> Result<(), Failure> {
    let page = state::page_path(store, run);
    let failed = |error| Failure::io("remove", &page, &error);
    let reports = store.folder_beside(&[state::REPORTS]).map_err(failed)?;
    if let (Some(reports), Some(name)) = (reports, page.file_name()) {
        reports.remove_file(name).map_err(failed)?;
    }
    let Some(captured) = captures::of_run(store, run) else { return Ok(()) };
    captured.remove(store).map_err(|error| Failure::io("remove", &captured.folder, &error))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::RunStatus;

    use super::*;

    const HOUR: u64 = 3600;

    /// Runs of two experiments, one of each begun at every hour before now, the newest first.
    fn runs() -> Vec<RunEntry> {
        let run = |hours: u64, experiment: &str| RunEntry {
            id: format!("{experiment}{hours}"),
            experiment: experiment.into(),
            source: String::new(),
            settings: serde_json::Value::Null,
            seed: 1,
            started_unix_s: (100 - hours) * HOUR,
            elapsed: Duration::ZERO,
            status: RunStatus::Complete,
            notes: Vec::new(),
        };
        (1..=4).flat_map(|hours| [run(hours, "a"), run(hours, "b")]).collect()
    }

    fn gone(keep: Option<usize>, hours: Option<u64>) -> Vec<String> {
        let age = hours.map(|hours| Duration::from_secs(hours * HOUR));
        let now = Duration::from_secs(100 * HOUR);
        superfluous(runs(), keep, age, now).into_iter().map(|run| run.id).collect()
    }

    #[test]
    fn the_newest_of_each_experiment_are_kept() {
        assert_eq!(gone(Some(3), None), ["a4", "b4"]);
        assert_eq!(gone(Some(4), None), [""; 0]);
        assert_eq!(gone(Some(0), None).len(), 8);
    }

    #[test]
    fn the_newest_runs_are_kept_and_older_ones_go() {
        assert_eq!(gone(None, Some(3)), ["a3", "b3", "a4", "b4"]);
        assert_eq!(gone(Some(3), Some(3)), ["a4", "b4"]);
        assert_eq!(gone(Some(1), Some(4)), ["a4", "b4"]);
    }
}
