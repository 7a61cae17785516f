//! Machines that were there already: what each of several did that drove a load together, and how their clocks stood.

use std::collections::BTreeMap;

use plimsoll_model::experiment::Metric;
use plimsoll_model::report::{GeneratorReport, RunReport};

use crate::number::{figure, median, sorted};
use crate::section::{Row, Section, columns, left, right};

/// Both tables; empty if all was on one machine.
pub(crate) fn sections(report: &RunReport) -> Vec<Section> {
    [generators(report), clocks(report)].into_iter().flatten().collect()
}

fn generators(report: &RunReport) -> Option<Section> {
    let mut all: BTreeMap<(&str, &str), Vec<&GeneratorReport>> = BTreeMap::new();
    for phase in report.trials.iter().flat_map(|trial| &trial.phases) {
        for generator in &phase.generators {
            all.entry((&phase.name, &generator.host)).or_default().push(generator);
        }
    }
    let typical = |values: Vec<f64>| median(&sorted(values)).map_or_else(String::new, figure);
    let rows = all.into_iter().map(|((phase, host), each)| {
        let of = |metric: Metric| {
            each.iter().filter_map(|it| it.figures.get(metric.name()).copied()).collect::<Vec<_>>()
        };
        let busy: Vec<f64> = each.iter().filter_map(|it| it.busy_share).map(|share| share * 100.0).collect();
        let latest = each.iter().max_by(|a, b| a.after_ms.total_cmp(&b.after_ms));
        let after = latest.map_or_else(String::new, |it| format!("{:.3} ± {:.3}", it.after_ms, it.within_ms));
        Row::of([
            phase.to_owned(),
            host.to_owned(),
            typical(of(Metric::RequestsPerSecond)),
            typical(of(Metric::ConnectionsPerSecond)),
            each.iter().map(|it| it.errors).sum::<u64>().to_string(),
            typical(busy),
            after,
        ])
    });
    let columns = columns![
        left "phase", left "machine", right "requests/s", right "connections/s" => 2, right "errors" => 1,
        right "busy%" => 3, right "started ms after the first",
    ];
    let section = Section::new("Generators").table(columns, rows);
    (!section.blocks.is_empty()).then_some(section)
}

fn clocks(report: &RunReport) -> Option<Section> {
    // The trial in which it was known least.
    let mut worst = BTreeMap::new();
    for (host, clock) in report.trials.iter().flat_map(|trial| &trial.clocks) {
        let known = worst.entry(host).or_insert(clock);
        if clock.within_ns > known.within_ns {
            *known = clock;
        }
    }
    let rows = worst.into_iter().map(|(host, clock)| {
        Row::of([
            host.clone(),
            format!("{:.3}", clock.ahead_ns as f64 / 1e6),
            format!("{:.3}", clock.within_ns as f64 / 1e6),
            format!("{:.3}", clock.round_trip_ns as f64 / 1e6),
        ])
    });
    let columns =
        [left("machine"), right("ahead ms"), right("give or take ms"), right("round trip ms").expendable(1)];
    let section = Section::new("Clocks against the controller's").table(columns, rows);
    (!section.blocks.is_empty()).then_some(section)
}
