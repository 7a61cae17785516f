//! The chain of hops of a path: how wide each link is, and how long.

use plimsoll_model::experiment::claim::hops::{HopReport, HopsClaim, HopsDetails};
use plimsoll_model::verdict::Interval;
use plotly::common::{DashType, HoverInfo, Line, Marker, Mode, Position};
use plotly::layout::AxisType;
use plotly::{Scatter, Trace};

use super::{Judged, Shown};
use crate::chart::{
    CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, layout, plain_whiskers, within,
};
use crate::escape::chart as escaped;
use crate::number::{NONE, count, figure, percent};
use crate::section::{Row, Section, right};
use crate::wording;

impl Shown for HopsClaim {
    type Details = HopsDetails;
    const TITLE: &'static str = "Hops";

    /// The hops of a path.
    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let path = found.details;
        let rows = path.hops.iter().map(|hop| Row::of(cells(hop)).faint_if(hop.address.is_none()));
        Some(
            Section::new(title(path))
                .chart(chart(found.number, path))
                .table(COLUMNS.map(right), rows)
                .say(how_to_read(path)),
        )
    }
}

/// The columns of the table.
const COLUMNS: [&str; 8] =
    ["hop", "address", "Mbit/s", "interval", "latency ms", "interval ", "queue ms", "unanswered %"];

fn title(path: &HopsDetails) -> String {
    wording::titled(&format!("Hops, {}", path.phase), &path.cell)
}

/// Row of the table for one hop.
fn cells(hop: &HopReport) -> [String; 8] {
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
fn rate(hop: &HopReport) -> Option<String> {
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

/// Explains how to read the table.
fn how_to_read(path: &HopsDetails) -> String {
    let end = if path.reached { "" } else { " They did not come to the host that they were aimed at." };
    format!(
        "From {} probes. Rates count Ethernet frames; \"over\" stands where a hop is not measurable, because its time for a packet drowns in \
         that of the others. Latency is half of the rest of a hop's round trip; the queue is the median extra wait of the \
         probes.{end}",
        count(path.probes)
    )
}

const HEIGHT: usize = 380;

/// How far above a bar its text stands, on a logarithmic scale.
const ABOVE: f64 = 1.08;

const CAPTION: &str = "Each bar is a link, at its rate; the scale is logarithmic. Above it stands how long a packet travels on it. Dashed: not \
measurable, the rate is at least so high. Lines across: the interval of the rate.";

/// The chart of one path.
fn chart(number: usize, path: &HopsDetails) -> Figure {
    let narrowest = path.hops.iter().filter_map(|hop| hop.bits_per_second).min_by(f64::total_cmp);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for hop in &path.hops {
        let color = if hop.bits_per_second.is_some() && hop.bits_per_second == narrowest {
            TREATMENT
        } else {
            CONTROL
        };
        traces.extend(link(hop, color));
    }
    traces.push(labels(path));
    let hops = axis("hop").dtick(1.0).range(vec![0.4, path.hops.len() as f64 + 0.6]);
    let layout = layout(HEIGHT).show_legend(false).x_axis(hops).y_axis(axis("Mbit/s").type_(AxisType::Log));
    Figure {
        id: format!("hops-{number}"),
        title: title(path),
        description: description(path),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, layout)),
    }
}

/// Where a hop is drawn, in Mbit/s; `None` if nothing is known of its rate.
fn height(hop: &HopReport) -> Option<f64> {
    Some(drawn(hop.bits_per_second.or(hop.at_least_bits_per_second)? / 1e6))
}

/// A link, and its interval.
fn link(hop: &HopReport, color: &'static str) -> Vec<Box<dyn Trace>> {
    let (Some(rate), place) = (height(hop), f64::from(hop.hop)) else { return Vec::new() };
    let dash = if hop.bits_per_second.is_some() { DashType::Solid } else { DashType::Dot };
    let bar = Scatter::new(vec![place - 0.42, place, place + 0.42], vec![rate; 3])
        .mode(Mode::Lines)
        .line(Line::new().color(color).width(9.0).dash(dash))
        .hover_text(hop_in_words(hop))
        .hover_info(HoverInfo::Text);
    let Some(Interval(lo, hi)) = hop.rate_interval else { return vec![bar] };
    let reach = within(rate, Some(Interval(lo / 1e6, hi / 1e6)));
    let across = Scatter::new(vec![place], vec![rate])
        .mode(Mode::Markers)
        .marker(Marker::new().color("var(--ink)").size(3))
        .error_y(plain_whiskers(&[reach]).color("var(--ink)"))
        .hover_info(HoverInfo::Skip);
    vec![bar, across]
}

/// The latency of each link, above it.
fn labels(path: &HopsDetails) -> Box<dyn Trace> {
    let shown: Vec<(f64, f64, String)> = path
        .hops
        .iter()
        .filter_map(|hop| Some((f64::from(hop.hop), height(hop)?, format!("{} ms", figure(hop.latency_ms?)))))
        .collect();
    Scatter::new(
        shown.iter().map(|(place, ..)| *place).collect(),
        shown.iter().map(|(_, rate, _)| ABOVE * rate).collect(),
    )
    .mode(Mode::Text)
    .text_array(shown.into_iter().map(|(.., text)| escaped(&text)).collect())
    .text_position(Position::TopCenter)
    .text_font(plotly::common::Font::new().color(SOFT))
    .hover_info(HoverInfo::Skip)
}

fn hop_in_words(hop: &HopReport) -> String {
    let rate = rate(hop).unwrap_or_default();
    let address = hop.address.as_deref().unwrap_or("silent");
    let latency = hop.latency_ms.map_or_else(String::new, |ms| format!(", {} ms", figure(ms)));
    escaped(&format!("hop {}, {address}: {rate} Mbit/s{latency}", hop.hop))
}

fn description(path: &HopsDetails) -> String {
    let mut text = String::from("The rate and the latency of each hop.");
    for hop in &path.hops {
        text.push_str(&format!(" {}.", hop_in_words(hop)));
    }
    text
}
