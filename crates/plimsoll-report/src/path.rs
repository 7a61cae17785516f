//! The hops of a path, as rows of figures.

use plimsoll_model::report::{HopReport, PathReport};

use crate::number::{NONE, count, figure, percent};
use crate::wording;

/// The columns of the table.
pub(crate) const COLUMNS: [&str; 8] =
    ["hop", "address", "Mbit/s", "interval", "latency ms", "interval ", "queue ms", "unanswered %"];

pub(crate) fn title(path: &PathReport) -> String {
    wording::titled(&format!("Hops, {}", path.phase), &path.cell)
}

/// What stands in the table for one hop.
pub(crate) fn cells(hop: &HopReport) -> [String; 8] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let interval = |lo: f64, hi: f64| format!("{} to {}", figure(lo), figure(hi));
    [
        hop.hop.to_string(),
        hop.address.clone().unwrap_or_else(|| "silent".to_owned()),
        or_none(rate(hop)),
        or_none(hop.rate_interval.map(|both| interval(both.lo() / 1e6, both.hi() / 1e6))),
        or_none(hop.latency_ms.map(figure)),
        or_none(hop.latency_interval.map(|both| interval(both.lo(), both.hi()))),
        or_none(hop.queue_ms.map(figure)),
        or_none(hop.unanswered.map(percent)),
    ]
}

/// The rate of a hop in Mbit/s, or what is known of it.
pub(crate) fn rate(hop: &HopReport) -> Option<String> {
    let there = match (hop.bits_per_second, hop.at_least_bits_per_second) {
        (Some(rate), _) => figure(rate / 1e6),
        (None, Some(least)) => format!("over {}", figure(least / 1e6)),
        (None, None) => return hop.address.as_ref().map(|_| "not measurable".to_owned()),
    };
    Some(match hop.back_bits_per_second {
        Some(back) => format!("{there}, back {}", figure(back / 1e6)),
        None => there,
    })
}

/// How the table is to be read.
pub(crate) fn how_to_read(path: &PathReport) -> String {
    let end = if path.reached { "" } else { " They did not come to the host that they were aimed at." };
    format!(
        "From {} probes. Rates count Ethernet frames; \"over\" stands where a hop is not measurable, because what it takes for a packet drowns in \
         what the others take. Latency is half of what a hop takes there and back beside that; the queue is how much longer half of the \
         probes wait.{end}",
        count(path.probes)
    )
}
