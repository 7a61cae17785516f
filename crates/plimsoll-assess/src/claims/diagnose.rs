//! The claim that a path is good enough for TCP: from datagrams and settings to the judge's checks, and back to a verdict.

use plimsoll_judge::models::diagnosis::{Diagnosis, Facts, Grant, Sent, Target, diagnose};
use plimsoll_model::experiment::DiagnoseLoad;
use plimsoll_model::experiment::claim::diagnose::{DiagnoseClaim, DiagnoseDetails};
use plimsoll_model::observation::{DiagnoseFacts, LoadResult, PathFacts, TcpLimits, Train, pooled};

use crate::claims::prelude::*;

/// Estimate: the rate that TCP would reach.
const METRIC: &str = "bits_per_second";

impl ClaimKind for DiagnoseClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(cell, self, trials)).collect()
    }
}

fn finding(cell: &Cell, claim: &DiagnoseClaim, trials: &[TrialRecord]) -> Finding {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let bare = |outcome, reason: String| Verdict::bare("diagnose", METRIC, outcome, of_cell.len(), reason);
    let found = DiagnosedPath::of(cell, claim, &of_cell);
    let mut verdict = match (soundness::objection_to_load(&of_cell), &found) {
        (Some(reason), _) => bare(Outcome::Invalid, reason),
        (None, Ok(found)) => found.diagnosis.verdict(METRIC),
        (None, Err(reason)) => bare(Outcome::Undecided, reason.clone()),
    };
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    match found {
        Ok(found) => Finding::new(verdict, found.report(&cell.levels, &claim.phase)),
        Err(_) => Finding::bare(verdict),
    }
}

struct DiagnosedPath {
    target: Target,
    diagnosis: Diagnosis,
    congestion: String,
    tcp_bits_per_second: Option<f64>,
    rtt_ms: Option<f64>,
}

impl DiagnosedPath {
    fn of(cell: &Cell, claim: &DiagnoseClaim, trials: &[&TrialRecord]) -> Result<Self, String> {
        let load = cell.experiment.measured_load(&claim.phase);
        let load = load.and_then(|load| cell.experiment.loads.get(load)?.kind.diagnose());
        let target = target(load.ok_or("no load tests a path")?);
        let slices = slices::of_sound(trials, &claim.phase);
        let results: Vec<&LoadResult> = slices.into_iter().map(|slice| &slice.result).collect();
        let facts = results.iter().filter_map(|result| result.found::<DiagnoseFacts>());
        let facts: Vec<&PathFacts> = facts.map(|facts| &facts.path).collect();
        let first = facts.first().ok_or("the path was not tested")?;
        let diagnosis = diagnose(&target, &together(first, &facts)).map_err(|error| in_words(&error))?;
        let states = results.iter().flat_map(|result| result.streams()).flat_map(|stream| &stream.tcp);
        let rtts = states.map(|state| state.min_rtt_us).filter(|rtt| *rtt > 0);
        let all = pooled(results.iter().copied());
        Ok(Self {
            target,
            diagnosis,
            congestion: first.sender.congestion.clone(),
            tcp_bits_per_second: all
                .and_then(|all| Metric::BitsPerSecond.of(&all))
                .filter(|rate| *rate > 0.0),
            rtt_ms: rtts.min().map(|us| f64::from(us) / 1e3),
        })
    }

    fn report(&self, cell: &BTreeMap<String, String>, phase: &str) -> DiagnoseDetails {
        DiagnoseDetails {
            cell: cell.clone(),
            phase: phase.to_owned(),
            target_bits_per_second: self.target.rate,
            target_rtt_ms: 1e3 * self.target.rtt,
            reaches_bits_per_second: self.diagnosis.reaches,
            tcp_bits_per_second: self.tcp_bits_per_second,
            rtt_ms: self.rtt_ms,
            congestion: self.congestion.clone(),
            checks: self.diagnosis.findings.clone(),
        }
    }
}

fn target(load: &DiagnoseLoad) -> Target {
    Target {
        rate: load.rate.0 as f64,
        rtt: load.rtt.0.as_secs_f64(),
        segment: f64::from(load.segment),
        constant: load.constant,
    }
}

/// The datagrams of all slices; the hosts are the same in each.
fn together(first: &PathFacts, all: &[&PathFacts]) -> Facts {
    let sum = |of: fn(&PathFacts) -> Train| {
        all.iter().map(|facts| sent(of(facts))).fold(Sent::default(), |sum, next| Sent {
            sent: sum.sent + next.sent,
            received: sum.received + next.received,
            seconds: sum.seconds + next.seconds,
        })
    };
    let grant =
        |limits: &TcpLimits, buffer: u64| Grant { buffer: buffer as f64, scaling: limits.window_scaling };
    Facts {
        frame: f64::from(first.frame_bytes),
        apart: sum(|facts| facts.apart),
        at_rate: sum(|facts| facts.at_rate),
        bursts: all.iter().flat_map(|facts| &facts.bursts).map(|train| sent(*train)).collect(),
        sender: grant(&first.sender, first.sender.send_buffer),
        receiver: grant(&first.receiver, first.receiver.receive_buffer),
    }
}

fn sent(train: Train) -> Sent {
    Sent { sent: train.sent as f64, received: train.received as f64, seconds: train.elapsed_ns as f64 / 1e9 }
}
