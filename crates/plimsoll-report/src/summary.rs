//! The table per phase and cycle: the trials of one cell put together.

use std::collections::BTreeMap;

use plimsoll_model::experiment::{Metric, Rung};
use plimsoll_model::observation::{Arm, ErrorKind, Percentiles, PhaseKind};
use plimsoll_model::report::{CpuShares, PhaseReport, RunReport};

use crate::number::{NONE, count, figure, median, millis, percent, sorted};
use crate::wording::Cell;

/// The rows of one cell, in the order in which they were carried out.
#[derive(Debug)]
pub(crate) struct CellRows {
    pub(crate) cell: Cell,
    pub(crate) rows: Vec<Row>,
}

/// One phase of one cycle.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) phase: String,
    pub(crate) kind: PhaseKind,
    /// From 1; 0 outside of any.
    pub(crate) cycle: u32,
    pub(crate) rung: Option<Rung>,
    /// The rig that goes through every phase.
    pub(crate) main: Option<Figures>,
    /// Its control.
    pub(crate) control: Option<Figures>,
}

/// Figures of one rig in one phase: over several trials the median of rates and percentiles, the mean of shares, the sum of
/// counts, and the greatest of maxima.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// In the unit of [`rate_metric`]; absent where the load does not have it.
    pub(crate) rate: Option<f64>,
    /// Rate that the load is about, where it lacks that of the report.
    own_rate: Option<(Metric, f64)>,
    /// Absent where nothing was answered, or the load does not time its work.
    pub(crate) latency: Option<Percentiles>,
    pub(crate) errors: BTreeMap<ErrorKind, u64>,
    pub(crate) cpu: Option<CpuShares>,
    pub(crate) trials: usize,
}

impl Row {
    /// Whether a phase of a trial went into this row.
    pub(crate) fn is_of(&self, name: &str, cycle: u32, rung: Option<Rung>) -> bool {
        (self.phase.as_str(), self.cycle, self.rung) == (name, cycle, rung)
    }

    /// The rigs that ran in this phase, with what to call them.
    pub(crate) fn rigs(&self) -> impl Iterator<Item = (&'static str, &Figures)> {
        let main = self.main.as_ref().map(|f| (TREATMENT, f));
        main.into_iter().chain(self.control.as_ref().map(|f| (CONTROL, f)))
    }
}

impl Figures {
    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// For a table: the rate, two percentiles, the errors, and how the CPU time was spent.
    pub(crate) fn cells(&self) -> [String; 8] {
        let cpu = |share: fn(&CpuShares) -> f64| {
            self.cpu.as_ref().map_or_else(|| NONE.to_owned(), |shares| percent(share(shares)))
        };
        [
            self.rate_text(),
            self.millis(|times| times.p50),
            self.millis(|times| times.p99),
            count(self.failed()),
            cpu(|c| c.user),
            cpu(|c| c.system),
            cpu(|c| c.softirq),
            cpu(|c| c.idle),
        ]
    }

    /// The rate for a column of [`rate_metric`]; another rate carries its unit.
    pub(crate) fn rate_text(&self) -> String {
        match (self.rate, self.own_rate) {
            (Some(rate), _) => figure(rate),
            (None, Some((metric, rate))) => format!("{} {}", figure(rate), metric.short()),
            (None, None) => NONE.to_owned(),
        }
    }

    /// A percentile in milliseconds.
    pub(crate) fn millis(&self, of: fn(&Percentiles) -> u64) -> String {
        self.latency.as_ref().map_or_else(|| NONE.to_owned(), |times| millis(of(times)))
    }

    fn of(phases: &[&PhaseReport], metric: Metric) -> Option<Self> {
        let own = phases.first()?.rate.unwrap_or(Metric::ConnectionsPerSecond);
        let middle = |metric: Metric| median(&sorted(phases.iter().filter_map(|p| p.figure(metric))));
        let us = |ms: f64| (ms * 1e3).round() as u64;
        let middle_us = |metric: Metric| middle(metric).map_or(0, us);
        let slowest = phases.iter().filter_map(|p| p.figure(Metric::MaxMs)).max_by(f64::total_cmp);
        let mut errors = BTreeMap::new();
        for (&kind, &n) in phases.iter().flat_map(|p| &p.errors) {
            *errors.entry(kind).or_default() += n;
        }
        Some(Self {
            rate: middle(metric),
            own_rate: middle(own).map(|rate| (own, rate)),
            latency: middle(Metric::MedianMs).map(|median| Percentiles {
                p50: us(median),
                p90: middle_us(Metric::P90Ms),
                p95: middle_us(Metric::P95Ms),
                p99: middle_us(Metric::P99Ms),
                p99_9: middle_us(Metric::P999Ms),
                max: slowest.map_or(0, us),
            }),
            errors,
            cpu: mean_cpu(phases),
            trials: phases.len(),
        })
    }
}

/// The rig that goes through all phases, in tables and legends beside a control.
pub(crate) const TREATMENT: &str = "treatment";
/// The rig that is spared some of them.
pub(crate) const CONTROL: &str = "control";

/// Name of the measured rig: the treatment beside a control, and none alone.
pub(crate) fn measured(beside_a_control: bool) -> &'static str {
    if beside_a_control { TREATMENT } else { "measured" }
}

/// The rate that is reported: the one that the loads are about, unless claims are about another one that they have.
/// Where none says so, requests where claims are about them, some were offered at a rate, or connections carried
/// several; else connections.
pub(crate) fn rate_metric(report: &RunReport) -> Metric {
    let claimed = |metric: Metric| report.verdicts.iter().any(|it| it.verdict.metric == metric.name());
    let phases = || report.trials.iter().flat_map(|trial| &trial.phases);
    if let Some(rate) = phases().find_map(|phase| phase.rate) {
        let has = |metric: &Metric| {
            claimed(*metric) && phases().any(|phase| phase.figure(*metric).is_some_and(|rate| rate > 0.0))
        };
        let others = [Metric::ConnectionsPerSecond, Metric::RequestsPerSecond, Metric::BitsPerSecond];
        return if claimed(rate) { rate } else { others.into_iter().find(has).unwrap_or(rate) };
    }
    let offered = phases().any(|phase| phase.offer.is_some());
    // A connection that fails has had no request answered, most often.
    let kept = phases().any(|phase| {
        let connections = phase.figure(Metric::ConnectionsPerSecond).unwrap_or(0.0);
        phase.figure(Metric::RequestsPerSecond).is_some_and(|requests| requests > 2.0 * connections)
    });
    if (claimed(Metric::RequestsPerSecond) || offered || kept) && !claimed(Metric::ConnectionsPerSecond) {
        Metric::RequestsPerSecond
    } else {
        Metric::ConnectionsPerSecond
    }
}

/// The rate's short name, for the head of a column.
pub(crate) fn rate_title(report: &RunReport) -> &'static str {
    rate_metric(report).short()
}

/// The rows of every cell, cells in the order in which they were first carried out. Phases without a load are left out, and so
/// are warm-ups, which do not count.
pub(crate) fn cells(report: &RunReport) -> Vec<CellRows> {
    cells_with(report, rate_metric(report))
}

/// Rows of every cell, with a metric of the caller's in the place of the rate.
pub(crate) fn cells_with(report: &RunReport, metric: Metric) -> Vec<CellRows> {
    let mut cells: Vec<(Cell, Vec<&[PhaseReport]>)> = Vec::new();
    for trial in &report.trials {
        match cells.iter_mut().find(|(cell, _)| *cell == trial.cell) {
            Some((_, trials)) => trials.push(&trial.phases),
            None => cells.push((trial.cell.clone(), vec![&trial.phases])),
        }
    }
    cells.into_iter().map(|(cell, trials)| CellRows { cell, rows: rows(&trials, metric) }).collect()
}

/// Key of the row that phases of different trials share.
type Key<'a> = (&'a str, u32, Option<Rung>);

fn rows(trials: &[&[PhaseReport]], metric: Metric) -> Vec<Row> {
    let counts = |p: &&PhaseReport| {
        (p.kind.measures() || p.kind == PhaseKind::Drive)
            && (p.connections > 0 || p.rate.is_some() || !p.errors.is_empty())
    };
    let mut groups: Vec<(Key<'_>, Vec<&PhaseReport>)> = Vec::new();
    for phase in trials.iter().copied().flatten().filter(counts) {
        let key = (phase.name.as_str(), phase.cycle, phase.rung);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, phases)) => phases.push(phase),
            None => groups.push((key, vec![phase])),
        }
    }
    groups.into_iter().map(|(key, phases)| row(key, &phases, metric)).collect()
}

fn row((name, cycle, rung): Key<'_>, phases: &[&PhaseReport], metric: Metric) -> Row {
    let of = |arm: Arm| {
        let phases: Vec<_> = phases.iter().copied().filter(|p| p.arm == arm).collect();
        Figures::of(&phases, metric)
    };
    Row {
        phase: name.into(),
        kind: phases[0].kind,
        cycle,
        rung,
        main: of(Arm::Treatment),
        control: of(Arm::Control),
    }
}

fn mean_cpu(phases: &[&PhaseReport]) -> Option<CpuShares> {
    let shares: Vec<CpuShares> = phases.iter().filter_map(|p| p.cpu).collect();
    if shares.is_empty() {
        return None;
    }
    let mean = |f: fn(&CpuShares) -> f64| shares.iter().map(f).sum::<f64>() / shares.len() as f64;
    Some(CpuShares {
        user: mean(|c| c.user),
        system: mean(|c| c.system),
        softirq: mean(|c| c.softirq),
        iowait: mean(|c| c.iowait),
        idle: mean(|c| c.idle),
        steal: mean(|c| c.steal),
    })
}

/// The errors of every row that has any, each as a sentence: the counts by kind.
pub(crate) fn error_notes(rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    let has_control = rows.iter().any(|row| row.control.is_some());
    for row in rows {
        for (rig, figures) in row.rigs().filter(|(_, f)| f.failed() > 0) {
            let kinds: Vec<String> = figures
                .errors
                .iter()
                .filter(|(_, n)| **n > 0)
                .map(|(kind, n)| format!("{} {}", count(*n), kind.title()))
                .collect();
            let rig = if has_control { format!(", {rig}") } else { String::new() };
            notes.push(format!("{}{rig}: {}", place(row), kinds.join(", ")));
        }
    }
    notes
}

/// Phase, cycle and rung in words: `after, cycle 2`.
pub(crate) fn place(row: &Row) -> String {
    let mut place = row.phase.clone();
    if row.cycle > 0 {
        place.push_str(&format!(", cycle {}", row.cycle));
    }
    if let Some(rung) = row.rung {
        place.push_str(&format!(", {}", crate::wording::rung(rung)));
    }
    place
}
