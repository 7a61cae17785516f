//! The claim about TCP over lossy paths: from streams to the judge's points, and back to a verdict.

use plimsoll_judge::input::JudgeError;
use plimsoll_judge::models::loss::{Formula, LossCurve, LossPoint, fit_loss};
use plimsoll_model::experiment::claim::loss_curve::{LossCurveClaim, LossCurveDetails, LossPointReport};
use plimsoll_model::observation::SteadyStreams;

use crate::claims::prelude::*;
use crate::curve;

/// The claim, as verdicts name it.
const CLAIM: &str = "loss_curve";
/// The estimated metric: C of Mathis' formula.
const METRIC: &str = "mathis_constant";
impl ClaimKind for LossCurveClaim {
    /// One finding for each curve.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let groups = curve::groups(plan, &self.over).into_iter();
        groups.map(|cell| finding(plan, self, cell, trials)).collect()
    }
}

fn finding(
    plan: &Plan,
    claim: &LossCurveClaim,
    cell: BTreeMap<String, String>,
    trials: &[TrialRecord],
) -> Finding {
    let trials = curve::of_group(&cell, trials);
    let (points, curve) = fitted(plan, claim, &trials);
    let mut verdict = match (soundness::objection_to_load(&trials), &curve) {
        (Some(reason), _) => Verdict::bare(CLAIM, METRIC, Outcome::Invalid, trials.len(), reason),
        (None, Ok(curve)) => curve.verdict(METRIC),
        (None, Err(error)) => Verdict::bare(CLAIM, METRIC, Outcome::Undecided, 0, in_words(error)),
    };
    verdict.reason = prefix(&cell) + &verdict.reason;
    if points.is_empty() {
        return Finding::bare(verdict);
    }
    let curve = curve.as_ref().ok();
    let modelled = |formula: Formula, point: &LossPoint| {
        let constant = curve?.of(formula)?.constant;
        Some(constant * formula.rate(point.rtt, point.loss, point.mss))
    };
    let points = points.iter().map(|point| LossPointReport {
        loss: point.loss,
        rtt_ms: point.rtt * 1e3,
        mss: point.mss,
        bits_per_second: point.rate,
        mathis: modelled(Formula::Mathis, point),
        padhye: modelled(Formula::Padhye, point),
    });
    let mathis = curve.and_then(|curve| curve.of(Formula::Mathis));
    let details = LossCurveDetails {
        cell,
        phase: claim.phase.clone(),
        constant: mathis.map(|fit| fit.constant),
        worst_factor: mathis.map(|fit| fit.worst_factor),
        exponent: curve.and_then(|curve| curve.exponent),
        points: points.collect(),
    };
    Finding::new(verdict, details)
}

/// The points, by rising loss, and the formulas fitted to them.
fn fitted(
    plan: &Plan,
    claim: &LossCurveClaim,
    trials: &[&TrialRecord],
) -> (Vec<LossPoint>, Result<LossCurve, JudgeError>) {
    let mut cells: Vec<(&BTreeMap<String, String>, SteadyStreams)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.faults.is_empty()) {
        for slice in slices::measured(trial, &claim.phase) {
            let Some(sums) = SteadyStreams::of(slice, sender(plan, claim)) else { continue };
            match cells.iter_mut().find(|(cell, _)| **cell == trial.cell) {
                Some((_, all)) => all.add(&sums),
                None => cells.push((&trial.cell, sums)),
            }
        }
    }
    let mut points: Vec<LossPoint> = cells.iter().filter_map(|(_, streams)| point(streams)).collect();
    points.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let curve = fit_loss(&points);
    (points, curve)
}

/// The host from which the phase sends.
fn sender<'p>(plan: &'p Plan, claim: &LossCurveClaim) -> &'p str {
    let load = plan.experiment.measured_load(&claim.phase);
    load.and_then(|load| plan.experiment.loads.get(load)).map_or("", |load| load.from.as_str())
}

/// The point; `None` if no loss was noticed.
fn point(streams: &SteadyStreams) -> Option<LossPoint> {
    let loss = streams.loss()?;
    Some(LossPoint { rtt: streams.rtt_s(), loss, mss: streams.mss(), rate: streams.bits_per_second() })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::Details;
    use plimsoll_model::observation::{BulkFacts, LoadResult, Stream, TcpState};
    use plimsoll_model::plan::Settings;

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "does it follow the formula?"
[hosts.here]
[hosts.there]
[[links]]
between = ["here", "there"]
loss = 0.001
[services.sink]
on = "there"
bulk = {}
[loads.stream]
from = "here"
to = "sink"
bulk = { duration = "10s" }
[factors.loss]
set = "links.0.loss"
levels = [0.001, 0.003, 0.01, 0.03]
[factors.control]
set = "loads.stream.bulk.congestion"
levels = ["reno", "bbr"]
[[phases]]
name = "sent"
measure = "stream"
[[claims]]
loss_curve = { phase = "sent", over = ["loss"] }
"#;

    /// Ten seconds at 20 ms: reno sends as Mathis says with C = 1.1, bbr sends 50 Mb/s whatever is lost.
    fn trials(plan: &Plan) -> Vec<TrialRecord> {
        let trial = |cell: &Cell| {
            let loss: f64 = cell.levels["loss"].parse().unwrap();
            let rate = match cell.levels["control"].as_str() {
                "reno" => 1.1 * Formula::Mathis.rate(0.02, loss, 1448.0),
                _ => 50e6,
            };
            let sent = (10.0 * rate / 8.0) as u64;
            let segments = (sent / 1448) as u32;
            let state = TcpState { srtt_us: 20_000, mss: 1448, retransmits: 1, ..TcpState::default() };
            // Slow start is over after a second, in which much was sent and nothing lost.
            let before = TcpState { retransmits: 0, ..state };
            let first =
                TcpState { at_ns: 1_000_000_000, acked_bytes: 9_000_000, segments_out: 6_000, ..state };
            let last = TcpState {
                at_ns: 11_000_000_000,
                acked_bytes: first.acked_bytes + sent,
                segments_out: first.segments_out + segments,
                ..state
            };
            let stream = Stream { sent, tcp: vec![before, first, last], ..Stream::default() };
            let result = LoadResult {
                elapsed_ns: 10_000_000_000,
                facts: Some(BulkFacts { streams: vec![stream] }.into()),
                connections: 1,
                ..LoadResult::default()
            };
            let mut phase = fixture::phase("sent", result);
            let episodes = f64::from(segments) * loss + 1.0;
            let counters = [
                ("netstat.TcpExt.TCPSackRecovery", episodes * 0.9),
                ("netstat.TcpExt.TCPTimeouts", episodes * 0.1),
            ];
            phase.slices[0].counters =
                [("here".to_owned(), counters.map(|(name, n)| (name.to_owned(), n)).into())].into();
            TrialRecord { block: 1, cell: cell.levels.clone(), phases: vec![phase], ..TrialRecord::default() }
        };
        plan.cells.iter().map(trial).collect()
    }

    #[test]
    fn reno_follows_the_formula_and_bbr_is_said_not_to() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let findings = crate::findings(&plan, &trials(&plan));
        let verdicts: Vec<&Verdict> = findings.iter().map(|finding| &finding.verdict).collect();
        let of = |control: &str| {
            let start = format!("control = {control}: ");
            verdicts.iter().find(|verdict| verdict.reason.starts_with(&start)).unwrap()
        };
        assert_eq!(of("reno").outcome, Outcome::Estimated, "{verdicts:?}");
        assert!((of("reno").estimate.unwrap() - 1.1).abs() < 0.01, "{verdicts:?}");
        assert_eq!(of("bbr").outcome, Outcome::Undecided);
        assert!(of("bbr").reason.contains("follows neither Mathis nor Padhye"), "{verdicts:?}");
        let details = |finding: &Finding| match &finding.details {
            Some(Details::LossCurve(details)) => Some(details.clone()),
            _ => None,
        };
        let reports: Vec<LossCurveDetails> = findings.iter().filter_map(details).collect();
        assert_eq!(reports.len(), 2);
        assert_eq!(reports[0].points.len(), 4);
        assert!(reports[0].points.windows(2).all(|two| two[0].loss < two[1].loss));
    }

    #[test]
    fn a_cell_in_which_nothing_was_lost_makes_no_point() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let mut trials = trials(&plan);
        for trial in &mut trials {
            trial.phases[0].slices[0].counters.get_mut("here").unwrap().clear();
        }
        assert!(crate::findings(&plan, &trials).iter().all(|finding| finding.details.is_none()));
    }
}
