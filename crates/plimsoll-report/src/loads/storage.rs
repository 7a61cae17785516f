//! Figures of storage loads beside their rate: how slow the slowest operations were, and what came from the device.

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{StorageFacts, TrialRecord};
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, storage_sweep};
use crate::chart::Figure;
use crate::number::{NONE, count, figure, median, millis, percent, sorted};
use crate::section::{Row, Section, columns};

impl Shown for StorageFacts {
    const TITLE: &'static str = "Storage";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        // A cell may be a number of threads: its results are not those of another.
        let mut places: Vec<(&str, &str)> = Vec::new();
        for place in found.iter().map(place) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let columns = columns![
            left "cell", left "phase", right "operations", right "per second", right "mean ms",
            right "slowest ms", right ">2 s %", right ">10 s %", right "device%",
        ];
        let section = Section::new("Storage, all trials of a phase together");
        let section = section.table(columns, places.into_iter().map(|place| row(place, found)));
        (!found.is_empty()).then_some(section).into_iter().collect()
    }

    fn charts(records: &[TrialRecord]) -> Vec<Figure> {
        storage_sweep::charts(records)
    }
}

/// Of which cell something was found, and in which phase.
fn place<'f>(found: &'f LoadFigures<'_, StorageFacts>) -> (&'f str, &'f str) {
    (&found.cell, &found.phase.name)
}

fn row(at: (&str, &str), found: &[LoadFigures<'_, StorageFacts>]) -> Row {
    let of: Vec<_> = found.iter().filter(|found| place(found) == at).collect();
    let sum = |f: fn(&StorageFacts) -> u64| of.iter().map(|found| f(found.facts)).sum::<u64>();
    let operations = sum(|f| f.reads) + sum(|f| f.writes);
    let share = |part: u64, of: u64| if of > 0 { part as f64 / of as f64 } else { f64::NAN };
    let spent: f64 = of.iter().map(|f| f.facts.mean_us * (f.facts.reads + f.facts.writes) as f64).sum();
    let per_second =
        median(&sorted(of.iter().filter_map(|found| found.phase.figure(Metric::RequestsPerSecond))));
    let slowest = of.iter().filter_map(|found| found.phase.figure(Metric::MaxMs)).max_by(f64::total_cmp);
    let fetched: Option<u64> = of.iter().map(|found| found.facts.device_read_bytes).sum();
    let read = sum(|f| f.read_bytes);
    let fetched = fetched.filter(|_| read > 0);
    let device = fetched.map_or(f64::NAN, |bytes| share(bytes.min(read), read));
    Row::of([
        at.0.to_owned(),
        at.1.to_owned(),
        count(operations),
        per_second.map_or_else(|| NONE.to_owned(), figure),
        millis((spent / operations.max(1) as f64).round() as u64),
        slowest.map_or_else(|| NONE.to_owned(), |ms| millis((ms * 1e3).round() as u64)),
        percent(share(sum(|f| f.over_2s), operations)),
        percent(share(sum(|f| f.over_10s), operations)),
        percent(device),
    ])
}
