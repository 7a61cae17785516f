//! The claim about the loss of datagrams: from cells to the judge's points, and back to a verdict.

use plimsoll_judge::models::knee::{Knee, NoKnee, find_knee, lost};
use plimsoll_model::experiment::claim::knee::{KneeClaim, KneeDetails, KneePointReport};

use crate::claims::prelude::*;
use crate::curve;

/// The estimated metric: the offered rate at the knee.
const METRIC: &str = "bits_per_second";
/// Where resamples begin: the same points give the same answer.
const SEED: u64 = 1;
/// Number of points of the drawn curve.
const DRAWN: u32 = 60;

impl ClaimKind for KneeClaim {
    /// One finding for each curve.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let groups = curve::groups(plan, &self.over).into_iter();
        groups.map(|cell| finding(self, cell, trials)).collect()
    }
}

fn finding(claim: &KneeClaim, cell: BTreeMap<String, String>, trials: &[TrialRecord]) -> Finding {
    let trials = curve::of_group(&cell, trials);
    let points = points(claim, &trials);
    let found = find_knee(&points, SEED);
    let bare = |outcome, reason: String| Verdict::bare("knee", METRIC, outcome, points.len(), reason);
    let mut verdict = match (soundness::objection_to_load(&trials), &found) {
        (Some(reason), _) => bare(Outcome::Invalid, reason),
        (None, Ok(Ok(knee))) => knee.verdict(METRIC),
        (None, Ok(Err(none))) => NoKnee::verdict(none, METRIC, points.len()),
        (None, Err(error)) => bare(Outcome::Undecided, in_words(error)),
    };
    verdict.reason = prefix(&cell) + &verdict.reason;
    if points.is_empty() {
        return Finding::bare(verdict);
    }
    let knee = found.ok().and_then(Result::ok);
    let details = KneeDetails {
        cell,
        phase: claim.phase.clone(),
        knee_bits_per_second: knee.map(|knee| knee.rate),
        interval: knee.map(|knee| knee.interval),
        curve: knee.map_or_else(Vec::new, |knee| drawn(&knee, &points)),
        points,
    };
    Finding::new(verdict, details)
}

/// The curve from the least to the highest rate that was offered, with its knee.
fn drawn(knee: &Knee, points: &[KneePointReport]) -> Vec<[f64; 2]> {
    let rates = points.iter().map(|point| point.offered_bits_per_second);
    let (least, most) = (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
    let mut at: Vec<f64> = (0..=DRAWN)
        .map(|n| least + (most - least) * f64::from(n) / f64::from(DRAWN))
        .chain([knee.rate])
        .collect();
    at.sort_by(f64::total_cmp);
    at.into_iter().map(|offered| [offered, lost(offered, knee.rate, knee.base)]).collect()
}

/// A point for each slice, by rising rate.
fn points(claim: &KneeClaim, trials: &[&TrialRecord]) -> Vec<KneePointReport> {
    let mut points: Vec<KneePointReport> = slices::of_sound(trials, &claim.phase)
        .into_iter()
        .filter_map(|slice| {
            let offered = slice.result.offered_bits_per_second()?;
            Some(KneePointReport::new(offered, Metric::LossShare.of(&slice.result)?))
        })
        .collect();
    points.sort_by(|a, b| a.offered_bits_per_second.total_cmp(&b.offered_bits_per_second));
    points
}
