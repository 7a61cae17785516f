//! A trial over time: its phases, its load and its CPUs on one axis, in seconds after the trial's start, thinned out for drawing.
//!
//! Thinning loses no event: load is counted into equal stretches of time, and CPU time is the difference of two readings of a
//! counter, so each value drawn is the exact mean over its stretch.

use std::collections::BTreeMap;

use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::{Arm, PhaseKind, PhaseRecord, Sample, Slice, TrialRecord};

use super::spans::{Moment, Shade, Span};
use crate::number::{median, sorted};

/// The trials that are drawn over time; the page says when there were more.
pub(super) const TRIALS_DRAWN: usize = 100;
/// Points over all trials for each curve, which keeps the page of the largest run to a few megabytes.
const POINTS: usize = 30_000;
/// Points of one trial for each curve: a screen has no room for more, and fewer show nothing.
const POINTS_OF_TRIAL: (usize, usize) = (150, 800);
/// Windows of a phase at most, and how often a load was counted in each: its rate is the mean, so that slices in turns make no comb.
const WINDOWS: usize = 40;
const COUNTS_OF_WINDOW: usize = 3;
/// A step on both rigs, and in the records of several loads, is one moment: it is done on one right after the other.
const SAME_MOMENT_S: f64 = 0.5;
/// The shortest stretch over which CPU shares are drawn, in seconds. The kernel counts in ticks of 10 ms: over less than this,
/// one tick would be seen as several per cent.
const CPU_STEP_S: f64 = 0.25;

/// The kernel's counters of CPU time of the whole machine, and how they are put together: programs with niced ones, interrupts
/// with softirqs. `guest` is in `user` already.
const CPU_COUNTERS: [(&str, &[&str]); 6] = [
    ("user", &["machine.stat.cpu.user", "machine.stat.cpu.nice"]),
    ("system", &["machine.stat.cpu.system"]),
    ("softirq", &["machine.stat.cpu.softirq", "machine.stat.cpu.irq"]),
    ("iowait", &["machine.stat.cpu.iowait"]),
    ("steal", &["machine.stat.cpu.steal"]),
    ("idle", &["machine.stat.cpu.idle"]),
];

/// Kinds of CPU time, from the bottom of the stack to its top.
pub(super) fn cpu_kinds() -> impl Iterator<Item = &'static str> {
    CPU_COUNTERS.iter().map(|(kind, _)| *kind)
}

/// CPU shares over time.
pub(super) struct CpuSeries {
    /// The host whose series it is.
    pub(super) host: String,
    /// The start of each stretch; its end is the start of the next, and the last has none.
    pub(super) at_s: Vec<f64>,
    /// The shares in each stretch in the order of [`cpu_kinds`], one fewer than `at_s`.
    pub(super) shares: Vec<[f64; 6]>,
    /// The mean length of a stretch.
    pub(super) step_s: f64,
}

/// The rate of a load in a stretch of time.
pub(super) struct Window {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) rate: f64,
}

/// The points of each of `trials` trials.
pub(super) fn points(trials: usize) -> usize {
    (POINTS / trials.max(1)).clamp(POINTS_OF_TRIAL.0, POINTS_OF_TRIAL.1)
}

/// How long the trial took, in seconds.
pub(super) fn length_s(trial: &TrialRecord) -> f64 {
    let phases = trial.phases.iter().map(|p| p.end_ns).max().unwrap_or(0);
    phases as f64 / 1e9
}

/// The trial's phases as named stretches.
pub(super) fn spans(trial: &TrialRecord) -> Vec<Span> {
    let span = |phase: &PhaseRecord| Span {
        name: phase.rung.map_or_else(|| phase.name.clone(), |rung| crate::wording::rung(rung).into()),
        start: phase.start_ns as f64 / 1e9,
        end: phase.end_ns as f64 / 1e9,
        shade: match phase.kind {
            PhaseKind::Drive => Shade::Flood,
            kind if kind.measures() => Shade::Plain,
            _ => Shade::None,
        },
    };
    trial.phases.iter().filter(|p| p.end_ns > p.start_ns).map(span).collect()
}

/// The trial's moments: what was done in it, each once, on whatever rigs it was done.
pub(super) fn moments(trial: &TrialRecord) -> Vec<Moment> {
    let mut all: Vec<Moment> = Vec::new();
    for event in trial.phases.iter().flat_map(|phase| &phase.events) {
        let at = event.at_ns as f64 / 1e9;
        let known = |moment: &Moment| moment.name == event.name && (moment.at - at).abs() < SAME_MOMENT_S;
        if !all.iter().any(known) {
            all.push(Moment { name: event.name.clone(), at });
        }
    }
    all
}

/// The rate of one rig in a phase, smoothed: each window has several counts of the load. Empty where the rig did not take part.
pub(super) fn rates_of(phase: &PhaseRecord, arm: Arm, metric: Metric) -> Vec<Window> {
    let start_s = phase.start_ns as f64 / 1e9;
    let slices: Vec<&Slice> = phase.slices.iter().filter(|slice| slice.arm == arm).collect();
    let counts: usize = slices.iter().map(|slice| slice.result.intervals.len().max(1)).sum();
    let number = (counts / COUNTS_OF_WINDOW).clamp(1, WINDOWS);
    let step_s = phase.end_ns.saturating_sub(phase.start_ns) as f64 / 1e9 / number as f64;
    if step_s <= 0.0 {
        return Vec::new();
    }
    let mut counted = vec![(0.0, 0.0); number];
    for slice in slices {
        count_slice(&mut counted, step_s, slice, start_s, metric);
    }
    windows(rates(&counted, step_s), start_s, step_s)
}

/// Stretches of this length from a moment on, each with its rate; empty if no load ran.
fn windows(rates: impl IntoIterator<Item = Option<f64>>, start_s: f64, step_s: f64) -> Vec<Window> {
    let at = |n: usize| start_s + n as f64 * step_s;
    let rates = rates.into_iter().enumerate();
    rates.filter_map(|(n, rate)| Some(Window { from_s: at(n), to_s: at(n + 1), rate: rate? })).collect()
}

/// Rate in each step; empty if a load covered less than a twentieth of it.
fn rates(counted: &[(f64, f64)], step_s: f64) -> Vec<Option<f64>> {
    counted.iter().map(|&(n, covered)| (covered > step_s * 0.05).then(|| n / covered)).collect()
}

/// The rate while a phase is measured, in seconds after its start: in each stretch the median of these trials. Empty where it is one figure alone.
pub(super) fn of_phase(trials: &[&TrialRecord], phase: &str, points: usize, metric: Metric) -> Vec<Window> {
    let phases: Vec<&PhaseRecord> = measured(trials, phase).collect();
    let length_s = |it: &PhaseRecord| it.end_ns.saturating_sub(it.start_ns) as f64 / 1e9;
    let step_s = phases.iter().map(|it| length_s(it)).fold(0.0, f64::max) / points as f64;
    if step_s <= 0.0 {
        return Vec::new();
    }
    let of_one = |it: &&PhaseRecord| {
        let mut counted = vec![(0.0, 0.0); points];
        for slice in it.slices.iter().filter(|slice| slice.arm == Arm::Treatment) {
            count_slice(&mut counted, step_s, slice, it.start_ns as f64 / 1e9, metric);
        }
        rates(&counted, step_s)
    };
    let each: Vec<Vec<Option<f64>>> = phases.iter().map(of_one).collect();
    let middle = |n: usize| median(&sorted(each.iter().filter_map(|rates| rates[n])));
    let windows = windows((0..points).map(middle), 0.0, step_s);
    let is_flat = windows.windows(2).all(|two| two[0].rate == two[1].rate);
    if is_flat { Vec::new() } else { windows }
}

/// The records of a measured phase of this name.
pub(super) fn measured<'t>(trials: &[&'t TrialRecord], phase: &str) -> impl Iterator<Item = &'t PhaseRecord> {
    let all = trials.iter().flat_map(|trial| &trial.phases);
    all.filter(move |it| it.name == phase && it.kind == PhaseKind::Measure)
}

/// Spreads what happened in each interval of a slice evenly over the stretches that it covers, in seconds after an origin; of a figure that intervals do not count, that of
/// the whole slice.
fn count_slice(counted: &mut [(f64, f64)], step_s: f64, slice: &Slice, origin_s: f64, metric: Metric) {
    let start = slice.at_ns as f64 / 1e9 - origin_s;
    let whole = slice.result.intervals.iter().any(|interval| metric.amount(interval).is_none());
    if whole && let Some(rate) = metric.of(&slice.result) {
        spread(counted, step_s, rate, (start, start + slice.result.elapsed_ns as f64 / 1e9));
    }
    let mut start = start;
    for interval in &slice.result.intervals {
        let end = (slice.at_ns.saturating_add(interval.end_ns)) as f64 / 1e9 - origin_s;
        if let Some(amount) = metric.amount(interval).filter(|_| end > start) {
            spread(counted, step_s, amount / (end - start), (start, end));
            start = end;
        }
    }
}

/// Adds what a rate comes to between two moments to the stretches that lie between them.
fn spread(counted: &mut [(f64, f64)], step_s: f64, rate: f64, (start, end): (f64, f64)) {
    let first = (start / step_s) as usize;
    for (i, (n, covered)) in counted.iter_mut().enumerate().skip(first) {
        let from = start.max(i as f64 * step_s);
        let to = end.min((i + 1) as f64 * step_s);
        if to <= from {
            break;
        }
        *n += rate * (to - from);
        *covered += to - from;
    }
}

/// The machine's CPU shares, from the first host that sampled them; absent when none did. Hosts of the run's own machine all see
/// the same.
pub(super) fn cpu(trial: &TrialRecord, points: usize) -> Option<CpuSeries> {
    let (host, samples) = trial
        .series
        .iter()
        .find(|(_, samples)| samples.first().is_some_and(|s| times(s).iter().any(|t| *t > 0.0)))?;
    let origin = origin_ns(trial).unwrap_or(samples[0].at_ns);
    let step_s = (length_s(trial) / points.max(1) as f64).max(CPU_STEP_S);
    let mut known = BTreeMap::new();
    let mut last = (&samples[0], carried_times(&mut known, &samples[0]));
    let mut series = CpuSeries { host: host.clone(), at_s: Vec::new(), shares: Vec::new(), step_s: 0.0 };
    series.at_s.push(seconds_after(origin, last.0));
    for sample in &samples[1..] {
        let times = carried_times(&mut known, sample);
        if sample.at_ns.saturating_sub(last.0.at_ns) as f64 / 1e9 < step_s * 0.999 {
            continue;
        }
        if let Some(shares) = shares(last.1, times) {
            series.at_s.push(seconds_after(origin, sample));
            series.shares.push(shares);
        }
        last = (sample, times);
    }
    let stretches = series.shares.len();
    series.step_s = (series.at_s[stretches] - series.at_s[0]) / stretches.max(1) as f64;
    (stretches > 0).then_some(series)
}

/// Time of the load's host when the trial started: each slice has its start on both scales.
pub(super) fn origin_ns(trial: &TrialRecord) -> Option<u64> {
    let slices = trial.phases.iter().flat_map(|p| &p.slices);
    let origins = slices.filter_map(|s| s.result.started_ns.checked_sub(s.at_ns)).map(|ns| ns as f64);
    median(&sorted(origins)).map(|ns| ns as u64)
}

fn seconds_after(origin: u64, sample: &Sample) -> f64 {
    (sample.at_ns as f64 - origin as f64) / 1e9
}

fn times(sample: &Sample) -> [f64; 6] {
    CPU_COUNTERS.map(|(_, names)| names.iter().filter_map(|name| sample.values.get(*name)).sum())
}

/// The times at a sample. A series leaves out what did not change since the sample before, so `known` carries it on.
fn carried_times(known: &mut BTreeMap<&'static str, f64>, sample: &Sample) -> [f64; 6] {
    CPU_COUNTERS.map(|(_, names)| {
        let time = |name: &'static str| {
            if let Some(value) = sample.values.get(name) {
                known.insert(name, *value);
            }
            known.get(name).copied().unwrap_or(0.0)
        };
        names.iter().copied().map(time).sum()
    })
}

/// Where CPU time went between two samples; absent when no time passed. A counter that ran backwards (iowait may) counts as still.
fn shares(before: [f64; 6], after: [f64; 6]) -> Option<[f64; 6]> {
    let mut spent = [0.0; 6];
    for (spent, (before, after)) in spent.iter_mut().zip(before.iter().zip(after)) {
        *spent = (after - before).max(0.0);
    }
    let all: f64 = spent.iter().sum();
    (all > 0.0).then(|| spent.map(|s| s / all))
}
