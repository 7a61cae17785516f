//! Diagnosis of a path that shall carry TCP.

use plimsoll_model::experiment::claim::diagnose::{CheckReport, DiagnoseClaim, DiagnoseDetails};

use super::{Judged, Shown};
use crate::number::figure;
use crate::section::{Row, Section, left, right};
use crate::wording;

impl Shown for DiagnoseClaim {
    type Details = DiagnoseDetails;
    const TITLE: &'static str = "Is the path good enough?";

    /// Table of a path's diagnosis.
    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let found = found.details;
        let titles = COLUMNS;
        let columns = [
            left(titles[0]),
            left(titles[1]),
            right(titles[2]),
            right(titles[3]),
            left(titles[4]).expendable(1),
        ];
        let rows =
            found.checks.iter().map(|check| Row::of(cells(check)).faint_if(check.passes == Some(true)));
        let advised = found.checks.iter().filter(|check| !check.advice.is_empty());
        Some(Section::new(title(found)).table(columns, rows).say(carried(found)).say_all(advised.map(advice)))
    }
}

/// The columns of the table.
const COLUMNS: [&str; 5] = ["check", "verdict", "there is", "needed", "found"];

fn title(found: &DiagnoseDetails) -> String {
    let wanted = format!(
        "Is {} good enough for {} Mbit/s over {} ms",
        found.phase,
        figure(found.target_bits_per_second / 1e6),
        figure(found.target_rtt_ms)
    );
    wording::titled(&wanted, &found.cell)
}

/// Row of the table for one check.
fn cells(check: &CheckReport) -> [String; 5] {
    let verdict = match check.passes {
        Some(true) => "passes",
        Some(false) => "fails",
        None => "not sure",
    };
    let value = |value: f64| match check.unit.as_str() {
        "bit/s" => format!("{} Mbit/s", figure(value / 1e6)),
        "share" => format!("{:.4} %", 100.0 * value),
        _ => format!("{value:.0} B"),
    };
    [
        check.check.name().replace('_', " "),
        verdict.to_owned(),
        value(check.measured),
        value(check.needed),
        check.text.clone(),
    ]
}

/// Advice on a check, with its name.
fn advice(check: &CheckReport) -> String {
    format!("{}: {}.", check.check.name().replace('_', " "), check.advice)
}

/// TCP's rate here.
fn carried(found: &DiagnoseDetails) -> String {
    let reaches = figure(found.reaches_bits_per_second / 1e6);
    let here = match (found.tcp_bits_per_second, found.rtt_ms) {
        (Some(rate), Some(rtt)) => format!(
            "TCP ({}) carried {} Mbit/s over this path, whose round trip takes {} ms",
            found.congestion,
            figure(rate / 1e6),
            figure(rtt)
        ),
        _ => format!("TCP ({}) carried nothing over this path", found.congestion),
    };
    // BBR goes by the rate that arrives (draft-ietf-ccwg-bbr), and bears losses that the formula does not allow.
    let of_formula = if found.congestion.starts_with("bbr") {
        ", if it gave way at losses as others than BBR do"
    } else {
        ""
    };
    format!(
        "{here}; over {} ms it would reach {reaches} Mbit/s by the worst of the checks{of_formula}.",
        figure(found.target_rtt_ms)
    )
}
