//! The moments of a trial at which something was done, and the recovery of the load after each.
//!
//! A load is cut into windows of equal length, from the event on, and before the first event back from it. What it did before is the median
//! of the windows there. A window is as good as before where it is within the margin of that, or no worse than the worst window before: a
//! load that scatters is not asked for more than it did undisturbed. It has recovered at the first of three such windows in a row, as a
//! [watch](plimsoll_model::experiment::Watch) has it.

use plimsoll_judge::recovery::first_of_run;
use plimsoll_model::observation::{Arm, Interval, PhaseRecord, Slice, StepEvent, TrialRecord};
use plimsoll_model::report::{EventRecovery, EventReport, RecoveryOutcome};

/// How much less is still as good, where nobody says.
pub(crate) const MARGIN: f64 = 0.1;
/// So many windows in a row have to be as good.
const IN_A_ROW: usize = 3;
/// The shortest window, in seconds: as long as the intervals in which a load counts.
const SHORTEST: f64 = 0.1;
/// The longest.
const LONGEST: f64 = 1.0;
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

/// How the load of a phase fared after its event at this place; nothing where no load was measured meanwhile.
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
    let mean = work.between(begin, first) / (first - begin).max(1e-9);
    let window = (ENOUGH / mean.max(1e-9)).clamp(SHORTEST, LONGEST);
    // What comes first is the start of the load itself.
    let before = work.windows(begin + window, first, window);
    let after = work.windows(at, until, window);
    let watched = until - at;
    let undecided = |before: f64, lowest: f64| EventRecovery {
        outcome: RecoveryOutcome::Undecided,
        before,
        lowest,
        after_s: None,
        watched_s: watched.max(0.0),
        window_s: window,
    };
    let lowest = after.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    let lowest = if lowest.is_finite() { lowest } else { 0.0 };
    if before.len() < IN_A_ROW {
        return Some(undecided(mean.max(0.0), lowest));
    }
    let reference = median(before.iter().map(|(_, rate)| *rate).collect());
    if after.len() < IN_A_ROW || reference <= 0.0 {
        return Some(undecided(reference, lowest));
    }
    let worst = before.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    let enough = (reference * (1.0 - margin)).min(worst);
    let back = first_of_run(&after, IN_A_ROW, |rate| rate >= enough);
    let (outcome, after_s) = match back {
        Some(since) if since <= at => (RecoveryOutcome::Unaffected, Some(0.0)),
        Some(since) => (RecoveryOutcome::Recovered, Some(since - at)),
        None => (RecoveryOutcome::NotRecovered, None),
    };
    Some(EventRecovery { outcome, after_s, ..undecided(reference, lowest) })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// What the load of a phase did on one rig: stretches of time, each with how much was done in it, in order.
struct Work(Vec<(f64, f64, f64)>);

impl Work {
    fn of(phase: &PhaseRecord, arm: Arm) -> Self {
        let slices: Vec<&Slice> = phase.slices.iter().filter(|slice| slice.arm == arm).collect();
        let sum = |of: fn(&Interval) -> u64| -> u64 {
            slices.iter().flat_map(|slice| &slice.result.intervals).map(of).sum()
        };
        let (requests, connections) = (sum(|it| it.requests), sum(|it| it.connections));
        let count: fn(&Interval) -> u64 = match (requests, connections) {
            (0, 0) => |it| it.bytes,
            (requests, connections) if requests >= connections => |it| it.requests,
            _ => |it| it.connections,
        };
        let mut all = Vec::new();
        for slice in slices {
            let mut from = slice.at_ns;
            for interval in &slice.result.intervals {
                let to = slice.at_ns.saturating_add(interval.end_ns);
                if to > from {
                    all.push((seconds(from), seconds(to), count(interval) as f64));
                    from = to;
                }
            }
        }
        Self(all)
    }

    fn begin(&self) -> Option<f64> {
        Some(self.0.first()?.0)
    }

    fn end(&self) -> Option<f64> {
        Some(self.0.last()?.1)
    }

    /// How much was done between two moments, what was done in an interval spread evenly over it.
    fn between(&self, from: f64, to: f64) -> f64 {
        let part = |(start, end, done): &(f64, f64, f64)| {
            let overlap = end.min(to) - start.max(from);
            if overlap > 0.0 { done * overlap / (end - start) } else { 0.0 }
        };
        self.0.iter().map(part).sum()
    }

    /// How long the load ran between two moments: with a control it pauses.
    fn covered(&self, from: f64, to: f64) -> f64 {
        self.0.iter().map(|(start, end, _)| (end.min(to) - start.max(from)).max(0.0)).sum()
    }

    /// The whole windows between two moments, each with its start and its rate; those in which the load did not run all the time are left
    /// out.
    fn windows(&self, from: f64, to: f64, length: f64) -> Vec<(f64, f64)> {
        let number = ((to - from) / length + 1e-6).floor().max(0.0) as u32;
        let starts = (0..number).map(|n| from + f64::from(n) * length);
        let whole = starts.filter(|start| self.covered(*start, start + length) >= length * 0.9);
        whole.map(|start| (start, self.between(start, start + length) / length)).collect()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{LoadResult, PhaseKind};
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

    fn outcomes(phase: &PhaseRecord) -> Vec<(RecoveryOutcome, Option<f64>)> {
        let told = of_phase(phase).into_iter().filter_map(|event| event.recovery);
        told.map(|it| (it.outcome, it.after_s.map(|s| (s * 10.0).round() / 10.0))).collect()
    }

    #[test]
    fn a_load_that_falls_and_comes_back_has_recovered_from_what_ended_the_fault() {
        let counts = [vec![200; 20], vec![20; 10], vec![20; 4], vec![200; 16]].concat();
        let told = outcomes(&phase(&counts, &[2.0, 3.0]));
        assert_eq!(told, [(RecoveryOutcome::NotRecovered, None), (RecoveryOutcome::Recovered, Some(0.4))]);
        let one = recovery(&phase(&counts, &[2.0, 3.0]), 0, MARGIN).unwrap();
        assert_eq!((one.before, one.lowest, one.watched_s), (2000.0, 200.0, 1.0));
    }

    #[test]
    fn what_makes_no_difference_is_told_and_what_cannot_be_known_is_not_guessed() {
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
        let told = outcomes(&phase(&counts, &[2.0, 3.0]));
        assert_eq!(told[1], (RecoveryOutcome::Unaffected, Some(0.0)), "{told:?}");
    }

    #[test]
    fn a_load_that_never_comes_back_is_told_so_however_long_it_is_watched() {
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
                let told = matches!(event.outcome, RecoveryOutcome::Unaffected | RecoveryOutcome::Recovered);
                prop_assert_eq!(told, event.after_s.is_some());
            }
        }
    }
}
