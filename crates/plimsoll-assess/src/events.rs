//! The moments of a trial at which something was done, and the recovery of the load after each.
//!
//! A load is cut into windows of equal length, from the event on, and before the first event. Only the time counts in
//! which the load ran. Where a control is measured in slices between those of the treatment, the load pauses
//! meanwhile, and its window goes on after the pause. The rate before is the median of the windows before the first
//! event. A window is as good as before if it is within the margin of that, or no worse than the worst window before:
//! a load that scatters need not do better than it did undisturbed. It must reach half of the rate before in any case.
//! One empty window before, as on a machine whose CPUs others took, must not make a stalled load as good as before.
//! The load has recovered at the first of three such windows in a row, as a [watch](plimsoll_model::experiment::Watch)
//! has it.
//!
//! A load in closed loop that gets slower does less. One in open loop keeps its rate, so its mean request time must be
//! as good as well. Where a control was measured in slices between those of the treatment, each window is set against
//! the control's slices next to it: what the machine does to both is no effect of the event.

use plimsoll_judge::recovery::first_of_run;
use plimsoll_judge::stats::median;
use plimsoll_model::observation::{Arm, Interval, PhaseRecord, Slice, StepEvent, TrialRecord};
use plimsoll_model::report::{EventRecovery, EventReport, RecoveryOutcome};

/// Default margin of recovery: a loss up to this share counts as recovered.
pub(crate) const MARGIN: f64 = 0.1;
/// Consecutive windows that must be as good as before.
const IN_A_ROW: usize = 3;
/// The shortest window, in seconds: as long as the intervals in which a load counts.
const SHORTEST: f64 = 0.1;
/// The longest.
const LONGEST: f64 = 1.0;
/// Lowest threshold of recovery for a load that scattered before, as a share of the usual threshold.
const LEAST_OF_SCATTER: f64 = 0.5;
/// So much is done in a window, so that chance alone moves it by some 10 %.
const ENOUGH: f64 = 100.0;

/// All events of a trial, in order of time.
pub(super) fn of_trial(trial: &TrialRecord) -> Vec<EventReport> {
    let mut all: Vec<EventReport> = trial.phases.iter().flat_map(of_phase).collect();
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    all
}

fn of_phase(phase: &PhaseRecord) -> Vec<EventReport> {
    let report = |(place, event): (usize, &StepEvent)| EventReport {
        name: event.name.clone(),
        what: event.what.clone(),
        phase: phase.name.clone(),
        cycle: phase.cycle,
        arm: event.arm,
        at_s: seconds(event.at_ns),
        took_s: seconds(event.took_ns),
        recovery: recovery(phase, place, MARGIN),
    };
    phase.events.iter().enumerate().map(report).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// How the load of a phase fared after its event at this place; `None` if no load was measured meanwhile.
pub(crate) fn recovery(phase: &PhaseRecord, place: usize, margin: f64) -> Option<EventRecovery> {
    if !phase.kind.measures() {
        return None;
    }
    let event = &phase.events[place];
    let work = Work::of(phase, event.arm);
    let (begin, end) = (work.begin()?, work.end()?);
    let on_arm =
        || phase.events.iter().filter(|other| other.arm == event.arm).map(|other| seconds(other.at_ns));
    let first = on_arm().next()?;
    let at = seconds(event.at_ns);
    let until = on_arm().find(|other| *other > at).unwrap_or(end).min(end);
    let mean = work.between(begin, first).done / work.covered(begin, first).max(1e-9);
    let window = (ENOUGH / mean.max(1e-9)).clamp(SHORTEST, LONGEST);
    let control = ControlCourse::of(phase, event.arm, first);
    // The first entry is the start of the load itself.
    let before = work.windows(begin + window, first, window, &control);
    let after = work.windows(at, until, window, &control);
    let watched = until - at;
    let paced = work.paced;
    let highest = after.iter().filter_map(|window| window.latency_ms).reduce(f64::max).filter(|_| paced);
    let most = after.iter().map(|window| window.rate).fold(0.0, f64::max);
    let undecided = |before: f64, lowest: f64| EventRecovery {
        outcome: RecoveryOutcome::Undecided,
        before,
        lowest,
        highest: most,
        latency_before_ms: None,
        latency_highest_ms: highest,
        after_s: None,
        watched_s: watched.max(0.0),
        window_s: window,
    };
    let lowest = after.iter().map(|window| window.rate).reduce(f64::min).unwrap_or(0.0);
    if before.len() < IN_A_ROW {
        return Some(undecided(mean.max(0.0), lowest));
    }
    let reference = median(&before.iter().map(|window| window.rate).collect::<Vec<_>>());
    if after.len() < IN_A_ROW || reference <= 0.0 {
        return Some(undecided(reference, lowest));
    }
    let worst = before.iter().map(|window| window.rate).fold(f64::INFINITY, f64::min);
    let nearly = reference * (1.0 - margin);
    let enough = nearly.min(worst).max(nearly * LEAST_OF_SCATTER);
    let latencies: Vec<f64> = before.iter().filter_map(|window| window.latency_ms).collect();
    let usual = (paced && !latencies.is_empty()).then(|| median(&latencies));
    let longest = latencies.iter().copied().fold(0.0, f64::max);
    let bearable = usual.map_or(f64::INFINITY, |usual| (usual * (1.0 + margin)).max(longest));
    let states: Vec<(f64, f64)> = after
        .iter()
        .map(|window| {
            let soon = usual.is_none() || window.latency_ms.is_some_and(|latency| latency <= bearable);
            (window.start, if soon { window.rate } else { f64::NEG_INFINITY })
        })
        .collect();
    let back = first_of_run(&states, IN_A_ROW, |rate| rate >= enough);
    let (outcome, after_s) = match back {
        Some(since) if since <= at => (RecoveryOutcome::Unaffected, Some(0.0)),
        Some(since) => (RecoveryOutcome::Recovered, Some(since - at)),
        None => (RecoveryOutcome::NotRecovered, None),
    };
    Some(EventRecovery { outcome, after_s, latency_before_ms: usual, ..undecided(reference, lowest) })
}

/// Work done in a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
struct WorkDone {
    done: f64,
    /// Requests that were answered, and how long they took together, in microseconds.
    answered: f64,
    latency_us: f64,
}

impl WorkDone {
    fn latency_ms(self) -> Option<f64> {
        (self.answered > 0.0 && self.latency_us > 0.0).then(|| self.latency_us / self.answered / 1e3)
    }
}

/// A window of a load.
struct Window {
    start: f64,
    /// Operations per second in the window.
    rate: f64,
    /// The mean time of the requests that were answered in it.
    latency_ms: Option<f64>,
}

/// Work of the load of a phase on one rig: stretches of time, each with its work, in order.
struct Work {
    stretches: Vec<(f64, f64, WorkDone)>,
    /// Whether the load sends at a fixed rate, whatever comes back.
    paced: bool,
}

/// The count that measures the work of loads: requests, connections, or bytes where there are neither.
fn counted(slices: &[&Slice]) -> fn(&Interval) -> u64 {
    let sum = |of: fn(&Interval) -> u64| -> u64 {
        slices.iter().flat_map(|slice| &slice.result.intervals).map(of).sum()
    };
    match (sum(|it| it.requests), sum(|it| it.connections)) {
        (0, 0) => |it| it.bytes,
        (requests, connections) if requests >= connections => |it| it.requests,
        _ => |it| it.connections,
    }
}

impl Work {
    fn of(phase: &PhaseRecord, arm: Arm) -> Self {
        let slices: Vec<&Slice> = phase.slices.iter().filter(|slice| slice.arm == arm).collect();
        let count = counted(&slices);
        let mut stretches = Vec::new();
        for slice in &slices {
            let mut from = slice.at_ns;
            for interval in &slice.result.intervals {
                let to = slice.at_ns.saturating_add(interval.end_ns);
                if to > from {
                    let done = WorkDone {
                        done: count(interval) as f64,
                        answered: interval.requests as f64,
                        latency_us: interval.latency_us as f64,
                    };
                    stretches.push((seconds(from), seconds(to), done));
                    from = to;
                }
            }
        }
        Self { stretches, paced: slices.iter().any(|slice| slice.result.offer.is_some()) }
    }

    fn begin(&self) -> Option<f64> {
        Some(self.stretches.first()?.0)
    }

    fn end(&self) -> Option<f64> {
        Some(self.stretches.last()?.1)
    }

    /// Work done between two moments. Work within an interval counts as evenly spread.
    fn between(&self, from: f64, to: f64) -> WorkDone {
        let mut sum = WorkDone::default();
        for (start, end, done) in &self.stretches {
            let overlap = (end.min(to) - start.max(from)).max(0.0);
            let part = |of: f64| of * overlap / (end - start);
            sum.done += part(done.done);
            sum.answered += part(done.answered);
            sum.latency_us += part(done.latency_us);
        }
        sum
    }

    /// How long the load ran between two moments: with a control it pauses.
    fn covered(&self, from: f64, to: f64) -> f64 {
        self.stretches.iter().map(|(start, end, _)| (end.min(to) - start.max(from)).max(0.0)).sum()
    }

    /// The windows between two moments, one behind the other, each with this running time of the load and its expected work. What
    /// is left at the end is none.
    fn windows(&self, from: f64, to: f64, length: f64, control: &ControlCourse) -> Vec<Window> {
        let mut windows = Vec::new();
        let (mut start, mut missing) = (from, length);
        for (begin, end, _) in &self.stretches {
            let (mut here, end) = (begin.max(from), end.min(to));
            // The sum of many tenths of a second is a little less than it should be.
            while end - here >= missing - length * 1e-6 {
                here += missing;
                windows.push(self.window(start, here, length, control));
                (start, missing) = (here, length);
            }
            missing -= (end - here).max(0.0);
        }
        windows
    }

    /// The window between two moments, with this running time of the load.
    fn window(&self, start: f64, end: f64, length: f64, control: &ControlCourse) -> Window {
        let (done, at) = (self.between(start, end), f64::midpoint(start, end));
        Window {
            start,
            rate: done.done / length / control.rates.at(at),
            latency_ms: done.latency_ms().map(|latency| latency / control.latencies.at(at)),
        }
    }
}

/// Rates and latencies of the control over time. Its slices alternate with those of the treatment.
struct ControlCourse {
    rates: Course,
    latencies: Course,
}

/// A figure of slices, each with when it began and ended, against what it was before the first event.
#[derive(Default)]
struct Course {
    slices: Vec<(f64, f64, f64)>,
    before: f64,
}

impl ControlCourse {
    /// Beside a rig, with its first event at `first`. The control has nothing beside it.
    fn of(phase: &PhaseRecord, arm: Arm, first: f64) -> Self {
        let control: Vec<&Slice> = phase.slices.iter().filter(|slice| slice.arm == Arm::Control).collect();
        if arm == Arm::Control || control.is_empty() {
            return Self { rates: Course::default(), latencies: Course::default() };
        }
        let count = counted(&control);
        let figures = control.iter().filter(|slice| slice.result.elapsed_ns > 0).map(|slice| {
            let (from, length) = (seconds(slice.at_ns), seconds(slice.result.elapsed_ns));
            let sum = |of: fn(&Interval) -> u64| slice.result.intervals.iter().map(of).sum::<u64>() as f64;
            let done = WorkDone {
                done: sum(count),
                answered: sum(|it| it.requests),
                latency_us: sum(|it| it.latency_us),
            };
            (from, from + length, done)
        });
        let figures: Vec<(f64, f64, WorkDone)> = figures.collect();
        let course = |of: fn(f64, WorkDone) -> Option<f64>| {
            let known =
                figures.iter().filter_map(|(from, to, done)| Some((*from, *to, of(to - from, *done)?)));
            Course::new(known.collect(), first)
        };
        Self {
            rates: course(|length, done| Some(done.done / length)),
            latencies: course(|_, done| done.latency_ms()),
        }
    }
}

impl Course {
    fn new(slices: Vec<(f64, f64, f64)>, first: f64) -> Self {
        let before: Vec<f64> =
            slices.iter().filter(|(_, to, _)| *to <= first).map(|(.., figure)| *figure).collect();
        // Nothing is known of before where there is no slice.
        let before = if before.is_empty() { 0.0 } else { median(&before) };
        Self { slices, before }
    }

    /// The figure at a moment over that before: the mean of the slices next to it on either side. 1 where nothing is known of before.
    fn at(&self, moment: f64) -> f64 {
        if self.before <= 0.0 {
            return 1.0;
        }
        let earlier = self.slices.iter().rev().find(|(from, ..)| *from <= moment);
        let later = self.slices.iter().find(|(from, ..)| *from > moment);
        let figures: Vec<f64> = earlier.into_iter().chain(later).map(|(.., figure)| *figure).collect();
        let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        if mean > 0.0 { mean / self.before } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{LoadResult, Offer, PhaseKind};
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    /// A load that does so much in each tenth of a second, and events at these moments, in seconds.
    fn phase(counts: &[u64], events: &[f64]) -> PhaseRecord {
        let intervals = counts.iter().zip(1..).map(|(n, place)| Interval {
            end_ns: place * 100_000_000,
            connections: *n,
            requests: *n,
            ..Interval::default()
        });
        let result = LoadResult { intervals: intervals.collect(), ..LoadResult::default() };
        let event = |(place, at): (usize, &f64)| StepEvent {
            name: format!("event {place}"),
            what: String::new(),
            arm: Arm::Treatment,
            at_ns: (at * 1e9) as u64,
            took_ns: 0,
        };
        let events = events.iter().enumerate().map(event).collect();
        PhaseRecord { events, ..fixture::phase("all", result) }
    }

    /// A phase at a fixed rate, in which each request of an interval takes the given milliseconds.
    fn paced(counts: &[u64], latencies: &[u64], events: &[f64]) -> PhaseRecord {
        let mut phase = phase(counts, events);
        let result = &mut phase.slices[0].result;
        result.offer = Some(Offer::default());
        for (interval, latency) in result.intervals.iter_mut().zip(latencies) {
            interval.latency_us = interval.requests * latency * 1000;
        }
        phase
    }

    fn outcomes(phase: &PhaseRecord) -> Vec<(RecoveryOutcome, Option<f64>)> {
        let recoveries = of_phase(phase).into_iter().filter_map(|event| event.recovery);
        recoveries.map(|it| (it.outcome, it.after_s.map(|s| (s * 10.0).round() / 10.0))).collect()
    }

    #[test]
    fn a_load_that_falls_and_comes_back_has_recovered_from_what_ended_the_fault() {
        let counts = [vec![200; 20], vec![20; 10], vec![20; 4], vec![200; 16]].concat();
        let each = outcomes(&phase(&counts, &[2.0, 3.0]));
        assert_eq!(each, [(RecoveryOutcome::NotRecovered, None), (RecoveryOutcome::Recovered, Some(0.4))]);
        let one = recovery(&phase(&counts, &[2.0, 3.0]), 0, MARGIN).unwrap();
        assert_eq!((one.before.round(), one.lowest.round(), one.watched_s), (2000.0, 200.0, 1.0));
    }

    #[test]
    fn a_load_at_a_rate_that_is_only_slower_is_affected_and_recovers_when_it_is_as_fast_again() {
        let (counts, latencies) = (vec![200; 40], [vec![2; 20], vec![80; 10], vec![2; 10]].concat());
        let each = outcomes(&paced(&counts, &latencies, &[2.0]));
        assert_eq!(each, [(RecoveryOutcome::Recovered, Some(1.0))]);
        let found = recovery(&paced(&counts, &latencies, &[2.0]), 0, MARGIN).unwrap();
        let figures =
            [found.latency_before_ms.unwrap(), found.latency_highest_ms.unwrap(), found.before, found.lowest];
        assert_eq!(figures.map(f64::round), [2.0, 80.0, 2000.0, 2000.0]);
        let slower = [vec![2; 20], vec![80; 20]].concat();
        assert_eq!(outcomes(&paced(&counts, &slower, &[2.0])), [(RecoveryOutcome::NotRecovered, None)]);
        let steady = vec![2; 40];
        assert_eq!(outcomes(&paced(&counts, &steady, &[2.0])), [(RecoveryOutcome::Unaffected, Some(0.0))]);
    }

    /// Slices of a second, in turns on both rigs, which do so much in each tenth of a second.
    fn in_turns(treatment: &[u64], control: &[u64], event: f64) -> PhaseRecord {
        let mut whole = phase(&[], &[event]);
        whole.slices.clear();
        for (number, (mine, theirs)) in treatment.iter().zip(control).enumerate() {
            for (place, (arm, count)) in
                [(Arm::Treatment, mine), (Arm::Control, theirs)].into_iter().enumerate()
            {
                let mut slice = phase(&[*count; 10], &[]).slices[0].clone();
                slice.arm = arm;
                slice.at_ns = (2 * number + place) as u64 * 1_000_000_000;
                slice.result.elapsed_ns = 1_000_000_000;
                whole.slices.push(slice);
            }
        }
        whole
    }

    #[test]
    fn what_happens_to_the_control_as_well_is_no_effect_of_the_event() {
        // From 5 s on the machine does half as much for either; the event is at 6 s.
        let halved = [200, 200, 200, 100, 100, 100];
        let each = outcomes(&in_turns(&halved, &[200, 200, 100, 100, 100, 100], 6.0));
        assert_eq!(each, [(RecoveryOutcome::Unaffected, Some(0.0))]);
        let each = outcomes(&in_turns(&halved, &[200; 6], 6.0));
        assert_eq!(each, [(RecoveryOutcome::NotRecovered, None)]);
    }

    #[test]
    fn windows_go_on_behind_the_pauses_in_which_the_control_is_measured() {
        // 20 requests in a second while it runs, so that a window has a second of running, and each lies across a pause.
        let mut slices = vec![2; 14];
        slices[6..9].fill(0);
        let found = recovery(&in_turns(&slices, &[2; 14], 12.5), 0, MARGIN).unwrap();
        assert_eq!(found.outcome, RecoveryOutcome::Recovered, "{found:?}");
        assert_eq!((found.before.round(), found.lowest, found.window_s), (20.0, 0.0, 1.0), "{found:?}");
        // It stands still until 18 s; the window that begins at 16.5 s is half idle.
        assert_eq!(found.after_s.map(|s| (s * 10.0).round() / 10.0), Some(6.0), "{found:?}");
    }

    #[test]
    fn what_makes_no_difference_is_unaffected_and_what_cannot_be_known_is_not_guessed() {
        let steady = vec![200; 40];
        assert_eq!(outcomes(&phase(&steady, &[2.0])), [(RecoveryOutcome::Unaffected, Some(0.0))]);
        assert_eq!(outcomes(&phase(&steady, &[0.2])), [(RecoveryOutcome::Undecided, None)], "nothing before");
        assert_eq!(outcomes(&phase(&steady, &[3.9])), [(RecoveryOutcome::Undecided, None)], "nothing after");
        let at_rest = PhaseRecord { kind: PhaseKind::Act, ..phase(&steady, &[2.0]) };
        assert_eq!(of_phase(&at_rest)[0].recovery, None);
    }

    #[test]
    fn a_load_that_scatters_is_not_asked_for_more_than_it_did_before() {
        let noisy = |from: u64| (0..20).map(move |n| from + 60 * (n % 3)).collect::<Vec<u64>>();
        let counts = [noisy(140), vec![0; 10], noisy(140)].concat();
        let each = outcomes(&phase(&counts, &[2.0, 3.0]));
        assert_eq!(each[1], (RecoveryOutcome::Unaffected, Some(0.0)), "{each:?}");
    }

    #[test]
    fn a_load_that_stands_still_was_affected_though_it_stood_still_for_a_moment_before() {
        let counts = [vec![200; 8], vec![0; 2], vec![200; 10], vec![0; 10], vec![200; 10]].concat();
        let each = outcomes(&phase(&counts, &[2.0, 3.0]));
        assert_eq!(each, [(RecoveryOutcome::NotRecovered, None), (RecoveryOutcome::Unaffected, Some(0.0))]);
    }

    #[test]
    fn a_load_that_never_comes_back_is_not_recovered_however_long_it_is_watched() {
        let counts = [vec![200; 20], vec![150; 60]].concat();
        assert_eq!(outcomes(&phase(&counts, &[2.0])), [(RecoveryOutcome::NotRecovered, None)]);
    }

    proptest! {
        #[test]
        fn whatever_a_load_does_the_time_to_recover_lies_within_what_was_watched(
            counts in prop::collection::vec(0u64..400, 1..60),
            events in prop::collection::vec(0.0..7.0f64, 1..4),
        ) {
            let mut events = events;
            events.sort_by(f64::total_cmp);
            let phase = phase(&counts, &events);
            for event in of_phase(&phase).into_iter().filter_map(|event| event.recovery) {
                prop_assert!(event.before.is_finite() && event.lowest.is_finite() && event.watched_s >= 0.0);
                prop_assert!(event.after_s.is_none_or(|s| s >= 0.0 && s <= event.watched_s));
                let came_back = matches!(event.outcome, RecoveryOutcome::Unaffected | RecoveryOutcome::Recovered);
                prop_assert_eq!(came_back, event.after_s.is_some());
            }
        }
    }
}
