//! Content of a recording's page.

use std::path::PathBuf;

use plimsoll_assess::recorded::Recorded;
use plimsoll_assess::watched::{State, Watched};
use plimsoll_explain::profile::contrast;
use plimsoll_model::observation::Profile;
use plimsoll_model::report::ProfileReport;
use plimsoll_report::html::history::Stretch;
use plimsoll_report::html::recording::{RecordingPage, Series};

use crate::command::explain::recorded::{self, RecordingSummary};
use crate::failure::Failure;
use crate::recording::{self, Recording};

/// A chart has about as many points as a narrow screen has pixels.
const POINTS: usize = 370;

/// The page of one recording, or of the changes from the first to the second; `None` without any.
pub(super) fn page(paths: &[PathBuf]) -> Result<Option<RecordingPage>, Failure> {
    let recordings = paths.iter().map(|path| recording::read(path)).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = recordings.last() else { return Ok(None) };
    let RecordingSummary { title, sentences, explained, sides, is_compared } = match recordings.as_slice() {
        [before, after] => recorded::summary_of_two(before, after)?,
        _ => recorded::summary_of_one(last)?,
    };
    let series = match recordings.as_slice() {
        [before, after] => [series(before, "before"), series(after, "after")].concat(),
        _ => series(last, ""),
    };
    Ok(Some(RecordingPage {
        title,
        sentences,
        causes: explained.causes,
        evidence: explained.evidence,
        profile: profile(&sides, explained.profile),
        is_compared,
        series,
    }))
}

/// The stacks of both sides; of one side, those of it twice.
fn profile(sides: &[Recorded; 2], compared: Option<ProfileReport>) -> Option<(ProfileReport, [Profile; 2])> {
    let [before, after] = [sides[0].sampled()?, sides[1].sampled()?];
    let report = compared.or_else(|| contrast(&before, &after, None, "second"))?;
    Some((report, [before.profile, after.profile]))
}

/// Name of a figure, its unit, and its value in a second.
type Read = (&'static str, &'static str, fn(&State) -> Option<f64>);

/// The figures that are drawn, where they moved.
const READ: [Read; 11] = [
    ("CPUs used", "share", |state| state.cpu_busy),
    ("some task waited for a CPU", "share", |state| state.pressure.get("cpu").copied()),
    ("some task waited for memory", "share", |state| state.pressure.get("memory").copied()),
    ("some task waited for a disk", "share", |state| state.pressure.get("io").copied()),
    ("memory available", "bytes", |state| state.memory_available),
    ("the busiest disk", "share", |state| state.disks.first().map(|disk| disk.busy)),
    ("received", "bytes/s", |state| Some(state.interfaces.iter().map(|it| it.received).sum())),
    ("sent", "bytes/s", |state| Some(state.interfaces.iter().map(|it| it.sent).sum())),
    ("segments sent again", "1/s", |state| state.retransmits),
    ("connections that found a full listen queue", "1/s", |state| state.listen_overflows),
    ("packets dropped before a protocol saw them", "1/s", |state| state.backlog_drops),
];

fn series(recording: &Recording, side: &str) -> Vec<Series> {
    let mut watched = Watched::default();
    let states: Vec<State> = recording.moments.iter().filter_map(|moment| watched.state(moment)).collect();
    let each = states.len().div_ceil(POINTS).max(1);
    let marks: Vec<u64> = recording.worse().iter().map(|worse| worse.at_unix_ms / 1000).collect();
    let all = READ.into_iter().filter_map(|(name, unit, of)| {
        let points: Vec<Stretch> = states.chunks(each).filter_map(|states| stretch(states, of)).collect();
        let moved = points.iter().any(|point| point.greatest > 0.0);
        let name = if side.is_empty() { name.to_owned() } else { format!("{name}, {side}") };
        moved.then(|| Series { name, unit, points, marks: marks.clone() })
    });
    all.collect()
}

fn stretch(states: &[State], of: fn(&State) -> Option<f64>) -> Option<Stretch> {
    let values: Vec<f64> = states.iter().filter_map(of).collect();
    Some(Stretch {
        at_unix_s: states.first().filter(|_| !values.is_empty())?.at_unix_ms / 1000,
        mean: values.iter().sum::<f64>() / values.len() as f64,
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        greatest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}
