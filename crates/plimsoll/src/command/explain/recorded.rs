//! What recordings tell: one alone, or what changed from one to another.

mod usage;

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_assess::Explained;
use plimsoll_assess::capture;
use plimsoll_assess::recorded::Recorded;
use plimsoll_assess::watched::{self, State};
use plimsoll_import::saved::Saved;
use plimsoll_model::observation::ProfileBuilder;
use plimsoll_model::trace::TraceReport;
use plimsoll_probe::busiest::Connection;
use plimsoll_report::escape::terminal;
use serde_json::json;

use super::{EXPLAIN_SCHEMA, NOT_IN_TURNS, changed};
use crate::args::PlainFormat;
use crate::command::{self, watch::lines};
use crate::failure::Failure;
use crate::output;
use crate::recording::{self, Header, Missing, PacketsAt, Part, ProfileWindow, Recording};

const PER_SECOND: &str = "Figures are for each second: a machine that does more also uses more. Nobody measured the work that was done.";

/// The most connections of a capture that are listed, and the most stalls of each.
const MOST_CONNECTIONS: usize = 3;
const MOST_STALLS: usize = 5;
/// A smaller share of the connections' time in a class of stalls is left out.
const LEAST_STALLED: f64 = 0.01;

/// What changed from a recording to another.
pub(super) fn two(before: &Path, after: &Path, format: PlainFormat) -> Result<(), Failure> {
    let [before, after] = [recording::read(before)?, recording::read(after)?];
    let missing = not_recorded(&[&before, &after]);
    print(&summary_of_two(&before, &after)?, &missing, format)
}

/// What recordings tell, for a page as well.
pub(in crate::command) struct RecordingSummary {
    pub(in crate::command) title: String,
    pub(in crate::command) sentences: Vec<String>,
    pub(in crate::command) explained: Explained,
    /// Both sides; of one recording alone, twice the same.
    pub(in crate::command) sides: [Recorded; 2],
    pub(in crate::command) is_compared: bool,
}

/// What changed from a recording to another, with notes.
pub(in crate::command) fn summary_of_two(
    before: &Recording,
    after: &Recording,
) -> Result<RecordingSummary, Failure> {
    // Without two moments nothing moves, which is not the same as a machine that does nothing.
    for (side, recording) in [("before", before), ("after", after)] {
        if recording.moments.len() < 2 {
            return Err(Failure::Usage(format!("the recording of {side}: {}", recording.too_short())));
        }
    }
    let mut notes = vec![NOT_IN_TURNS.to_owned(), PER_SECOND.to_owned()];
    let [name_before, name_after] = [&before.header.host, &after.header.host];
    if name_before != name_after {
        notes.push(format!("The recordings are of two machines: {name_before} and {name_after}."));
    }
    if before.header.redacted != after.header.redacted {
        notes.push(
            "One recording has pseudonyms and the other has not, so that no process is found again."
                .to_owned(),
        );
    }
    let sides = [with_traces(before)?, with_traces(after)?];
    let (explained, of_work) = plimsoll_assess::recorded::explain(&sides[0], &sides[1]);
    notes.extend(of_work);
    notes.extend(own_share(&[before, after]));
    notes.extend(stood_still(&sides[0], "before").chain(stood_still(&sides[1], "after")));
    let title = format!("{}, before and after", title(after));
    Ok(RecordingSummary { title, sentences: notes, explained, sides, is_compared: true })
}

/// What limits a machine, or what changed when something got worse.
pub(in crate::command) fn summary_of_one(recording: &Recording) -> Result<RecordingSummary, Failure> {
    if let Some(changed) = when_worse(recording) {
        return Ok(changed);
    }
    let state = watched::alone(&recording.moments).ok_or_else(|| Failure::Usage(recording.too_short()))?;
    let whole = with_traces(recording)?;
    let seen = usage::Activity::of(recording, whole.profile.clone());
    let mut sentences = usage::rows(&state, recording);
    sentences.extend(usage::limits(&state, recording, &seen));
    sentences.extend(own_share(&[recording]));
    sentences.extend(stood_still(&whole, "seen"));
    let explained = Explained { causes: state.causes, ..Explained::default() };
    let sides = [whole.clone(), whole];
    Ok(RecordingSummary { title: title(recording), sentences, explained, sides, is_compared: false })
}

fn title(recording: &Recording) -> String {
    let header = &recording.header;
    let seconds = usage::seconds(recording);
    if header.host.is_empty() {
        format!("A machine, {seconds:.0} s")
    } else {
        format!("{}, {seconds:.0} s", header.host)
    }
}

/// What changed when something got worse; nothing of a recording in which nothing did.
fn when_worse(recording: &Recording) -> Option<RecordingSummary> {
    let worse = recording.worse()?;
    let since = worse.at_unix_ms;
    let sides = [side(recording, |at| at < since), side(recording, |at| at >= since)];
    let note = format!(
        "{} got worse: {} to {}. Before and after are two parts of this recording.",
        worse.metric,
        plimsoll_report::figure(worse.before),
        plimsoll_report::figure(worse.after)
    );
    let (explained, of_work) = plimsoll_assess::recorded::explain(&sides[0], &sides[1]);
    let sentences = std::iter::once(note).chain(of_work).chain(own_share(&[recording])).collect();
    Some(RecordingSummary { title: title(recording), sentences, explained, sides, is_compared: true })
}

/// The largest part of all CPUs' time that a recorder used itself; `None` if a recording has no end.
fn own_share(recordings: &[&Recording]) -> Option<String> {
    let of = |recording: &&Recording| {
        let end = recording.parts.iter().rev().find_map(|part| match part {
            Part::End(end) => Some(end),
            _ => None,
        })?;
        let values = &recording.moments.first()?.counters.values;
        let is_cpu = |name: &&String| name.starts_with("machine.stat.cpu") && name.ends_with(".user");
        // One of them is the sum of all.
        let cpus = values.keys().filter(is_cpu).count().saturating_sub(1).max(1) as f64;
        (end.elapsed_s > 0.0).then(|| 100.0 * end.cpu_s / end.elapsed_s / cpus)
    };
    let share = recordings.iter().filter_map(of).reduce(f64::max)?;
    Some(format!("The recorder itself used {} % of all CPUs.", plimsoll_report::figure(share)))
}

/// A whole recording, with what its packets tell.
fn with_traces(recording: &Recording) -> Result<Recorded, Failure> {
    let traces = packets(recording).map(trace).collect::<Result<_, _>>()?;
    Ok(Recorded { traces, ..side(recording, |_| true) })
}

fn packets(recording: &Recording) -> impl Iterator<Item = &PacketsAt> {
    recording.parts.iter().filter_map(|part| match part {
        Part::Packets(at) => Some(at),
        _ => None,
    })
}

fn trace(at: &PacketsAt) -> Result<TraceReport, Failure> {
    let refused = |why: &dyn std::fmt::Display| Failure::Usage(format!("packets of {}: {why}", at.interface));
    let bytes = STANDARD.decode(&at.pcapng).map_err(|error| refused(&error))?;
    let (report, _) = capture::analyze(bytes.as_slice(), 0).map_err(|error| refused(&error))?;
    Ok(report)
}

/// How long the connections of a side stood still, by the packets.
fn stood_still(side: &Recorded, name: &str) -> impl Iterator<Item = String> {
    let sentence = move |trace: &TraceReport| {
        let mut shares: Vec<_> =
            trace.time_share.iter().filter(|(_, share)| **share >= LEAST_STALLED).collect();
        shares.sort_by(|a, b| b.1.total_cmp(a.1));
        let shares: Vec<String> =
            shares.iter().map(|(class, share)| format!("{} {:.0} %", class.name(), *share * 100.0)).collect();
        (!shares.is_empty()).then(|| {
            format!("Packets {name}, of {} connections' time: {}.", trace.tcp_connections, shares.join(", "))
        })
    };
    side.traces.iter().filter_map(sentence).collect::<Vec<_>>().into_iter()
}

/// A recording in the form of other tools' files, to stand beside these.
pub(super) fn as_saved(path: &Path) -> Result<Vec<Saved>, Failure> {
    let recording = recording::read(path)?;
    let Header { host, uptime_s, .. } = &recording.header;
    Ok(plimsoll_assess::saved::of_recording(&side(&recording, |_| true), host, *uptime_s))
}

/// What a recording tells alone; where it waited for a change, what changed then.
pub(super) fn one(path: &Path, format: PlainFormat) -> Result<(), Failure> {
    let recording = recording::read(path)?;
    if let Some(changed) = when_worse(&recording) {
        return print(&changed, &not_recorded(&[&recording]), format);
    }
    let Some(state) = watched::alone(&recording.moments) else {
        return Err(Failure::Usage(format!("{}: {}", path.display(), recording.too_short())));
    };
    alone(path, &recording, &state, format)
}

fn alone(path: &Path, recording: &Recording, state: &State, format: PlainFormat) -> Result<(), Failure> {
    let seen = usage::Activity::of(recording, side(recording, |_| true).profile);
    let limits = usage::limits(state, recording, &seen);
    let traces = packets(recording).map(|at| Ok((at, trace(at)?))).collect::<Result<Vec<_>, Failure>>()?;
    let missing = not_recorded(&[recording]);
    match format {
        PlainFormat::Json => output::json(&json!({
            "schema": EXPLAIN_SCHEMA,
            "recording": recording.header,
            "state": state,
            "limits": limits,
            "causes": state.causes,
            "seen": seen,
            "packets": traces
                .iter()
                .map(|(at, report)| json!({ "interface": at.interface, "report": report }))
                .collect::<Vec<_>>(),
            "missing": missing,
        })),
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
            for (at, report) in &traces {
                let cut = if at.is_cut { ", as many as a recording holds" } else { "" };
                writeln!(out, "\nPackets of {}, {:.0} s{cut}", terminal(&at.interface), at.seconds)?;
                command::trace::text(out, report, MOST_CONNECTIONS, MOST_STALLS)?;
            }
            tell_missing(out, &missing)?;
            if let Some(share) = own_share(&[recording]) {
                writeln!(out, "\n{share}")?;
            }
            writeln!(
                out,
                "\nNothing was compared: what is usual here is not known. Next, while all is well:"
            )?;
            writeln!(out, "  plimsoll record --for {seconds:.0}s -o good.jsonl.gz")?;
            writeln!(out, "  plimsoll explain good.jsonl.gz {}", path.display())
        }),
    }
}

fn print(summary: &RecordingSummary, missing: &[Missing], format: PlainFormat) -> Result<(), Failure> {
    let Explained { causes, evidence, profile } = &summary.explained;
    let notes = &summary.sentences;
    match format {
        PlainFormat::Text => output::styled(|out, options| {
            changed(out, &summary.explained, options)?;
            tell_missing(out, missing)?;
            writeln!(out)?;
            notes.iter().try_for_each(|note| writeln!(out, "{}", terminal(note)))
        }),
        PlainFormat::Json => output::json(&json!({
            "schema": EXPLAIN_SCHEMA,
            "causes": causes,
            "evidence": evidence,
            "profile": profile,
            "missing": missing,
            "notes": notes,
        })),
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

/// The part of the busiest connections, over all looks, that held less than a segment back while something was unacknowledged and the window open, in per
/// cent (Nagle's algorithm, RFC 896).
fn held_share(recording: &Recording, wanted: impl Fn(u64) -> bool) -> Option<f64> {
    let looks = recording.parts.iter().filter_map(|part| match part {
        Part::Sockets(at) if wanted(at.at_unix_ms) => Some(&at.look.busiest),
        _ => None,
    });
    let all: Vec<&Connection> = looks.flatten().collect();
    let held = all.iter().filter(|it| it.is_held()).count();
    (!all.is_empty()).then(|| 100.0 * held as f64 / all.len() as f64)
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
        first
            .counters
            .values
            .extend(held_share(recording, &wanted).map(|share| ("tcp.held_share".to_owned(), share)));
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
    Recorded { moments: all, profile, log: log(recording, wanted), ..Recorded::default() }
}

/// What the kernel logged in the wanted part: a line has the time since the kernel's start, as moments have nearly.
fn log(recording: &Recording, wanted: impl Fn(u64) -> bool) -> Vec<String> {
    let Some(first) = recording.moments.first() else { return Vec::new() };
    let started_ms = first.at_unix_ms.saturating_sub(first.counters.at_ns / 1_000_000);
    let lines = recording.parts.iter().filter_map(|part| match part {
        Part::KernelLog(lines) => Some(lines),
        _ => None,
    });
    let of_part = lines.flatten().filter(|line| wanted(started_ms + line.at_us / 1000));
    of_part.map(|line| line.text.clone()).collect()
}
