//! Results from packets: where the time went, and connections one by one.

use std::io::{self, Write};

use maud::{Markup, html};
use plimsoll_model::report::{PacketReport, RunReport};
use plimsoll_model::trace::{Class, ConnectionReport, TimeSequence, TraceReport};

use super::bundle::Bundle;
use super::chart::flow;
use super::section::Section;
use super::{CONNECTION_PICKER, page};
use crate::number::{NONE, count, figure, percent};
use crate::wording;

/// The most connections of a file that stand in the table.
const LISTED: usize = 200;

/// The section of a run.
pub(super) fn section(report: &RunReport, time_sequences: &[TimeSequence]) -> Option<Section> {
    (!report.packets.is_empty()).then(|| Section {
        id: "packets",
        title: "Packets",
        content: html! {
            p { "Where the connections' time went, from the packets that were captured while it was measured." }
            (of_run(&report.packets))
            @for (what, evidence) in wording::longest_stalls(report) { p .soft { (what) ": " (evidence) } }
            @if time_sequences.is_empty() {
                p { "The captures are not there any more, or hold no connection: none can be drawn." }
            }
            (drawn(time_sequences))
        },
    })
}

fn of_run(packets: &[PacketReport]) -> Markup {
    let factors = packets.iter().any(|of| !of.cell.is_empty());
    let mut titles = Vec::new();
    titles.extend(factors.then_some(("cell", false)));
    titles.extend([
        ("phase", false),
        ("host", false),
        ("connections", true),
        ("moving, %", true),
        ("stalls: share of the time, number, median length", false),
        ("limited by window / buffer, says the kernel, %", true),
        ("packets", true),
        ("lost by the capture", true),
    ]);
    let rows = html! {
        (page::head(&titles))
        tbody {
            @for of in packets {
                tr {
                    @if factors { th scope="row" { (wording::cell_title(&of.cell)) } }
                    td { (of.phase) }
                    td { (wording::captured_on(of)) }
                    td .num { (count(of.connections)) }
                    td .num { (wording::moving(of)) }
                    td .long { (wording::stalls(of, usize::MAX)) @for error in &of.errors { br; (error) } }
                    td .num { (wording::limited(of)) }
                    td .num { (count(of.packets)) }
                    td .num { (count(of.dropped)) }
                }
            }
        }
    };
    page::table("Where the connections' time went", "", &rows)
}

/// The page of a packet file.
///
/// # Errors
/// Those of the writer.
pub fn trace(
    out: &mut dyn Write,
    name: &str,
    report: &TraceReport,
    time_sequences: &[TimeSequence],
) -> io::Result<()> {
    let body = html! {
        header .page {
            h1 { (name) }
            p .question { "Who stopped sending, and why?" }
        }
        main {
            section #answer aria-label="Answer" {
                p {
                    (counted(report.packets, "packet")) ", " (counted(report.bytes, "byte")) " (" (report.format) "), "
                    (counted(report.tcp_connections, "TCP connection")) ", " (counted(report.udp_flows, "UDP flow")) "."
                }
                @if !report.missing.is_empty() {
                    h3 { "Notes" }
                    ul { @for missing in &report.missing { li { (missing) } } }
                }
                (shares(report))
            }
            @if !time_sequences.is_empty() {
                section #connections aria-label="Connections over time" {
                    h2 { "Connections over time" }
                    noscript { p { "The charts need JavaScript. The stalls also stand in the table below." } }
                    (drawn(time_sequences))
                }
            }
            section #list aria-label="Connections" {
                h2 { "Connections" }
                (connections(report))
            }
        }
    };
    page::write(out, name, &body, Bundle::Inside)
}

/// A number with its noun: `1 packet`, `2 packets`.
fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Where the time went.
fn shares(report: &TraceReport) -> Markup {
    let mut shares: Vec<(&Class, &f64)> =
        report.time_share.iter().filter(|(_, share)| **share > 0.0).collect();
    shares.sort_by(|a, b| b.1.total_cmp(a.1));
    let still: f64 = report.time_share.values().sum();
    let bar = |name: &str, share: f64| {
        html! {
            tr {
                th scope="row" { (name) }
                td .num { (percent(share)) " %" }
                td .bar { div .track { div .fill style=(format!("left:0;width:{:.2}%", 100.0 * share.min(1.0))) {} } }
            }
        }
    };
    html! {
        h2 { "Where the time went" }
        p .soft { "Shares of all connections' lifetimes, " (figure(report.lifetime_s)) " s together." }
        (page::table("Where the time went", "bars", &html! {
            tbody {
                @for (class, share) in shares { (bar(&class.name().replace('_', " "), *share)) }
                (bar("no stall", (1.0 - still).max(0.0)))
            }
        }))
    }
}

/// A selector, and the charts of the connection that it selects.
fn drawn(time_sequences: &[TimeSequence]) -> Markup {
    let figures = flow::charts(time_sequences);
    html! {
        @if !figures.is_empty() {
            label .pick {
                "Connection "
                select .picker id=(CONNECTION_PICKER) autocomplete="off" {
                    @for (nth, time_sequence) in time_sequences.iter().enumerate() {
                        option value=(nth) { (title(time_sequence)) }
                    }
                }
            }
            @for figure in &figures { (figure.markup()) }
        }
    }
}

fn title(time_sequence: &TimeSequence) -> String {
    let ConnectionReport { client, server, stall_count, stalled_s, .. } = &time_sequence.connection;
    let place =
        if time_sequence.place.is_empty() { String::new() } else { format!("{}: ", time_sequence.place) };
    format!("{place}{client} → {server}, {} of {} s", counted(*stall_count, "stall"), figure(*stalled_s))
}

/// The connections that stood still longest.
fn connections(report: &TraceReport) -> Markup {
    let mut all: Vec<&ConnectionReport> = report.connections.iter().collect();
    all.sort_by(|a, b| b.stalled_s.total_cmp(&a.stalled_s));
    let titles = [
        ("client", false),
        ("server", false),
        ("begins, s", true),
        ("lasts, s", true),
        ("bytes", true),
        ("bytes/s", true),
        ("RTT, ms", true),
        ("sent again", true),
        ("stalled, s", true),
        ("longest stall", false),
    ];
    let optional = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), figure);
    let longest = |of: &ConnectionReport| {
        let stall = of.stalls.iter().max_by(|a, b| a.length_ms.total_cmp(&b.length_ms));
        stall.map_or_else(String::new, |stall| {
            format!(
                "{}, {} ms: {}",
                stall.class.name().replace('_', " "),
                figure(stall.length_ms),
                stall.evidence
            )
        })
    };
    html! {
        @if report.tcp_connections > LISTED as u64 {
            p .soft { "The " (LISTED) " that stood still longest of " (count(report.tcp_connections)) "." }
        }
        (page::table("Connections", "", &html! {
            (page::head(&titles))
            tbody {
                @for of in all.iter().take(LISTED) {
                    tr {
                        th .tight scope="row" { (of.client) }
                        td .tight { (of.server) }
                        td .num { (figure(of.start_s)) }
                        td .num { (figure(of.duration_s)) }
                        td .num { (count(of.bytes)) }
                        td .num { (optional(of.rate_bytes_per_s)) }
                        td .num { (optional(of.rtt_ms)) }
                        td .num { (count(of.from_client.retransmissions + of.from_server.retransmissions)) }
                        td .num { (figure(of.stalled_s)) }
                        td .long { (longest(of)) }
                    }
                }
            }
        }))
    }
}
