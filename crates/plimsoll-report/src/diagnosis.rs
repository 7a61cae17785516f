//! What was found of a path that is to carry TCP, as rows of figures.

use plimsoll_model::report::{CheckReport, DiagnosisReport};

use crate::number::figure;
use crate::wording;

/// The columns of the table.
pub(crate) const COLUMNS: [&str; 5] = ["check", "verdict", "there is", "needed", "found"];

pub(crate) fn title(found: &DiagnosisReport) -> String {
    let wanted = format!(
        "Is {} good enough for {} Mbit/s over {} ms",
        found.phase,
        figure(found.target_bits_per_second / 1e6),
        figure(found.target_rtt_ms)
    );
    wording::titled(&wanted, &found.cell)
}

/// What stands in the table for one check.
pub(crate) fn cells(check: &CheckReport) -> [String; 5] {
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
        check.check.replace('_', " "),
        verdict.to_owned(),
        value(check.measured),
        value(check.needed),
        check.told.clone(),
    ]
}

/// What to do about a check, with its name.
pub(crate) fn advice(check: &CheckReport) -> String {
    format!("{}: {}.", check.check.replace('_', " "), check.advice)
}

/// What TCP did here.
pub(crate) fn carried(found: &DiagnosisReport) -> String {
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
