//! What recordings tell: one alone, or what changed from one to another.

mod usage;

use std::path::Path;

use plimsoll_assess::Explained;
use plimsoll_assess::recorded::Recorded;
use plimsoll_assess::watched::{self, State};
use plimsoll_model::observation::ProfileBuilder;
use plimsoll_report::escape::terminal;
use plimsoll_report::text::Why;
use serde_json::json;

use super::{EXPLAIN_SCHEMA, NOT_IN_TURNS, SIDES};
use crate::args::PlainFormat;
use crate::command::watch::lines;
use crate::failure::Failure;
use crate::output;
use crate::recording::{self, Missing, Part, ProfileWindow, Recording, Worse};

const PER_SECOND: &str = "Figures are for each second: a machine that does more also uses more. Nobody measured the work that was done.";

/// What changed from a recording to another.
pub(super) fn two(before: &Path, after: &Path, format: PlainFormat) -> Result<(), Failure> {
    let [before, after] = [recording::read(before)?, recording::read(after)?];
    let mut notes = vec![NOT_IN_TURNS.to_owned(), PER_SECOND.to_owned()];
    if before.header.host != after.header.host {
        notes.push(format!(
            "The recordings are of two machines: {} and {}.",
            before.header.host, after.header.host
        ));
    }
    if before.header.redacted != after.header.redacted {
        notes.push(
            "One recording has pseudonyms and the other has not, so that no process is found again."
                .to_owned(),
        );
    }
    let missing = not_recorded(&[&before, &after]);
    let found = plimsoll_assess::recorded::explain(&side(&before, |_| true), &side(&after, |_| true));
    print(&found, &missing, &notes, format)
}

/// What a recording tells alone; where it waited for a change, what changed then.
pub(super) fn one(path: &Path, format: PlainFormat) -> Result<(), Failure> {
    let recording = recording::read(path)?;
    if let Some(worse) = worse(&recording) {
        let since = worse.at_unix_ms;
        let [before, after] = [side(&recording, |at| at < since), side(&recording, |at| at >= since)];
        let found = plimsoll_assess::recorded::explain(&before, &after);
        let notes = [format!(
            "{} got worse: {} to {}. Before and after are two parts of this recording.",
            worse.metric,
            plimsoll_report::figure(worse.before),
            plimsoll_report::figure(worse.after)
        )];
        return print(&found, &not_recorded(&[&recording]), &notes, format);
    }
    let Some(state) = watched::alone(&recording.moments) else {
        return Err(Failure::Usage(format!(
            "{} has {} moments; two or more are needed",
            path.display(),
            recording.moments.len()
        )));
    };
    alone(path, &recording, &state, format)
}

fn alone(path: &Path, recording: &Recording, state: &State, format: PlainFormat) -> Result<(), Failure> {
    let seen = usage::Seen::of(recording, side(recording, |_| true).profile);
    let limits = usage::limits(state, recording);
    let missing = not_recorded(&[recording]);
    match format {
        PlainFormat::Json => {
            let document = json!({
                "schema": EXPLAIN_SCHEMA,
                "recording": recording.header,
                "state": state,
                "limits": limits,
                "causes": state.causes,
                "seen": seen,
                "missing": missing,
            });
            output::document(|out| plimsoll_report::json::pretty(out, &document))
        }
        PlainFormat::Text => output::text(|out| {
            let header = &recording.header;
            let seconds = usage::seconds(recording);
            writeln!(
                out,
                "{}, Linux {}, for {seconds:.0} s\n",
                terminal(&header.host),
                terminal(&header.kernel)
            )?;
            for row in usage::rows(state, recording) {
                writeln!(out, "{}", terminal(&row))?;
            }
            writeln!(out, "\nWhat limits it")?;
            for limit in &limits {
                writeln!(out, "  {}", terminal(limit))?;
            }
            for line in lines::causes(state) {
                writeln!(out, "  {line}")?;
            }
            for (title, rows) in seen.sections() {
                writeln!(out, "\n{title}")?;
                for row in rows {
                    writeln!(out, "  {}", terminal(&row))?;
                }
            }
            tell_missing(out, &missing)?;
            writeln!(
                out,
                "\nNothing was compared: what is usual here is not known. Next, while all is well:"
            )?;
            writeln!(out, "  plimsoll record --for {seconds:.0}s -o good.jsonl.gz")?;
            writeln!(out, "  plimsoll explain good.jsonl.gz {}", path.display())
        }),
    }
}

fn print(
    found: &Explained,
    missing: &[Missing],
    notes: &[String],
    format: PlainFormat,
) -> Result<(), Failure> {
    let Explained { causes, evidence, profile } = found;
    match format {
        PlainFormat::Text => output::styled(|out, options| {
            if evidence.is_empty() && profile.as_ref().is_none_or(|profile| !profile.tells()) {
                writeln!(out, "Nothing changed beyond chance.")?;
            }
            let why = Why { causes, profile: profile.as_ref(), evidence };
            plimsoll_report::text::why(out, SIDES, &why, options)?;
            tell_missing(out, missing)?;
            writeln!(out)?;
            notes.iter().try_for_each(|note| writeln!(out, "{}", terminal(note)))
        }),
        PlainFormat::Json => {
            let document = json!({
                "schema": EXPLAIN_SCHEMA,
                "causes": causes,
                "evidence": evidence,
                "profile": profile,
                "missing": missing,
                "notes": notes,
            });
            output::document(|out| plimsoll_report::json::pretty(out, &document))
        }
    }
}

fn tell_missing(out: &mut dyn std::io::Write, missing: &[Missing]) -> std::io::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNot recorded, though this machine has it")?;
    missing.iter().try_for_each(|it| {
        let by = it.allowed_by.as_deref().unwrap_or("nothing that is known");
        writeln!(out, "  {}: {}; allowed by: {}", terminal(&it.what), terminal(&it.why), terminal(by))
    })
}

/// What more rights would have let these recordings have.
fn not_recorded(recordings: &[&Recording]) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    for it in recordings.iter().flat_map(|it| &it.header.missing).filter(|it| it.allowed_by.is_some()) {
        if missing.iter().all(|known| known.what != it.what) {
            missing.push(it.clone());
        }
    }
    missing
}

fn worse(recording: &Recording) -> Option<&Worse> {
    recording.parts.iter().find_map(|part| match part {
        Part::End(end) => end.worse.as_ref(),
        _ => None,
    })
}

/// The part of a recording whose times are wanted.
fn side(recording: &Recording, wanted: impl Fn(u64) -> bool) -> Recorded {
    let moments = recording.moments.iter();
    let mut all = moments.clone().filter(|moment| wanted(moment.at_unix_ms)).cloned().collect::<Vec<_>>();
    // A moment has what moved since the one before: the first of a part needs what was known by then.
    if let Some(first) = all.first_mut() {
        let until = first.at_unix_ms;
        let known =
            moments.take_while(|moment| moment.at_unix_ms <= until).flat_map(|it| &it.counters.values);
        first.counters.values = known.map(|(name, value)| (name.clone(), *value)).collect();
    }
    let windows: Vec<&ProfileWindow> = recording
        .parts
        .iter()
        .filter_map(|part| match part {
            // One that began earlier is of both parts.
            Part::Profile(window) if wanted(window.at_unix_ms) && wanted(window.began_unix_ms()) => {
                Some(&**window)
            }
            _ => None,
        })
        .collect();
    let profile = windows.first().map(|first| {
        let mut whole = ProfileBuilder::new(first.profile.arm, first.profile.clock, first.profile.hertz);
        windows.iter().for_each(|window| whole.merge(&window.profile));
        (whole.build(), windows.iter().map(|window| window.seconds).sum())
    });
    Recorded { moments: all, profile }
}
