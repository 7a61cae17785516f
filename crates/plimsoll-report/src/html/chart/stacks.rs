//! Where the CPUs' time went, as a differential flame graph: width is time, colour is the added or saved time.

use std::collections::BTreeMap;

use plimsoll_model::observation::{Frame, Profile};
use plimsoll_model::report::{ProfileReport, ProfileSide};
use serde::Serialize;

use super::{Drawing, Figure, Plot, layout};
use crate::escape;
use crate::number::figure;

/// The height of a frame in pixels.
const FRAME: usize = 20;
/// The lowest and the highest drawing, in frames.
const ROWS: (usize, usize) = (12, 40);
/// Frames that take a smaller share of all time are left out.
const LEAST: f64 = 0.004;
/// The least range of the colours, as a share of all time.
const COLORED: f64 = 0.02;

/// The id of the common root of all stacks.
const ROOT: &str = "all";

/// A trace of Plotly's of the kind that the crate does not have.
#[derive(Clone, Serialize)]
struct Icicle {
    r#type: &'static str,
    ids: Vec<String>,
    labels: Vec<String>,
    parents: Vec<String>,
    values: Vec<u64>,
    text: Vec<String>,
    branchvalues: &'static str,
    hovertemplate: &'static str,
    textinfo: &'static str,
    tiling: Tiling,
    marker: Marker,
    /// Clicking must not hide what the words beside it speak of.
    sort: bool,
}

#[derive(Clone, Serialize)]
struct Tiling {
    orientation: &'static str,
    flip: &'static str,
}

#[derive(Clone, Serialize)]
struct Marker {
    colors: Vec<f64>,
    colorscale: [(f64, &'static str); 3],
    cmin: f64,
    cmax: f64,
}

impl plotly::Trace for Icicle {
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Samples in a frame and all above it.
#[derive(Clone, Copy, Default)]
struct Samples {
    before: u64,
    after: u64,
}

/// The stacks of the worse side, or of after; frames that took more than on the other side are red.
pub(in crate::html) fn chart(report: &ProfileReport, [before, after]: &[Profile; 2]) -> Figure {
    let mut found: BTreeMap<Vec<&Frame>, Samples> = BTreeMap::new();
    count(before, &mut found, |samples| &mut samples.before);
    count(after, &mut found, |samples| &mut samples.after);
    let all = Samples { before: before.samples(), after: after.samples() };
    found.retain(|_, samples| samples.after as f64 >= LEAST * all.after as f64);
    let deepest = found.keys().map(Vec::len).max().unwrap_or(0);
    let per = &report.per;
    let before_us = |samples: u64| microseconds(before, &report.before, samples);
    let after_us = |samples: u64| microseconds(after, &report.after, samples);
    let change = |samples: &Samples| after_us(samples.after) - before_us(samples.before);
    let times = |samples: &Samples| {
        format!("{} → {} µs/{per}", figure(before_us(samples.before)), figure(after_us(samples.after)))
    };
    let range =
        found.values().map(|samples| change(samples).abs()).fold(COLORED * after_us(all.after), f64::max);
    // Plotly draws nothing where parts are more than their whole by a rounding error: counts have none.
    let mut icicle = Icicle {
        r#type: "icicle",
        ids: vec![ROOT.into()],
        labels: vec!["all CPUs".into()],
        parents: vec![String::new()],
        values: vec![all.after],
        text: vec![times(&all)],
        branchvalues: "total",
        hovertemplate: "%{label}<br>%{text}<extra></extra>",
        textinfo: "label",
        tiling: Tiling { orientation: "v", flip: "y" },
        marker: Marker {
            colors: vec![change(&all)],
            colorscale: [(0.0, "var(--control)"), (0.5, "var(--grid)"), (1.0, "var(--treatment)")],
            cmin: -range,
            cmax: range,
        },
        sort: false,
    };
    let places: BTreeMap<&[&Frame], usize> =
        (1..).zip(found.keys()).map(|(n, path)| (path.as_slice(), n)).collect();
    for (path, samples) in &found {
        let Some((frame, parent)) = path.split_last() else { continue };
        icicle.ids.push(places[path.as_slice()].to_string());
        icicle.parents.push(places.get(parent).map_or_else(|| ROOT.into(), ToString::to_string));
        icicle.labels.push(escape::chart(&label(frame)));
        icicle.values.push(samples.after);
        icicle.text.push(times(samples));
        icicle.marker.colors.push(change(samples));
    }
    let height = FRAME * (deepest + 2).clamp(ROWS.0, ROWS.1);
    let narrowest = report
        .narrowest
        .as_ref()
        .map_or_else(String::new, |function| format!(" Most of what was added is in {}.", function.function));
    Figure {
        id: "stacks".into(),
        title: "Stacks".into(),
        description: format!(
            "CPU time for each {per} by function, callers below those that they call.{narrowest}"
        ),
        caption: format!(
            "Width is CPU time for each {per}; what calls stands below what it calls, down to the process and its host. Colour is the \
             difference from the other side: time that was added, or saved. Frames below {} % of all time are left out. A click \
             enlarges a frame.",
            figure(LEAST * 100.0)
        ),
        drawing: Drawing::One(Plot::new(vec![Box::new(icicle)], layout(height))),
    }
}

/// Adds the samples of every frame of a profile, with all above it.
fn count<'p>(
    profile: &'p Profile,
    found: &mut BTreeMap<Vec<&'p Frame>, Samples>,
    of: fn(&mut Samples) -> &mut u64,
) {
    for (stack, samples) in profile.stacks() {
        for depth in 1..=stack.len() {
            *of(found.entry(stack[..depth].to_vec()).or_default()) += samples;
        }
    }
}

/// Samples as time for each connection or operation.
fn microseconds(profile: &Profile, side: &ProfileSide, samples: u64) -> f64 {
    samples as f64 * 1e6 / f64::from(profile.hertz.max(1)) / side.operations.max(1) as f64
}

fn label(frame: &Frame) -> String {
    if frame.kind.is_function() { frame.name.clone() } else { format!("[{}]", frame.name) }
}
