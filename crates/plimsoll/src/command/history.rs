//! `plimsoll history`.

mod changes;

use std::collections::BTreeMap;
use std::io::{self, Write};

use plimsoll_model::note::Note;
use plimsoll_report::escape::terminal;
use plimsoll_report::moment;
use plimsoll_store::{Labels, RunEntry, ShortOutcome};
use serde_json::json;

use crate::args::{HistoryArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{messages, output, state};

/// A run, what is said of it, and how many bytes it takes.
struct Listed {
    entry: RunEntry,
    labels: Labels,
    bytes: u64,
}

pub(crate) fn run(args: &HistoryArgs) -> Result<Exit, Failure> {
    if let (true, Some(experiment)) = (args.changes, &args.experiment) {
        return changes::run(args, experiment);
    }
    let store = state::open_to_read(args.store.store.as_deref())?;
    let (mut labels, bytes) = (store.labels()?, store.bytes()?);
    let runs = store.runs(args.experiment.as_deref())?.into_iter();
    let listed = runs.map(|entry| Listed {
        labels: labels.remove(&entry.id).unwrap_or_default(),
        bytes: bytes.get(&entry.id).copied().unwrap_or(0),
        entry: state::as_it_is(&store, entry),
    });
    let tagged = |run: &Listed| args.tag.as_ref().is_none_or(|tag| run.labels.tags.contains(tag));
    let runs: Vec<Listed> = listed.filter(tagged).take(args.last.unwrap_or(usize::MAX)).collect();
    match args.format {
        PlainFormat::Json => output::json(&runs.iter().map(entry).collect::<Vec<_>>()),
        PlainFormat::Text => {
            output::text(|out| runs.iter().try_for_each(|run| line(out, run)))?;
            messages::note(format_args!("{}", room(&runs, &bytes, store.place())));
            Ok(())
        }
    }?;
    Ok(Exit::Holds)
}

fn line(out: &mut dyn Write, run: &Listed) -> io::Result<()> {
    let RunEntry { id, experiment, status, elapsed, started_unix_s, .. } = &run.entry;
    let status = format!("{status:?}").to_lowercase();
    let (started, took, experiment) = (moment(*started_unix_s), elapsed.as_secs_f64(), terminal(experiment));
    write!(out, "{id}  {started}  {took:>6.1} s  {status:11}  {experiment}")?;
    if !run.labels.outcomes.is_empty() {
        write!(out, ": {}", outcomes(&run.labels.outcomes))?;
    }
    if let Some(why) = Note::failure(&run.entry.notes) {
        write!(out, ": {}", terminal(why))?;
    }
    for name in &run.labels.baselines {
        write!(out, "  [baseline {}]", terminal(name))?;
    }
    for tag in &run.labels.tags {
        write!(out, "  #{}", terminal(tag))?;
    }
    writeln!(out)?;
    match &run.labels.remark {
        Some(remark) => writeln!(out, "          {}", terminal(remark)),
        None => Ok(()),
    }
}

/// Each outcome once, with how often it was found, those first that do not hold.
fn outcomes(all: &[ShortOutcome]) -> String {
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for found in all {
        *counts.entry((found.holds, &found.outcome)).or_default() += 1;
    }
    let parts = counts.into_iter().map(|((_, outcome), count)| {
        let outcome = terminal(outcome).replace('_', " ");
        if count == 1 { outcome } else { format!("{count} x {outcome}") }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// How much room runs take, those that are listed and all of them.
fn room(listed: &[Listed], all: &BTreeMap<String, u64>, place: impl std::fmt::Display) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let (shown, whole) = (listed.iter().map(|run| run.bytes).sum(), all.values().sum());
    let of_all = if listed.len() < all.len() {
        format!(" of {} with {}", all.len(), megabytes(whole))
    } else {
        String::new()
    };
    let runs = if listed.len() == 1 { "run" } else { "runs" };
    format!("{} {runs} with {}{of_all} in {place}", listed.len(), megabytes(shown))
}

fn entry(run: &Listed) -> serde_json::Value {
    let Listed { entry, labels, bytes } = run;
    json!({
        "run": entry.id,
        "experiment": entry.experiment,
        "status": entry.status,
        "seed": entry.seed,
        "started_unix_s": entry.started_unix_s,
        "elapsed_s": entry.elapsed.as_secs_f64(),
        "failure": Note::failure(&entry.notes),
        "outcomes": labels.outcomes,
        "tags": labels.tags,
        "note": labels.remark,
        "baselines": labels.baselines,
        "bytes": bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_and_those_that_do_not_hold_come_first() {
        let found = |outcome: &str, holds| ShortOutcome {
            claim: "difference".into(),
            outcome: outcome.into(),
            holds,
        };
        let all = [found("same", true), found("not_recovered", false), found("same", true)];
        assert_eq!(outcomes(&all), "not recovered, 2 x same");
    }
}
