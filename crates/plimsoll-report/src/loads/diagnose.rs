//! Datagrams that a path let through for its diagnosis, and TCP's limits at its ends.

use plimsoll_model::observation::{DiagnoseFacts, TcpLimits, Train};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Pooled, Shown, pooled};
use crate::number::{count, figure};
use crate::section::{Row, Section, columns};

impl Shown for DiagnoseFacts {
    const TITLE: &'static str = "Diagnosed paths";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = columns![
            left "cell", left "phase", left "datagrams", right "sent", right "arrived",
            right "s from first to last",
        ];
        let all = pooled(found);
        let section = Section::new("What the path let through").table(columns, all.iter().flat_map(rows));
        let sentences = all.iter().map(|of| {
            let path = &of.facts.path;
            format!(
                "{}: the sender has {}; the receiver {}.",
                of.phase,
                limits(&path.sender),
                limits(&path.receiver)
            )
        });
        (!found.is_empty()).then(|| section.say_all(sentences)).into_iter().collect()
    }
}

fn rows(of: &Pooled<'_, DiagnoseFacts>) -> Vec<Row> {
    let path = &of.facts.path;
    let apart = [("far apart", path.apart), ("at the rate", path.at_rate)];
    let trains = apart.into_iter().chain(path.bursts.iter().map(|burst| ("in a burst", *burst)));
    let row = |(how, train): (&str, Train)| {
        Row::of([
            of.cell.clone(),
            of.phase.to_owned(),
            how.to_owned(),
            count(train.sent),
            count(train.received),
            figure(train.elapsed_ns as f64 / 1e9),
        ])
    };
    trains.map(row).collect()
}

/// TCP's limits on one host, in words.
fn limits(of: &TcpLimits) -> String {
    let with = |has: bool, what: &str| format!("{} {what}", if has { "with" } else { "without" });
    format!(
        "buffers of {} MB to send and {} MB to receive, {}, {}, {}",
        figure(of.send_buffer as f64 / 1e6),
        figure(of.receive_buffer as f64 / 1e6),
        with(of.window_scaling, "window scaling"),
        with(of.selective_acks, "selective ACKs"),
        of.congestion,
    )
}
