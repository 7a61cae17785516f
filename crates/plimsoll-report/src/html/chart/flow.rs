//! One connection over time: how far it was sent and acknowledged with its stalls marked, its rate, and its round trips.

use plimsoll_model::trace::{DirectionSeries, Point, Stall, TimeSequence};
use plotly::common::{DashType, HoverInfo, Line, LineShape, Marker, MarkerSymbol, Mode};
use plotly::layout::{HoverMode, RangeMode};
use plotly::{Layout, Scatter, Trace};

use super::spans;
use super::{CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn};
use crate::escape::chart as plain;
use crate::html::CONNECTION_PICKER;
use crate::html::spans::{Shade, Span};
use crate::number::figure;

const HEIGHT: usize = 440;
const LOWER: usize = 260;
/// The most stalls of a connection that are marked: the longest.
const MARKED: usize = 60;

/// The three charts, a drawing for each connection; empty if there is no connection.
pub(in crate::html) fn charts(time_sequences: &[TimeSequence]) -> Vec<Figure> {
    if time_sequences.is_empty() {
        return Vec::new();
    }
    let picked = |draw: fn(&TimeSequence) -> Plot| Drawing::Picked {
        picker: CONNECTION_PICKER,
        plots: time_sequences.iter().enumerate().map(|(nth, of)| (nth.to_string(), draw(of))).collect(),
    };
    vec![
        Figure {
            id: "time-sequence".into(),
            title: "How far it was sent, acknowledged and allowed".into(),
            description: description(time_sequences),
            caption: format!(
                "Place in the stream of the direction that carried more, in bytes, over time. Shaded and named: stalls (the longest {MARKED}); \
                 where lines run level, nothing moved. The window is how far the receiver lets the sender go. Crosses: sent again or out \
                 of order. Drag to zoom, double-click to zoom out."
            ),
            drawing: picked(time_sequence),
        },
        Figure {
            id: "throughput".into(),
            title: "Throughput".into(),
            description: "Step lines of the bytes per second that each side sent, over the connection's life.".into(),
            caption: "Bytes per second in each direction, without headers; what was sent again counts.".into(),
            drawing: picked(throughput),
        },
        Figure {
            id: "round-trips".into(),
            title: "Round trips".into(),
            description: "Points of the round-trip times that the capture saw, over the connection's life.".into(),
            caption: "From a segment to its acknowledgement, as seen where the packets were captured: next to the receiver it is short \
                      whatever the path. Segments that were sent again are left out."
                .into(),
            drawing: picked(round_trips),
        },
    ]
}

/// The direction that carried more, and whose it is.
fn main_way(time_sequence: &TimeSequence) -> (&DirectionSeries, &'static str) {
    let connection = &time_sequence.connection;
    if connection.from_server.bytes > connection.from_client.bytes {
        (&time_sequence.from_server, "server")
    } else {
        (&time_sequence.from_client, "client")
    }
}

fn time_sequence(time_sequence: &TimeSequence) -> Plot {
    let (way, side) = main_way(time_sequence);
    let mut traces: Vec<Box<dyn Trace>> = vec![
        line("window", &way.window, SOFT, DashType::Dot),
        line("acknowledged", &way.acked, CONTROL, DashType::Solid),
        line("sent", &way.sent, TREATMENT, DashType::Solid),
    ];
    if !way.resent.is_empty() {
        let marker = Marker::new().symbol(MarkerSymbol::XThin).color("var(--bad)").size(9);
        let marker = marker.line(Line::new().color("var(--bad)").width(2.0));
        let (xs, ys) = apart(&way.resent);
        traces.push(Scatter::new(xs, ys).name("sent again").mode(Mode::Markers).marker(marker));
    }
    let stalls = longest(time_sequence);
    if !stalls.is_empty() {
        traces.push(marks(&stalls, way));
    }
    let named = |stall: &&Stall| Span {
        name: stall.class.name().replace('_', " "),
        start: stall.start_s,
        end: stall.start_s + stall.length_ms / 1e3,
        shade: Shade::Flood,
    };
    let spans: Vec<Span> = stalls.iter().map(named).collect();
    let layout = spans::layout(HEIGHT, &spans, life(time_sequence));
    Plot::new(traces, framed(layout, time_sequence, &format!("bytes from the {side}")))
}

fn throughput(time_sequence: &TimeSequence) -> Plot {
    let sides = [
        ("from the client", &time_sequence.from_client.rate, TREATMENT),
        ("from the server", &time_sequence.from_server.rate, CONTROL),
    ];
    lower(time_sequence, "bytes per second", sides, |trace, color| {
        let line = Line::new().color(color).width(1.5).shape(LineShape::Hv);
        trace.mode(Mode::Lines).line(line).hover_template("%{y:.3s}B/s")
    })
}

fn round_trips(time_sequence: &TimeSequence) -> Plot {
    let sides = [
        ("of the client's data", &time_sequence.from_client.rtt_ms, TREATMENT),
        ("of the server's data", &time_sequence.from_server.rtt_ms, CONTROL),
    ];
    lower(time_sequence, "milliseconds", sides, |trace, color| {
        trace.mode(Mode::Markers).marker(Marker::new().color(color).size(4)).hover_template("%{y} ms")
    })
}

/// A plot below the first, with what is known of each direction.
fn lower(
    time_sequence: &TimeSequence,
    unit: &str,
    sides: [(&str, &Vec<Point>, &'static str); 2],
    draw: impl Fn(Box<Scatter<f64, f64>>, &'static str) -> Box<Scatter<f64, f64>>,
) -> Plot {
    let known = sides.into_iter().filter(|(_, points, _)| !points.is_empty());
    let traces = known.map(|(name, points, color)| -> Box<dyn Trace> {
        let (xs, ys) = apart(points);
        draw(Scatter::new(xs, ys).name(name), color)
    });
    Plot::new(traces.collect(), framed(super::layout(LOWER), time_sequence, unit))
}

fn line(name: &'static str, points: &[Point], color: &'static str, dash: DashType) -> Box<dyn Trace> {
    let (xs, ys) = apart(points);
    let line = Line::new().color(color).width(1.5).dash(dash).shape(LineShape::Hv);
    Scatter::new(xs, ys).name(name).mode(Mode::Lines).line(line).hover_template("%{y:.4s}B at %{x} s")
}

/// A line at each stall, from its start to its end, that says what it is.
fn marks(stalls: &[&Stall], way: &DirectionSeries) -> Box<dyn Trace> {
    let mut xs = Vec::new();
    let mut ys = Vec::new();
    let mut text = Vec::new();
    for stall in stalls {
        let level = reached(&way.sent, stall.start_s);
        let label = plain(&format!(
            "{}, {} ms, waiting for the {}: {}",
            stall.class,
            figure(stall.length_ms),
            stall.waiting_for,
            stall.evidence
        ));
        xs.extend([moment(stall.start_s), moment(stall.start_s + stall.length_ms / 1e3)].map(Some));
        xs.push(None);
        ys.extend([Some(level), Some(level), None]);
        text.extend([label.clone(), label, String::new()]);
    }
    Scatter::new(xs, ys)
        .name("stall")
        .mode(Mode::LinesMarkers)
        .line(Line::new().color("var(--bad)").width(3.0))
        .marker(Marker::new().color("var(--bad)").size(5))
        .connect_gaps(false)
        .hover_text_array(text)
        .hover_info(HoverInfo::Text)
}

/// How far had been sent at a moment.
fn reached(sent: &[Point], at: f64) -> f64 {
    let after = sent.partition_point(|point| point.0 <= at);
    drawn(after.checked_sub(1).map_or(0.0, |last| sent[last].1))
}

/// The longest stalls, in the order of their starts.
fn longest(time_sequence: &TimeSequence) -> Vec<&Stall> {
    let mut stalls: Vec<&Stall> = time_sequence.connection.stalls.iter().collect();
    stalls.sort_by(|a, b| b.length_ms.total_cmp(&a.length_ms));
    stalls.truncate(MARKED);
    stalls.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    stalls
}

fn apart(points: &[Point]) -> (Vec<f64>, Vec<f64>) {
    points.iter().map(|&(at, value)| (moment(at), exact(value))).unzip()
}

/// Microseconds are what packets are apart.
fn moment(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// Rounds a number of bytes to a whole one: where a line runs level must not depend on how large a number is.
fn exact(value: f64) -> f64 {
    if value >= 1000.0 { value.round() } else { drawn(value) }
}

/// When the connection began and when it ended, a little apart in any case.
fn life(time_sequence: &TimeSequence) -> (f64, f64) {
    let start = time_sequence.connection.start_s;
    (start, start + time_sequence.connection.duration_s.max(1e-6))
}

fn framed(layout: Layout, time_sequence: &TimeSequence, values: &str) -> Layout {
    let (start, end) = life(time_sequence);
    let margin = (end - start) * 0.01;
    layout
        .hover_mode(HoverMode::Closest)
        .show_legend(true)
        .x_axis(
            axis("seconds after the first packet").range(vec![start - margin, end + margin]).zero_line(false),
        )
        .y_axis(axis(values).range_mode(RangeMode::ToZero))
}

fn description(time_sequences: &[TimeSequence]) -> String {
    let of = |time_sequence: &TimeSequence| {
        let connection = &time_sequence.connection;
        format!(
            "{} to {}: {} bytes in {} s, {} stalls of {} s together.",
            connection.client,
            connection.server,
            connection.bytes,
            figure(connection.duration_s),
            connection.stall_count,
            figure(connection.stalled_s)
        )
    };
    let each: Vec<String> = time_sequences.iter().take(3).map(of).collect();
    format!("Time-sequence chart of a connection that can be chosen. {}", each.join(" "))
}
