//! `plimsoll explain`: why a run came out as it did, or what sets the worse of two runs apart; or of two sides' files that other programs wrote.

pub(super) mod recorded;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use plimsoll_assess::Explained;
use plimsoll_assess::saved::{FIRST, Next, Part};
use plimsoll_import::saved::{self, Members, Saved};
use plimsoll_model::cause::Cause;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::plan::intervention::Intervention;
use plimsoll_model::report::RunReport;
use plimsoll_report::escape::terminal;
use plimsoll_report::text::{Explanation, TextOptions};
use serde_json::json;

use crate::args::{ExplainArgs, Format, PlainFormat, RunArgs};
use crate::command::compare::kept;
use crate::command::compare::runs::{self, Question};
use crate::command::show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{bounded, messages, output, recording, state};

/// The version of the JSON document about one run.
const EXPLAIN_SCHEMA: &str = "plimsoll.explain/1";
/// The newest run, or comparison.
const LATEST: &str = "latest";
/// The most causes that one confirmation is proposed for.
const MOST_PROPOSED: usize = 3;
/// The default of `compare`.
const MARGIN: f64 = 0.01;
const ALPHA: f64 = 0.01;

pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    if !args.before.is_empty() {
        return saved(args, &args.before, &args.after);
    }
    let paths: Vec<&Path> = args.runs.iter().map(Path::new).collect();
    match paths[..] {
        [before, after] if recording::is_one(before) && recording::is_one(after) => {
            return recorded::two(before, after, args.format).map(|()| Exit::Holds);
        }
        [one] if recording::is_one(one) => return recorded::one(one, args.format).map(|()| Exit::Holds),
        [before, after] if is_file(before) || is_file(after) => {
            return saved(args, &[before.to_path_buf()], &[after.to_path_buf()]);
        }
        _ => {}
    }
    let store = args.store.store.as_deref();
    if let [a, b] = args.runs.as_slice() {
        let question = Question { store, margin: MARGIN, alpha: ALPHA, format: args.format };
        // Whatever is found is an answer: nothing was claimed.
        return runs::run(&question, a, b).map(|_| Exit::Holds);
    }
    if let Some(first) = args.confirm {
        return confirm(args, first as usize);
    }
    if args.runs[0] == LATEST && kept::show(store, args.format)? {
        return Ok(Exit::Holds);
    }
    let loaded = show::load(&state::open_to_read(store)?, &args.runs[0]);
    let (plan, report, trials) = loaded.map_err(|failure| match failure {
        Failure::Usage(_) if is_file(paths[0]) => alone(paths[0]),
        failure => failure,
    })?;
    match args.format {
        PlainFormat::Text => output::styled(|out, options| {
            plimsoll_report::text::explanation(out, &report, options)?;
            propose(out, &plan, &report, &trials)
        }),
        PlainFormat::Json => output::json(&json!({
            "schema": EXPLAIN_SCHEMA,
            "run": report.run,
            "experiment": report.experiment,
            "verdicts": report.verdicts.iter().map(|finding| &finding.verdict).collect::<Vec<_>>(),
            "state_lives_in": report.state_lives_in,
            "causes": report.causes,
            "evidence": report.evidence,
            "profile": report.profile,
        })),
    }?;
    Ok(Exit::Holds)
}

/// Names the command that confirms the first causes, if it can.
fn propose(out: &mut dyn Write, plan: &Plan, report: &RunReport, trials: &[TrialRecord]) -> io::Result<()> {
    let is_open = |cause: &&Cause| !cause.confirmed && plan.intervention.is_none();
    let open: Vec<&Cause> = report.causes.iter().take(MOST_PROPOSED).filter(is_open).collect();
    if open.is_empty() {
        return Ok(());
    }
    let (found, _) = plimsoll_assess::intervention(plan, trials, &report.run, open.iter().copied());
    let last = found.iter().flat_map(Intervention::changes).last();
    let last = last.and_then(|tested| open.iter().rfind(|cause| cause.id == tested.cause));
    let (what, count) = match last.map(|cause| cause.rank) {
        None => return Ok(()),
        Some(1) => ("what the first cause says".to_owned(), String::new()),
        Some(n) => (format!("what the first {n} causes say, each alone and all together,"), format!("={n}")),
    };
    writeln!(out, "\nTo change {what} and measure again: plimsoll explain {} --confirm{count}", report.run)
}

/// Why a file of another program says nothing by itself.
fn alone(path: &Path) -> Failure {
    let path = path.display();
    Failure::Usage(format!(
        "{path} is no recording, and says nothing without another side: plimsoll explain BEFORE {path}"
    ))
}

/// Changes what causes of a run say would mend them, and measures again.
fn confirm(args: &ExplainArgs, first: usize) -> Result<Exit, Failure> {
    // Before anything that could start a thread, as for `run`.
    let access = plimsoll_host::enter()?;
    let store = state::open_to_read(args.store.store.as_deref())?;
    let entry = state::find(&store, &args.runs[0])?;
    let (plan, report, trials) = show::load(&store, &entry.id)?;
    if plan.intervention.is_some() {
        return Err(Failure::Usage(format!("the run {} is a confirmation itself", entry.id)));
    }
    let causes: Vec<&Cause> = match args.causes.as_slice() {
        [] => report.causes.iter().take(first).collect(),
        ids => ids.iter().map(|id| named(id, &report)).collect::<Result<_, _>>()?,
    };
    if causes.is_empty() {
        let run = &report.run;
        return Err(Failure::Usage(format!(
            "no cause is named for the run {run}, so that there is none to confirm"
        )));
    }
    let (intervention, untested) = plimsoll_assess::intervention(&plan, &trials, &entry.id, causes);
    let intervention = intervention.ok_or_else(|| Failure::could_not(untested.join("\n  ")))?;
    untested.iter().for_each(messages::note);
    drop(store);
    let arguments = RunArgs {
        reps: args.reps,
        consent: args.consent.clone(),
        format: match args.format {
            PlainFormat::Text => Format::Text,
            PlainFormat::Json => Format::Json,
        },
        store: args.store.clone(),
        ..RunArgs::default()
    };
    super::run::confirm(&arguments, &access, &entry, intervention, untested)
}

/// The cause of this id.
fn named<'r>(id: &str, report: &'r RunReport) -> Result<&'r Cause, Failure> {
    report.causes.iter().find(|cause| cause.id.id() == id).ok_or_else(|| {
        let named: Vec<&str> = report.causes.iter().map(|cause| cause.id.id()).collect();
        Failure::Usage(format!(
            "`{id}` is not among the causes of the run {}: {}",
            report.run,
            if named.is_empty() { "none is named".to_owned() } else { named.join(", ") }
        ))
    })
}

/// The heading of what changed between two sides' files, and what the sides are.
const SIDES: (&str, &str, &str) = ("What changed", "before", "after");
/// A warning about figures without rates.
const NO_RATES: &str = "Without --rate-before and --rate-after nothing is divided by the work that was done: a side that does more also uses more.";
/// What these files cannot tell.
const NOT_IN_TURNS: &str =
    "The two sides were not measured in turns: whatever else changed between them is part of what changed.";

/// Explains what other programs wrote down; recordings and runs beside it, or beside each other, are read as such files.
fn saved(args: &ExplainArgs, before: &[PathBuf], after: &[PathBuf]) -> Result<Exit, Failure> {
    let rates = args.rate_before.zip(args.rate_after);
    let (before, after) = (side(args, before, Part::First)?, side(args, after, Part::Last)?);
    let found = plimsoll_assess::saved::explain(&before.saved, &after.saved, rates);
    let found = found.ok_or_else(|| nothing_in_common(&before, &after))?;
    let mut notes = vec![NOT_IN_TURNS.to_owned()];
    let is_table = |saved: &Saved| !matches!(saved, Saved::Counters(_));
    notes.extend((rates.is_none() && after.saved.iter().any(is_table)).then(|| NO_RATES.to_owned()));
    let where_to_run =
        if before.is_own || after.is_own { "the side without a recording" } else { "both sides" };
    notes.extend(before.notes.into_iter().chain(after.notes));
    notes.extend(found.notes);
    let Explained { causes, evidence, profile } = &found.explained;
    match args.format {
        PlainFormat::Text => output::styled(|out, options| {
            changed(out, &found.explained, options)?;
            writeln!(out)?;
            notes.iter().try_for_each(|note| writeln!(out, "{}", terminal(note)))?;
            further(out, &found.next, causes.is_empty(), where_to_run)
        }),
        PlainFormat::Json => output::json(&json!({
            "schema": EXPLAIN_SCHEMA,
            "causes": causes,
            "evidence": evidence,
            "profile": profile,
            "notes": notes,
            "next": found.next.iter().map(|(cause, command)| json!({ "cause": cause, "command": command })).collect::<Vec<_>>(),
        })),
    }?;
    Ok(Exit::Holds)
}

/// What changed from one side to the other.
fn changed(out: &mut dyn Write, explained: &Explained, options: &TextOptions) -> io::Result<()> {
    let Explained { causes, evidence, profile } = explained;
    let profile = profile.as_ref();
    if evidence.is_empty() && profile.is_none_or(|profile| !profile.tells()) {
        writeln!(out, "Nothing changed beyond chance.")?;
    }
    plimsoll_report::text::why(out, SIDES, &Explanation { causes, profile, evidence }, options)
}

/// Lists the commands that would tell more.
fn further(out: &mut dyn Write, next: &[Next], nothing_named: bool, where_to_run: &str) -> io::Result<()> {
    if !next.is_empty() {
        writeln!(
            out,
            "\nSome evidence is missing. Run these on {where_to_run}, and give the outputs as well:"
        )?;
        return next.iter().try_for_each(|(cause, command)| writeln!(out, "  {command}   # {}", cause.id()));
    }
    if nothing_named {
        writeln!(out, "\nIf one side is slow all the same, run these on {where_to_run}:")?;
        FIRST.iter().try_for_each(|command| writeln!(out, "  {command}"))?;
    }
    Ok(())
}

/// What one side of a comparison has.
#[derive(Default)]
struct Side {
    saved: Vec<Saved>,
    /// Whether something of it is a recording or a run.
    is_own: bool,
    notes: Vec<String>,
}

/// Reads all files, recordings and runs of a side.
fn side(args: &ExplainArgs, paths: &[PathBuf], part: Part) -> Result<Side, Failure> {
    let mut side = Side::default();
    for path in paths {
        if recording::is_one(path) {
            side.saved.extend(recorded::as_saved(path)?);
            side.is_own = true;
        } else if is_file(path) {
            let (saved, note) = read(path)?;
            side.saved.extend(saved);
            side.notes.extend(note);
        } else {
            let name = path.to_string_lossy();
            let (saved, what) = stored(args, &name, part)?;
            side.saved.extend(saved);
            side.is_own = true;
            side.notes.push(format!("Of the run {name} stands for the side: {what}."));
        }
    }
    Ok(side)
}

fn is_file(path: &Path) -> bool {
    path == Path::new("-") || path.exists()
}

/// A stored run, as a side.
fn stored(args: &ExplainArgs, name: &str, part: Part) -> Result<(Vec<Saved>, String), Failure> {
    let nothing = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!("expected a file, a folder or a stored run, and `{name}` is none: {why}"))
    };
    let store = state::open_to_read(args.store.store.as_deref())?;
    let entry = state::find(&store, name).map_err(|error| nothing(&error))?;
    let (plan, _, trials) = show::load(&store, &entry.id)?;
    let side = plimsoll_assess::saved::of_run(&plan, &trials, part);
    side.ok_or_else(|| Failure::Usage(format!("the run {} measured nothing", entry.id)))
}

fn nothing_in_common(before: &Side, after: &Side) -> Failure {
    let programs = |side: &Side| side.saved.iter().map(Saved::program).collect::<Vec<_>>().join(", ");
    Failure::Usage(format!(
        "the sides have nothing in common: before is of {}, after of {}",
        programs(before),
        programs(after)
    ))
}

/// Reads a file, or all known files of a folder or an archive; and what of these was left out.
fn read(path: &Path) -> Result<(Vec<Saved>, Option<String>), Failure> {
    let refused = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
    let members =
        if path == Path::new("-") { None } else { saved::members(path).map_err(|error| refused(&error))? };
    if let Some(Members { members, left_out }) = members {
        // Of many files some are of no use: what cannot be read is no error, as long as something can.
        let each = members.iter().filter_map(|member| saved::read(&member.text, &member.path).ok());
        let all: Vec<Saved> = each.flatten().collect();
        let note = left_out.first().map(|first| {
            let (path, count) = (path.display(), left_out.len());
            format!(
                "Not read, {path}: texts beyond 16 MiB each or 64 MiB in all ({count}); the first is {first}"
            )
        });
        return if all.is_empty() {
            Err(refused(&"no file in it is of a known command"))
        } else {
            Ok((all, note))
        };
    }
    let bytes = bounded::bytes(path, bounded::FILE).map_err(|error| Failure::io("read", path, &error))?;
    // Names of processes may be in any encoding; figures are not.
    saved::read(&String::from_utf8_lossy(&bytes), &path.to_string_lossy())
        .map(|saved| (saved, None))
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use plimsoll_probe::{Counters, Depth};

    use super::*;

    /// Files that both the probes and the readers of posted texts know.
    const FILES: [&str; 13] = [
        "stat",
        "vmstat",
        "meminfo",
        "diskstats",
        "slabinfo",
        "softirqs",
        "net/snmp",
        "net/netstat",
        "net/sockstat",
        "net/softnet_stat",
        "pressure/cpu",
        "pressure/memory",
        "pressure/io",
    ];
    /// Names that the probes have no need of, since they read the kernel at known times.
    const OWN: [&str; 2] = ["machine.irq.", "machine.boot"];

    #[test]
    fn files_of_proc_have_the_names_and_values_that_the_probes_give_them() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        for file in FILES {
            let path = proc.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Some machines have no PSI, and only root reads slabinfo.
            if let Ok(text) = fs::read(Path::new("/proc").join(file)) {
                fs::write(path, text).unwrap();
            }
        }
        fs::write(proc.join("loadavg"), "0.1 0.2 0.3 1/2 3\n").unwrap();
        let probed = Counters::open(folder.path()).unwrap().read(Depth::Deep).values;
        let mut read_here: BTreeMap<String, f64> = BTreeMap::new();
        for saved in read(folder.path()).unwrap().0 {
            let Saved::Counters(counters) = saved else { continue };
            assert_eq!(counters.unread.lines, 0, "{}", counters.program);
            for reading in counters.readings {
                read_here.extend(reading.totals);
                read_here.extend(reading.levels.into_iter().map(|(name, values)| (name, values[0])));
            }
        }
        read_here.retain(|name, _| !OWN.iter().any(|own| name.starts_with(own)));
        let differs = |(name, value): &(&String, &f64)| probed.get(*name) != Some(*value);
        let other: Vec<_> = read_here.iter().filter(differs).collect();
        assert!(other.is_empty(), "{other:?}");
        assert!(read_here.len() > 300, "{}", read_here.len());
    }
}
