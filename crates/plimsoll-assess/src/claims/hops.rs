//! The claim about the hops of a path: from probes to the judge's routers, and back to a verdict.

use plimsoll_judge::models::hops::{CONFIDENCE, Hop, LEAST_PROBES, MEASURABLE, SizeProbes, hops};
use plimsoll_model::experiment::claim::hops::{HopReport, HopsClaim, HopsDetails};
use plimsoll_model::observation::ProbedPath;

use crate::claims::prelude::*;

/// Estimate: the rate of the narrowest hop.
const METRIC: &str = "bits_per_second";
/// Where resamples begin: the same probes give the same answer.
const SEED: u64 = 1;
/// More unanswered probes than this share of a hop's, and it is said.
const UNANSWERED: f64 = 0.05;

impl ClaimKind for HopsClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(cell, self, trials)).collect()
    }

    /// Every hop is as sure as the claim wants, or will not be by the end of the phase.
    fn sure_enough(&self, plan: &Plan, phase: &str, slices: &[Slice]) -> bool {
        if self.phase != phase {
            return true;
        }
        let Some(phase) = plan.experiment.all_phases().find(|known| known.name == phase) else { return true };
        let most = f64::from(phase.most_slices.unwrap_or(1));
        let all: Vec<&Slice> = slices::of_treatment(slices).collect();
        // An interval shrinks with the root of the number of probes.
        let shrinks_to = (all.len() as f64 / most).sqrt();
        let settled = |hop: &Hop| hop.reach <= self.within.0 || hop.reach * shrinks_to > MEASURABLE;
        MeasuredPath::of(&all).is_ok_and(|found| found.hops.iter().all(|(_, hop)| settled(hop)))
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        (self.phase == phase).then_some(FailureQuestion::InPart)
    }
}

fn finding(cell: &Cell, claim: &HopsClaim, trials: &[TrialRecord]) -> Finding {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let found = MeasuredPath::of(&slices::of_sound(&of_cell, &claim.phase));
    let mut verdict = match (soundness::objection_to_load(&of_cell), &found) {
        (Some(reason), _) => Verdict::bare("hops", METRIC, Outcome::Invalid, of_cell.len(), reason),
        (None, Ok(found)) => found.verdict(),
        (None, Err(reason)) => Verdict::bare("hops", METRIC, Outcome::Undecided, 0, reason.as_str()),
    };
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    let Ok(found) = found else { return Finding::bare(verdict) };
    let probes = found.path.hops.iter().flat_map(|hop| &hop.sizes).map(|size| u64::from(size.sent)).sum();
    let details = HopsDetails {
        cell: cell.levels.clone(),
        phase: claim.phase.clone(),
        reached: found.path.reached,
        probes,
        hops: (0..found.path.hops.len()).map(|place| found.report(place)).collect(),
    };
    Finding::new(verdict, details)
}

/// A path, and what is known of its hops.
struct MeasuredPath {
    path: ProbedPath,
    /// Of the hops that answered, each with its place in the path.
    hops: Vec<(usize, Hop)>,
}

impl MeasuredPath {
    fn of(slices: &[&Slice]) -> Result<Self, String> {
        let mut paths = slices.iter().filter_map(|slice| slice.result.found::<ProbedPath>());
        let mut path = paths.next().cloned().ok_or("no path was probed")?;
        paths.for_each(|other| add(&mut path, other));
        let answered = |place: &usize| path.hops[*place].sizes.iter().any(|size| !size.rtt_ns.is_empty());
        let places: Vec<usize> = (0..path.hops.len()).filter(answered).collect();
        if places.is_empty() {
            return Err("no router on the path answers".into());
        }
        let routers: Vec<Vec<SizeProbes>> = places.iter().map(|&place| router(&path, place)).collect();
        let hops = hops(&routers, SEED).map_err(|error| in_words(&error))?;
        let hops = places.into_iter().zip(hops).collect();
        Ok(Self { path, hops })
    }

    /// The verdict: `estimated`, with the rate of the narrowest hop; `undecided` where that may be a hop that is not measurable, or the
    /// probes did not come to the end.
    fn verdict(&self) -> Verdict {
        let n = self.path.hops.iter().flat_map(|hop| &hop.sizes).map(|size| size.rtt_ns.len()).sum();
        let measured = self.hops.iter().filter_map(|(place, hop)| Some((*place, hop.rate?)));
        let narrowest = measured.min_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let hidden: Vec<&(usize, Hop)> = self.hops.iter().filter(|(_, hop)| hop.rate.is_none()).collect();
        let not_measured: Vec<String> =
            hidden.iter().map(|(place, hop)| not_measurable(*place, hop)).collect();
        let mut remarks = not_measured.join("");
        remarks.push_str(&self.unanswered());
        let count = self.path.hops.len();
        let hops = if count == 1 { "1 hop".to_owned() } else { format!("{count} hops") };
        let Some((place, rate)) = narrowest else {
            return Verdict::bare("hops", METRIC, Outcome::Undecided, n, format!("{hops}{remarks}"));
        };
        let mega = |rate: f64| round(rate / 1e6);
        let found = format!("{hops}; the narrowest is hop {} with {} Mbit/s", place + 1, mega(rate.value));
        let narrower = hidden.iter().any(|(_, hop)| hop.least_rate < rate.value);
        let why = match (self.path.reached, narrower) {
            (false, _) => "; the target was not reached",
            (true, true) => "; an unmeasurable hop may be narrower",
            (true, false) => "",
        };
        let outcome = if why.is_empty() { Outcome::Estimated } else { Outcome::Undecided };
        Verdict {
            estimate: Some(rate.value),
            interval: Some(rate.interval),
            confidence: CONFIDENCE,
            ..Verdict::bare("hops", METRIC, outcome, n, format!("{found}{remarks}{why}"))
        }
    }

    /// Hops that answer fewer probes than they get.
    fn unanswered(&self) -> String {
        let shares = self
            .path
            .hops
            .iter()
            .enumerate()
            .filter_map(|(place, _)| Some((place, self.unanswered_by(place)?)));
        let sentences = shares.filter(|(_, share)| *share > UNANSWERED).map(|(place, share)| {
            format!(
                "; hop {} left {:.0} % of the probes unanswered: it may limit the rate of its replies",
                place + 1,
                100.0 * share
            )
        });
        sentences.collect()
    }

    fn unanswered_by(&self, place: usize) -> Option<f64> {
        let sizes = &self.path.hops[place].sizes;
        let sent: u32 = sizes.iter().map(|size| size.sent).sum();
        let answered: usize = sizes.iter().map(|size| size.rtt_ns.len()).sum();
        (sent > 0).then(|| 1.0 - answered as f64 / f64::from(sent))
    }

    fn report(&self, place: usize) -> HopReport {
        let hop = self.hops.iter().find(|(of, _)| *of == place).map(|(_, hop)| hop);
        let rate = hop.and_then(|hop| hop.rate);
        HopReport {
            hop: place as u32 + 1,
            address: self.path.hops[place].address.clone(),
            unanswered: self.unanswered_by(place),
            bits_per_second: rate.map(|rate| rate.value),
            rate_interval: rate.map(|rate| rate.interval),
            at_least_bits_per_second: hop.map(|hop| hop.least_rate).filter(|least| *least > 0.0),
            back_bits_per_second: hop.and_then(|hop| hop.back_rate),
            latency_ms: hop.map(|hop| 1e3 * hop.latency.value),
            latency_interval: hop.map(|hop| hop.latency.interval.map(|seconds| 1e3 * seconds)),
            queue_ms: hop.map(|hop| 1e3 * hop.queue),
        }
    }
}

/// Describes a hop whose rate is not measurable.
fn not_measurable(place: usize, hop: &Hop) -> String {
    let least = if hop.least_rate > 0.0 {
        format!(", at least {} Mbit/s", round(hop.least_rate / 1e6))
    } else {
        String::new()
    };
    format!("; hop {} is not measurable{least}", place + 1)
}

/// Three significant digits are more than an interval leaves.
fn round(value: f64) -> String {
    let places = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.places$}")
}

/// The answers of one router, without sizes that it hardly answered.
fn router(path: &ProbedPath, place: usize) -> Vec<SizeProbes> {
    let sizes = path.hops[place].sizes.iter().filter(|size| size.rtt_ns.len() >= LEAST_PROBES);
    let probes = sizes.map(|size| SizeProbes {
        bytes: f64::from(size.bytes),
        answer_bytes: f64::from(size.answer_bytes),
        rtts: size.rtt_ns.iter().map(|rtt| *rtt as f64 / 1e9).collect(),
    });
    probes.collect()
}

/// Adds the answers of another slice. A hop with another router there is skipped.
fn add(path: &mut ProbedPath, other: &ProbedPath) {
    path.reached |= other.reached;
    for (hop, more) in path.hops.iter_mut().zip(&other.hops) {
        if hop.address.is_none() {
            hop.clone_from(more);
            continue;
        }
        if more.address != hop.address {
            continue;
        }
        for (size, more) in hop.sizes.iter_mut().zip(&more.sizes) {
            size.sent += more.sent;
            size.answer_bytes = size.answer_bytes.max(more.answer_bytes);
            size.rtt_ns.extend(&more.rtt_ns);
        }
    }
    path.hops.extend(other.hops.iter().skip(path.hops.len()).cloned());
}
