//! The recovery claim: from slices to the judge's windows, and back to a verdict.

use plimsoll_judge::recovery::{self, RecoveryTrial, WindowPair};
use plimsoll_judge::stats::shift::centre;
use plimsoll_model::experiment::claim::recovery::{CycleRatio, RecoveryClaim, RecoveryDetails};
use plimsoll_model::observation::{Arm, PhaseKind, PhaseRecord};

use crate::claims::prelude::*;
use crate::{remedies, windows};

/// How narrow the interval of one phase must be, as a share of the margin: two of them make a ratio that has room inside the margin.
const SURE: f64 = 0.4;
/// The confidence of that interval.
const CONFIDENCE: f64 = 0.95;

impl ClaimKind for RecoveryClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(plan, cell, self, trials)).collect()
    }

    /// The slices of a phase, pair by pair against the control's, lie so close together that a ratio of two such phases has an interval well
    /// inside the margin.
    fn sure_enough(&self, _plan: &Plan, _phase: &str, slices: &[Slice]) -> bool {
        let ratios = windows::pairs_of(slices, self.metric);
        let logs: Vec<f64> =
            ratios.iter().filter_map(ratio).filter(|ratio| *ratio > 0.0).map(f64::ln).collect();
        let spread = centre(&logs, CONFIDENCE);
        (spread.hi - spread.lo) / 2.0 <= SURE * self.margin.0
    }

    /// Total failure after a flood is a finding.
    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        (self.after == phase).then_some(FailureQuestion::AfterAll)
    }
}

fn finding(plan: &Plan, cell: &Cell, claim: &RecoveryClaim, trials: &[TrialRecord]) -> Finding {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let whole: Vec<(u32, RecoveryTrial)> =
        of_cell.iter().filter_map(|trial| Some((trial.number, in_the_end(plan, trial, claim)?))).collect();
    let windows: Vec<RecoveryTrial> = whole.iter().map(|(_, windows)| windows.clone()).collect();
    let judged = (!whole.is_empty()).then(|| windows::judged(claim, &windows));
    let metric = claim.metric.name();
    let mut verdict = match (soundness::objection(&of_cell), &judged) {
        (Some(reason), _) => Verdict::bare("recovery", metric, Outcome::Invalid, whole.len(), reason),
        (None, Some(judged)) => judged.verdict.clone(),
        (None, None) => {
            let reason = format!("no trial has both `{}` and `{}`", claim.baseline, claim.after);
            Verdict::bare("recovery", metric, Outcome::Undecided, 0, reason)
        }
    };
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    let each: Vec<Option<f64>> = of_cell.iter().flat_map(|trial| times_to_recover(plan, trial)).collect();
    let came_back =
        each.iter().all(Option::is_some).then(|| median(each.iter().copied().flatten().collect())).flatten();
    let trend = judged.and_then(|judged| judged.trend).filter(|_| windows[0].cycles.len() >= 3);
    let details = RecoveryDetails {
        cell: cell.levels.clone(),
        baseline: claim.baseline.clone(),
        after: claim.after.clone(),
        margin: claim.margin.0,
        time_to_recover_s: came_back,
        time_to_recover_each_s: each,
        cycles: whole.iter().flat_map(|(trial, windows)| cycles(claim, *trial, windows)).collect(),
        trend_tau: trend.map(|trend| trend.tau),
        trend_p: trend.map(|trend| trend.p),
    };
    Finding::new(verdict, details)
}

/// The ratios of one trial, cycle by cycle.
fn cycles(claim: &RecoveryClaim, trial: u32, windows: &RecoveryTrial) -> Vec<CycleRatio> {
    let judged = windows::judged(claim, std::slice::from_ref(windows));
    let each = (1..).zip(judged.per_cycle);
    each.map(|(cycle, it)| CycleRatio { trial, cycle, ratio: it.estimate, interval: it.interval }).collect()
}

/// Windows of a trial, with the last cycle replaced by the measurements after a longer wait if those recovered. Then
/// the service did recover by itself, only later than the watch saw.
fn in_the_end(plan: &Plan, trial: &TrialRecord, claim: &RecoveryClaim) -> Option<RecoveryTrial> {
    let mut windows = windows::of_trial(trial, claim)?;
    if let (Some(phase), Some(last)) = (remedies::restored_by_waiting(plan, trial), windows.cycles.last_mut())
    {
        *last = windows::pairs(phase, claim.metric);
    }
    Some(windows)
}

/// Whether one window of a watch lies within the claim's margin of the median of the baseline, adjusted by the control.
pub fn window_passes(plan: &Plan, baseline: &[Slice], window: &Slice, control: Option<&Slice>) -> bool {
    let Some(claim) = plan.experiment.claims.iter().find_map(|claim| claim.recovery()) else {
        return false;
    };
    let before = windows::pairs_of(baseline, claim.metric).iter().filter_map(ratio).collect();
    let Some((reference, now)) = median(before).zip(ratio(&windows::pair(window, control, claim.metric)))
    else {
        return false;
    };
    if claim.metric.lower_is_better() {
        now <= reference * (1.0 + claim.margin.0)
    } else {
        now >= reference * (1.0 - claim.margin.0)
    }
}

/// The figure over the control's; `None` if the control carried nothing.
fn ratio(pair: &WindowPair) -> Option<f64> {
    match pair.control {
        None => Some(pair.treatment),
        Some(control) if control > 0.0 => Some(pair.treatment / control),
        Some(_) => None,
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// For each watch of a trial, the time from the end of the drive before it to the first of the windows that pass.
fn times_to_recover(plan: &Plan, trial: &TrialRecord) -> Vec<Option<f64>> {
    let mut flooded_until = None;
    let mut times = Vec::new();
    for phase in &trial.phases {
        match phase.kind {
            PhaseKind::Drive => flooded_until = Some(phase.end_ns),
            PhaseKind::Watch => {
                if let Some(end_ns) = flooded_until {
                    times.push(
                        first_good_window(plan, trial, phase)
                            .map(|at_ns| at_ns.saturating_sub(end_ns) as f64 / 1e9),
                    );
                }
            }
            _ => {}
        }
    }
    let waited = remedies::restored_by_waiting(plan, trial).and_then(|phase| phase.slices.first());
    if let (Some(first), Some(end_ns), Some(last)) = (waited, flooded_until, times.last_mut()) {
        *last = Some(first.at_ns.saturating_sub(end_ns) as f64 / 1e9);
    }
    times
}

fn first_good_window(plan: &Plan, trial: &TrialRecord, phase: &PhaseRecord) -> Option<u64> {
    let named = plan.experiment.all_phases().filter(|it| it.name == phase.name);
    let watch = named.filter_map(|it| it.kind.watch()).next()?;
    let baseline: Vec<Slice> =
        windows::measured(trial, &watch.against).flat_map(|phase| phase.slices.iter().cloned()).collect();
    let windows: Vec<(f64, f64)> = phase
        .slices
        .iter()
        .filter(|slice| slice.arm == Arm::Treatment)
        .map(|slice| {
            let control =
                phase.slices.iter().find(|other| other.arm == Arm::Control && other.number == slice.number);
            let passes = window_passes(plan, &baseline, slice, control);
            (slice.at_ns as f64, if passes { 1.0 } else { 0.0 })
        })
        .collect();
    recovery::first_of_run(&windows, watch.windows as usize, |passes| passes > 0.5).map(|at| at as u64)
}
