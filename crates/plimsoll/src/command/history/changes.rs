//! `plimsoll history NAME --changes`: where the figures of an experiment changed from run to run.

use plimsoll_judge::changes::{MIN_LEVEL, find_changes};
use plimsoll_report::escape::terminal;
use plimsoll_report::{figure, moment};
use plimsoll_store::Dated;
use serde_json::json;

use crate::args::{HistoryArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, state};

pub(super) fn run(args: &HistoryArgs, experiment: &str) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let followed = store.figures_by_name(experiment)?;
    let labels = store.labels()?;
    let remark = |run: &str| labels.get(run).and_then(|of| of.remark.as_deref());
    if followed.is_empty() {
        return Err(Failure::Usage(format!("no finished run of `{experiment}` has figures")));
    }
    match args.format {
        PlainFormat::Text => output::text(|out| {
            for runs in &followed {
                for line in lines_of(runs, &remark) {
                    writeln!(out, "{line}")?;
                }
            }
            Ok(())
        }),
        PlainFormat::Json => output::json(&followed.iter().map(|runs| document(runs)).collect::<Vec<_>>()),
    }?;
    Ok(Exit::Holds)
}

fn values(runs: &[Dated]) -> Vec<f64> {
    runs.iter().map(|dated| dated.figure.value).collect()
}

fn lines_of<'r>(runs: &[Dated], remark: &dyn Fn(&str) -> Option<&'r str>) -> Vec<String> {
    let newest = &runs[runs.len() - 1].figure;
    let count = if runs.len() == 1 { "run" } else { "runs" };
    let name = terminal(&newest.name);
    let mut lines =
        vec![format!("{name}: {} {count}, the newest {} {}", runs.len(), figure(newest.value), newest.unit)];
    let Ok(found) = find_changes(&values(runs)) else { return lines };
    if runs.len() < 2 * MIN_LEVEL {
        lines.push(format!("  a change can be detected from {} runs on", 2 * MIN_LEVEL));
    } else if found.changes.is_empty() {
        lines.push(format!("  {}", found.verdict(&newest.name).reason));
    }
    for change in &found.changes {
        let first = &runs[change.index];
        let relative =
            change.relative().map_or_else(String::new, |share| format!(" ({:+.1} %)", 100.0 * share));
        let (low, high) = (figure(change.interval.lo()), figure(change.interval.hi()));
        lines.push(format!(
            "  since run {} ({}): from {} to {}{relative}, by {} [{low}, {high}] at 95 %",
            first.run,
            moment(first.started_unix_s),
            figure(change.before),
            figure(change.after),
            figure(change.size()),
        ));
        lines.extend(remark(&first.run).map(|remark| format!("    {}", terminal(remark))));
        let (earliest, latest) = change.index_interval;
        if earliest != latest {
            lines.push(format!("    other candidates: runs {} to {}", runs[earliest].run, runs[latest].run));
        }
    }
    lines
}

fn document(runs: &[Dated]) -> serde_json::Value {
    let found = find_changes(&values(runs)).ok();
    let changes = found.iter().flat_map(|found| &found.changes).map(|change| {
        json!({
            "run": runs[change.index].run,
            "between": [runs[change.index_interval.0].run, runs[change.index_interval.1].run],
            "before": change.before,
            "after": change.after,
            "interval": change.interval,
        })
    });
    json!({
        "figure": runs[0].figure.name,
        "unit": runs[0].figure.unit,
        "runs": runs.iter().map(|dated| json!({
            "run": dated.run,
            "started_unix_s": dated.started_unix_s,
            "value": dated.figure.value,
            "interval": dated.figure.interval,
        })).collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    })
}
